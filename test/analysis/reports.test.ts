import { describe, expect, test } from "vitest";
import { analyze } from "../../src/analysis/index.ts";
import type { KernelResult } from "../../src/model/result.ts";
import { kernelResultSchema, pipelineResultSchema } from "../../src/model/result.ts";
import { asRecorded, expectedFrom, fixtureInput, launchResultsOf, recordedVerdicts } from "../helpers/verdicts.ts";

const FILES = [
  "h200-full.ncu-rep.gz",
  "h200-sections.ncu-rep.gz",
  "h200-graph-nodes.ncu-rep.gz",
  "h200-graph-whole.ncu-rep.gz",
  "h200-profiler-range.ncu-rep.gz",
  "h200-two-processes.ncu-rep.gz",
  "h200-server-under-ncu.ncu-rep.gz",
  "tiny-full.ncu-rep.gz",
  "tiny-graph-nodes.ncu-rep.gz",
  "tiny-verdict.ncu-rep.gz",
  "tiny-killed.ncu-rep.gz",
  "tiny-fault.ncu-rep.gz",
  "h200-full.raw.csv.gz",
  "h200-full.raw-base-units.csv.gz",
  "h200-full.details.csv.gz",
  "tiny-full.raw-base-units.csv.gz",
  "tiny-verdict.raw-base-units.csv.gz",
  "tiny-killed.raw-base-units.csv.gz",
] as const;

/** Nulls that say something by themselves, or whose reason stands at another place. */
const PLAIN_NULLS =
  /^detail\.(launch\.failure|roofline_null_reason|names\.|shapes\.|hints\.|tensor_paths\.\d+\.(op|sparsity|peak_ops_per_s|utilization)$|peak_tflops_by_precision\.\w+\.citation)/;

/** Paths of all nulls of a kernel's fields; a memory level is named by its level. */
function nullsOf(value: unknown, path: string): string[] {
  if (value === null) return [path];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const key = typeof item === "object" && item !== null && "level" in item ? String(item.level) : index;
      return nullsOf(item, `${path}.${key}`);
    });
  }
  if (typeof value !== "object") return [];
  return Object.entries(value as object).flatMap(([key, part]) => nullsOf(part, path === "" ? key : `${path}.${key}`));
}

const fieldsOf = ({
  kind: _,
  schema_version: __,
  partial: ___,
  others: ____,
  findings: _____,
  provenance: ______,
  ...fields
}: KernelResult) => fields;

