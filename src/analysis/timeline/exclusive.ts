import type { Timeline } from "../../model/timeline.ts";
import { KERNEL } from "./lanes.ts";

/** Rows that cannot have run as long as recorded. */
export interface ImpossibleRows {
  readonly count: number;
  /** Recorded time that is taken off. */
  readonly clipped_ns: number;
  /** The same of kernels. */
  readonly kernel_count: number;
  readonly kernel_clipped_ns: number;
  /** First one in order of start; null for none. */
  readonly first: number | null;
  /** The one that loses most. */
  readonly worst: number | null;
}

export interface LaneTimes {
  /** Ends of rows; of impossible ones the start of the next row on their stream. */
  readonly end_ns: Float64Array;
  /** Of kernels: time in which no earlier kernel of their stream still runs. 0 for other rows. */
  readonly exclusive_ns: Float64Array;
  readonly impossible: ImpossibleRows;
}

/**
 * Ends and exclusive times of all rows. On one stream a row that ends after the end of the next one (by more than the
 * tick) was not recorded rightly: under programmatic dependent launch the next one may start early, but never ends
 * first. Such a row is clipped at the start of the next. A row is held against the nearest later one that is itself
 * possible, so that one wrong row does not hide another. Rows without a stream are taken as they are.
 *
 * @param mask rows to count; null: all. Ends and exclusive times are of all rows either way.
 */
export function laneTimes(timeline: Timeline, mask: Uint8Array | null = null): LaneTimes {
  const { rows, lanes, tick_ns } = timeline;
  const { start_ns, end_ns, lane: laneOf, kind } = rows;
  let ends = end_ns;
  const ordered = Uint8Array.from(lanes, ({ stream }) => (stream === null || !timeline.has_starts ? 0 : 1));
  const possibleEnd = new Float64Array(lanes.length).fill(Number.POSITIVE_INFINITY);
  const nextStart = new Float64Array(lanes.length);
  const found = { count: 0, clipped_ns: 0, kernel_count: 0, kernel_clipped_ns: 0 };
  let first: number | null = null;
  let worst: number | null = null;
  let worstNs = -1;
  for (let row = rows.count - 1; row >= 0; row -= 1) {
    const lane = Number(laneOf[row]);
    if (ordered[lane] === 0) continue;
    const start = Number(start_ns[row]);
    const end = Number(end_ns[row]);
    if (end > Number(possibleEnd[lane]) + tick_ns) {
      const clipped = end - Number(nextStart[lane]);
      if (ends === end_ns) ends = end_ns.slice();
      ends[row] = Number(nextStart[lane]);
      if (mask === null || mask[row] === 1) {
        found.count += 1;
        found.clipped_ns += clipped;
        if (kind[row] === KERNEL) {
          found.kernel_count += 1;
          found.kernel_clipped_ns += clipped;
        }
        first = row;
        if (clipped >= worstNs) {
          worst = row;
          worstNs = clipped;
        }
      }
    } else possibleEnd[lane] = end;
    nextStart[lane] = start;
  }
  const exclusive_ns = exclusiveOf(timeline, ends, ordered);
  return { end_ns: ends, exclusive_ns, impossible: { ...found, first, worst } };
}

function exclusiveOf({ rows, lanes }: Timeline, ends: Float64Array, ordered: Uint8Array): Float64Array {
  const exclusive = new Float64Array(rows.count);
  const last = new Float64Array(lanes.length).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < rows.count; row += 1) {
    if (rows.kind[row] !== KERNEL) continue;
    const lane = Number(rows.lane[row]);
    const start = Number(rows.start_ns[row]);
    const end = Number(ends[row]);
    const before = ordered[lane] === 1 ? Number(last[lane]) : Number.NEGATIVE_INFINITY;
    exclusive[row] = Math.max(0, end - Math.max(start, before));
    if (end > before) last[lane] = end;
  }
  return exclusive;
}
