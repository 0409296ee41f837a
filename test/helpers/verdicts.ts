import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { type AnalysisInput, launchResults, wantsMetric } from "../../src/analysis/index.ts";
import { openFile } from "../../src/base/file-source.ts";
import type { KernelResult } from "../../src/model/result.ts";
import { readReport } from "../../src/report/detect.ts";
import { fixturePath, H200 } from "./fixtures.ts";

// biome-ignore lint/suspicious/noExplicitAny: the recorded verdicts are plain JSON of many shapes
type Json = any;

/** The recorded right answers of a report, in launch order. Percentages are 0..100 there. */
export const recordedVerdicts = (name: "h200" | "tiny"): Json[] =>
  JSON.parse(readFileSync(fixturePath(`verdicts/verdicts-${name}.json`), "utf8")).kernels;

/** Reads a file as the service does: only the metrics that analyses want. */
export async function inputFrom(path: string, all = false): Promise<AnalysisInput> {
  const result = await readReport(openFile(path), all ? {} : { wantMetric: wantsMetric });
  if (!result.ok) throw new Error(`${path}: ${result.error.message}`);
  return { report: result.value, id: null, sha256: null };
}

export const fixtureInput = (name: string, all = false): Promise<AnalysisInput> =>
  inputFrom(fixturePath(H200 + name), all);

export const launchResultsOf = (input: AnalysisInput): KernelResult[] => [...launchResults(input)];

const percentOf = (value: number | null): number | null => (value === null ? null : 100 * value);
const suffixless = (metrics: string[]): string[] => [...metrics].sort();

/** A result of one launch in the words and units of the recorded verdicts. */
export function asRecorded(result: KernelResult): Record<string, Json> {
  const { detail } = result;
  const level = (name: string) => detail.memory.levels.find((one) => one.level === name)!;
  const step = detail.occupancy.next_step;
  return {
    kernel_index: detail.launch?.index,
    nvtx: detail.launch?.nvtx[0] ?? null,
    grid: detail.launch?.grid,
    block: detail.launch?.block,
    name_in_report: detail.names.display,
    function_name: result.target,
    wall_clock_us: result.wall_clock_us,
    roofline: result.roofline,
    roofline_null_reason: detail.roofline_null_reason,
    limiter: detail.limiter,
    near: detail.near,
    compute_utilization: percentOf(detail.compute_utilization),
    compute_metric: detail.compute_metric,
    compute_utilization_set_by: suffixless(detail.compute_utilization_set_by),
    memory_bw_utilization: percentOf(result.memory_bw_utilization),
    memory_metric: detail.memory_metric,
    l1_utilization: percentOf(level("l1").utilization),
    l2_utilization: percentOf(level("l2").utilization),
    sm_clock_hz: detail.sm_clock_hz,
    dram_clock_hz: detail.dram_clock_hz,
    dram_bytes_per_s: detail.memory.dram_bytes_per_s,
    peak_dram_bytes_per_s: detail.memory.peak_dram_bytes_per_s,
    tflops: detail.tflops_by_precision,
    dominant_tflops: result.tflops,
    peak_tflops_dense_at_run_clock: Object.fromEntries(
      Object.entries(detail.peak_tflops_by_precision ?? {})
        .filter(([, peak]) => peak.source === "launch_counters")
        .map(([precision, peak]) => [precision, peak.tflops]),
    ),
    dominant_precision: detail.dominant_precision,
    fp16_vector_is_probably_moves: detail.fp16_vector_is_probably_moves,
    tensor_paths: Object.fromEntries(
      detail.tensor_paths
        .filter((path) => path.op !== null)
        .map((path) => [
          path.metric,
          {
            op: path.op,
            precision: path.precision,
            sparsity: path.sparsity,
            ops_per_s: path.ops_per_s,
            path_peak_ops_per_s: path.peak_ops_per_s,
            pct_of_path_peak: percentOf(path.utilization),
          },
        ]),
    ),
    arithmetic_intensity_flop_per_byte: detail.arithmetic_intensity_flop_per_byte,
    ridge_point_flop_per_byte: detail.ridge_point_flop_per_byte,
    achieved_over_attainable: detail.achieved_over_attainable,
    sm_occupancy: percentOf(result.sm_occupancy),
    theoretical_occupancy: percentOf(detail.occupancy.theoretical),
    theoretical_occupancy_from_limits: percentOf(detail.occupancy.theoretical_from_limits),
    occupancy_limiter: detail.occupancy.limiters.join("+") || "none",
    occupancy_limiters_as_reported: [...detail.occupancy.limiters_as_reported].sort(),
    occupancy_limits: detail.occupancy.limits_blocks,
    occupancy_recomputed: detail.occupancy.limits_recomputed_blocks,
    occupancy_next_step:
      step === null
        ? null
        : {
            blocks_per_sm: step.blocks_per_sm,
            theoretical_occupancy: 100 * step.theoretical_occupancy,
            max_registers_per_thread: step.max_registers_per_thread,
            max_shared_mem_allocated_per_block: step.max_shared_memory_allocated_bytes,
            max_static_plus_dynamic_shared_mem: step.max_static_plus_dynamic_shared_memory_bytes,
          },
    shared_memory_usage_bytes: result.shared_memory_usage_bytes,
    shared_memory_static_bytes: detail.shared_memory.static_bytes,
    shared_memory_dynamic_bytes: detail.shared_memory.dynamic_bytes,
    shared_memory_driver_bytes: detail.shared_memory.driver_bytes,
    shared_memory_per_block_with_driver_bytes: detail.shared_memory.per_block_with_driver_bytes,
    shared_memory_allocated_bytes: detail.shared_memory.allocated_bytes,
    shared_memory_carveout_bytes: detail.shared_memory.carveout_bytes,
    registers_per_thread: detail.registers.per_thread,
    registers_per_thread_allocated: detail.registers.per_thread_allocated,
    waves_per_sm: detail.waves_per_sm,
    stall_cycles_per_issue: detail.stalls.cycles_per_issue,
    stall_shares_by_reason: detail.stalls.shares_by_reason,
    stall_shares: detail.stalls.shares,
    warp_stall_reasons: result.warp_stall_reasons,
    dominant_stall_group: detail.stalls.dominant_group,
    stall_sum_over_warp_latency: detail.stalls.sum_over_warp_latency,
    issue_slot_utilization: percentOf(detail.issue_slot_utilization),
    imbalance: detail.imbalance,
    imbalance_denominator: detail.imbalance_metric,
    distance_to_roof: detail.headroom.within_path,
    distance_to_roof_with_launch_floor: detail.headroom.distance_with_launch_floor,
    headroom: {
      within_path: detail.headroom.within_path,
      to_best_path: detail.headroom.to_best_path,
      best_path: detail.headroom.best_path,
    },
    headroom_level_without_pipeline: detail.headroom.level,
    headroom_text: result.optimization_headroom,
    latency_reasons: detail.latency.reasons,
    latency_primary: detail.latency.primary,
    detail_counters: detail.counters,
    findings: result.findings.map(({ code, evidence }) => ({ code, ...evidence })),
    hints: detail.hints,
  };
}

