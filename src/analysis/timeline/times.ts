import { byNumberDescending, byText, inOrder } from "../../base/order.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type GpuUse, GRAPH, gpuUsesOf, KERNEL, MEMCPY, MEMSET } from "./lanes.ts";

/** A number of times that may be missing, and why. */
export interface KnownNs {
  readonly ns: number | null;
  readonly null_reason: string | null;
}

/** Copies, sets or whole graphs of one name. */
export interface ActivityTimes {
  readonly name: string;
  readonly count: number;
  readonly ns: number;
  /** Null where no row of them says how much. */
  readonly bytes: number | null;
}

export interface UseTimes extends GpuUse {
  readonly kernels: number;
  readonly streams: number;
  readonly busy: KnownNs;
  readonly span: KnownNs;
}

/** Exact sums in nanoseconds. What each means: docs/timelines.md. */
export interface TimelineTimes {
  /** Kernel rows; whole graphs are none. */
  readonly kernels: number;
  readonly distinct_names: number;
  /** end - start as recorded; overlap counts twice. */
  readonly kernel_sum_ns: number;
  /** Kernels of each stream without the time in which an earlier kernel of the stream still runs. */
  readonly kernel_exclusive: KnownNs;
  readonly kernel_union: KnownNs;
  /** Kernels, copies, sets and whole graphs: union for each (process or rank, device), summed over them. */
  readonly busy: KnownNs;
  /** The same rows as one union over everything in the file. */
  readonly busy_all: KnownNs;
  readonly first_start_ns: number | null;
  readonly last_end_ns: number | null;
  /** First start to last end of the same rows. */
  readonly span: KnownNs;
  /** Spans of the GPU uses minus their busy times, summed. */
  readonly idle: KnownNs;
  readonly copies: readonly ActivityTimes[];
  readonly sets: readonly ActivityTimes[];
  readonly graphs: readonly ActivityTimes[];
  /** Neighbouring kernels of a stream of which the second starts before the first has ended. */
  readonly overlap_pairs: number;
  /** Time in which kernels of different streams of a GPU run at once, each further one counted. */
  readonly kernel_overlap_between_streams: KnownNs;
  /** The same of all GPU work. */
  readonly overlap_between_streams: KnownNs;
  readonly largest_kernel: { readonly row: number; readonly name: string; readonly ns: number } | null;
  readonly gpu_uses: readonly UseTimes[];
}

/** Union of intervals that come in order of start. */
class Union {
  ns = 0;
  first = Number.NaN;
  last = Number.NEGATIVE_INFINITY;

  /** Gives the part of the interval that no earlier one covers. */
  add(start: number, end: number): number {
    if (Number.isNaN(this.first)) this.first = start;
    const own = Math.max(0, end - Math.max(start, this.last));
    this.ns += own;
    if (end > this.last) this.last = end;
    return own;
  }
}

const unions = (count: number): Union[] => Array.from({ length: count }, () => new Union());
const sum = (list: readonly Union[]): number => list.reduce((total, { ns }) => total + ns, 0);

