import { describe, expect, it } from "vitest";
import { formatTick } from "../../src/charts/format.ts";
import { logAxis } from "../../src/charts/scale.ts";

describe("logAxis", () => {
  it("maps decades to equal lengths", () => {
    const axis = logAxis([1, 1000], [0, 300]);
    expect([1, 10, 100, 1000].map(axis.at)).toEqual([0, 100, 200, 300].map((value) => expect.closeTo(value, 9)));
    expect(axis.ticks).toEqual([1, 10, 100, 1000]);
  });

  it("adds 2 and 5 where powers of ten are few", () => {
    expect(logAxis([15, 600], [0, 100]).ticks).toEqual([20, 50, 100, 200, 500]);
  });

  it("has exact ticks below one", () => {
    expect(logAxis([0.0009, 2], [0, 100]).ticks.map(formatTick)).toEqual(["0.001", "0.01", "0.1", "1"]);
  });
});
