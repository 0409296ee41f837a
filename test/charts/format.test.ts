import { describe, expect, it } from "vitest";
import { formatShare, formatSi, significant } from "../../src/charts/format.ts";

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
