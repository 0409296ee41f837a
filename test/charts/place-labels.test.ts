import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeLabels, spreadVertically } from "../../src/charts/place-labels.ts";

const AREA = { x: 0, y: 0, width: 700, height: 440 };
const SIZE = { width: 16, height: 13 };

describe("placeLabels", () => {
  it("puts a label into a circle that has room for it", () => {
    expect(placeLabels([{ x: 100, y: 100, r: 20 }], [SIZE], AREA)).toEqual([{ x: 100, y: 100, leader: false }]);
  });

  it("puts it beside a small circle", () => {
    const [label] = placeLabels([{ x: 100, y: 100, r: 4 }], [SIZE], AREA);
    expect(Math.hypot(label!.x - 100, label!.y - 100)).toBeGreaterThan(4);
    expect(label!.leader).toBe(false);
  });

  it("keeps labels of one spot apart, with lines to their circles", () => {
    const discs = Array.from({ length: 12 }, () => ({ x: 300, y: 200, r: 4 }));
    const labels = placeLabels(
      discs,
      discs.map(() => SIZE),
      AREA,
    ).map((label) => label!);
    for (const [i, a] of labels.entries()) {
      for (const b of labels.slice(i + 1)) {
        expect(Math.abs(a.x - b.x) >= SIZE.width || Math.abs(a.y - b.y) >= SIZE.height).toBe(true);
      }
    }
    expect(labels.some(({ leader }) => leader)).toBe(true);
  });

  it("stays inside the area", () => {
    const disc = fc.record({
      x: fc.integer({ min: 10, max: 690 }),
      y: fc.integer({ min: 10, max: 430 }),
      r: fc.integer({ min: 3, max: 30 }),
    });
    fc.assert(
      fc.property(fc.array(disc, { maxLength: 25 }), (discs) => {
        for (const label of placeLabels(
          discs,
          discs.map(() => SIZE),
          AREA,
        )) {
          const { x, y } = label!;
          expect(x >= 8 && x <= 692 && y >= 6.5 && y <= 433.5).toBe(true);
        }
      }),
    );
  });
});

describe("spreadVertically", () => {
  it("leaves what is apart where it is", () => {
    expect(spreadVertically([300, 100, 200], 30, 0, 440)).toEqual([300, 100, 200]);
  });

  it("keeps order and distance", () => {
    const places = fc.array(fc.double({ min: 0, max: 440, noNaN: true }), { maxLength: 8 });
    fc.assert(
      fc.property(places, (wanted) => {
        const placed = spreadVertically(wanted, 30, 0, 440);
        const order = wanted.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y || a.i - b.i);
        for (let k = 1; k < order.length; k++) {
          expect(placed[order[k]!.i]! - placed[order[k - 1]!.i]!).toBeGreaterThanOrEqual(30 - 1e-9);
        }
      }),
    );
  });
});
