import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clusterByDuration } from "../../src/analysis/clusters.ts";
import { timingOf } from "../../src/analysis/timing.ts";

const clusters = (durations: readonly number[]) => clusterByDuration(durations, (duration) => duration);

describe("clusters", () => {
  test("none, one, equal ones", () => {
    expect(clusters([])).toStrictEqual([]);
    expect(clusters([7])).toStrictEqual([[7]]);
    const equal = Array.from({ length: 1000 }, () => 5);
    expect(clusters(equal)).toStrictEqual([equal]);
  });

  test("the longest is at most 1.5 times the shortest", () => {
    expect(clusters([10, 15])).toStrictEqual([[10, 15]]);
    expect(clusters([10, 15.001])).toStrictEqual([[10], [15.001]]);
  });

  test("the cut comes at the widest relative gap, again and again", () => {
    expect(clusters([45, 50, 100, 110, 1148, 1000])).toStrictEqual([
      [45, 50],
      [100, 110],
      [1000, 1148],
    ]);
    // Absolute gaps would cut between 100 and 140 first.
    expect(clusters([10, 20, 100, 140])).toStrictEqual([[10], [20], [100, 140]]);
  });

  test("of equal gaps the first is cut", () => {
    expect(clusters([1, 2, 4])).toStrictEqual([[1], [2], [4]]);
    expect(clusters([8, 10, 12.5, 15.625])).toStrictEqual([[8], [10], [12.5, 15.625]]);
  });

  test("a duration of 0 stands with its like", () => {
    expect(clusters([0, 0, 5])).toStrictEqual([[0, 0], [5]]);
  });

  test("launches of equal duration keep their order", () => {
    const items = [
      { id: 2, us: 5 },
      { id: 1, us: 5 },
      { id: 3, us: 4 },
    ];
    expect(clusterByDuration(items, ({ us }) => us)).toStrictEqual([[items[2], items[0], items[1]]]);
  });

  test("any durations: nothing lost, bounded, in order", () => {
    const duration = fc.oneof(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.integer({ min: 0, max: 20 }));
    fc.assert(
      fc.property(fc.array(duration, { maxLength: 200 }), (durations) => {
        const found = clusters(durations);
        expect(found.flat()).toStrictEqual(durations.toSorted((a, b) => a - b));
        for (const cluster of found) {
          const [shortest, longest] = [cluster[0]!, cluster.at(-1)!];
          expect(longest === shortest || longest <= 1.5 * shortest).toBe(true);
        }
      }),
    );
  });
});

describe("timing", () => {
  test("of several launches", () => {
    expect(timingOf([4, 1, 3, 2], "ncu")).toStrictEqual({
      source: "ncu",
      n: 4,
      total_us: 10,
      mean_us: 2.5,
      median_us: 2.5,
      p90_us: 4,
      min_us: 1,
      max_us: 4,
      spread: 1.2,
    });
    expect(timingOf([5, 1, 3], "ncu")).toMatchObject({ median_us: 3, p90_us: 5 });
    expect(
      timingOf(
        Array.from({ length: 10 }, (_, index) => index + 1),
        "ncu",
      ).p90_us,
    ).toBe(9);
  });
  test("of one, and of none", () => {
    expect(timingOf([7], "ncu")).toMatchObject({ n: 1, mean_us: 7, median_us: 7, p90_us: 7, spread: 0 });
    expect(timingOf([], "ncu")).toMatchObject({ source: null, n: 0, total_us: null, mean_us: null, spread: null });
    expect(timingOf([0, 0], "ncu")).toMatchObject({ mean_us: 0, spread: null });
  });
});
