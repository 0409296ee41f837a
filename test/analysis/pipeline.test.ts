import { describe, expect, test } from "vitest";
import { type AnalysisInput, analyze, launchResults } from "../../src/analysis/index.ts";
import type { Launch } from "../../src/model/launch.ts";
import type { KernelResult, PipelineResult } from "../../src/model/result.ts";
import { kernelResultSchema, pipelineResultSchema } from "../../src/model/result.ts";
import { COMPUTE, DURATION, MEMORY } from "../helpers/judge.ts";
import { launchOf, type MetricValues, reportOf } from "../helpers/metric-set.ts";

const named = (name: string): Launch["names"] => ({
  mangled: `_Z${name}`,
  function: name,
  demangled: `${name}(int)`,
  display: `${name}(int)`,
  simplified: false,
});
const kernel = (
  index: number,
  name: string,
  us: number | null,
  rest: Partial<Launch> = {},
  metrics: MetricValues = {},
): Launch =>
  launchOf(
    { [COMPUTE]: 10, [MEMORY]: 90, ...(us === null ? {} : { [DURATION]: 1000 * us }), ...metrics },
    { index, names: named(name), ...rest },
  );
const input = (launches: readonly Launch[], rest: Partial<AnalysisInput> = {}): AnalysisInput => ({
  report: reportOf(launches),
  id: "r1",
  sha256: null,
  ...rest,
});

function pipeline(inputs: readonly AnalysisInput[], topN?: number): PipelineResult {
  const result = analyze(inputs, { target: "full pipeline", ...(topN === undefined ? {} : { topN }) });
  if (!result.ok) throw new Error(result.error.message);
  return pipelineResultSchema.parse(result.value);
}
function kernelOf(inputs: readonly AnalysisInput[], target: string): KernelResult {
  const result = analyze(inputs, { target });
  if (!result.ok) throw new Error(result.error.message);
  return kernelResultSchema.parse(result.value);
}
const failureOf = (inputs: readonly AnalysisInput[], target: string) => {
  const result = analyze(inputs, { target });
  if (result.ok) throw new Error("a result came back");
  return result.error;
};

