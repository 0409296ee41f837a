import { describe, expect, test } from "vitest";
import { limiterOf, limitOf } from "../../src/analysis/limiter.ts";
import { COMPUTE, DURATION, judge, MEMORY } from "../helpers/judge.ts";
import { HandMadeMetrics, type MetricValues } from "../helpers/metric-set.ts";

const ELAPSED = ".avg.pct_of_peak_sustained_elapsed";
const none = (): null => null;

test.each([
  [["sm__pipe_tensor_cycles_active"], "tensor"],
  [["sm__pipe_tensor_op_dmma_cycles_active"], "tensor"],
  [["sm__pipe_shared_cycles_active", "sm__pipe_tensor_cycles_active"], "tensor"],
  [["sm__pipe_fp64_cycles_active"], "fp64"],
  [["sm__inst_executed_pipe_fp64"], "fp64"],
  [["sm__pipe_fma_cycles_active"], "fma"],
  [["sm__pipe_fmaheavy_cycles_active"], "fma"],
  [["sm__inst_executed_pipe_fma_type_fp16"], "fma"],
  [["sm__pipe_alu_cycles_active"], "alu"],
  [["sm__inst_executed_pipe_xu"], "alu"],
  [["sm__inst_executed_pipe_uniform"], "alu"],
  [["sm__inst_executed_pipe_lsu"], "lsu"],
  [["sm__pipe_tma_cycles_active"], "lsu"],
  [["sm__mio2rf_writeback_active"], "lsu"],
  [["sm__inst_executed_pipe_tex"], "l1_shared"],
  [["sm__issue_active"], "issue"],
  [["sm__inst_executed", "sm__issue_active"], "issue"],
  [["sm__inst_executed_pipe_adu"], "unknown"],
  [["idc__request_cycles_active"], "unknown"],
  [[], "unknown"],
  [["sm__issue_active", "sm__pipe_alu_cycles_active"], "alu"],
  [["sm__issue_active", "sm__pipe_tensor_cycles_active"], "tensor"],
])("%j is %s", (counters, limiter) => {
  expect(limiterOf(counters, none)).toBe(limiter);
});

test("the shared pipe alone is tensor, or FP64 where that pipe is busier", () => {
  const shared = ["sm__pipe_shared_cycles_active"];
  expect(limiterOf(shared, none)).toBe("tensor");
  const utilization: Record<string, number> = { sm__pipe_fp64_cycles_active: 40, sm__pipe_tensor_cycles_active: 30 };
  expect(limiterOf(shared, (name) => utilization[name] ?? null)).toBe("fp64");
  utilization.sm__pipe_tensor_op_dmma_cycles_active = 41;
  expect(limiterOf(shared, (name) => utilization[name] ?? null)).toBe("tensor");
});

test("the limiter by class", () => {
  expect(limitOf("memory-bound", 90, 95, "tensor", null)).toStrictEqual({ limiter: "dram", near: false });
  expect(limitOf("compute-bound", 95, 90, "tensor", null)).toStrictEqual({ limiter: "tensor", near: false });
  expect(limitOf("latency-bound", 60, 10, "alu", "tiny_kernel")).toStrictEqual({ limiter: "alu", near: true });
  expect(limitOf("latency-bound", 59.999, 10, "alu", "tiny_kernel")).toStrictEqual({ limiter: "launch", near: false });
  expect(limitOf("latency-bound", 70, 75, "alu", "near_memory_roof")).toStrictEqual({ limiter: "dram", near: true });
  expect(limitOf("latency-bound", 70, 70, "alu", "near_compute_roof")).toStrictEqual({ limiter: "alu", near: true });
  for (const [reason, limiter] of [
    ["grid_smaller_than_sm_count", "latency"],
    ["less_than_one_wave", "latency"],
    ["l2_bound", "l2"],
    ["l1_or_shared_bound", "l1_shared"],
    ["tail_effect", "tail"],
    ["load_imbalance", "imbalance"],
    ["memory_dependency_stalls", "latency"],
    ["unknown", "unknown"],
  ] as const) {
    expect(limitOf("latency-bound", 10, 10, "alu", reason).limiter).toBe(limiter);
  }
  expect(limitOf(null, 90, 10, "tensor", null)).toStrictEqual({ limiter: "unknown", near: false });
});

describe("which counters set the compute utilisation", () => {
  const base: MetricValues = {
    [COMPUTE]: 16.52,
    [MEMORY]: 10,
    [DURATION]: 1e5,
    [`sm__issue_active${ELAPSED}`]: 16.52,
    [`sm__inst_executed${ELAPSED}`]: 16.521,
    [`sm__pipe_alu_cycles_active${ELAPSED}`]: 16.53,
    [`sm__warps_active${ELAPSED}`]: 16.52,
  };
  const listed = `breakdown:sm__throughput${ELAPSED}`;
  const setBy = (metrics: HandMadeMetrics): string[] => judge(metrics).detail.compute_utilization_set_by;

  test("those of the report's list that equal it", () => {
    const list = Object.keys(base).slice(3, 6).join(",");
    expect(setBy(new HandMadeMetrics({ ...base, [listed]: list }))).toStrictEqual(["sm__issue_active"]);
  });
  test("without a list all parts of the SM are compared, and none of its relatives", () => {
    expect(setBy(new HandMadeMetrics(base))).toStrictEqual(["sm__issue_active"]);
  });
  test("printed numbers are equal within half their last digit each", () => {
    expect(setBy(new HandMadeMetrics(base, 0.005))).toStrictEqual([
      "sm__inst_executed",
      "sm__issue_active",
      "sm__pipe_alu_cycles_active",
    ]);
  });
  test("below 1 % nothing is said", () => {
    const low = { ...base, [COMPUTE]: 0.9, [`sm__issue_active${ELAPSED}`]: 0.9 };
    expect(setBy(new HandMadeMetrics(low))).toStrictEqual([]);
  });
});
