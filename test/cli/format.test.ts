import { describe, expect, it } from "vitest";
import { counted, formatBytes, formatPercent, formatTflops, formatTime, orMissing } from "../../cli/format.ts";

describe("numbers for people", () => {
  it.each([
    [1.696, "1.70 us"],
    [52, "52.0 us"],
    [999.4, "999 us"],
    [999.6, "1.00 ms"],
    [2696.576, "2.70 ms"],
    [1_200_000, "1.20 s"],
  ])("%d us is %s", (us, expected) => {
    expect(formatTime(us)).toBe(expected);
  });

  it.each([
    [0, "0%"],
    [0.0004, "<1%"],
    [0.8835, "88%"],
    [1.04, "104%"],
  ])("%d is %s", (fraction, expected) => {
    expect(formatPercent(fraction)).toBe(expected);
  });

  it.each([
    [0, "0.00"],
    [0.0002, "<0.01"],
    [0.0137, "0.01"],
    [5.204, "5.20"],
    [50.98, "51.0"],
    [99.97, "100"],
    [1502.37, "1502"],
  ])("%d TFLOPS is %s", (value, expected) => {
    expect(formatTflops(value)).toBe(expected);
  });

  it("separates thousands, counts in words, and shows a dash for nothing", () => {
    expect(formatBytes(73_728)).toBe("73,728 B");
    expect(formatBytes(1_073_741_824)).toBe("1,073,741,824 B");
    expect([counted(1, "launch", "launches"), counted(1234, "launch", "launches")]).toEqual([
      "1 launch",
      "1,234 launches",
    ]);
    expect(orMissing(null, formatBytes)).toBe("–");
  });
});
