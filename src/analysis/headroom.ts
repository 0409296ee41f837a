import type { HeadroomLevel, LatencyReason, Limiter, OccupancyLimit, RooflineClass } from "../model/result.ts";
import { percent, roundHalfUp } from "./format.ts";
import { type LatencyInput, TINY_NS } from "./latency.ts";

/** No launch takes less: the shortest launches of an H200 report take 1.7 us, ns. */
const LAUNCH_FLOOR_NS = 1_700;

/** A faster legal path for the same arithmetic, or for the same arithmetic at less precision. */
export interface BestPath {
  readonly path: "wgmma" | "tcgen05" | "FP64 tensor" | "tensor core";
  readonly pathInUse: string;
  readonly precision: string;
  /** Operations/s at the clock of the launch. */
  readonly peak: number;
  /** Metrics that the peak came from. */
  readonly metrics: readonly string[];
  readonly requiresPrecisionChange: boolean;
}

export interface HeadroomInput {
  readonly roofline: RooflineClass | null;
  readonly computePct: number | null;
  readonly memoryPct: number | null;
  readonly durationNs: number | null;
  /** Part of the GPU's busy time that all launches of the kernel take; null without a pipeline. */
  readonly pipelineFraction: number | null;
  /** Achieved operations/s of the dominant precision. */
  readonly opsPerS: number | null;
  readonly bestPath: BestPath | null;
  readonly limiter: Limiter;
  readonly primary: LatencyReason | null;
  readonly latency: LatencyInput;
  /** Occupancy limits that bind; empty at full theoretical occupancy. */
  readonly occupancyLimits: readonly OccupancyLimit[];
}

export interface Headroom {
  /** Distance to the roof of the path in use, 0..1; negative over its bound. */
  readonly withinPath: number | null;
  /** Distance to the roof of the faster path; null where there is none or where memory is the nearer roof. */
  readonly toBestPath: number | null;
  readonly level: HeadroomLevel | null;
  /** The same as the level's distance, with the time that no launch can go below. */
  readonly withLaunchFloor: number | null;
  readonly text: string | null;
}

const NONE: Headroom = { withinPath: null, toBestPath: null, level: null, withLaunchFloor: null, text: null };

function nearerRoof({ roofline, computePct, memoryPct }: HeadroomInput): number | null {
  if (roofline === "memory-bound") return memoryPct;
  if (roofline === "compute-bound") return computePct;
  return computePct === null || memoryPct === null ? null : Math.max(computePct, memoryPct);
}

function toBestPath(input: HeadroomInput, withinPath: number): number | null {
  const { bestPath, opsPerS, computePct, memoryPct } = input;
  if (bestPath === null || opsPerS === null || computePct === null || memoryPct === null) return null;
  // While memory is the nearer roof a faster compute path moves nothing.
  if (computePct < memoryPct) return null;
  const distance = 1 - Math.max(memoryPct, (100 * opsPerS) / bestPath.peak) / 100;
  return distance > withinPath ? distance : null;
}

function withFloor(distance: number, durationNs: number): number {
  const atRoof = Math.max(durationNs * (1 - distance), Math.min(durationNs, LAUNCH_FLOOR_NS));
  return 1 - atRoof / durationNs;
}

function levelOf(distance: number, input: HeadroomInput, floored: number, short: boolean): HeadroomLevel {
  const fraction = input.pipelineFraction;
  if (fraction !== null) {
    const saving = fraction * floored;
    return saving >= 0.02 ? "high" : saving >= 0.005 ? "medium" : "low";
  }
  if (short) return "unknown";
  return distance >= 0.4 ? "high" : distance >= 0.15 ? "medium" : "low";
}

const LIMIT_WORDS: Readonly<Record<OccupancyLimit, string>> = {
  registers: "registers",
  shared_mem: "shared memory",
  warps: "warps",
  blocks: "blocks",
  barriers: "barriers",
};

const ROOF_WORDS: Partial<Readonly<Record<Limiter, string>>> = {
  tensor: "tensor-core",
  fma: "FMA",
  fp64: "FP64",
  alu: "ALU",
  issue: "issue-slot",
  lsu: "LSU",
  l1_shared: "L1",
  dram: "DRAM",
};

