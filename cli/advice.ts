import { significant } from "../src/charts/format.ts";
import type { KernelEntry, LatencyReason, Limiter, OccupancyLimit } from "../src/model/result.ts";
import { formatBytes, formatCount, formatPercent } from "./format.ts";

/** What to try where a resource is the limit, or close to it. Null: nothing to say from this alone. */
const BY_LIMITER: Readonly<Record<Limiter, string | null>> = {
  dram: "Move fewer bytes: fuse it with the kernel before or after, store smaller types, keep what is used again on the chip.",
  tensor: "Only less work helps the tensor cores: smaller types, structured sparsity, skipped tiles.",
  fma: "The FMA pipe is busy: move matrix products to the tensor cores, hoist repeated arithmetic. Integer address arithmetic runs here too.",
  fp64: "The FP64 pipe is busy: FP64 tensor cores for matrix products, FP32 where the accuracy allows it.",
  alu: "The ALU pipe is busy with integer, compare and conversion instructions: convert packed values, hoist index arithmetic, use wider types per instruction.",
  issue:
    "The schedulers issue almost every cycle: fewer instructions per result (16-byte loads, packed arithmetic, less address arithmetic), tensor cores for matrix products.",
  lsu: "The load/store path is busy: fewer and wider memory instructions, TMA or cp.async for whole tiles.",
  l1_shared: "L1 or shared memory is busy: remove bank conflicts, use wider accesses, keep more in registers.",
  l2: "L2 is busy while DRAM is not: larger tiles, more reuse in shared memory and L1.",
  nvlink: "The link between GPUs is busy: overlap communication with work, send smaller types.",
  latency: null,
  tail: null,
  imbalance: null,
  launch: null,
  unknown: null,
};

/** What helps below a roof and not at it. */
const BY_NEAR_LIMITER: Readonly<Partial<Record<Limiter, string>>> = {
  tensor: "Keep the tensor cores fed: larger tiles, a deeper load pipeline, two consumer warpgroups in turn.",
  dram: "Keep more bytes in flight (unrolling, 16-byte loads, cp.async or TMA pipelines), and move fewer of them.",
};

/** What to try for a reason of latency-bound. Null: the resource or the occupancy advice says it. */
const BY_REASON: Readonly<Record<LatencyReason, string | null>> = {
  tiny_kernel:
    "A few microseconds long: fuse it with its neighbours, or overlap its start (programmatic dependent launch).",
  near_compute_roof: null,
  near_memory_roof: null,
  grid_smaller_than_sm_count: "Fewer blocks than SMs: smaller tiles, split-K, more work in flight per launch.",
  less_than_one_wave: "Less than one wave of blocks: smaller tiles, split-K, more work in flight per launch.",
  l2_bound: "L2 is busy while DRAM is not: larger tiles, more reuse in shared memory and L1.",
  l1_or_shared_bound: "L1 or shared memory is busy: remove bank conflicts, use wider accesses.",
  tail_effect: "The last wave leaves SMs idle: other tile or grid size, a persistent kernel, stream-K.",
  load_imbalance: "SMs finish at different times: equal work per block, smaller pieces of work, dynamic scheduling.",
  tensor_wait_stalls: "Warps wait for the tensor core: deeper pipeline, two consumer warpgroups in turn, larger tiles.",
  barrier_stalls: "Warps wait at barriers: smaller blocks, split barriers, warp specialisation.",
  memory_dependency_stalls:
    "Warps wait for loads: more bytes in flight (unrolling, 16-byte loads, cp.async or TMA pipelines), prefetch, better locality.",
  execution_dependency_stalls:
    "Warps wait for earlier instructions: more independent work per warp, fewer round trips through shared memory and special functions.",
  low_theoretical_occupancy: null,
  achieved_occupancy_below_theoretical: "Fewer warps are active than would fit: look for unequal or very short blocks.",
  unknown: "The counters do not show a cause: look at the source view of the report.",
};

/** The share of the memory roof from which on tuning of loads returns nothing. */
const CLOSE_TO_DRAM_ROOF = 0.85;
/** Below this part of the issue slots a scheduler has room for further warps. */
const SLOTS_FREE = 0.5;
/** More reasons than these explain the same idle cycles again. */
const MOST_REASONS = 3;
const MOST_BANK_CONFLICTS = 0.2;

const OCCUPANCY_WORDS: Readonly<Record<OccupancyLimit, string>> = {
  registers: "registers",
  shared_mem: "shared memory",
  warps: "warps",
  blocks: "blocks",
  barriers: "barriers",
};

export const limitNames = (limits: readonly OccupancyLimit[]): string =>
  limits.map((limit) => OCCUPANCY_WORDS[limit]).join(" and ");

/** Where to look next, most important first; empty where the numbers ask for nothing. */
export function adviceFor(entry: KernelEntry): string[] {
  const { detail } = entry;
  if (entry.roofline === null) return unmeasured(entry);
  const lines = [
    ...(entry.roofline === "latency-bound" ? latencyAdvice(entry) : [BY_LIMITER[detail.limiter]]),
    entry.roofline === "memory-bound" && belowRoof(entry) && detail.stalls.dominant_group === "memory_dependency"
      ? BY_REASON.memory_dependency_stalls
      : null,
    fasterPath(entry),
    occupancyAdvice(entry),
    spills(entry),
    bankConflicts(entry),
  ];
  return [...new Set(lines.filter((text) => text !== null))];
}

