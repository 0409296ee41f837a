import type { LaunchRows, TimelineRanking } from "../timeline/ranking.ts";
import { timesOf } from "../timeline/times.ts";

/**
 * Share of the GPU's busy time in which at least one of the given launches runs: a union for each GPU use over the same
 * rows as the busy time, so never above 1. Null where the busy time is not known or 0.
 */
export function coverageOf(
  { busy_us: busy, sources }: Pick<TimelineRanking, "busy_us" | "sources">,
  covered: Iterable<LaunchRows>,
): number | null {
  if (busy === null || busy <= 0) return null;
  const masks = new Map<number, Uint8Array>();
  for (const { timeline, rows } of covered) {
    const count = sources[timeline]?.timeline.rows.count ?? 0;
    const mask = masks.get(timeline) ?? new Uint8Array(count);
    masks.set(timeline, mask);
    for (const row of rows) mask[row] = 1;
  }
  let ns = 0;
  for (const [position, mask] of masks) {
    const source = sources[position];
    if (source !== undefined) ns += timesOf(source.timeline, { mask, end_ns: source.lanes.end_ns }).busy.ns ?? 0;
  }
  return ns / 1000 / busy;
}