describe("a pipeline", () => {
  const launches = [kernel(0, "a", 10), kernel(1, "b", 100), kernel(2, "a", 10), kernel(3, "c", 30)];

  test("is ranked by summed time, with shares of the report", () => {
    const result = pipeline([input(launches)]);
    expect(result.kernels.map(({ target }) => target)).toStrictEqual(["b", "c", "a"]);
    expect(result.kernels.map(({ detail }) => detail.share_of_report)).toStrictEqual([100 / 150, 30 / 150, 20 / 150]);
    expect(result).toMatchObject({ launches: 4, kernels_total: 3, report_us: 150, partial: false });
  });

  test("says why a report alone has no busy time, stages and coverage", () => {
    const result = pipeline([input(launches)]);
    for (const field of ["gpu_busy_us", "span_us", "gpu_idle_us", "stages", "coverage", "plan"] as const) {
      expect(result[field], field).toBeNull();
      expect(result.null_reasons[field], field).toBeTruthy();
    }
    for (const entry of result.kernels) {
      expect(entry.fraction_of_pipeline).toBeNull();
      expect(entry.detail.null_reasons.fraction_of_pipeline).toContain("timeline");
    }
  });

  test("places each kernel in the pipeline by its name and the ranges around it", () => {
    const nvtx = [{ domain: "", name: "model.layers.3.mlp.gate" }];
    const placed = pipeline([
      input([
        kernel(0, "fused_moe_kernel", 30),
        kernel(1, "nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 20, { nvtx }),
        ...launches,
      ]),
    ]);
    const stages = placed.kernels.map(({ target, pipeline_stage }) => [target, pipeline_stage]);
    expect(stages).toContainEqual(["fused_moe_kernel", "moe_expert"]);
    expect(stages).toContainEqual(["nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "moe_routing"]);
    expect(stages).toContainEqual(["a", "other"]);
    const routed = placed.kernels.find(({ pipeline_stage }) => pipeline_stage === "moe_routing");
    expect(routed?.detail.stage).toMatchObject({
      family: "moe",
      rule: "prefix.nvjet+nvtx:router",
      alternatives: ["gemm"],
    });
    const unknown = placed.kernels.find(({ target }) => target === "a");
    expect(unknown?.detail.stage?.confidence).toBeLessThan(0.2);
  });

  test("lists the top of them, counts all", () => {
    const result = pipeline([input(launches)], 1);
    expect(result.kernels.map(({ target }) => target)).toStrictEqual(["b"]);
    expect(result.kernels_total).toBe(3);
    const many = Array.from({ length: 15 }, (_, index) => kernel(index, `k${index}`, 10));
    expect(pipeline([input(many)]).kernels).toHaveLength(10);
  });

  test("equal times are ordered by name, whatever the order of the launches", () => {
    const equal = [kernel(0, "z", 10), kernel(1, "m", 10), kernel(2, "b", 10)];
    for (const order of [equal, equal.toReversed()]) {
      expect(pipeline([input(order)]).kernels.map(({ target }) => target)).toStrictEqual(["b", "m", "z"]);
    }
  });

  test("is the same bytes every time", () => {
    expect(JSON.stringify(pipeline([input(launches)]))).toBe(JSON.stringify(pipeline([input(launches)])));
  });

  test("joins kernels over several reports, each launch keeping its own", () => {
    const result = pipeline([input(launches), input([kernel(0, "c", 500)], { id: "r2" })]);
    expect(result.kernels[0]).toMatchObject({
      target: "c",
      detail: { launch: { index: 0, report_id: "r2" }, timing: { n: 2, total_us: 530 } },
    });
    expect(result.provenance.reports.map(({ id }) => id)).toStrictEqual(["r1", "r2"]);
  });

  test("a failed launch is listed and enters no sum", () => {
    const failed = kernel(4, "d", null, { failure: "it crashed", grid: null, block: null });
    const result = pipeline([input([...launches, failed, kernel(5, "a", 1e9, { failure: "it crashed" })])]);
    expect(result.report_us).toBe(150);
    expect(result.launches).toBe(6);
    const last = result.kernels.at(-1)!;
    expect(last).toMatchObject({
      target: "d",
      roofline: null,
      wall_clock_us: null,
      detail: { roofline_null_reason: "it crashed", shapes: [], timing: { n: 0 } },
    });
    expect(result.kernels.find(({ target }) => target === "a")?.detail.timing.n).toBe(2);
    expect(result.findings).toMatchObject([
      { code: "launch_failed", severity: "error", launch: 4 },
      { code: "launch_failed", launch: 5 },
    ]);
  });

  test("ranges and graphs stand apart and are in no sum", () => {
    const graph = kernel(4, "graph", 1000, {
      kind: "graph",
      grid: null,
      block: null,
      names: { ...named("graph"), mangled: null, function: null, demangled: null, display: "graph" },
    });
    const result = pipeline([input([...launches, graph])]);
    expect(result).toMatchObject({
      launches: 4,
      report_us: 150,
      composites: [{ kind: "graph", index: 4, display: "graph", duration_us: 1000 }],
    });
    const results = [...launchResults(input([...launches, graph]))];
    expect(results).toHaveLength(5);
    expect(results[4]).toMatchObject({
      roofline: "memory-bound",
      detail: { launch: { kind: "graph", grid: null, block: null }, share_of_report: null },
    });
    expect(results[4]?.detail.null_reasons["detail.launch.grid"]).toContain("several kernels");
    expect(results[4]?.detail.null_reasons["detail.share_of_report"]).toContain("no sum");
    const only = pipeline([input([graph])]);
    expect(only).toMatchObject({ launches: 0, report_us: null, kernels: [], composites: [{ index: 4 }] });
    expect(only.null_reasons.report_us).toBeTruthy();
  });

  test("a duration that is not above 0 is no time: in no sum, mean, cluster, share or rank", () => {
    const clock = "smsp__cycles_elapsed.avg.per_second";
    const bad = [
      kernel(4, "a", -0.005, {}, { [clock]: -1e9 }),
      kernel(5, "b", 0),
      kernel(6, "d", -0.005),
      kernel(7, "d", 0),
    ];
    const all = [...launches, ...bad];
    const result = pipeline([input(all)]);
    expect(result).toMatchObject({ report_us: 150, launches: 8, kernels_total: 4 });
    expect(result.kernels.map(({ target }) => target)).toStrictEqual(["b", "c", "a", "d"]);
    expect(result.kernels.map(({ detail }) => detail.timing.n)).toStrictEqual([1, 1, 2, 0]);
    expect(result.provenance.gpus[0]?.sm_clock_hz).toStrictEqual({ min: null, max: null });
    expect(result.findings).toMatchObject([
      { code: "duration_not_positive", severity: "warning", launch: 4, evidence: { metric: DURATION, value: -5 } },
      { code: "duration_not_positive", launch: 5, evidence: { value: 0, unit: "ns" } },
      { code: "duration_not_positive", launch: 6 },
      { code: "duration_not_positive", launch: 7 },
    ]);

    const a = kernelOf([input(all)], "a");
    expect(a.detail.timing).toMatchObject({ n: 2, total_us: 20, mean_us: 10, min_us: 10, spread: 0 });
    expect(a.wall_clock_us).toBe(10);
    expect(a.detail.shapes[0]?.timing).toMatchObject({ n: 2, total_us: 20 });
    expect(a.detail.shapes[0]?.clusters).toMatchObject([
      { launches: [0, 2], timing: { n: 2 }, share_of_kernel: 1 },
      {
        launches: [4],
        timing: { n: 0, total_us: null },
        roofline_null_reason: "the duration is -5 ns",
        share_of_kernel: null,
      },
    ]);
    expect(a.findings.map(({ code, launch }) => [code, launch])).toStrictEqual([["duration_not_positive", 4]]);

    const d = kernelOf([input(all)], "d");
    expect(d).toMatchObject({ wall_clock_us: null, roofline: null, optimization_headroom: null });
    expect(d.detail).toMatchObject({ share_of_report: null, timing: { n: 0, source: null } });
    for (const path of ["wall_clock_us", "detail.timing.total_us", "detail.timing.spread", "detail.share_of_report"]) {
      expect(d.detail.null_reasons[path], path).toBe("the duration is -5 ns");
    }
    expect(d.detail.sources).not.toHaveProperty("wall_clock_us");
    expect(d.detail.sources).not.toHaveProperty(["detail.timing"]);

    const each = [...launchResults(input(all))];
    expect(each.map(({ wall_clock_us }) => wall_clock_us)).toStrictEqual([10, 100, 10, 30, null, null, null, null]);
    expect(each[5]).toMatchObject({
      detail: { roofline_null_reason: "the duration is 0 ns", timing: { n: 0 }, share_of_report: null },
      findings: [{ code: "duration_not_positive", launch: 5 }],
    });
    expect(each[5]?.detail.null_reasons.wall_clock_us).toBe("the duration is 0 ns");
    expect(each[0]?.detail.share_of_report).toBe(10 / 150);
    expect(pipeline([input(bad)])).toMatchObject({
      report_us: null,
      null_reasons: { report_us: "no launch has a duration above 0" },
    });
  });

  test("no rate is taken over a duration that is not above 0", () => {
    const counted = { "dram__bytes_read.sum": 100, "dram__bytes_write.sum": 100 };
    const [result] = [...launchResults(input([kernel(0, "a", -0.005, {}, counted)]))];
    expect(result?.detail.memory.dram_bytes_per_s).toBeNull();
    expect(result?.detail.null_reasons["detail.memory.dram_bytes_per_s"]).toBe("the duration is -5 ns");
    expect(result?.detail.headroom.distance_with_launch_floor).toBeNull();
  });

  test("a range with a duration that is not above 0 has none, with the reason", () => {
    const range = kernel(4, "range", 0, { kind: "range", grid: null, block: null });
    const result = pipeline([input([...launches, range])]);
    expect(result.composites).toMatchObject([{ index: 4, duration_us: null }]);
    expect(result.null_reasons["composites.0.duration_us"]).toBe("the duration is 0 ns");
    expect(result.findings).toMatchObject([{ code: "duration_not_positive", launch: 4 }]);
  });

  test("findings of the reader and a torn report are handed on", () => {
    const finding = { code: "torn", severity: "warning" as const, message: "m", launch: null, evidence: {} };
    const report = reportOf(launches, { partial: true, partial_at_byte: 77, findings: [finding] });
    const result = pipeline([{ report, id: null, sha256: "ab" }]);
    expect(result.partial).toBe(true);
    expect(result.findings).toStrictEqual([finding]);
    expect(result.provenance.reports).toMatchObject([
      { sha256: "ab", partial: true, partial_at_byte: 77, format: "ncu-rep" },
    ]);
  });
});

describe("a kernel", () => {
  test("carries the verdict of the median launch of its heaviest cluster and lists the rest", () => {
    const launches = [
      kernel(0, "gemm", 45, {}, { [MEMORY]: 1 }),
      kernel(1, "gemm", 1148, {}, { [MEMORY]: 85 }),
      kernel(2, "gemm", 1000, {}, { [MEMORY]: 83 }),
      kernel(3, "gemm", 1100, {}, { [MEMORY]: 84 }),
      kernel(4, "gemm", 50, {}, { [MEMORY]: 2 }),
      kernel(5, "gemm", 50, { grid: [264, 1, 1] }, { [MEMORY]: 3 }),
    ];
    const result = kernelOf([input(launches)], "gemm");
    expect(result.detail.launch?.index).toBe(3);
    expect(result.memory_bw_utilization).toBe(0.84);
    expect(result.detail.timing).toMatchObject({ n: 6, total_us: 3393, min_us: 45, max_us: 1148 });
    expect(result.wall_clock_us).toBeCloseTo(3393 / 6, 9);
    expect(result.detail.shapes).toHaveLength(2);
    const [persistent, other] = result.detail.shapes;
    expect(persistent?.clusters.map(({ launches: own, median_launch }) => [own, median_launch])).toStrictEqual([
      [[1, 2, 3], 3],
      [[0, 4], 0],
    ]);
    expect(persistent?.clusters[0]).toMatchObject({ roofline: "memory-bound", timing: { n: 3, mean_us: 3248 / 3 } });
    expect(persistent?.clusters[0]?.share_of_kernel).toBeCloseTo(3248 / 3393, 12);
    expect(persistent?.clusters[1]).toMatchObject({ roofline: "latency-bound" });
    expect(other).toMatchObject({ grid: [264, 1, 1], clusters: [{ launches: [5] }] });
  });

  test("a thousand equal launches are one cluster with the first in the middle of their order", () => {
    const launches = Array.from({ length: 1000 }, (_, index) => kernel(index, "same", 10));
    const { detail } = kernelOf([input(launches)], "same");
    expect(detail.shapes).toHaveLength(1);
    expect(detail.shapes[0]?.clusters).toHaveLength(1);
    expect(detail.shapes[0]?.clusters[0]).toMatchObject({
      median_launch: 499,
      timing: { n: 1000, spread: 0 },
      share_of_kernel: 1,
    });
  });

  test("shapes differ by grid, block and shared memory", () => {
    const shared = (bytes: number): MetricValues => ({
      launch__shared_mem_per_block_static: 0,
      launch__shared_mem_per_block_dynamic: bytes,
    });
    const launches = [
      kernel(0, "k", 10, {}, shared(0)),
      kernel(1, "k", 10, {}, shared(1024)),
      kernel(2, "k", 10, { block: [256, 1, 1] }, shared(0)),
      kernel(3, "k", 10, { grid: [1, 132, 1] }, shared(0)),
    ];
    const { shapes } = kernelOf([input(launches)], "k").detail;
    expect(shapes.map(({ clusters }) => clusters[0]?.launches)).toStrictEqual([[0], [1], [2], [3]]);
    expect(shapes.map(({ shared_memory_usage_bytes }) => shared_memory_usage_bytes)).toStrictEqual([0, 1024, 0, 0]);
  });

  test("of several that match, the one with the most time is the answer", () => {
    const launches = [
      kernel(0, "attn_fwd", 10),
      kernel(1, "attn_bwd", 30),
      kernel(2, "attn_fwd", 15),
      kernel(3, "gemm", 99),
    ];
    const result = kernelOf([input(launches)], "/^attn_/");
    expect(result.target).toBe("attn_bwd");
    expect(result.others).toStrictEqual([
      { target: "attn_fwd", name_key: "attn_fwd", roofline: "memory-bound", total_us: 25, launches: 2 },
    ]);
  });

  test("launches without a duration are judged by nothing and counted", () => {
    const result = kernelOf([input([kernel(0, "k", null), kernel(1, "k", null)])], "k");
    expect(result.roofline).toBeNull();
    expect(result.wall_clock_us).toBeNull();
    expect(result.detail.null_reasons["detail.timing.mean_us"]).toContain("was not collected");
    expect(result.detail.shapes[0]?.clusters[0]).toMatchObject({
      launches: [0, 1],
      timing: { n: 0, total_us: null },
      share_of_kernel: null,
    });
  });
});

describe("no result", () => {
  test("an empty report", () => {
    expect(failureOf([input([])], "k")).toMatchObject({ code: "no_kernels_profiled" });
    expect(failureOf([input([])], "full pipeline")).toMatchObject({ code: "no_kernels_profiled" });
    expect([...launchResults(input([]))]).toStrictEqual([]);
  });
  test("a name that is not there names what is", () => {
    const failure = failureOf([input([kernel(0, "a", 1), kernel(1, "b", 2)])], "c");
    expect(failure).toMatchObject({ code: "no_matching_kernel", evidence: { kernels: ["b", "a"], kernels_total: 2 } });
    expect(failure.hint).toBeTruthy();
  });
  test("a pattern that cannot be used", () => {
    expect(failureOf([input([kernel(0, "a", 1)])], "/(/")).toMatchObject({
      code: "invalid_target",
      evidence: { target: "/(/" },
    });
  });
});

test("provenance: GPU, clocks over all launches, tool, passes", () => {
  const clock = (hz: number, passes: number): MetricValues => ({
    "smsp__cycles_elapsed.avg.per_second": hz,
    "dram__cycles_elapsed.avg.per_second": 3.2e9,
    profiler__replayer_passes: passes,
    device__attribute_display_name: "NVIDIA H200",
    device__attribute_compute_capability_major: 9,
    device__attribute_compute_capability_minor: 0,
    device__attribute_max_gpu_frequency_khz: 1_980_000,
  });
  const { provenance } = pipeline([
    input([kernel(0, "a", 1, {}, clock(1.5e9, 3)), kernel(1, "b", 1, {}, clock(1.9e9, 38))]),
  ]);
  expect(provenance).toMatchObject({
    gpus: [
      {
        name: "NVIDIA H200",
        compute_capability: "9.0",
        sm_clock_hz: { min: 1.5e9, max: 1.9e9 },
        sm_clock_max_hz: 1.98e9,
        dram_clock_hz: { min: 3.2e9, max: 3.2e9 },
        catalogue_id: "h200",
      },
    ],
    reports: [{ tool: "ncu", tool_version: "2025.3.1.0", cuda_version: "13.0", launches: 2 }],
    passes: 38,
  });
});
