const SI: readonly (readonly [number, string])[] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** A positive number with three significant digits and an SI prefix, ready for a unit: 4.81e12 is `4.81 T`. */
export function formatSi(value: number, digits: (value: number) => string = significant): string {
  const [unit, prefix] = SI.find(([size]) => value >= size * 0.9995) ?? [1, ""];
  return `${digits(value / unit)} ${prefix}`;
}

/** Three significant digits, no exponent in the range of charts, whole numbers from 100 on: 0.0137, 66.1, 874, 1634. */
export function significant(value: number): string {
  if (value === 0) return "0";
  // Rounded first: 99.99 has two digits before the point and is shown with three.
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3)))));
  if (magnitude < -6) return value.toExponential(1);
  return value.toFixed(Math.max(0, 2 - magnitude));
}

/** A tick of a logarithmic axis without trailing zeros: 0.01, 1, 200. */
export const formatTick = (value: number): string =>
  value < 1e-6 || value >= 1e6 ? value.toExponential(0) : String(value);

/** A share as a percentage with one decimal; below the last decimal it says so instead of showing 0. */
export const formatShare = (share: number): string =>
  share > 0 && share < 0.0005 ? "<0.1%" : `${(share * 100).toFixed(1)}%`;

/** Microseconds as milliseconds with three significant digits: 0.0450 ms, 42.6 ms, 909 ms. */
export const formatMs = (us: number): string => `${significant(us / 1000)} ms`;