class Activities {
  readonly #timeline: Timeline;
  readonly #byName = new Map<number, { count: number; ns: number; bytes: number | null }>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  add(row: number, ns: number): void {
    const { rows } = this.#timeline;
    const name = Number(rows.name[row]);
    const entry = this.#byName.get(name) ?? { count: 0, ns: 0, bytes: null };
    this.#byName.set(name, entry);
    entry.count += 1;
    entry.ns += ns;
    const bytes = Number(rows.bytes[row]);
    if (!Number.isNaN(bytes)) entry.bytes = (entry.bytes ?? 0) + bytes;
  }

  list(): ActivityTimes[] {
    return [...this.#byName]
      .map(([name, entry]) => ({ name: this.#timeline.names[name]?.display ?? "", ...entry }))
      .sort(
        inOrder(
          byNumberDescending((entry) => entry.ns),
          byText((entry) => entry.name),
        ),
      );
  }
}

const known = (ns: number): KnownNs => ({ ns, null_reason: null });
const unknown = (reason: string): KnownNs => ({ ns: null, null_reason: reason });

/** Why nothing can be said that needs starts; null where it can. */
export function startsReason(timeline: Timeline): string | null {
  if (timeline.sums !== null) return "a summary by name has no start times";
  return timeline.has_starts ? null : "start times are absent or too coarse";
}

const NO_ROWS = "no GPU activity was recorded";

/** Which rows to take, and their ends where they are not those recorded. */
export interface RowView {
  readonly mask: Uint8Array | null;
  readonly end_ns: Float64Array;
}

/**
 * Times of one timeline, as recorded, or of a view of it. Linear; a summary by name (`sums`) gives kernel count and sum
 * only.
 */
export function timesOf(timeline: Timeline, view: RowView | null = null): TimelineTimes {
  const { rows, lanes } = timeline;
  const mask = view?.mask ?? null;
  const ends = view?.end_ns ?? rows.end_ns;
  const { uses, useOfLane } = gpuUsesOf(timeline);
  const [all, ofUse, kernelsOfUse] = [new Union(), unions(uses.length), unions(uses.length)];
  const [ofLane, kernelsOfLane] = [unions(lanes.length), unions(lanes.length)];
  const lastKernelEnd = new Float64Array(lanes.length).fill(Number.NEGATIVE_INFINITY);
  const kernelsByUse = new Uint32Array(uses.length);
  const names = new Set<number>();
  const [copies, sets, graphs] = [new Activities(timeline), new Activities(timeline), new Activities(timeline)];
  let [kernels, kernelSum, unordered, pairs, largest, largestNs] = [0, 0, 0, 0, -1, -1];
  for (let row = 0; row < rows.count; row += 1) {
    if (mask !== null && mask[row] === 0) continue;
    const start = Number(rows.start_ns[row]);
    const end = Number(ends[row]);
    const lane = Number(rows.lane[row]);
    const use = Number(useOfLane[lane]);
    const kind = rows.kind[row];
    all.add(start, end);
    ofUse[use]?.add(start, end);
    ofLane[lane]?.add(start, end);
    if (kind === MEMCPY) copies.add(row, end - start);
    else if (kind === MEMSET) sets.add(row, end - start);
    else if (kind === GRAPH) graphs.add(row, end - start);
    if (kind !== KERNEL) continue;
    kernels += 1;
    kernelSum += end - start;
    kernelsByUse[use] = Number(kernelsByUse[use]) + 1;
    names.add(Number(rows.name[row]));
    if (end - start > largestNs) {
      largest = row;
      largestNs = end - start;
    }
    kernelsOfUse[use]?.add(start, end);
    // Without a stream no order is known.
    if (lanes[lane]?.stream === null) {
      unordered += end - start;
      continue;
    }
    if (start < Number(lastKernelEnd[lane])) pairs += 1;
    lastKernelEnd[lane] = end;
    kernelsOfLane[lane]?.add(start, end);
  }
  for (const { launches, total_ns, name } of timeline.sums ?? []) {
    kernels += launches;
    kernelSum += total_ns;
    names.add(name);
  }
  const starts = startsReason(timeline);
  const reason = starts ?? (Number.isNaN(all.first) ? NO_ROWS : null);
  const when = (ns: () => number): KnownNs => (starts === null ? known(ns()) : unknown(starts));
  const withRows = (ns: () => number): KnownNs => (reason === null ? known(ns()) : unknown(reason));
  const streams = new Map<number, number>();
  for (const [lane, union] of ofLane.entries())
    if (union.ns > 0 || !Number.isNaN(union.first)) {
      const use = Number(useOfLane[lane]);
      streams.set(use, (streams.get(use) ?? 0) + (lanes[lane]?.stream === null ? 0 : 1));
    }
  const spanOf = (union: Union): number => union.last - union.first;
  const used = ofUse.filter((union) => !Number.isNaN(union.first));
  return {
    kernels,
    distinct_names: names.size,
    kernel_sum_ns: kernelSum,
    kernel_exclusive: when(() => sum(kernelsOfLane) + unordered),
    kernel_union: when(() => sum(kernelsOfUse)),
    busy: when(() => sum(ofUse)),
    busy_all: when(() => all.ns),
    first_start_ns: reason === null ? all.first : null,
    last_end_ns: reason === null ? all.last : null,
    span: withRows(() => spanOf(all)),
    idle: withRows(() => used.reduce((total, union) => total + spanOf(union) - union.ns, 0)),
    copies: copies.list(),
    sets: sets.list(),
    graphs: graphs.list(),
    overlap_pairs: starts === null ? pairs : 0,
    kernel_overlap_between_streams: when(() => sum(kernelsOfLane) + unordered - sum(kernelsOfUse)),
    overlap_between_streams: when(() => sum(ofLane) - sum(ofUse)),
    largest_kernel:
      largest < 0
        ? null
        : { row: largest, name: timeline.names[Number(rows.name[largest])]?.display ?? "", ns: largestNs },
    gpu_uses: uses.map((use, position) => {
      const union = ofUse[position] ?? new Union();
      return {
        ...use,
        kernels: Number(kernelsByUse[position]),
        streams: streams.get(position) ?? 0,
        busy: when(() => union.ns),
        span: Number.isNaN(union.first) ? unknown(reason ?? NO_ROWS) : withRows(() => spanOf(union)),
      };
    }),
  };
}
