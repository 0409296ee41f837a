import { scaleLog } from "d3-scale";

export interface LogAxis {
  /** Data to pixels. */
  readonly at: (value: number) => number;
  readonly domain: readonly [number, number];
  /** Where a grid line with a number stands. */
  readonly ticks: readonly number[];
}

/**
 * A logarithmic axis over positive numbers, `domain[0] < domain[1]`, with ticks at the powers of ten, and at 2 and 5 times
 * these where there are less than three of them.
 */
export function logAxis(domain: readonly [number, number], range: readonly [number, number]): LogAxis {
  const scale = scaleLog().domain(domain).range(range);
  const powers: number[] = [];
  for (let power = Math.floor(Math.log10(domain[0])); power <= Math.log10(domain[1]); power++) powers.push(power);
  const inside = (value: number): boolean => value >= domain[0] && value <= domain[1];
  const decades = powers.map((power) => Number(`1e${power}`)).filter(inside);
  const ticks =
    decades.length >= 3
      ? decades
      : powers.flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`))).filter(inside);
  return { at: (value) => scale(value), domain, ticks };
}
