import { ROLES, type Role } from "../hardware/roles.ts";
import type { Finding } from "../model/finding.ts";
import type { Launch } from "../model/launch.ts";
import type { Report } from "../model/report.ts";
import type { LaunchVerdict, RooflineClass } from "../model/result.ts";
import { bestPathOf } from "./best-path.ts";
import { type Device, deviceOf, type LaunchContext } from "./context.ts";
import { bankConflicts, registersOf } from "./counters.ts";
import { durationProblem } from "./duration.ts";
import { ELAPSED_SUFFIX, type FamilyIndex } from "./families.ts";
import { findingsOf } from "./findings.ts";
import { flopsOf, peakTflopsByPrecision, TERA, tensorPaths, tflopsByPrecision } from "./flops.ts";
import { type BestPath, type Headroom, headroomOf } from "./headroom.ts";
import { imbalanceOf } from "./imbalance.ts";
import { intensityOf } from "./intensity.ts";
import { type LatencyInput, latencyReasons } from "./latency.ts";
import { limiterOf, limitOf, setBy } from "./limiter.ts";
import { memoryOf, trafficOf } from "./memory.ts";
import { occupancyOf, sharedMemoryOf } from "./occupancy.ts";
import { classify, impedimentOf } from "./roofline.ts";
import { type Known, type Reading, Sheet } from "./sheet.ts";
import { stallsOf } from "./stalls.ts";
import { computeUtilization, memoryUtilization } from "./utilization.ts";

/** The fields of a verdict that hold judgements; what only lists the launch is added where the verdict is shown. */
export type Judgement = Omit<
  LaunchVerdict,
  "launch" | "counters" | "hints" | "missing_metrics" | "sources" | "null_reasons"
>;

/** Everything one launch says about itself. Percentages are fractions. */
export interface LaunchAnalysis {
  readonly context: LaunchContext;
  readonly roofline: RooflineClass | null;
  readonly tflops: number | null;
  readonly memory_bw_utilization: number | null;
  readonly sm_occupancy: number | null;
  readonly shared_memory_usage_bytes: number | null;
  readonly warp_stall_reasons: Record<string, number> | null;
  readonly optimization_headroom: string | null;
  readonly judgement: Judgement;
  readonly findings: readonly Finding[];
  readonly device: Device;
}

/** Blocks of the grid; nothing for several kernels measured as one. */
function gridBlocks({ launch, sheet }: LaunchContext): number | null {
  if (launch.grid !== null) return launch.grid[0] * launch.grid[1] * launch.grid[2];
  return launch.kind === "kernel" ? firstOf(sheet, "grid_blocks") : null;
}

function firstOf(sheet: Sheet, role: Role): number | null {
  for (const name of ROLES[role]) {
    const value = sheet.number(name);
    if (value !== null) return value;
  }
  return null;
}

const fraction = (pct: number | null): number | null => (pct === null ? null : pct / 100);

function maximumClock(sheet: Sheet, path: string, role: "sm_clock_max_khz" | "dram_clock_max_khz"): number | null {
  return sheet.field(path, (read) => {
    const khz = read.role(role);
    return khz === null ? null : 1000 * khz;
  }).value;
}

interface HeadroomSources {
  /** Why there is no verdict; null where there is one. */
  readonly noVerdict: string | null;
  /** Reads the utilisations that the distance is taken from. */
  readonly nearer: (read: Reading) => void;
  readonly work: Known<number>;
  readonly durationNs: Known<number>;
}

