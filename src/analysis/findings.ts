import { ROLES, type Role } from "../hardware/roles.ts";
import type { Finding } from "../model/finding.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import { type Flops, FP16_VECTOR, MOVES_SHARE, TERA } from "./flops.ts";
import { percent, roundHalfUp } from "./format.ts";
import { composed, type Interval, printed, quotient, sumOf } from "./interval.ts";
import type { Traffic } from "./memory.ts";
import type { Known } from "./sheet.ts";
import { isStall, stallCells, stallGroup } from "./stalls.ts";

/** Percentages that cannot truly exceed 100, in the order in which they are looked at. */
const BOUNDED_ROLES: readonly Role[] = [
  "compute_pct",
  "dram_pct",
  "l1_pct",
  "l2_pct",
  "issue_slot_pct",
  "achieved_occupancy_pct",
  "theoretical_occupancy_pct",
];
const BOUNDED = [
  ...BOUNDED_ROLES.flatMap((role) => ROLES[role]),
  "l1tex__t_sector_hit_rate.pct",
  "lts__t_sector_hit_rate.pct",
  "lts__t_sector_op_read_hit_rate.pct",
  "lts__t_sector_op_write_hit_rate.pct",
  "smsp__issue_active.avg.pct_of_peak_sustained_active",
  "smsp__sass_average_branch_targets_threads_uniform.pct",
  "derived__local_spilling_requests_pct",
  "launch__occupancy_cluster_pct",
  "launch__occupancy_cluster_gpu_pct",
];

export const FINDINGS: Declaration = {
  name: "findings",
  needs: [...BOUNDED_ROLES.map((role) => ({ role, required: false })), ...needs.optional("tma_loads", "wgmma_pct")],
};

const BOUND_PCT = 100;
/** Ratio of the stall sum to the warp latency within which both come from like executions. */
const STALL_SUM_MIN = 0.95;
const STALL_SUM_MAX = 1.05;
const DRAM_MIN = 0.95;
const DRAM_MAX = 1.05;
const PARKED_SYNCHRONIZATION = 0.3;

/** What the findings of a launch are drawn from, beside its metrics. */
export interface FindingInput {
  readonly context: LaunchContext;
  readonly flops: Flops;
  readonly traffic: Traffic;
  readonly durationNs: Known<number>;
  readonly stallSumOverLatency: number | null;
  readonly stallShares: Readonly<Record<string, number>> | null;
}

type Make = (code: string, severity: Finding["severity"], message: string, evidence: Finding["evidence"]) => Finding;

/** Outside of a range whichever way its operands were rounded. */
const outside = ({ low, high }: Interval, from: number, to: number): boolean => high < from || low > to;

function overBound({ context: { sheet } }: FindingInput, make: Make): Finding[] {
  return BOUNDED.flatMap((metric) => {
    const value = sheet.number(metric);
    if (value === null || printed(sheet, metric, value).low <= BOUND_PCT) return [];
    const message = `${metric} is ${roundHalfUp(value, 2)} %, above its bound of 100 %: numerator and denominator come from different executions of the kernel`;
    const severity = metric.endsWith("throughput.avg.pct_of_peak_sustained_elapsed") ? "warning" : "info";
    return [make("over_bound", severity, message, { metric, value, bound: BOUND_PCT, unit: "%" })];
  });
}

/** The number of the first metric of a role that has one, within its rounding. */
function roleWithin({ sheet }: LaunchContext, role: Role): Interval | null {
  for (const name of ROLES[role]) {
    const value = sheet.number(name);
    if (value !== null) return printed(sheet, name, value);
  }
  return null;
}

function stallSum({ context, stallSumOverLatency: value }: FindingInput, make: Make): Finding[] {
  const { sheet } = context;
  const latency = roleWithin(context, "warp_latency");
  if (value === null || latency === null) return [];
  const cells = stallCells(context)?.cells ?? [];
  const sum = sumOf(cells.map((cell) => printed(sheet, cell.name, cell.value)));
  if (!outside(quotient(sum, latency), STALL_SUM_MIN, STALL_SUM_MAX)) return [];
  const message = `the stall cycles add up to ${roundHalfUp(value, 2)} times the warp latency: they come from different executions of the kernel, so take its stall shares as a hint`;
  const metric = ROLES.warp_latency[0];
  return [make("stall_shares_unreliable", "warning", message, { metric, value, expected: "0.95..1.05" })];
}

