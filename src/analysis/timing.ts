import type { Timing } from "../model/result.ts";

/**
 * Durations of launches in microseconds. The 90th percentile is the smallest duration that at least 90 % of the
 * launches do not exceed. Nulls for none.
 */
export function timingOf(durationsUs: readonly number[], source: Timing["source"]): Timing {
  return timingOfSorted(
    durationsUs.toSorted((a, b) => a - b),
    1,
    source,
  );
}

/** As `timingOf`, of durations in ascending order and in a unit of which `perUs` make a microsecond. */
export function timingOfSorted(sorted: ArrayLike<number>, perUs: number, source: Timing["source"]): Timing {
  const n = sorted.length;
  const at = (position: number): number | null => {
    const duration = sorted[position];
    return duration === undefined ? null : duration / perUs;
  };
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
  let sum = 0;
  for (let position = 0; position < n; position += 1) sum += Number(sorted[position]);
  const total = sum / perUs;
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
