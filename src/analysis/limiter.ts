import type { LatencyReason, Limiter, RooflineClass } from "../model/result.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import { ELAPSED_SUFFIX } from "./families.ts";
import type { Compute } from "./utilization.ts";

const BREAKDOWN = `breakdown:sm__throughput${ELAPSED_SUFFIX}`;

export const LIMITER: Declaration = {
  name: "limiter",
  needs: [
    ...needs.optionalMetrics([BREAKDOWN]),
    needs.optionalFamily("sm__", ELAPSED_SUFFIX),
    needs.optionalFamily("idc__", ELAPSED_SUFFIX),
  ],
};

/** Below this the comparison of counters says nothing, %. */
const SET_BY_MIN_PCT = 1;
/** Relative difference at which two numbers of full precision still are the same reading. */
const SAME = 1e-9;

/**
 * The counters that set the compute utilisation: those over which `sm__throughput` is a maximum and that equal it.
 * The report lists them; a CSV page leaves the list out, so there all parts of the SM are compared, each within half
 * its last printed digit.
 */
export function setBy({ sheet, families }: LaunchContext, compute: Compute): string[] {
  const { pct, metric } = compute;
  if (pct === null || metric === null || pct < SET_BY_MIN_PCT) return [];
  if (compute.basis === "estimated") return [];
  const listed = sheet
    .text(BREAKDOWN)
    ?.split(",")
    .map((name) => name.trim());
  const tolerance = sheet.resolution(metric) + SAME * pct;
  const equal = (listed ?? families.computeParts).filter((name) => {
    const value = sheet.number(name);
    return value !== null && Math.abs(value - pct) <= tolerance + sheet.resolution(name);
  });
  const counters = new Set(equal.map((name) => name.slice(0, -ELAPSED_SUFFIX.length)));
  if (compute.basis === "lower_bound") counters.add(metric.slice(0, metric.indexOf(".")));
  return [...counters].sort();
}

/** Counter to resource, first match wins. The heavy FMA pipe also runs IMAD: integer arithmetic shows as `fma`. */
const GROUPS: readonly (readonly [pattern: RegExp, limiter: Limiter])[] = [
  [/^sm__(?:pipe_tensor|ops_path_tensor|inst_executed_pipe_tensor)/, "tensor"],
  [/^sm__(?:pipe_fp64|inst_executed_pipe_fp64|sass_thread_inst_executed_op_d)/, "fp64"],
  [/^smsp__sass_thread_inst_executed_op_d/, "fp64"],
  [/^sm__(?:pipe_fma|inst_executed_pipe_fma)|^smsp__sass_thread_inst_executed_op_[fh]/, "fma"],
  [/^sm__(?:pipe_alu|inst_executed_pipe_(?:alu|xu|uniform)$)/, "alu"],
  [/^sm__(?:inst_executed_pipe_(?:lsu|tma)$|pipe_tma|mio)/, "lsu"],
  [/^sm__inst_executed_pipe_tex$/, "l1_shared"],
  [/^sm__(?:issue_active|inst_executed|inst_issued)$/, "issue"],
];

/** The pipe that the four sub-partitions share: tensor and FP64, busy when either is. It is not shared memory. */
const SHARED_PIPE = "sm__pipe_shared_cycles_active";
const FP64_PIPE = "sm__pipe_fp64_cycles_active";
const TENSOR_PIPES = ["sm__pipe_tensor_cycles_active", "sm__pipe_tensor_op_dmma_cycles_active"];

/** The resource behind the counters that set the compute utilisation; `utilization` gives the % of another counter. */
export function limiterOf(counters: readonly string[], utilization: (counter: string) => number | null): Limiter {
  const groups = GROUPS.filter(([pattern]) => counters.some((counter) => pattern.test(counter))).map(
    ([, group]) => group,
  );
  const [first] = groups;
  if (first === "tensor" || !counters.includes(SHARED_PIPE)) return first ?? "unknown";
  const tensor = Math.max(0, ...TENSOR_PIPES.map((pipe) => utilization(pipe) ?? 0));
  return (utilization(FP64_PIPE) ?? 0) > tensor ? "fp64" : "tensor";
}

/** Between this and the roof of 80 % a latency-bound launch is `near` that roof, %. */
export const NEAR_PCT = 60;

const OF_LATENCY: Readonly<Record<LatencyReason, Limiter>> = {
  tiny_kernel: "launch",
  near_compute_roof: "unknown",
  near_memory_roof: "dram",
  grid_smaller_than_sm_count: "latency",
  less_than_one_wave: "latency",
  l2_bound: "l2",
  l1_or_shared_bound: "l1_shared",
  tail_effect: "tail",
  load_imbalance: "imbalance",
  tensor_wait_stalls: "latency",
  barrier_stalls: "latency",
  memory_dependency_stalls: "latency",
  execution_dependency_stalls: "latency",
  low_theoretical_occupancy: "latency",
  achieved_occupancy_below_theoretical: "latency",
  unknown: "unknown",
};

export interface Limit {
  readonly limiter: Limiter;
  /** Latency-bound, but at 60 % or more of a roof: the limiter is then that roof, for short kernels too. */
  readonly near: boolean;
}

/** The resource that limits a launch. `ofCompute`: the one behind the counters that set the compute utilisation. */
export function limitOf(
  roofline: RooflineClass | null,
  computePct: number | null,
  memoryPct: number | null,
  ofCompute: Limiter,
  primary: LatencyReason | null,
): Limit {
  if (roofline === null) return { limiter: "unknown", near: false };
  if (roofline === "memory-bound") return { limiter: "dram", near: false };
  if (roofline === "compute-bound") return { limiter: ofCompute, near: false };
  const [compute, memory] = [computePct ?? 0, memoryPct ?? 0];
  if (Math.max(compute, memory) >= NEAR_PCT) return { limiter: compute >= memory ? ofCompute : "dram", near: true };
  return { limiter: primary === null ? "unknown" : OF_LATENCY[primary], near: false };
}
