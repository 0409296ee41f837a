import { describe, expect, it } from "vitest";
import { formatShare, formatSi, formatTick, logAxis, significant } from "../../src/charts/scale.ts";

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

describe("numbers for reading", () => {
  it.each([
    [4.81e12, "4.81 T"],
    [874.2e12, "874 T"],
    [1.634e15, "1.63 P"],
    [999.9e9, "1.00 T"],
    [2.9e9, "2.90 G"],
    [0.5, "0.500 "],
  ])("%d with a prefix", (value, expected) => {
    expect(formatSi(value)).toBe(expected);
  });

  it.each([
    [0, "0"],
    [0.0137, "0.0137"],
    [66.13, "66.1"],
    [1634.2, "1634"],
    [2e-9, "2.0e-9"],
  ])("%d with three digits", (value, expected) => {
    expect(significant(value)).toBe(expected);
  });

  it("never calls a small share zero, nor zero a share", () => {
    expect([0, 0.0001, 0.0006, 0.327, 1.2].map(formatShare)).toEqual(["0.0%", "<0.1%", "0.1%", "32.7%", "120.0%"]);
  });
});