/** The primary reason in words, with the number that speaks for it. */
function reasonWords({ primary, limiter, latency }: HeadroomInput): string {
  const share = (group: string): string => percent(latency.stallShares?.[group] ?? 0);
  const waves = `${roundHalfUp(latency.waves ?? 0, 2)} waves`;
  switch (primary) {
    case "near_compute_roof":
    case "near_memory_roof":
      return `near the ${ROOF_WORDS[limiter] ?? "compute"} roof`;
    case "grid_smaller_than_sm_count":
      return `grid of ${latency.gridBlocks} ${latency.gridBlocks === 1 ? "block" : "blocks"} for ${latency.smCount} SMs`;
    case "less_than_one_wave":
      return `less than one wave: ${waves}`;
    case "l2_bound":
      return `L2 at ${percent((latency.l2Pct ?? 0) / 100)}`;
    case "l1_or_shared_bound":
      return `L1 or shared memory at ${percent((latency.l1Pct ?? 0) / 100)}`;
    case "tail_effect":
      return `tail effect: ${waves}`;
    case "load_imbalance":
      return `load imbalance: SMs idle ${percent(latency.imbalance ?? 0)}`;
    case "tensor_wait_stalls":
      return `waiting for the tensor core: ${share("tensor_wait")}`;
    case "barrier_stalls":
      return `barrier stalls: ${share("synchronization")}`;
    case "memory_dependency_stalls":
      return `memory dependency stalls: ${share("memory_dependency")}`;
    case "execution_dependency_stalls":
      return `execution dependency stalls: ${share("execution_dependency")}`;
    case "low_theoretical_occupancy":
      return `theoretical occupancy ${percent(latency.theoreticalOccupancy ?? 0)}`;
    case "achieved_occupancy_below_theoretical":
      return `achieved occupancy ${percent(latency.achievedOccupancy ?? 0)} of ${percent(latency.theoreticalOccupancy ?? 0)}`;
    default:
      return "cause not in the counters";
  }
}

function bestWords({ bestPath }: HeadroomInput, distance: number | null): string {
  if (bestPath === null || distance === null) return "";
  if (bestPath.requiresPrecisionChange) return `, ${percent(distance)} to the TF32 roof if TF32 is accepted`;
  return `, ${percent(distance)} to the ${bestPath.path} roof`;
}

function textOf(
  input: HeadroomInput,
  roofline: RooflineClass,
  durationNs: number,
  distances: { withinPath: number; toBest: number | null; floored: number },
): string {
  const { withinPath, toBest, floored } = distances;
  const limits = input.occupancyLimits.map((limit) => LIMIT_WORDS[limit]);
  const occupancy = limits.length === 0 ? "" : `, occupancy limited by ${limits.join(" and ")}`;
  const best = bestWords(input, toBest);
  if (durationNs < TINY_NS) {
    const us = `${roundHalfUp(durationNs / 1000, 1)} us kernel`;
    if (input.pipelineFraction === null) return `${us}: only its number in the pipeline tells`;
    return `${roofline} (${us}), ${percent(floored)} above the launch floor${occupancy}`;
  }
  if (roofline === "latency-bound") {
    return `${roofline} (${reasonWords(input)}), ${percent(withinPath)} of the nearer roof unused${best}${occupancy}`;
  }
  const word = roofline === "memory-bound" ? "BW" : "compute";
  if (withinPath < 0)
    return `${roofline} at ${percent(1 - withinPath)} of the ${word} peak, over its bound${best}${occupancy}`;
  return `${roofline} with ${percent(withinPath)} ${word} unused${best}${occupancy}`;
}

/**
 * What a better kernel could return: the distance to the roof in use and to that of a faster path, a level and a
 * sentence. With a pipeline the level is that of the time saved in it (Amdahl, >= 2 % high, >= 0.5 % medium), without
 * one that of the distance (>= 40 %, >= 15 %), and below 5 us `unknown`: there only the number of launches tells. A
 * change of precision is another computation and never moves the level. 100 % of a roof is not reachable; the best
 * measured on an H200 are 91.5 % of DRAM and 93.5 % of the tensor cores.
 */
export function headroomOf(input: HeadroomInput): Headroom {
  const { roofline, durationNs, bestPath } = input;
  const roof = nearerRoof(input);
  if (roofline === null || roof === null || durationNs === null || durationNs <= 0) return NONE;
  const withinPath = 1 - roof / 100;
  const toBest = toBestPath(input, withinPath);
  const distance = toBest !== null && bestPath?.requiresPrecisionChange === false ? toBest : withinPath;
  const floored = withFloor(distance, durationNs);
  const level = levelOf(distance, input, floored, durationNs < TINY_NS);
  const text = textOf(input, roofline, durationNs, { withinPath, toBest, floored });
  return { withinPath, toBestPath: toBest, level, withLaunchFloor: floored, text: `${level} — ${text}` };
}
