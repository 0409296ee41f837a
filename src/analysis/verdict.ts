import { ROLES } from "../hardware/roles.ts";
import type { Finding } from "../model/finding.ts";
import type { Launch } from "../model/launch.ts";
import type { Report } from "../model/report.ts";
import type { LaunchVerdict, RooflineClass } from "../model/result.ts";
import { ANALYSES } from "./analyses.ts";
import { bestPathOf } from "./best-path.ts";
import { bankConflicts, furtherCounters, registersOf } from "./counters.ts";
import { missingMetrics } from "./declaration.ts";
import { type Device, deviceOf, type LaunchFacts } from "./facts.ts";
import type { FamilyIndex } from "./families.ts";
import { findingsOf } from "./findings.ts";
import { achievedPath, type Flops, flopsOf, PEAK_SUFFIX, peakPath, TERA, tflopsByPrecision } from "./flops.ts";
import { headroomOf } from "./headroom.ts";
import { imbalanceOf } from "./imbalance.ts";
import { intensityOf } from "./intensity.ts";
import { latencyReasons } from "./latency.ts";
import { limiterOf, limitOf, setBy } from "./limiter.ts";
import { memoryOf, trafficOf } from "./memory.ts";
import { occupancyOf, sharedMemoryOf } from "./occupancy.ts";
import { classify, impedimentOf } from "./roofline.ts";
import { type Reading, Sheet } from "./sheet.ts";
import { stallsOf } from "./stalls.ts";
import { computeUtilization, memoryUtilization } from "./utilization.ts";

/** Everything one launch says about itself. Percentages are fractions. */
export interface LaunchAnalysis {
  readonly roofline: RooflineClass | null;
  readonly tflops: number | null;
  readonly memory_bw_utilization: number | null;
  readonly sm_occupancy: number | null;
  readonly shared_memory_usage_bytes: number | null;
  readonly warp_stall_reasons: Record<string, number> | null;
  readonly optimization_headroom: string | null;
  readonly verdict: LaunchVerdict;
  readonly findings: readonly Finding[];
  readonly device: Device;
}

const fraction = (pct: number | null): number | null => (pct === null ? null : pct / 100);

/** Rates and peaks of single precisions are fields of their own only where the result shows them. */
function dropInternalReasons(sheet: Sheet): void {
  for (const path of Object.keys(sheet.nullReasons)) {
    if (path.startsWith(peakPath(""))) delete sheet.nullReasons[path];
  }
}

function launchOf({ launch, sheet }: LaunchFacts, reportId: string | null): LaunchVerdict["launch"] {
  const path = "detail.launch";
  const said = <T>(name: string, value: T | null, why = "the report does not say"): T | null =>
    sheet.withheld !== null && value === null
      ? sheet.field<T>(`${path}.${name}`, () => null)
      : sheet.field<T>(`${path}.${name}`, (read) => value ?? read.because(why));
  const composite = launch.kind === "kernel" ? undefined : `a ${launch.kind} spans several kernels`;
  return {
    index: launch.index,
    report_id: said("report_id", reportId, "the report has no id"),
    kind: launch.kind,
    grid: said("grid", launch.grid === null ? null : [...launch.grid], composite),
    block: said("block", launch.block === null ? null : [...launch.block], composite),
    cluster_size: sheet.field(`${path}.cluster_size`, (read) => read.role("cluster_size")),
    process_id: said("process_id", launch.process_id),
    context_id: said("context_id", launch.context_id),
    stream_id: said("stream_id", launch.stream_id),
    device: said("device", launch.device),
    rank: said("rank", launch.rank, "nothing tells the rank of the process"),
    nvtx: launch.nvtx.map(({ name }) => name),
    failure: launch.failure,
  } as LaunchVerdict["launch"];
}

function peakTflops({ peaks }: Flops): LaunchVerdict["peak_tflops_by_precision"] {
  if (peaks.size === 0) return null;
  return Object.fromEntries(
    [...peaks]
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([precision, { value, source, estimated, citation }]) => {
        return [precision, { tflops: value / TERA, source, estimated, citation }];
      }),
  );
}

const tensorPaths = ({ paths }: Flops): LaunchVerdict["tensor_paths"] =>
  paths.map(({ column, precision, opsPerS, peak }) => ({
    metric: column.base,
    op: column.op,
    precision,
    sparsity: column.sparsity,
    ops_per_s: opsPerS,
    peak_ops_per_s: peak?.value ?? null,
    utilization: peak === null ? null : opsPerS / peak.value,
  }));

/** Blocks of the grid; nothing for several kernels measured as one. */
function gridBlocks({ launch, sheet }: LaunchFacts): number | null {
  if (launch.grid !== null) return launch.grid[0] * launch.grid[1] * launch.grid[2];
  return launch.kind === "kernel" ? sheet.number(ROLES.grid_blocks[0]) : null;
}

/**
 * Judges one launch by its counters. `pipelineFraction`: part of the GPU's busy time that all launches of its kernel
 * take, null without a pipeline. A failed launch is listed with every field null and its reason.
 */
