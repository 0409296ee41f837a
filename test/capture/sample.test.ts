import { describe, expect, it } from "vitest";
import { chooseSample, type SeenLaunch, takenBy, timesForAll } from "../../src/capture/sample.ts";

const seen = (functionName: string, ordinal: number, grid: number): SeenLaunch => ({
  functionName,
  kernel: functionName,
  ordinal,
  grid: [grid, 1, 1],
  block: [128, 1, 1],
  duration_ns: null,
});
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
/** As a DeepSeek-V3 shaped engine launches its matrix products: many of a few names, some of many. */
const PRODUCTS = [
  ...range(144).map((ordinal) => seen("tst_64x8", ordinal, [32, 64, 128][ordinal % 3] as number)),
  ...range(24).map((ordinal) => seen("tst_8x64", ordinal, 16)),
  ...range(16).map((ordinal) => seen("tst_192x88", ordinal, ordinal <= 8 ? 24 : 25)),
  ...range(8).flatMap((ordinal) => ["a", "b", "c", "d"].map((name) => seen(name, ordinal, 7))),
];
const shape = ({ functionName, grid }: SeenLaunch): string => `${functionName} ${grid}`;

describe("which launches are timed", () => {
  it("is all of them where they are few", () => {
    expect(chooseSample(PRODUCTS.slice(0, 64))).toEqual({
      selection: { kind: "first", skip: 0, count: 64 },
      count: 64,
    });
  });

  it("is some of each shape, within the budget, and what ncu will take for it", () => {
    const { selection, count } = chooseSample(PRODUCTS);
    if (selection.kind !== "ordinals") throw new Error(selection.kind);
    const taken = PRODUCTS.filter(({ ordinal }) => selection.ordinals.includes(ordinal));
    expect(taken).toHaveLength(count);
    expect(count).toBeLessThanOrEqual(64);
    expect(count).toBeGreaterThan(48);
    for (const name of new Set(PRODUCTS.map(shape))) {
      expect(taken.filter((launch) => shape(launch) === name).length).toBeGreaterThanOrEqual(3);
    }
    // Spread over the run: the later half of the frequent kernel is among them.
    expect(taken.some(({ ordinal }) => ordinal > 72)).toBe(true);
  });

  it("is one of each shape at least, also where that is more than the budget", () => {
    const many = range(200).map((ordinal) => seen(`k${ordinal}`, 1, ordinal));
    const { selection, count } = chooseSample(many);
    expect([selection.kind, count]).toEqual(["ordinals", 200]);
  });
});

describe("times of launches of which some were timed", () => {
  it("numbers those of a report as among all", () => {
    const taken = range(2).map((ordinal) => ({ ...seen("a", ordinal, 7), duration_ns: ordinal }));
    const selection = { kind: "ordinals", names: ["a"], ordinals: [5, 3, 99] } as const;
    expect(takenBy(selection, PRODUCTS, taken).map(({ ordinal, duration_ns }) => [ordinal, duration_ns])).toEqual([
      [3, 1],
      [5, 2],
    ]);
    // One more than was chosen: nobody knows which.
    expect(takenBy(selection, PRODUCTS, [...taken, { ...seen("a", 3, 7), duration_ns: 3 }])).toHaveLength(2);
    expect(takenBy({ kind: "first", skip: 0, count: 2 }, PRODUCTS, taken)).toEqual(taken);
  });

  it("gives each the time of the nearest of its shape, and none to a shape that was not timed", () => {
    const timed = [
      { ...seen("a", 2, 7), duration_ns: 20 },
      { ...seen("a", 7, 7), duration_ns: 70 },
    ];
    const all = timesForAll(PRODUCTS, timed);
    expect(all.map(({ ordinal, duration_ns }) => [ordinal, duration_ns])).toEqual(
      range(8).map((ordinal) => [ordinal, ordinal <= 4 ? 20 : 70]),
    );
  });
});
