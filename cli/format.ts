import { formatShare, formatSi, significant } from "../src/charts/format.ts";

/** What stands where nothing was measured. */
export const MISSING = "–";

/** Microseconds for reading: 1.70 us, 448 us, 2.70 ms, 1.20 s. */
export function formatTime(us: number): string {
  if (us >= 999_500) return `${significant(us / 1e6)} s`;
  if (us >= 999.5) return `${significant(us / 1e3)} ms`;
  return `${significant(us)} us`;
}

/** A fraction as a whole percentage; what would round to 0 or over a bound says so by itself (<1%, 104%). */
export function formatPercent(fraction: number): string {
  if (fraction > 0 && fraction < 0.005) return "<1%";
  return `${Math.round(fraction * 100)}%`;
}

/** Whole numbers with thousands separated, the same on every host. */
export const formatCount = (value: number): string => String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");

export const formatBytes = (bytes: number): string => `${formatCount(bytes)} B`;
export const formatRate = (bytesPerSecond: number): string => `${formatSi(bytesPerSecond)}B/s`;
export const formatClock = (hz: number): string => `${(hz / 1e9).toFixed(2)} GHz`;

/** Teraoperations per second: whole from 100 on, at most two decimals. */
export function formatTflops(value: number): string {
  if (value > 0 && value < 0.005) return "<0.01";
  return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}
export { formatShare };

/** Operations per byte: three digits, separated thousands where a kernel hardly touches memory. */
export const formatIntensity = (value: number): string => (value >= 10_000 ? formatCount(value) : significant(value));

/** `1 launch`, `19 launches`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** A number through its format, or the dash. */
export const orMissing = (value: number | null, format: (value: number) => string): string =>
  value === null ? MISSING : format(value);
