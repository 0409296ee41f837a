import { byNumber, byNumberDescending, inOrder } from "../../base/order.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type GpuUse, gpuUsesOf } from "./lanes.ts";
import type { Selection } from "./window.ts";

/**
 * Times in which a GPU (as one process or rank used it) ran nothing, by column: there may be one after every row. Of one
 * GPU use in order of time.
 */
export interface GapColumns {
  readonly count: number;
  /** Position of the GPU use (`gpuUsesOf`). */
  readonly use: Uint32Array;
  readonly start_ns: Float64Array;
  readonly end_ns: Float64Array;
  /** Row that ended last before it, and the row that ends it. */
  readonly after: Uint32Array;
  readonly before: Uint32Array;
}

export interface Gaps {
  readonly uses: readonly GpuUse[];
  readonly gaps: GapColumns;
  readonly idle_ns: number;
  /** First start to last end of what was selected, occurrence by occurrence, summed over the GPU uses. */
  readonly wall_ns: number;
}

class GapsBuilder {
  count = 0;
  #size = 1024;
  #use = new Uint32Array(this.#size);
  #start = new Float64Array(this.#size);
  #end = new Float64Array(this.#size);
  #after = new Uint32Array(this.#size);
  #before = new Uint32Array(this.#size);

  add(use: number, start: number, end: number, after: number, before: number): void {
    if (this.count === this.#size) this.#grow();
    this.#use[this.count] = use;
    this.#start[this.count] = start;
    this.#end[this.count] = end;
    this.#after[this.count] = after;
    this.#before[this.count] = before;
    this.count += 1;
  }

  finish(): GapColumns {
    const { count } = this;
    return {
      count,
      use: this.#use.subarray(0, count),
      start_ns: this.#start.subarray(0, count),
      end_ns: this.#end.subarray(0, count),
      after: this.#after.subarray(0, count),
      before: this.#before.subarray(0, count),
    };
  }

  #grow(): void {
    this.#size *= 2;
    const words = (column: Uint32Array): Uint32Array<ArrayBuffer> => {
      const larger = new Uint32Array(this.#size);
      larger.set(column);
      return larger;
    };
    const doubles = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const larger = new Float64Array(this.#size);
      larger.set(column);
      return larger;
    };
    this.#use = words(this.#use);
    this.#start = doubles(this.#start);
    this.#end = doubles(this.#end);
    this.#after = words(this.#after);
    this.#before = words(this.#before);
  }
}

/** Where the selected rows of a GPU use lie: disjoint, in order of time. */
type Spans = [start: number, end: number][];

function spansOf(timeline: Timeline, ends: Float64Array, { mask, occurrenceOf }: Selection): Spans[] {
  const { rows } = timeline;
  const { uses, useOfLane } = gpuUsesOf(timeline);
  const found = uses.map(() => new Map<number, [number, number]>());
  for (let row = 0; row < rows.count; row += 1) {
    if (mask !== null && mask[row] === 0) continue;
    const occurrence = occurrenceOf === null ? 0 : occurrenceOf(row);
    const own = found[Number(useOfLane[Number(rows.lane[row])])];
    const [start, end] = [Number(rows.start_ns[row]), Number(ends[row])];
    const span = own?.get(occurrence);
    if (span === undefined) own?.set(occurrence, [start, end]);
    else if (end > span[1]) span[1] = end;
  }
  return found.map((own) => {
    const spans: Spans = [];
    for (const [start, end] of [...own.values()].sort(([a], [b]) => a - b)) {
      const last = spans.at(-1);
      if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
      else spans.push([start, end]);
    }
    return spans;
  });
}

/**
 * Idle gaps of every GPU use inside the spans of the selected rows. Rows outside of the selection count as work: a GPU
 * that runs something else is not idle. `ends`: ends of rows, impossible ones clipped.
 */
export function gapsOf(timeline: Timeline, ends: Float64Array, selection: Selection): Gaps {
  const { rows } = timeline;
  const { uses, useOfLane } = gpuUsesOf(timeline);
  const spans = spansOf(timeline, ends, selection);
  const at = new Uint32Array(uses.length);
  const last = new Float64Array(uses.length).fill(Number.NaN);
  const lastRow = new Uint32Array(uses.length);
  const gaps = new GapsBuilder();
  let idle = 0;
  for (let row = 0; row < rows.count; row += 1) {
    const use = Number(useOfLane[Number(rows.lane[row])]);
    const start = Number(rows.start_ns[row]);
    const end = Number(ends[row]);
    const before = Number(last[use]);
    if (start > before) {
      const own = spans[use] ?? [];
      let position = Number(at[use]);
      while (position < own.length && (own[position]?.[1] ?? 0) <= before) position += 1;
      at[use] = position;
      for (; position < own.length; position += 1) {
        const [from, to] = own[position] ?? [0, 0];
        if (from >= start) break;
        const [gapStart, gapEnd] = [Math.max(from, before), Math.min(to, start)];
        if (gapEnd <= gapStart) continue;
        gaps.add(use, gapStart, gapEnd, Number(lastRow[use]), row);
        idle += gapEnd - gapStart;
      }
    }
    if (!(end <= before)) {
      last[use] = end;
      lastRow[use] = row;
    }
  }
  let wall = 0;
  for (const own of spans) for (const [start, end] of own) wall += end - start;
  return { uses, gaps: gaps.finish(), idle_ns: idle, wall_ns: wall };
}

/** Positions of the largest gaps, largest first; equal ones by time, then GPU use. */
export function largestGaps(gaps: GapColumns, count: number): number[] {
  const length = (gap: number): number => Number(gaps.end_ns[gap]) - Number(gaps.start_ns[gap]);
  const longest = Float64Array.from({ length: gaps.count }, (_, gap) => length(gap)).sort();
  const least = longest[Math.max(0, gaps.count - count)] ?? Number.POSITIVE_INFINITY;
  const found: number[] = [];
  for (let gap = 0; gap < gaps.count; gap += 1) if (length(gap) >= least) found.push(gap);
  return found
    .sort(
      inOrder<number>(
        byNumberDescending(length),
        byNumber((gap) => Number(gaps.start_ns[gap])),
        byNumber((gap) => Number(gaps.use[gap])),
      ),
    )
    .slice(0, count);
}