/** The headroom as the result shows it, with sources and reasons. */
function headroomFields(
  sheet: Sheet,
  headroom: Headroom,
  best: BestPath | null,
  { noVerdict, nearer, work, durationNs }: HeadroomSources,
): LaunchVerdict["headroom"] {
  const show = <T>(path: string, value: T | null, otherwise: string, from: (read: Reading) => void): T | null =>
    sheet.field(path, (read) => {
      if (value === null) return read.because(noVerdict ?? otherwise);
      from(read);
      return value;
    }).value;
  const bestPeak = (read: Reading): void => {
    for (const name of best?.metrics ?? []) read.number(name);
  };
  const noPath = "no faster path is known for this work";
  const noDistance = "there is no distance to a roof";
  show("optimization_headroom", headroom.text, noDistance, nearer);
  return {
    within_path: show("detail.headroom.within_path", headroom.withinPath, noDistance, nearer),
    to_best_path: show(
      "detail.headroom.to_best_path",
      headroom.toBestPath,
      best === null
        ? noPath
        : "no distance to the faster path: memory is the nearer roof, or its utilisation is not known",
      (read) => {
        read.of(work);
        bestPeak(read);
        nearer(read);
      },
    ),
    best_path: show(
      "detail.headroom.best_path",
      best === null
        ? null
        : {
            path: best.path,
            path_in_use: best.pathInUse,
            precision: best.precision,
            peak_tflops: best.peak / TERA,
            requires_precision_change: best.requiresPrecisionChange,
          },
      noPath,
      bestPeak,
    ),
    level: show("detail.headroom.level", headroom.level, noDistance, nearer),
    distance_with_launch_floor: show(
      "detail.headroom.distance_with_launch_floor",
      headroom.withLaunchFloor,
      noDistance,
      (read) => {
        nearer(read);
        read.of(durationNs);
      },
    ),
  };
}

/**
 * Judges one launch by its counters. `pipelineFraction`: part of the GPU's busy time that all launches of its kernel
 * take, null without a pipeline. A failed launch is listed with every field null and its reason.
 */