describe.each(FILES)("%s", (file) => {
  test("gives results of the published shape, in file order", async () => {
    const input = await fixtureInput(file);
    const results = launchResultsOf(input);
    expect(results.map(({ detail }) => detail.launch?.index)).toStrictEqual(
      input.report.launches.map(({ index }) => index),
    );
    for (const result of results) expect(kernelResultSchema.parse(result)).toStrictEqual(result);
    const pipeline = analyze([input], { target: "full pipeline" });
    if (!pipeline.ok) throw new Error(pipeline.error.message);
    expect(pipelineResultSchema.parse(pipeline.value)).toStrictEqual(pipeline.value);
    expect(analyze([input], { target: "full pipeline" })).toStrictEqual(pipeline);
  });

  test("says why each null is null", async () => {
    for (const result of launchResultsOf(await fixtureInput(file))) {
      const { null_reasons: reasons } = result.detail;
      const unexplained = nullsOf(fieldsOf(result), "").filter(
        (path) => !PLAIN_NULLS.test(path) && !(reasons[path] ?? "").trim(),
      );
      expect(unexplained, `launch ${result.detail.launch?.index}`).toStrictEqual([]);
      // And nothing is explained that has a value.
      const nulls = new Set(nullsOf(fieldsOf(result), ""));
      for (const path of Object.keys(reasons)) {
        expect(
          nulls.has(path) || path === "detail.occupancy.limits_recomputed_blocks" || /limits_blocks\./.test(path),
          path,
        ).toBe(true);
      }
    }
  });

  test("names only metrics that the launch has as sources, and the launch itself", async () => {
    const input = await fixtureInput(file);
    for (const [position, result] of launchResultsOf(input).entries()) {
      const launch = input.report.launches[position]!;
      for (const [path, source] of Object.entries(result.detail.sources)) {
        expect(source.launch, path).toBe(launch.index);
        expect(source.metrics.length, path).toBeGreaterThan(0);
        for (const metric of source.metrics) expect(launch.metrics.number(metric), `${path}: ${metric}`).not.toBeNull();
      }
      for (const metric of result.detail.missing_metrics) {
        if (!metric.includes("*")) expect(launch.metrics.number(metric), metric).toBeNull();
      }
    }
  });

  test("keeps physical invariants", async () => {
    for (const result of launchResultsOf(await fixtureInput(file))) {
      for (const shares of [result.warp_stall_reasons, result.detail.stalls.shares_by_reason]) {
        if (shares === null) continue;
        expect(Object.values(shares).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
        expect(Object.values(shares)).toStrictEqual(Object.values(shares).toSorted((a, b) => b - a));
      }
      if (result.wall_clock_us !== null) expect(result.wall_clock_us).toBeGreaterThan(0);
      if (result.sm_occupancy !== null) expect(result.sm_occupancy).toBeLessThanOrEqual(1);
      expect(result.detail.latency.primary).toBe(result.detail.latency.reasons[0] ?? null);
      if (result.roofline !== "latency-bound") expect(result.detail.latency.reasons).toStrictEqual([]);
      if (result.roofline === null) {
        expect(result.detail.roofline_null_reason).toBeTruthy();
        expect(result.optimization_headroom).toBeNull();
        expect(result.detail.limiter).toBe("unknown");
      } else {
        expect(result.optimization_headroom).toMatch(/^(high|medium|low|unknown) — /);
      }
    }
  });
});

test("tiny-verdict: the same classes, occupancy and stalls from fewer counters, no TFLOPS where nothing was counted", async () => {
  const few = launchResultsOf(await fixtureInput("tiny-verdict.ncu-rep.gz")).map(asRecorded);
  const verdicts = recordedVerdicts("tiny");
  expect(few).toHaveLength(verdicts.length);
  for (const [index, verdict] of verdicts.entries()) {
    const one = few[index]!;
    expect(one.occupancy_next_step).toStrictEqual(expectedFrom(verdict).occupancy_next_step);
    expect(one.roofline).toBe(verdict.roofline);
    expect(one.limiter).toBe(verdict.limiter);
    expect(one.latency_primary).toBe(verdict.latency_primary);
    expect(one.dominant_stall_group).toBe(verdict.dominant_stall_group);
    expect(one.occupancy_limiter).toBe(verdict.occupancy_limiter);
    expect(one.theoretical_occupancy).toBe(verdict.theoretical_occupancy);
    // Another run of the same program: achieved numbers differ a little.
    expect(Math.abs(one.sm_occupancy - verdict.sm_occupancy)).toBeLessThan(1);
    for (const [group, share] of Object.entries<number>(verdict.stall_shares)) {
      expect(Math.abs(one.stall_shares[group] - share), group).toBeLessThan(0.02);
    }
    expect(one.dominant_tflops).toBeNull();
  }
  const [first] = launchResultsOf(await fixtureInput("tiny-verdict.ncu-rep.gz"));
  expect(first?.detail.null_reasons.tflops).toBe("operations were not counted for fp32, fp64, fp16_vector");
  expect(first?.detail.missing_metrics).toContain(
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
  );
});

test("tiny-killed: its five complete launches", async () => {
  const results = launchResultsOf(await fixtureInput("tiny-killed.ncu-rep.gz"));
  expect(results.map(({ target, roofline }) => [target, roofline])).toStrictEqual([
    ["stream_add", "memory-bound"],
    ["fma_chain", "compute-bound"],
    ["pointer_walk", "latency-bound"],
    ["smem_tile", "latency-bound"],
    ["stream_add", "memory-bound"],
  ]);
});

test("tiny-fault: the ninth launch is withheld, without grid and block, and in no sum", async () => {
  const input = await fixtureInput("tiny-fault.ncu-rep.gz");
  const results = launchResultsOf(input);
  expect(results).toHaveLength(9);
  const ninth = results[8]!;
  expect(ninth).toMatchObject({
    target: "out_of_bounds",
    roofline: null,
    wall_clock_us: null,
    detail: { launch: { grid: null, block: null } },
  });
  expect(
    nullsOf({ ...ninth.detail.memory, ...ninth.detail.stalls, ...ninth.detail.registers }, "").length,
  ).toBeGreaterThan(20);
  expect(ninth.detail.counters).toStrictEqual({});
  expect(ninth.detail.peak_tflops_by_precision).toBeNull();
  expect(ninth.findings).toMatchObject([{ code: "launch_failed", launch: 8 }]);
  const pipeline = analyze([input], { target: "full pipeline" });
  if (!pipeline.ok || pipeline.value.kind !== "pipeline") throw new Error("no pipeline");
  const sum = results.slice(0, 8).reduce((total, { wall_clock_us }) => total + (wall_clock_us ?? 0), 0);
  expect(pipeline.value.report_us).toBeCloseTo(sum, 6);
  expect(pipeline.value.findings.map(({ code }) => code)).toContain("launch_failed");
});

test("h200-graph-whole: the graph is a composite with a verdict of its own", async () => {
  const input = await fixtureInput("h200-graph-whole.ncu-rep.gz");
  const graph = launchResultsOf(input)[5]!;
  expect(graph).toMatchObject({
    wall_clock_us: 304.032,
    roofline: "latency-bound",
    detail: { launch: { kind: "graph", grid: null, block: null } },
  });
  expect(graph.detail.latency.reasons).not.toContain("grid_smaller_than_sm_count");
  const pipeline = analyze([input], { target: "full pipeline" });
  if (!pipeline.ok || pipeline.value.kind !== "pipeline") throw new Error("no pipeline");
  expect(pipeline.value.composites).toMatchObject([{ kind: "graph", index: 5, duration_us: 304.032 }]);
  expect(pipeline.value.launches).toBe(5);
});

test("h200-sections and h200-full agree on classes", async () => {
  const classes = async (file: string) =>
    launchResultsOf(await fixtureInput(file)).map(({ roofline, detail }) => [roofline, detail.limiter]);
  expect(await classes("h200-sections.ncu-rep.gz")).toStrictEqual(await classes("h200-full.ncu-rep.gz"));
});

test("h200-server-under-ncu: verdicts of all kernels, rates null with a reason", async () => {
  const results = launchResultsOf(await fixtureInput("h200-server-under-ncu.ncu-rep.gz"));
  expect(results).toHaveLength(30);
  for (const { roofline, tflops, detail } of results) {
    expect(roofline).not.toBeNull();
    expect(tflops).toBeNull();
    expect(detail.null_reasons.tflops).toContain("not counted");
  }
});

test("h200-full.details: what that page carries", async () => {
  const results = launchResultsOf(await fixtureInput("h200-full.details.csv.gz"));
  const report = launchResultsOf(await fixtureInput("h200-full.ncu-rep.gz"));
  const verdicts = recordedVerdicts("h200");
  expect(results).toHaveLength(verdicts.length);
  for (const [index, verdict] of verdicts.entries()) {
    const one = asRecorded(results[index]!);
    expect(one.roofline).toBe(verdict.roofline);
    expect(one.near).toBe(verdict.near);
    expect(one.occupancy_limiter).toBe(verdict.occupancy_limiter);
    expect(one.occupancy_limits).toStrictEqual(verdict.occupancy_limits);
    expect(one.grid).toStrictEqual(verdict.grid);
    for (const field of [
      "compute_utilization",
      "memory_bw_utilization",
      "l2_utilization",
      "sm_occupancy",
      "theoretical_occupancy",
      "waves_per_sm",
    ]) {
      expect(Math.abs(one[field] - verdict[field]), field).toBeLessThanOrEqual(0.005 + 1e-9);
    }
    for (const field of ["registers_per_thread", "occupancy_recomputed", "occupancy_next_step"]) {
      expect(one[field], field).toStrictEqual(expectedFrom(verdict)[field]);
    }
    // Cells of this page are scaled one by one, to two decimals.
    expect(Math.abs(one.wall_clock_us / verdict.wall_clock_us - 1)).toBeLessThan(0.005);
    expect(Math.abs(one.shared_memory_dynamic_bytes - verdict.shared_memory_dynamic_bytes)).toBeLessThanOrEqual(5);
    expect(one.dominant_tflops).toBeNull();
    expect(one.stall_shares).toBeNull();
    expect(results[index]?.detail.hints.length).toBe(report[index]?.detail.hints.length);
  }
});
