import type { Timing } from "../model/result.ts";

/**
 * Durations of launches in microseconds. The 90th percentile is the smallest duration that at least 90 % of the
 * launches do not exceed. Nulls for none.
 */
export function timingOf(durationsUs: readonly number[], source: Timing["source"]): Timing {
  const sorted = durationsUs.toSorted((a, b) => a - b);
  const n = sorted.length;
  const at = (position: number): number | null => sorted[position] ?? null;
  const [low, high] = [at(Math.floor((n - 1) / 2)), at(Math.floor(n / 2))];
  if (n === 0 || low === null || high === null) {
    const none = {
      total_us: null,
      mean_us: null,
      median_us: null,
      p90_us: null,
      min_us: null,
      max_us: null,
      spread: null,
    };
    return { source: null, n: 0, ...none };
  }
  const total = sorted.reduce((sum, duration) => sum + duration, 0);
  const median = (low + high) / 2;
  const [min, max] = [Number(at(0)), Number(at(n - 1))];
  return {
    source,
    n,
    total_us: total,
    mean_us: total / n,
    median_us: median,
    p90_us: at(Math.ceil(0.9 * n) - 1),
    min_us: min,
    max_us: max,
    spread: median > 0 ? (max - min) / median : null,
  };
}