export function analyzeLaunch(
  launch: Launch,
  report: Report,
  index: FamilyIndex,
  pipelineFraction: number | null = null,
): LaunchAnalysis {
  const sheet = new Sheet(launch.metrics, launch.failure);
  const context: LaunchContext = {
    launch,
    sheet,
    families: index.of(launch.metrics),
    device: deviceOf(launch, report),
  };

  const durationNs = sheet.field("wall_clock_us", (read) => {
    const ns = read.role("duration_ns");
    const problem = ns === null ? null : durationProblem(ns);
    return problem === null ? ns : read.because(problem);
  });
  const smClock = sheet.field("detail.sm_clock_hz", (read) => read.role("sm_clock_hz"));
  const flops = flopsOf(context, smClock, durationNs);
  const traffic = trafficOf(context, durationNs);
  const compute = computeUtilization(context, flops);
  const memory = memoryUtilization(context, traffic);
  const [computePct, memoryPct] = [compute.utilization.pct, memory.utilization.pct];
  const impediment = impedimentOf(launch.failure, firstOf(sheet, "duration_ns"), firstOf(sheet, "elapsed_cycles"));
  const { roofline, reason } = classify(compute.utilization, memory.utilization, impediment);

  const shared = sharedMemoryOf(context);
  const occupancy = occupancyOf(context, shared.usage);
  const achieved = sheet.field("sm_occupancy", (read) => fraction(read.role("achieved_occupancy_pct"))).value;
  const stalls = stallsOf(context);
  const { imbalance, metric: imbalanceMetric } = imbalanceOf(context);
  const waves = sheet.field("detail.waves_per_sm", (read) => read.role("waves")).value;
  const latency: LatencyInput = {
    durationNs: durationNs.value,
    computePct,
    memoryPct,
    l1Pct: firstOf(sheet, "l1_pct"),
    l2Pct: firstOf(sheet, "l2_pct"),
    gridBlocks: gridBlocks(context),
    smCount: firstOf(sheet, "sm_count"),
    waves,
    imbalance,
    stallShares: stalls.shares,
    theoreticalOccupancy: occupancy.theoretical,
    achievedOccupancy: achieved,
  };
  const reasons = roofline === "latency-bound" ? latencyReasons(latency) : [];
  const primary = reasons[0] ?? null;
  const counters = setBy(context, compute.utilization);
  const ofCompute = limiterOf(counters, (counter) => sheet.number(counter + ELAPSED_SUFFIX));
  const { limiter, near } = limitOf(roofline, computePct, memoryPct, ofCompute, primary);
  const bestPath = bestPathOf(flops, launch.names);
  const headroom = headroomOf({
    roofline,
    computePct,
    memoryPct,
    durationNs: durationNs.value,
    pipelineFraction,
    opsPerS: flops.work.value,
    bestPath,
    limiter,
    primary,
    latency,
    occupancyLimits: occupancy.limiters,
  });

  const nearer = (read: Reading): void => {
    read.of(compute.fraction);
    read.of(memory.fraction);
  };
  sheet.field("roofline", (read) => {
    if (roofline === null) return read.because(reason ?? "there is no verdict");
    nearer(read);
    return roofline;
  });
  if (compute.fraction.value === null) {
    for (const path of ["detail.compute_metric", "detail.compute_basis"]) sheet.show(path, compute.fraction);
  }
  if (memory.fraction.value === null) {
    for (const path of ["detail.memory_metric", "detail.memory_basis"]) sheet.show(path, memory.fraction);
  }
  if (primary === null) {
    const why = roofline === null ? (reason ?? "there is no verdict") : "the launch is not latency-bound";
    sheet.missing("detail.latency.primary", why);
  }
  const tflops = sheet.show("tflops", flops.work).value;
  const { intensity, ridge, overAttainable } = intensityOf(context, flops, traffic);

  return {
    context,
    roofline,
    tflops: tflops === null ? null : tflops / TERA,
    memory_bw_utilization: memory.fraction.value,
    sm_occupancy: achieved,
    shared_memory_usage_bytes: shared.usage.value,
    warp_stall_reasons: stalls.shares,
    optimization_headroom: headroom.text,
    judgement: {
      roofline_null_reason: reason,
      limiter,
      near,
      compute_utilization: compute.fraction.value,
      compute_metric: compute.utilization.metric,
      compute_basis: compute.utilization.basis,
      compute_utilization_set_by: counters,
      memory_metric: memory.utilization.metric,
      memory_basis: memory.utilization.basis,
      issue_slot_utilization: sheet.field("detail.issue_slot_utilization", (read) =>
        fraction(read.role("issue_slot_pct")),
      ).value,
      sm_clock_hz: smClock.value,
      sm_clock_max_hz: maximumClock(sheet, "detail.sm_clock_max_hz", "sm_clock_max_khz"),
      dram_clock_hz: sheet.field("detail.dram_clock_hz", (read) => read.role("dram_clock_hz")).value,
      dram_clock_max_hz: maximumClock(sheet, "detail.dram_clock_max_hz", "dram_clock_max_khz"),
      tflops_by_precision: tflopsByPrecision(context, flops),
      peak_tflops_by_precision: peakTflopsByPrecision(context, flops),
      dominant_precision: flops.dominant.value,
      fp16_vector_is_probably_moves: flops.probablyMoves.value,
      tensor_paths: tensorPaths(flops),
      arithmetic_intensity_flop_per_byte: intensity,
      ridge_point_flop_per_byte: ridge,
      achieved_over_attainable: overAttainable,
      memory: memoryOf(context, traffic, smClock, memory.fraction, flops.work),
      occupancy,
      shared_memory: { ...shared.fields, ...bankConflicts(context) },
      registers: registersOf(context),
      waves_per_sm: waves,
      imbalance,
      imbalance_metric: imbalanceMetric,
      stalls,
      latency: { primary, reasons },
      headroom: headroomFields(sheet, headroom, bestPath, {
        noVerdict: roofline === null ? (reason ?? "there is no verdict") : null,
        nearer,
        work: flops.work,
        durationNs,
      }),
    },
    findings: findingsOf({
      context,
      flops,
      traffic,
      durationNs,
      stallSumOverLatency: stalls.sum_over_warp_latency,
      stallShares: stalls.shares,
    }),
    device: context.device,
  };
}