/** The recorded answer in the same form: what the product leaves out goes, and what it says besides is added. */
export function expectedFrom(recorded: Json): Record<string, Json> {
  const {
    name: _printed,
    compute_memory_throughput_do_not_use: _wrong,
    occupancy_next_step: step,
    findings,
    hints,
    ...same
  } = recorded;
  return {
    ...same,
    compute_utilization_set_by: suffixless(recorded.compute_utilization_set_by),
    dominant_tflops: recorded.dominant_precision === null ? null : recorded.tflops[recorded.dominant_precision],
    warp_stall_reasons: recorded.stall_shares,
    occupancy_next_step:
      step === null || step.impossible !== undefined
        ? null
        : {
            max_registers_per_thread: null,
            max_shared_mem_allocated_per_block: null,
            max_static_plus_dynamic_shared_mem: null,
            ...step,
          },
    findings,
    hints,
  };
}

/** Every number inside a value, by path. */
export function leavesOf(value: Json, path = ""): Map<string, Json> {
  const leaves = new Map<string, Json>();
  if (typeof value === "object" && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      for (const [inner, leaf] of leavesOf(part, `${path}/${key}`)) leaves.set(inner, leaf);
    }
    if (Object.keys(value).length === 0) leaves.set(path, Array.isArray(value) ? "[]" : "{}");
  } else leaves.set(path, value);
  return leaves;
}

/** Compares leaf by leaf: texts equal, numbers within what `tolerance` says of the path. Leaves only `actual` has pass. */
export function expectLeaves(actual: Json, expected: Json, tolerance: (path: string, value: number) => number): void {
  const got = leavesOf(actual);
  for (const [path, value] of leavesOf(expected)) {
    const is = got.get(path);
    if (typeof value === "number" && typeof is === "number") {
      const off = Math.abs(is - value);
      if (!(off <= tolerance(path, value))) {
        expect.fail(`${path}: ${is} where ${value} is recorded, off by ${off}, allowed ${tolerance(path, value)}`);
      }
    } else expect(is, path).toStrictEqual(value);
  }
}
