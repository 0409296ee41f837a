import { byNumberDescending, byText, inOrder } from "../../base/order.ts";
import type { Timeline } from "../../model/timeline.ts";
import type { Gaps } from "./gaps.ts";

/** Calls of one name that ran while the GPU was idle. */
export interface HostCall {
  readonly name: string;
  readonly calls: number;
  /** Summed over calls and threads, so it may exceed the idle time. */
  readonly overlap_us: number;
}

export interface HostInGaps {
  readonly calls: readonly HostCall[] | null;
  readonly null_reason: string | null;
}

const NAMES_LISTED = 8;

/** `cudaLaunchKernel_v7000` and `cudaLaunchKernel` are one call: nsys appends the version of the API. */
export const apiName = (text: string): string => text.replace(/_v\d{4,6}$/, "");

/** Idle time before any moment, of some gaps in order of time. */
class IdleClock {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  readonly #before: Float64Array;

  constructor(starts: Float64Array, ends: Float64Array) {
    this.#starts = starts;
    this.#ends = ends;
    this.#before = new Float64Array(starts.length + 1);
    for (let gap = 0; gap < starts.length; gap += 1)
      this.#before[gap + 1] = Number(this.#before[gap]) + Number(ends[gap]) - Number(starts[gap]);
  }

  at(time: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Number(this.#starts[middle]) <= time) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return 0;
    const [start, end] = [Number(this.#starts[low - 1]), Number(this.#ends[low - 1])];
    return Number(this.#before[low - 1]) + Math.min(time, end) - start;
  }
}

const NO_CALLS = "calls of the host were not recorded";

/**
 * What the host called while the GPU was idle: API calls of the GPU use's process that overlap the gaps, by name, longest
 * first. `gaps`: positions to look at; of one GPU use in order of time.
 */
export function hostInGaps(timeline: Timeline, { uses, gaps }: Gaps, positions: ArrayLike<number>): HostInGaps {
  const { calls, threads, texts } = timeline;
  if (calls.count === 0) return { calls: null, null_reason: NO_CALLS };
  const ofUse = uses.map(() => [] as number[]);
  for (let at = 0; at < positions.length; at += 1) {
    const gap = Number(positions[at]);
    ofUse[Number(gaps.use[gap])]?.push(gap);
  }
  const byCall = new Map<number, { calls: number; ns: number }>();
  for (const [use, own] of ofUse.entries()) {
    if (own.length === 0) continue;
    const process = uses[use]?.process ?? null;
    const clock = new IdleClock(
      Float64Array.from(own, (gap) => Number(gaps.start_ns[gap])),
      Float64Array.from(own, (gap) => Number(gaps.end_ns[gap])),
    );
    const last = Number(gaps.end_ns[own.at(-1) ?? 0]);
    const isOwn = threads.map((thread) => process === null || thread.process === null || thread.process === process);
    for (let call = 0; call < calls.count && Number(calls.start_ns[call]) < last; call += 1) {
      if (isOwn[Number(calls.thread[call])] === false) continue;
      const end = Number(calls.end_ns[call]);
      if (Number.isNaN(end)) continue;
      const ns = clock.at(end) - clock.at(Number(calls.start_ns[call]));
      if (ns <= 0) continue;
      const text = Number(calls.text[call]);
      const entry = byCall.get(text) ?? { calls: 0, ns: 0 };
      byCall.set(text, entry);
      entry.calls += 1;
      entry.ns += ns;
    }
  }
  const byName = new Map<string, { calls: number; ns: number }>();
  for (const [text, { calls: count, ns }] of byCall) {
    const name = apiName(texts[text] ?? "");
    const entry = byName.get(name) ?? { calls: 0, ns: 0 };
    byName.set(name, { calls: entry.calls + count, ns: entry.ns + ns });
  }
  const list = [...byName]
    .map(([name, { calls: count, ns }]) => ({ name, calls: count, overlap_us: ns / 1000 }))
    .sort(
      inOrder<HostCall>(
        byNumberDescending((call) => call.overlap_us),
        byText((call) => call.name),
      ),
    )
    .slice(0, NAMES_LISTED);
  return { calls: list, null_reason: null };
}
