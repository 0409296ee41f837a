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

/** How much of an interval lies in gaps, asked in order of start. Gaps are disjoint and in order of time. */
class IdleTime {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  /** Idle time before each gap. */
  readonly #before: Float64Array;
  /** First gap that ends behind the last start that was asked for. */
  #at = 0;

  constructor(starts: Float64Array, ends: Float64Array) {
    this.#starts = starts;
    this.#ends = ends;
    this.#before = new Float64Array(starts.length + 1);
    for (let gap = 0; gap < starts.length; gap += 1)
      this.#before[gap + 1] = Number(this.#before[gap]) + Number(ends[gap]) - Number(starts[gap]);
  }

  within(start: number, end: number): number {
    const count = this.#starts.length;
    while (this.#at < count && Number(this.#ends[this.#at]) <= start) this.#at += 1;
    if (this.#at === count || Number(this.#starts[this.#at]) >= end) return 0;
    const last = this.#lastBefore(end);
    const whole = Number(this.#before[last + 1]) - Number(this.#before[this.#at]);
    const early = Math.max(0, start - Number(this.#starts[this.#at]));
    const late = Math.max(0, Number(this.#ends[last]) - end);
    return whole - early - late;
  }

  /** The last gap that starts before `end`: most calls are short, so it is near. */
  #lastBefore(end: number): number {
    let low = this.#at;
    let step = 1;
    while (low + step < this.#starts.length && Number(this.#starts[low + step]) < end) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, this.#starts.length);
    while (low + 1 < high) {
      const middle = (low + high) >>> 1;
      if (Number(this.#starts[middle]) < end) low = middle;
      else high = middle;
    }
    return low;
  }
}

const NO_CALLS = "calls of the host were not recorded";

type Tally = Map<number, { calls: number; ns: number }>;

function tally(into: Tally, text: number, ns: number): void {
  const entry = into.get(text) ?? { calls: 0, ns: 0 };
  into.set(text, entry);
  entry.calls += 1;
  entry.ns += ns;
}

function named(counts: Tally, { texts }: Timeline): HostInGaps {
  const byName = new Map<string, { calls: number; ns: number }>();
  for (const [text, { calls: count, ns }] of counts) {
    const name = apiName(texts[text] ?? "");
    const entry = byName.get(name) ?? { calls: 0, ns: 0 };
    byName.set(name, { calls: entry.calls + count, ns: entry.ns + ns });
  }
  const calls = [...byName]
    .map(([name, { calls: count, ns }]) => ({ name, calls: count, overlap_us: ns / 1000 }))
    .sort(
      inOrder<HostCall>(
        byNumberDescending((call) => call.overlap_us),
        byText((call) => call.name),
      ),
    )
    .slice(0, NAMES_LISTED);
  return { calls, null_reason: null };
}

/** For each thread the GPU uses that it may keep waiting: those of its process, where the file tells processes apart. */
const usesOfThreads = ({ threads }: Timeline, { uses }: Gaps): number[][] =>
  threads.map(({ process }) =>
    [...uses.keys()].filter((use) => {
      const own = uses[use]?.process ?? null;
      return process === null || own === null || own === process;
    }),
  );

/** Gaps of each GPU use by themselves. */
function gapsByUse(uses: number, gaps: Gaps["gaps"]): { starts: Float64Array; ends: Float64Array }[] {
  if (uses === 1) return [{ starts: gaps.start_ns, ends: gaps.end_ns }];
  const counts = new Uint32Array(uses);
  for (let gap = 0; gap < gaps.count; gap += 1)
    counts[Number(gaps.use[gap])] = Number(counts[Number(gaps.use[gap])]) + 1;
  const split = Array.from(counts, (count) => ({ starts: new Float64Array(count), ends: new Float64Array(count) }));
  counts.fill(0);
  for (let gap = 0; gap < gaps.count; gap += 1) {
    const use = Number(gaps.use[gap]);
    const own = split[use];
    const at = Number(counts[use]);
    if (own === undefined) continue;
    own.starts[at] = Number(gaps.start_ns[gap]);
    own.ends[at] = Number(gaps.end_ns[gap]);
    counts[use] = at + 1;
  }
  return split;
}

/**
 * What the host called while the GPU was idle: API calls of the GPU use's process that overlap its gaps, by name, longest
 * first.
 */
export function hostInGaps(timeline: Timeline, all: Gaps): HostInGaps {
  const { calls } = timeline;
  const { uses, gaps } = all;
  if (calls.count === 0) return { calls: null, null_reason: NO_CALLS };
  const counts: Tally = new Map();
  const idle = gapsByUse(uses.length, gaps).map(({ starts, ends }) => new IdleTime(starts, ends));
  const usesOf = usesOfThreads(timeline, all);
  for (let call = 0; call < calls.count; call += 1) {
    const end = Number(calls.end_ns[call]);
    if (Number.isNaN(end)) continue;
    const start = Number(calls.start_ns[call]);
    let ns = 0;
    for (const use of usesOf[Number(calls.thread[call])] ?? []) ns += idle[use]?.within(start, end) ?? 0;
    if (ns > 0) tally(counts, Number(calls.text[call]), ns);
  }
  return named(counts, timeline);
}

/** The same of single gaps, a few of them. */
export function hostInEach(timeline: Timeline, all: Gaps, positions: readonly number[]): HostInGaps[] {
  const { calls } = timeline;
  const { gaps } = all;
  if (calls.count === 0) return positions.map(() => ({ calls: null, null_reason: NO_CALLS }));
  const few = positions.map((gap) => ({
    start: Number(gaps.start_ns[gap]),
    end: Number(gaps.end_ns[gap]),
    use: Number(gaps.use[gap]),
    counts: new Map() as Tally,
  }));
  const usesOf = usesOfThreads(timeline, all).map((uses) => new Set(uses));
  const last = few.reduce((latest, { end }) => Math.max(latest, end), Number.NEGATIVE_INFINITY);
  for (let call = 0; call < calls.count && Number(calls.start_ns[call]) < last; call += 1) {
    const start = Number(calls.start_ns[call]);
    const end = Number(calls.end_ns[call]);
    for (const gap of few)
      if (start < gap.end && end > gap.start && usesOf[Number(calls.thread[call])]?.has(gap.use))
        tally(gap.counts, Number(calls.text[call]), Math.min(end, gap.end) - Math.max(start, gap.start));
  }
  return few.map(({ counts }) => named(counts, timeline));
}
