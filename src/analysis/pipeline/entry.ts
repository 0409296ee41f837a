import { isCollectiveKernel, NEVER_REPLAYED } from "../../model/collective.ts";
import type { CollectiveTimes } from "../../model/collective-times.ts";
import type { Finding } from "../../model/finding.ts";
import { baseName } from "../../model/kernel-name.ts";
import type { Cluster, KernelEntry, Shape } from "../../model/result.ts";
import { entryOf, TOLD_BY_TIMELINE } from "../entry.ts";
import type { FamilyIndex } from "../families.ts";
import type { StageMatch } from "../stages/index.ts";
import type { LaunchRows, RankedKernel } from "../timeline/ranking.ts";
import { shortened } from "../timeline/refusal.ts";
import { timingOf } from "../timing.ts";
import { analyzeLaunch, type LaunchAnalysis } from "../verdict.ts";
import type { JoinedKernel } from "./join.ts";
import { type JoinedCluster, medianItem } from "./joined.ts";
import type { TimelineRow } from "./planned.ts";
import { uncounted } from "./uncounted.ts";

/**
 * A launch under ncu runs alone, at other clocks and with a cold cache; further apart than this the counters may be of
 * other work than the timeline's. Not verified on many programs: the clusters of two programs on an H200 are within 0.95 to 1.10.
 */
const RATIO_MIN = 0.5;
const RATIO_MAX = 2;
/** ncu adds this much to a launch, whatever the kernel: 1.1 to 2.4 us for launches below 10 us (H200, ncu 2025.3.1). */
const ADDED_US = 3;
/** Peaks are exact, clocks of memory are not. */
const OVER_PEAK = 1.05;

/** What a kernel's verdict rests on beside its launches. */
export interface EntryTotals {
  /** Why shares are null. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly busyUs: number | null;
  readonly hasReports: boolean;
  /** By name key. */
  readonly collectives: ReadonlyMap<string, CollectiveTimes>;
  /** Why the plan left kernels out, by the name shown. */
  readonly leftOut: ReadonlyMap<string, string>;
}

export interface PipelineEntry {
  readonly entry: KernelEntry;
  /** Launches of the clusters that have counters. */
  readonly covered: readonly LaunchRows[];
}

/** A kernel of the timeline with the verdict of its heaviest cluster, where that has counters. */
export function pipelineEntry(
  joined: JoinedKernel,
  stage: StageMatch,
  totals: EntryTotals,
  index: FamilyIndex,
): PipelineEntry {
  const { kernel } = joined;
  const { names } = kernel;
  const target = names.function ?? baseName(names.display);
  const clusters = (joined.shapes ?? []).flatMap((shape) => shape.clusters);
  const heaviest = clusters.reduce<JoinedCluster | null>(
    (best, one) => (best === null || one.cluster.exclusive_us > best.cluster.exclusive_us ? one : best),
    null,
  );
  const analyses = new Map<JoinedCluster, LaunchAnalysis>();
  for (const one of clusters) {
    const item = medianItem(one);
    if (item !== null) {
      analyses.set(one, analyzeLaunch(item.launch, item.input.report, index, kernel.share_of_busy));
    }
  }
  const measured = heaviest === null ? null : medianItem(heaviest);
  const reason = withoutCounters(joined, totals);
  const item = measured ?? uncounted(names, reason);
  const own = heaviest === null ? undefined : analyses.get(heaviest);
  const saving = savingUs(kernel, clusters, analyses);
  const { busyUs } = totals;
  const savingOfBusy = saving === null || busyUs === null || busyUs <= 0 ? null : saving / busyUs;
  // The level is that of the whole saving, of which the heaviest cluster is a part.
  const distance = own?.judgement.headroom.distance_with_launch_floor ?? null;
  const fraction = savingOfBusy !== null && distance !== null && distance > 0 ? savingOfBusy / distance : null;
  const analysis =
    own === undefined || fraction !== null ? analyzeLaunch(item.launch, item.input.report, index, fraction) : own;
  const collective = totals.collectives.get(kernel.key.key) ?? null;
  const base = entryOf({
    item,
    key: kernel.key,
    analysis,
    timing: kernel.timing,
    shapes: (joined.shapes ?? []).map((shape) => shapeOf(shape, kernel.exclusive_us, analyses)),
    shareOfReport: null,
    shareReason: "the timeline tells the share of the pipeline",
    stage,
  });
  const reasons = { ...base.detail.null_reasons };
  for (const path of TOLD_BY_TIMELINE) delete reasons[path];
  if (kernel.share_of_busy === null) reasons.fraction_of_pipeline = totals.reasons.busy_us ?? "busy time is not known";
  if (kernel.share_of_wall === null) {
    reasons["detail.share_of_wall"] = totals.reasons.wall_us ?? "the span is not known";
  }
  if (savingOfBusy === null)
    reasons["detail.saving_of_busy"] = saving === null ? reason : (totals.reasons.busy_us ?? "busy time is not known");
  if (saving === null) reasons["detail.saving_us"] = reason;
  if (measured === null) reasons["detail.launch"] = reason;
  if (collective !== null) {
    delete reasons["detail.collective"];
    const why = collective.null_reason;
    if (why !== null) {
      for (const field of ["transfer_us", "waiting_us"]) reasons[`detail.collective.${field}`] = why;
    }
  }
  if (kernel.phases === null) reasons["detail.phases"] = totals.reasons.phases ?? "steps were not recognised";
  const entry: KernelEntry = {
    ...base,
    target,
    fraction_of_pipeline: kernel.share_of_busy,
    detail: {
      ...base.detail,
      launch: measured === null ? null : base.detail.launch,
      share_of_wall: kernel.share_of_wall,
      exclusive_us: kernel.exclusive_us,
      saving_us: saving,
      saving_of_busy: savingOfBusy,
      collective,
      phases: kernel.phases === null ? null : kernel.phases.map((phase) => ({ ...phase })),
      null_reasons: reasons,
    },
    findings: [
      ...base.findings,
      ...differing(joined, target),
      ...mismatches(joined, target),
      ...doubts(clusters, analyses, target),
    ],
  };
  return { entry, covered: coveredLaunches(joined) };
}

