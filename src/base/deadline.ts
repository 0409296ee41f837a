import { setTimeout as sleep } from "node:timers/promises";

/** The value of a promise, or `late` where that takes longer than `limitMs`. The promise itself goes on. */
export async function within<T, L>(limitMs: number, promise: Promise<T>, late: L): Promise<T | L> {
  const timer = new AbortController();
  try {
    return await Promise.race([promise, sleep(limitMs, late, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