function latencyAdvice(entry: KernelEntry): (string | null)[] {
  const { latency, limiter, near } = entry.detail;
  // Producer warps of a warp-specialised kernel wait at a barrier by design, also where no counter proves it.
  const parked = limiter === "tensor" || entry.findings.some(({ code }) => code === "barrier_of_parked_warps");
  const reasons = latency.reasons.filter((reason) => !(reason === "barrier_stalls" && parked)).slice(0, MOST_REASONS);
  return [
    near ? (BY_NEAR_LIMITER[limiter] ?? BY_LIMITER[limiter]) : null,
    ...reasons.map((reason) => BY_REASON[reason]),
  ];
}

function unmeasured(entry: KernelEntry): string[] {
  if (entry.detail.launch !== null && entry.detail.launch.failure !== null)
    return ["The launch failed: run the program under compute-sanitizer first."];
  if (entry.detail.launch === null) return [];
  return ["Measure it again with `ncu --set full`, or at least with the section SpeedOfLight."];
}

const belowRoof = (entry: KernelEntry): boolean => (entry.memory_bw_utilization ?? 1) < CLOSE_TO_DRAM_ROOF;

function fasterPath({ detail: { headroom } }: KernelEntry): string | null {
  const { best_path: best, to_best_path: left } = headroom;
  if (best === null || left === null) return null;
  return best.requires_precision_change
    ? `Its matrix product could run on the tensor cores as ${best.precision.toUpperCase()}, if that precision is accepted: at that roof it would take ${formatPercent(left)} less time.`
    : `It uses ${best.path_in_use} where ${best.path} would be faster at the same precision: at that roof it would take ${formatPercent(left)} less time.`;
}

/** Occupancy is a means: worth raising only where warps wait for results and the schedulers have slots to fill. */
function occupancyAdvice(entry: KernelEntry): string | null {
  const { detail } = entry;
  const waiting =
    detail.stalls.dominant_group === "memory_dependency" || detail.stalls.dominant_group === "execution_dependency";
  const roomAbove =
    entry.roofline === "latency-bound"
      ? !detail.latency.reasons.includes("tiny_kernel")
      : entry.roofline === "memory-bound" && belowRoof(entry);
  const slotsFree = detail.issue_slot_utilization !== null && detail.issue_slot_utilization < SLOTS_FREE;
  return waiting && roomAbove && slotsFree ? nextStepSentence(entry) : null;
}

/** What one block more per SM would need, as a sentence; null where nothing binds or nothing can be done. */
export function nextStepSentence({ detail: { occupancy } }: KernelEntry): string | null {
  const { next_step: step, theoretical, limiters } = occupancy;
  if (step === null) return null;
  const needs = [
    ...(step.max_registers_per_thread === null
      ? []
      : [`at most ${formatCount(step.max_registers_per_thread)} registers per thread`]),
    ...(step.max_static_plus_dynamic_shared_memory_bytes === null
      ? []
      : [`at most ${formatBytes(step.max_static_plus_dynamic_shared_memory_bytes)} of shared memory per block`]),
  ];
  if (needs.length === 0) return null;
  const from = theoretical === null ? "" : ` from ${formatPercent(theoretical)}`;
  const limit = limiters.length === 0 ? "" : ` (limited by ${limitNames(limiters)})`;
  return `Theoretical occupancy would rise${from} to ${formatPercent(step.theoretical_occupancy)}${limit} with ${needs.join(" and ")}: ${formatCount(step.blocks_per_sm)} blocks per SM.`;
}

function spills({ detail: { registers } }: KernelEntry): string | null {
  const count = registers.spill_instructions;
  return count === null || count === 0
    ? null
    : `Registers spill (${formatCount(count)} instructions): shorten live ranges, or allow more registers per thread.`;
}

function bankConflicts({ detail: { shared_memory: shared } }: KernelEntry): string | null {
  const share = shared.bank_conflict_share;
  return share === null || share < MOST_BANK_CONFLICTS
    ? null
    : `${formatPercent(share)} of the shared-memory wavefronts are bank conflicts: pad or swizzle the layout.`;
}

/**
 * What NVIDIA's own rules promise, the largest estimate first. The estimates overlap, so they are shown one by one and
 * never added up.
 */
export function hintSentences(hints: KernelEntry["detail"]["hints"], most: number): string[] {
  return [...hints]
    .sort((a, b) => (b.speedup_percent ?? -1) - (a.speedup_percent ?? -1))
    .slice(0, most)
    .map((hint) => {
      const estimate =
        hint.speedup_percent === null
          ? "no estimate"
          : `${hint.speedup_type ?? "about"} ${significant(hint.speedup_percent)}%`;
      const advice = hint.evidence.find(({ info }) => info !== null)?.info;
      return `${hint.title ?? hint.rule} (${estimate})${advice == null ? "" : `: ${advice}`}`;
    });
}