/** Launches of the clusters that have counters. */
export const coveredLaunches = ({ shapes }: JoinedKernel): LaunchRows[] =>
  (shapes ?? [])
    .flatMap(({ clusters }) => clusters)
    .flatMap(({ by, cluster }) => (by === null ? [] : cluster.launches));

function withoutCounters({ kernel, counted, mismatched }: JoinedKernel, totals: EntryTotals): string {
  if (counted === null && isCollectiveKernel(kernel.names)) return NEVER_REPLAYED;
  const planned = counted === null ? totals.leftOut.get(kernel.names.display) : undefined;
  if (planned !== undefined) return `not measured: ${planned}`;
  if (!totals.hasReports) return "no counters were taken: a timeline alone shows times";
  if (counted === null) return "no launch of it got counters";
  if (mismatched.length > 0) {
    return "shape_mismatch: launches of it got counters, but none of the shape and duration that take most of its time";
  }
  return "no launch with counters is of the shape and duration that take most of its time";
}

/**
 * Amdahl for one kernel: time of each measured cluster times its distance to the roof; null where none is measured.
 * Launches that overlap on several streams return no more than the time in which any of them runs, so each counts by
 * that part: the saving is never above the kernel's own part of the busy time.
 */
function savingUs(
  { exclusive_us: exclusive, running_us: running }: RankedKernel,
  clusters: readonly JoinedCluster[],
  analyses: ReadonlyMap<JoinedCluster, LaunchAnalysis>,
): number | null {
  let saved: number | null = null;
  for (const one of clusters) {
    const distance = analyses.get(one)?.judgement.headroom.distance_with_launch_floor ?? null;
    if (distance !== null) saved = (saved ?? 0) + one.cluster.exclusive_us * Math.max(0, distance);
  }
  const overlaps = running !== null && running < exclusive;
  return saved === null || !overlaps ? saved : saved * (running / exclusive);
}

function ncuMedianUs({ items }: JoinedCluster): number | null {
  return timingOf(
    items.flatMap(({ durationUs }) => durationUs ?? []),
    "ncu",
  ).median_us;
}

/** Of launches that are known one by one the median of their own ratios. */
function ratioOf(one: JoinedCluster): number | null {
  const { items, timelineUs } = one;
  if (timelineUs !== undefined) {
    const ratios = items.flatMap(({ durationUs }, at) => {
      const us = timelineUs[at] ?? 0;
      return durationUs === null || us <= 0 ? [] : durationUs / us;
    });
    return timingOf(ratios, "ncu").median_us;
  }
  const [ncu, timeline] = [ncuMedianUs(one), one.cluster.timing.median_us];
  return ncu === null || timeline === null || timeline <= 0 ? null : ncu / timeline;
}

function shapeOf(
  { shape, clusters }: NonNullable<JoinedKernel["shapes"]>[number],
  kernelUs: number,
  analyses: ReadonlyMap<JoinedCluster, LaunchAnalysis>,
): Shape {
  const { grid, block } = shape;
  return {
    grid: grid === null ? null : [grid[0], grid[1], grid[2]],
    block: block === null ? null : [block[0], block[1], block[2]],
    shared_memory_usage_bytes: shape.shared_memory_bytes,
    timing: shape.timing,
    clusters: clusters.map((one) => clusterOf(one, kernelUs, analyses.get(one))),
  };
}

