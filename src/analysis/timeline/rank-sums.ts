import type { Timing } from "../../model/result.ts";
import type { KernelSum, Timeline } from "../../model/timeline.ts";
import { type NameKey, nameKey } from "../names.ts";
import { exactSumUs } from "./exact.ts";
import { inRank } from "./rank-kernels.ts";
import type { RankedKernel, TimelineRanking } from "./ranking.ts";
import { finding } from "./refusal.ts";
import type { TimelineTimes } from "./times.ts";

const REASON = "a summary by name has totals only: no start times, no shapes, no copies and no single launches";

/** Fields of a ranking that a summary cannot fill. */
const MISSING = ["busy_us", "span_us", "wall_us", "idle", "phases", "overlap_on_streams", "overlap_between_streams_us"];

const inUs = (ns: number | null): number | null => (ns === null ? null : ns / 1000);

/** Of several rows (sizes, files) of one kernel: total and extremes add up, a median of all cannot be known. */
function timingOfSums(sums: readonly KernelSum[]): Timing {
  const n = sums.reduce((count, { launches }) => count + launches, 0);
  const total = sums.reduce((ns, { total_ns }) => ns + total_ns, 0);
  const extreme = (values: readonly (number | null)[], pick: (a: number, b: number) => number): number | null => {
    const known = values.flatMap((value) => value ?? []);
    return known.length < values.length ? null : inUs(known.reduce((a, b) => pick(a, b)));
  };
  const min = extreme(
    sums.map(({ min_ns }) => min_ns),
    Math.min,
  );
  const max = extreme(
    sums.map(({ max_ns }) => max_ns),
    Math.max,
  );
  const median = sums.length === 1 ? inUs(sums[0]?.median_ns ?? null) : null;
  return {
    source: "timeline",
    n,
    total_us: total / 1000,
    mean_us: n > 0 ? total / n / 1000 : null,
    median_us: median,
    p90_us: null,
    min_us: min,
    max_us: max,
    spread: median !== null && median > 0 && min !== null && max !== null ? (max - min) / median : null,
  };
}

/** Ranking of summaries by name (`nsys stats -r cuda_gpu_kern_sum`): by total. */
export function rankSums(
  timelines: readonly Timeline[],
  times: readonly TimelineTimes[],
  topN: number,
): Omit<TimelineRanking, "findings" | "window"> & { findings: TimelineRanking["findings"] } {
  const byKey = new Map<
    string,
    { key: NameKey; names: RankedKernel["names"]; sums: KernelSum[]; launches: number[] }
  >();
  for (const [timeline, { sums, names }] of timelines.entries())
    for (const sum of sums ?? []) {
      const own = names[sum.name];
      if (own === undefined) continue;
      const key = nameKey(own);
      const entry = byKey.get(key.key) ?? { key, names: own, sums: [], launches: timelines.map(() => 0) };
      byKey.set(key.key, entry);
      entry.sums.push(sum);
      entry.launches[timeline] = Number(entry.launches[timeline]) + sum.launches;
    }
  const kernels = [...byKey.values()].map(({ key, names, sums, launches }): Omit<RankedKernel, "share_of_kernels"> => {
    const timing = timingOfSums(sums);
    const total = timing.total_us ?? 0;
    return {
      key,
      names,
      timing,
      recorded_us: total,
      exclusive_us: total,
      running_us: null,
      exclusive_differs: false,
      clipped_launches: 0,
      share_of_busy: null,
      share_of_wall: null,
      launches_by_timeline: launches,
      phases: null,
      shapes: null,
      shapes_total: null,
    };
  });
  const ranked = inRank(kernels);
  const total = exactSumUs(ranked.map(({ recorded_us }) => recorded_us));
  return {
    times,
    launches: ranked.reduce((sum, { timing }) => sum + timing.n, 0),
    busy_us: null,
    span_us: null,
    wall_us: null,
    kernels_recorded_us: total,
    kernels_exclusive_us: total,
    overlap_between_streams_us: null,
    kernel_overlap_between_streams_us: null,
    overlap_on_streams: null,
    idle: null,
    phases: null,
    kernels: ranked.slice(0, topN),
    kernels_total: ranked.length,
    sources: [],
    activities: [],
    null_reasons: Object.fromEntries(
      [...MISSING, "kernel_overlap_between_streams_us", "kernels.shapes", "kernels.share_of_busy"].map((field) => [
        field,
        REASON,
      ]),
    ),
    findings: [
      finding(
        "summary_only",
        "info",
        `${REASON}; kernels are ranked by total time, overlap counted twice, and shares are of the time of all kernels`,
      ),
    ],
  };
}
