import type { Known, Sheet } from "./sheet.ts";

/** Where a number may lie that was measured not below 0 and printed rounded. A single point where it was not rounded. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** A metric within the resolution of its cell. */
export function printed(sheet: Sheet, name: string, value: number): Interval {
  const off = sheet.resolution(name);
  return { low: value < 0 ? value - off : Math.max(0, value - off), high: value + off };
}

/** The sum of numbers whose roundings may all point the same way. */
export function sumOf(parts: readonly Interval[]): Interval {
  let [low, high] = [0, 0];
  for (const part of parts) {
    low += part.low;
    high += part.high;
  }
  return { low, high };
}

/** A quotient; without an upper end where the divisor may be 0. */
export const quotient = (over: Interval, by: Interval): Interval => ({
  low: over.low / by.high,
  high: by.low > 0 ? over.high / by.low : Number.POSITIVE_INFINITY,
});

/**
 * A number above 0 made of sums and products of metrics: its relative rounding is at most that of all its metrics one
 * upon another. Metrics printed as 0 count as 0.
 */
export function composed(sheet: Sheet, { metrics }: Known<unknown>, value: number): Interval {
  let share = 1;
  for (const name of metrics) {
    const size = Math.abs(sheet.number(name) ?? 0);
    if (size > 0) share *= Math.max(0, 1 - sheet.resolution(name) / size);
  }
  return { low: value * share, high: share > 0 ? value / share : Number.POSITIVE_INFINITY };
}