function dramBytes({ context, traffic, durationNs }: FindingInput, make: Make): Finding[] {
  const rate = context.sheet.number(ROLES.dram_bytes_per_s[0]);
  const [bytesRead, bytesWritten, ns] = [traffic.bytesRead.value, traffic.bytesWritten.value, durationNs.value];
  if (rate === null || rate <= 0 || bytesRead === null || bytesWritten === null || ns === null) return [];
  const value = (bytesRead + bytesWritten) / (ns * 1e-9) / rate;
  const [read, written, perS, duration] = (
    ["dram_bytes_read", "dram_bytes_written", "dram_bytes_per_s", "duration_ns"] as const
  ).map((role) => roleWithin(context, role));
  if (!read || !written || !perS || !duration) return [];
  const seconds = { low: duration.low * 1e-9, high: duration.high * 1e-9 };
  if (!outside(quotient(quotient(sumOf([read, written]), seconds), perS), DRAM_MIN, DRAM_MAX)) return [];
  const message = `bytes read and written over the duration are ${roundHalfUp(value, 3)} times the reported bytes per second: they come from different executions, or a metric stands in the report twice`;
  return [
    make("dram_bytes_disagree", "warning", message, {
      metric: ROLES.dram_bytes_per_s[0],
      value,
      expected: "0.95..1.05",
    }),
  ];
}

/** The least share of the warp cycles that a group can have had. */
function leastShare(context: LaunchContext, group: string): number {
  const within = (cells: readonly { name: string; value: number }[]): Interval =>
    sumOf(cells.map(({ name, value }) => printed(context.sheet, name, value)));
  const stalls = (stallCells(context)?.cells ?? []).filter(({ reason }) => isStall(reason));
  const { low } = within(stalls.filter(({ reason }) => stallGroup(reason) === group));
  const { high } = within(stalls.filter(({ reason }) => stallGroup(reason) !== group));
  return low > 0 ? low / (low + high) : 0;
}

function parkedWarps({ context, flops, stallShares }: FindingInput, make: Make): Finding[] {
  const { sheet } = context;
  const share = stallShares?.synchronization ?? 0;
  const wide = flops.paths.some(({ path }) => path === "wgmma" || path === "tcgen05");
  // FP8 of 9.0 has one column for both paths; there the instructions of the pipe tell.
  const wgmma = wide || (sheet.number(ROLES.wgmma_pct[0]) ?? 0) > 0;
  const tma = (sheet.number(ROLES.tma_loads[0]) ?? 0) > 0;
  if (!wgmma || !tma || leastShare(context, "synchronization") < PARKED_SYNCHRONIZATION) return [];
  const message = `${percent(share)} of the warp cycles wait at a barrier in a kernel that loads by TMA and multiplies by warp groups: mostly parked producer warps, no synchronisation problem while the tensor pipe is busy`;
  return [make("barrier_of_parked_warps", "info", message, { metric: "stall_shares.synchronization", value: share })];
}

function moves({ context: { sheet }, flops }: FindingInput, make: Make): Finding[] {
  const [achieved, peak] = [flops.achieved.get(FP16_VECTOR), flops.peaks.get(FP16_VECTOR)];
  const [rate, roof] = [achieved?.value ?? null, peak?.value?.value ?? null];
  if (flops.probablyMoves.value !== true || !achieved || !peak || rate === null || roof === null) return [];
  if (composed(sheet, achieved, rate).high >= MOVES_SHARE * composed(sheet, peak, roof).low) return [];
  const message =
    "HFMA2 without any other FP16 arithmetic and below 2 % of its peak: the compiler writes constants and moves this way, so it does not count as work";
  return [make("hfma_moves", "info", message, { metric: FP16_VECTOR, value: rate / TERA, unit: "TFLOP/s" })];
}

function sparse({ flops }: FindingInput, make: Make): Finding[] {
  const path = flops.paths.find(({ column }) => column.sparsity === "on");
  if (path === undefined) return [];
  const message = `${path.column.base} counts operations on 2:4 sparse matrices; peaks of this result are dense, so this work may go above them`;
  return [
    make("sparse_operations", "info", message, {
      metric: path.column.base,
      value: path.opsPerS / TERA,
      unit: "TFLOP/s",
    }),
  ];
}

/**
 * What the counters of a launch say about their own trustworthiness. Nothing is clipped or corrected for it. Numbers of a
 * page are rounded to the digits it prints: what their rounding alone can explain is no finding.
 */
export function findingsOf(input: FindingInput): Finding[] {
  const { launch, sheet } = input.context;
  if (sheet.withheld !== null) return [];
  const make: Make = (code, severity, message, evidence) => ({
    code,
    severity,
    message,
    launch: launch.index,
    evidence,
  });
  return [overBound, stallSum, dramBytes, parkedWarps, moves, sparse].flatMap((check) => check(input, make));
}