function clusterOf(one: JoinedCluster, kernelUs: number, analysis: LaunchAnalysis | undefined): Cluster {
  const { cluster, items, by } = one;
  return {
    timing: cluster.timing,
    median_launch: medianItem(one)?.launch.index ?? null,
    launches: items.map(({ launch }) => launch.index).sort((a, b) => a - b),
    joined_by: by,
    ncu_median_us: ncuMedianUs(one),
    ncu_over_timeline: ratioOf(one),
    roofline: analysis?.roofline ?? null,
    roofline_null_reason: analysis === undefined ? "no counters" : analysis.judgement.roofline_null_reason,
    limiter: analysis?.judgement.limiter ?? "unknown",
    memory_bw_utilization: analysis?.memory_bw_utilization ?? null,
    compute_utilization: analysis?.judgement.compute_utilization ?? null,
    sm_occupancy: analysis?.sm_occupancy ?? null,
    tflops: analysis?.tflops ?? null,
    share_of_kernel: kernelUs > 0 ? cluster.exclusive_us / kernelUs : null,
  };
}

/** The runs of timeline and counters launched different work under the same number. */
function differing({ differs }: JoinedKernel, target: string): Finding[] {
  if (differs === null) return [];
  const { item, ordinal, expected } = differs;
  const { grid, block } = item.launch;
  const shape = (one: Pick<TimelineRow, "grid" | "block">): string =>
    `grid ${one.grid?.join("x") ?? "unknown"}, block ${one.block?.join("x") ?? "unknown"}`;
  const said =
    ordinal === null
      ? "more launches were measured than were asked for"
      : expected === null
        ? `the timeline has no launch number ${ordinal}`
        : `launch number ${ordinal} has ${shape({ grid, block })} under ncu, and ${shape(expected)} in the timeline`;
  return [
    {
      code: "runs_differ",
      severity: "warning",
      message: `the run that took the counters of ${shortened(target)} was not the same as that of the timeline (${said}): its launches are joined by shape and duration`,
      launch: item.launch.index,
      evidence: {
        ordinal,
        ncu_grid: grid?.join("x") ?? null,
        ncu_block: block?.join("x") ?? null,
        timeline_grid: expected?.grid?.join("x") ?? null,
        timeline_block: expected?.block?.join("x") ?? null,
      },
    },
  ];
}

function mismatches({ mismatched, kernel }: JoinedKernel, target: string): Finding[] {
  const [first] = mismatched;
  if (first === undefined) return [];
  return [
    {
      code: "shape_mismatch",
      severity: "warning",
      message: `${mismatched.length} of the launches of ${shortened(target)} with counters are of no shape and duration that the timeline has: they are not used`,
      launch: first.launch.index,
      evidence: { kernel: shortened(kernel.key.key), launches: mismatched.length, duration_us: first.durationUs },
    },
  ];
}

/** Where counters and timeline do not seem to be of the same work. */
function doubts(
  clusters: readonly JoinedCluster[],
  analyses: ReadonlyMap<JoinedCluster, LaunchAnalysis>,
  target: string,
): Finding[] {
  return clusters.flatMap((one): Finding[] => {
    const [ratio, item, analysis] = [ratioOf(one), medianItem(one), analyses.get(one)];
    const position = item === null ? -1 : one.items.indexOf(item);
    const median = one.timelineUs?.[position] ?? one.cluster.timing.median_us;
    if (ratio === null || item === null || median === null) return [];
    const found: Finding[] = [];
    if (ratio < RATIO_MIN || (ratio - RATIO_MAX) * median > ADDED_US) {
      found.push({
        code: "ncu_time_differs",
        severity: "warning",
        message: `launches of ${shortened(target)} took ${ratio.toFixed(2)} times as long under ncu as in the timeline: their counters may be of other conditions`,
        launch: item.launch.index,
        evidence: {
          timeline_us: median,
          ncu_us: ncuMedianUs(one),
          ratio,
          expected_min: RATIO_MIN,
          expected_max: RATIO_MAX,
        },
      });
    }
    const memory = analysis?.judgement.memory;
    const [read, written, peak] = [memory?.dram_bytes_read, memory?.dram_bytes_written, memory?.peak_dram_bytes_per_s];
    if (typeof read === "number" && typeof written === "number" && typeof peak === "number") {
      const rate = (read + written) / (median / 1e6);
      if (rate > OVER_PEAK * peak) {
        found.push({
          code: "dram_bytes_do_not_fit",
          severity: "warning",
          message: `the DRAM bytes that ncu counted for ${shortened(target)} do not fit into its time in the timeline: ${(rate / 1e12).toFixed(2)} TB/s of ${(peak / 1e12).toFixed(2)}; with a warm cache it moves less`,
          launch: item.launch.index,
          evidence: { bytes: read + written, timeline_us: median, peak_bytes_per_s: peak },
        });
      }
    }
    return found;
  });
}
