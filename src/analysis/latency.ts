import type { LatencyReason } from "../model/result.ts";
import { NEAR_PCT } from "./limiter.ts";

/** Below this a launch is mostly start and end, and its counters come from different executions, ns. */
export const TINY_NS = 5_000;
/** About 2 us of start and end lie in `imbalance`; below this they are a large part of it, ns. */
const IMBALANCE_MIN_NS = 10_000;
const IMBALANCE = 0.15;
const FEW_WAVES = 5;
const EMPTY_SLOTS = 0.15;
const ALMOST_A_WAVE = 0.9;
const CACHE_ROOF_PCT = 80;
const L2_BOUND_BELOW_MEMORY_PCT = 60;
const STALL_SHARE = 0.3;
const LOW_OCCUPANCY = 0.5;
const ACHIEVED_OF_THEORETICAL = 0.75;

/** What the reasons are drawn from; null where it is not known, and then no reason follows from it. */
export interface LatencyInput {
  readonly durationNs: number | null;
  readonly computePct: number | null;
  readonly memoryPct: number | null;
  readonly l1Pct: number | null;
  readonly l2Pct: number | null;
  /** Null for several kernels measured as one, whose grids add up to nothing. */
  readonly gridBlocks: number | null;
  readonly smCount: number | null;
  readonly waves: number | null;
  readonly imbalance: number | null;
  readonly stallShares: Readonly<Record<string, number>> | null;
  /** Fractions 0..1. */
  readonly theoreticalOccupancy: number | null;
  readonly achievedOccupancy: number | null;
}

const atLeast = (value: number | null | undefined, bound: number): boolean =>
  value !== null && value !== undefined && value >= bound;
const above = (value: number | null, bound: number): boolean => value !== null && value > bound;
const below = (value: number | null, bound: number): boolean => value !== null && value < bound;

/** Few waves of which the last fills at most 85 % of its slots. Explains a measured imbalance and measures none. */
const partialWaves = (waves: number | null): boolean =>
  waves !== null && waves > 1 && Math.ceil(waves) <= FEW_WAVES && 1 - waves / Math.ceil(waves) >= EMPTY_SLOTS;

/**
 * Why a latency-bound launch reaches neither roof: every reason that fits, the primary one first. The thresholds are
 * conventions, not physics.
 */
export function latencyReasons(input: LatencyInput): LatencyReason[] {
  const { computePct, memoryPct, waves, imbalance } = input;
  const reasons: LatencyReason[] = [];
  const add = (reason: LatencyReason, fits: boolean): boolean => {
    if (fits && !reasons.includes(reason)) reasons.push(reason);
    return fits;
  };
  const nearer = Math.max(computePct ?? 0, memoryPct ?? 0);
  const smallGrid = input.gridBlocks !== null && input.smCount !== null && input.gridBlocks < input.smCount;
  const idle = atLeast(imbalance, IMBALANCE) && atLeast(input.durationNs, IMBALANCE_MIN_NS);
  const share = (group: string): number | undefined => input.stallShares?.[group];

  add("tiny_kernel", below(input.durationNs, TINY_NS));
  add((computePct ?? 0) >= (memoryPct ?? 0) ? "near_compute_roof" : "near_memory_roof", nearer >= NEAR_PCT);
  add("grid_smaller_than_sm_count", smallGrid);
  add("less_than_one_wave", !smallGrid && below(waves, ALMOST_A_WAVE));
  add("l2_bound", above(input.l2Pct, CACHE_ROOF_PCT) && below(memoryPct, L2_BOUND_BELOW_MEMORY_PCT));
  add("l1_or_shared_bound", above(input.l1Pct, CACHE_ROOF_PCT) && atLeast(input.durationNs, TINY_NS));
  const tail = add("tail_effect", idle && partialWaves(waves));
  add("load_imbalance", idle && !tail && atLeast(waves, 1));
  add("tensor_wait_stalls", atLeast(share("tensor_wait"), STALL_SHARE));
  add("barrier_stalls", atLeast(share("synchronization"), STALL_SHARE));
  add("memory_dependency_stalls", atLeast(share("memory_dependency"), STALL_SHARE));
  add("execution_dependency_stalls", atLeast(share("execution_dependency"), STALL_SHARE));
  add("low_theoretical_occupancy", below(input.theoreticalOccupancy, LOW_OCCUPANCY));
  add(
    "achieved_occupancy_below_theoretical",
    input.theoreticalOccupancy !== null &&
      below(input.achievedOccupancy, ACHIEVED_OF_THEORETICAL * input.theoreticalOccupancy) &&
      atLeast(waves, 1),
  );
  add("tail_effect", imbalance === null && partialWaves(waves));
  add("unknown", reasons.length === 0);
  return reasons;
}