export function analyzeLaunch(
  launch: Launch,
  report: Report,
  reportId: string | null,
  index: FamilyIndex,
  pipelineFraction: number | null = null,
): LaunchAnalysis {
  const withheld = launch.failure === null ? null : `the launch failed: ${launch.failure}`;
  const sheet = new Sheet(launch.metrics, launch.index, withheld);
  const facts: LaunchFacts = { launch, sheet, families: index.of(launch.metrics), device: deviceOf(launch, report) };

  const durationNs = sheet.field("wall_clock_us", (read) => read.role("duration_ns"));
  const smClock = sheet.field("detail.sm_clock_hz", (read) => read.role("sm_clock_hz"));
  const dramClock = sheet.field("detail.dram_clock_hz", (read) => read.role("dram_clock_hz"));
  const maximum = (path: string, role: "sm_clock_max_khz" | "dram_clock_max_khz"): number | null =>
    sheet.field(path, (read) => {
      const khz = read.role(role);
      return khz === null ? null : 1000 * khz;
    });

  const flops = flopsOf(facts, smClock, durationNs);
  const { dominant } = flops;
  const opsPerS = dominant === null ? null : (flops.achieved.get(dominant) ?? null);
  const traffic = trafficOf(facts, durationNs);
  const compute = computeUtilization(facts, flops);
  const memory = memoryUtilization(facts, traffic);
  const elapsed = sheet.field("elapsed_cycles", (read) => read.role("elapsed_cycles"));
  const { roofline, reason } = classify(compute, memory, impedimentOf(launch.failure, durationNs, elapsed));

  const shared = sharedMemoryOf(facts);
  const occupancy = occupancyOf(facts, shared.usage);
  const achieved = sheet.field("sm_occupancy", (read) => fraction(read.role("achieved_occupancy_pct")));
  const stalls = stallsOf(facts);
  const imbalance = imbalanceOf(facts);
  const waves = sheet.field("detail.waves_per_sm", (read) => read.role("waves"));

  const latencyInput = {
    durationNs,
    computePct: compute.pct,
    memoryPct: memory.pct,
    l1Pct: sheet.number(ROLES.l1_pct[0]),
    l2Pct: sheet.number(ROLES.l2_pct[0]),
    gridBlocks: gridBlocks(facts),
    smCount: ROLES.sm_count.map((name) => sheet.number(name)).find((count) => count !== null) ?? null,
    waves,
    imbalance: imbalance.imbalance,
    stallShares: stalls.shares,
    theoreticalOccupancy: occupancy.theoretical,
    achievedOccupancy: achieved,
  };
  const reasons = roofline === "latency-bound" ? latencyReasons(latencyInput) : [];
  const primary = reasons[0] ?? null;
  const counters = setBy(facts, compute);
  const ofCompute = limiterOf(counters, (counter) => sheet.number(`${counter}.avg.pct_of_peak_sustained_elapsed`));
  const limit = limitOf(roofline, compute.pct, memory.pct, ofCompute, primary);

  const bestPath = bestPathOf(flops, launch.names);
  const headroom = headroomOf({
    roofline,
    computePct: compute.pct,
    memoryPct: memory.pct,
    durationNs,
    pipelineFraction,
    opsPerS,
    bestPath,
    limiter: limit.limiter,
    primary,
    latency: latencyInput,
    occupancyLimits: occupancy.limiters,
  });

  const tflops = sheet.field("tflops", (read) => {
    if (dominant === null || opsPerS === null) return read.of<number>("detail.dominant_precision", null);
    return (read.of(achievedPath(dominant), opsPerS) ?? 0) / TERA;
  });
  const byPrecision = sheet.field("detail.tflops_by_precision", (read) => {
    for (const [precision, rate] of flops.achieved) if (rate > 0) read.of(achievedPath(precision), rate);
    return tflopsByPrecision(flops) ?? read.because("no operations were counted");
  });
  const peaks = sheet.field("detail.peak_tflops_by_precision", (read) => {
    for (const [precision, peak] of flops.peaks) read.of(peakPath(precision), peak);
    return peakTflops(flops) ?? read.because("neither counters nor the catalogue give a peak");
  });
  const { intensity, ridge, overAttainable } = intensityOf(facts, flops, traffic);
  const opsOf = (read: Reading): number | null =>
    dominant === null ? read.of<number>("detail.dominant_precision", null) : read.of(achievedPath(dominant), opsPerS);

  const path = "detail.headroom";
  const noVerdict = reason ?? "there is no verdict";
  const orReason = <T>(field: string, value: T | null, why: string, from?: (read: Reading) => void): T | null =>
    sheet.field(field, (read) => {
      if (value === null) return read.because(roofline === null ? noVerdict : why);
      from?.(read);
      return value;
    });
  const nearer = (read: Reading): void => {
    read.of("detail.compute_utilization", compute.pct);
    read.of("memory_bw_utilization", memory.pct);
  };
  const bestPeak = (read: Reading): void => {
    if (bestPath === null) return;
    if (bestPath.column === null) read.of(peakPath(bestPath.precision), bestPath.peak);
    else
      for (const name of [bestPath.column + PEAK_SUFFIX, ...(sheet.sources["detail.sm_clock_hz"]?.metrics ?? [])])
        read.number(name);
  };

  sheet.field("roofline", (read) => {
    if (roofline === null) return read.because(noVerdict);
    nearer(read);
    return roofline;
  });
  const same = (field: string, from: string): void => {
    const why = sheet.nullReasons[from];
    if (why !== undefined) sheet.nullReasons[field] = why;
  };
  same("detail.compute_metric", "detail.compute_utilization");
  same("detail.compute_basis", "detail.compute_utilization");
  same("detail.memory_metric", "memory_bw_utilization");
  same("detail.memory_basis", "memory_bw_utilization");
  same("detail.imbalance_metric", "detail.imbalance");

  const verdict: LaunchVerdict = {
    launch: launchOf(facts, reportId),
    roofline_null_reason: reason,
    limiter: limit.limiter,
    near: limit.near,
    compute_utilization: fraction(compute.pct),
    compute_metric: compute.metric,
    compute_basis: compute.basis,
    compute_utilization_set_by: counters,
    memory_metric: memory.metric,
    memory_basis: memory.basis,
    issue_slot_utilization: sheet.field("detail.issue_slot_utilization", (read) =>
      fraction(read.role("issue_slot_pct")),
    ),
    sm_clock_hz: smClock,
    sm_clock_max_hz: maximum("detail.sm_clock_max_hz", "sm_clock_max_khz"),
    dram_clock_hz: dramClock,
    dram_clock_max_hz: maximum("detail.dram_clock_max_hz", "dram_clock_max_khz"),
    tflops_by_precision: byPrecision,
    peak_tflops_by_precision: peaks,
    dominant_precision: dominant,
    fp16_vector_is_probably_moves: flops.probablyMoves,
    tensor_paths: tensorPaths(flops),
    arithmetic_intensity_flop_per_byte: intensity,
    ridge_point_flop_per_byte: ridge,
    achieved_over_attainable: overAttainable,
    memory: memoryOf(facts, traffic, smClock, fraction(memory.pct), opsOf),
    occupancy,
    shared_memory: { ...shared.fields, ...bankConflicts(facts) },
    registers: registersOf(facts),
    waves_per_sm: waves,
    imbalance: imbalance.imbalance,
    imbalance_metric: imbalance.metric,
    stalls,
    latency: {
      primary: orReason("detail.latency.primary", primary, "the launch is not latency-bound"),
      reasons,
    },
    headroom: {
      within_path: orReason(`${path}.within_path`, headroom.withinPath, noVerdict, nearer),
      to_best_path: orReason(
        `${path}.to_best_path`,
        headroom.toBestPath,
        bestPath === null
          ? "no faster path is known for this work"
          : "the roof in use is nearer than that of the faster path",
        (read) => {
          read.of("tflops", tflops);
          bestPeak(read);
          nearer(read);
        },
      ),
      best_path: orReason(
        `${path}.best_path`,
        bestPath === null
          ? null
          : {
              path: bestPath.path,
              path_in_use: bestPath.pathInUse,
              precision: bestPath.precision,
              peak_tflops: bestPath.peak / TERA,
              requires_precision_change: bestPath.requiresPrecisionChange,
            },
        "no faster path is known for this work",
        bestPeak,
      ),
      level: orReason(`${path}.level`, headroom.level, noVerdict),
      distance_with_launch_floor: orReason(
        `${path}.distance_with_launch_floor`,
        headroom.withLaunchFloor,
        noVerdict,
        (read) => {
          read.of(`${path}.within_path`, headroom.withinPath);
          read.of("wall_clock_us", durationNs);
        },
      ),
    },
    counters: furtherCounters(facts),
    hints: launch.hints.map((hint) => ({ ...hint, evidence: hint.evidence.map((item) => ({ ...item })) })),
    missing_metrics: missingMetrics(
      ANALYSES,
      (name) => sheet.number(name) !== null || sheet.text(name) !== null,
      (family) => withheld === null && facts.families.present.has(family),
    ),
    sources: sheet.sources,
    null_reasons: sheet.nullReasons,
  };
  orReason("optimization_headroom", headroom.text, noVerdict);
  dropInternalReasons(sheet);
  delete sheet.sources.elapsed_cycles;
  delete sheet.nullReasons.elapsed_cycles;

  return {
    roofline,
    tflops,
    memory_bw_utilization: fraction(memory.pct),
    sm_occupancy: achieved,
    shared_memory_usage_bytes: shared.usage,
    warp_stall_reasons: stalls.shares,
    optimization_headroom: headroom.text,
    verdict,
    findings: findingsOf({
      facts,
      flops,
      traffic,
      durationNs,
      stallSumOverLatency: stalls.sum_over_warp_latency,
      stallShares: stalls.shares,
    }),
    device: facts.device,
  };
}
