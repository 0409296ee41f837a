import { describe, expect, test } from "vitest";
import { TENSOR_COLUMNS } from "../hardware/tensor-columns.ts";
import { COMPUTE, DURATION, judge, MEMORY } from "../helpers/judge.ts";
import { H200_DEVICE, type MetricValues } from "../helpers/metric-set.ts";

const CLOCK = "smsp__cycles_elapsed.avg.per_second";
const GHZ = 1e9;
const perCycle = (op: string): string => `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum.per_cycle_elapsed`;
const count = (op: string): string => `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum`;
const peak = (op: string): string => `sm__sass_thread_inst_executed_op_${op}_pred_on.sum.peak_sustained`;
const tensor = (name: string): string => `sm__ops_path_tensor_${name}.sum`;

const BASE: MetricValues = { [COMPUTE]: 50, [MEMORY]: 50, [DURATION]: 1e5, [CLOCK]: 2 * GHZ };
const rates = (ops: Readonly<Record<string, number>>): MetricValues =>
  Object.fromEntries(Object.entries(ops).map(([op, rate]) => [perCycle(op), rate]));

const device = (cc: string, name = "Some GPU"): MetricValues => ({
  device__attribute_display_name: name,
  device__attribute_compute_capability_major: Number(cc.split(".")[0]),
  device__attribute_compute_capability_minor: Number(cc.split(".")[1]),
});

describe("CUDA cores", () => {
  test("count 2 per multiply-add, packed half2 twice that", () => {
    const { detail } = judge({
      ...BASE,
      ...rates({ fadd: 1, fmul: 2, ffma: 4, dadd: 1, dmul: 2, dfma: 4, hadd: 1, hmul: 2, hfma: 4 }),
      [peak("ffma")]: 16_896,
      [peak("dfma")]: 8_448,
      [peak("hfma")]: 16_896,
    });
    expect(detail.tflops_by_precision).toStrictEqual({ fp16_vector: 0.044, fp32: 0.022, fp64: 0.022 });
    expect(detail.peak_tflops_by_precision).toMatchObject({
      fp32: { tflops: (2 * 16_896 * 2 * GHZ) / 1e12, source: "launch_counters", estimated: false },
      fp64: { tflops: (2 * 8_448 * 2 * GHZ) / 1e12 },
      fp16_vector: { tflops: (4 * 16_896 * 2 * GHZ) / 1e12 },
    });
    expect(detail.dominant_precision).toBe("fp16_vector");
  });

  test("one instruction that was not counted leaves the precision out", () => {
    const result = judge({ ...BASE, ...rates({ fadd: 1, ffma: 4 }) });
    expect(result.tflops).toBeNull();
    expect(result.detail.tflops_by_precision).toBeNull();
    expect(result.detail.null_reasons.tflops).toBe("operations were not counted for fp32, fp64, fp16_vector");
  });

  test("counts over the duration serve where rates are missing", () => {
    const result = judge({ ...BASE, [count("fadd")]: 1e6, [count("fmul")]: 0, [count("ffma")]: 2e6 });
    expect(result.tflops).toBeCloseTo(5e6 / 1e-4 / 1e12, 15);
    expect(result.detail.sources.tflops?.metrics).toContain(count("ffma"));
    expect(result.detail.sources.tflops?.metrics).toContain(DURATION);
  });

  test("counted and all zero is no work: null, and the table is empty, not missing", () => {
    const zero = rates({ fadd: 0, fmul: 0, ffma: 0, dadd: 0, dmul: 0, dfma: 0, hadd: 0, hmul: 0, hfma: 0 });
    const result = judge({ ...BASE, ...zero });
    expect(result.tflops).toBeNull();
    expect(result.detail.tflops_by_precision).toStrictEqual({});
    expect(result.detail.arithmetic_intensity_flop_per_byte).toBeNull();
    expect(result.detail.null_reasons.tflops).toBe("no floating-point work beside moves");
  });
});

describe("HFMA2 as moves", () => {
  const half = { [peak("hfma")]: 16_896, ...rates({ hadd: 0, hmul: 0, fadd: 0, fmul: 0, ffma: 0.5 }) };
  test("HFMA alone below 2 % of its peak is no work", () => {
    const result = judge({ ...BASE, ...half, [perCycle("hfma")]: 337 });
    expect(result.detail.fp16_vector_is_probably_moves).toBe(true);
    expect(result.detail.dominant_precision).toBe("fp32");
    expect(result.detail.tflops_by_precision).toHaveProperty("fp16_vector");
    expect(result.findings).toMatchObject([{ code: "hfma_moves", evidence: { metric: "fp16_vector" } }]);
  });
  test("at 2 % or with other half instructions it is", () => {
    const busy = judge({ ...BASE, ...half, [perCycle("hfma")]: 339 });
    expect(busy.detail).toMatchObject({ fp16_vector_is_probably_moves: false, dominant_precision: "fp16_vector" });
    const mixed = judge({ ...BASE, ...half, [perCycle("hfma")]: 337, [perCycle("hadd")]: 0.1 });
    expect(mixed.detail.fp16_vector_is_probably_moves).toBe(false);
  });
});

describe("tensor columns", () => {
  const H100 = { ...BASE, ...device("9.0") };

  test("totals and instruction columns are never added up", () => {
    const { detail, tflops } = judge({
      ...H100,
      [`${tensor("src_bf16_dst_fp32")}.per_second`]: 8e14,
      [`${tensor("src_bf16_dst_fp32")}.peak_sustained`]: 1_081_344,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_off")}.per_second`]: 8e14,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_off")}.peak_sustained`]: 540_672,
      [`${tensor("op_hmma_src_bf16_dst_fp32_sparsity_off")}.per_second`]: 0,
      [`${tensor("op_hmma_src_bf16_dst_fp32_sparsity_off")}.peak_sustained`]: 360_448,
    });
    expect(tflops).toBe(800);
    expect(detail.peak_tflops_by_precision?.bf16?.tflops).toBeCloseTo((540_672 * 2 * GHZ) / 1e12, 9);
    expect(detail.tensor_paths).toMatchObject([{ op: "hgmma", precision: "bf16", sparsity: "off" }]);
    expect(detail.tensor_paths[0]?.utilization).toBeCloseTo(8e14 / (540_672 * 2 * GHZ), 12);
  });

  test("a total alone gives the rate, and the sparse peak it carries is not taken for the dense one", () => {
    const only = {
      ...H100,
      [`${tensor("src_bf16_dst_fp32")}.per_second`]: 8e14,
      [`${tensor("src_bf16_dst_fp32")}.peak_sustained`]: 1_081_344,
    };
    const unknown = judge(only);
    expect(unknown.tflops).toBe(800);
    expect(unknown.detail.peak_tflops_by_precision).toBeNull();
    expect(unknown.detail.null_reasons["detail.ridge_point_flop_per_byte"]).toContain("bf16");
    const known = judge({ ...only, ...H200_DEVICE });
    expect(known.detail.peak_tflops_by_precision?.bf16).toMatchObject({
      tflops: 989.4,
      source: "catalogue",
      estimated: true,
    });
    expect(known.detail.peak_tflops_by_precision?.bf16?.citation).toBeTruthy();
  });

  test("a total beside some of its columns counts in full", () => {
    const { tflops } = judge({
      ...H100,
      [`${tensor("src_bf16_dst_fp32")}.per_second`]: 8e14,
      [`${tensor("op_hmma_src_bf16_dst_fp32_sparsity_off")}.per_second`]: 1e14,
    });
    expect(tflops).toBe(800);
  });

  test("accumulations of FP16 are summed, and the peak is that of the accumulation in use", () => {
    const ada = {
      ...BASE,
      ...device("8.9"),
      [`${tensor("src_fp16_dst_fp16_sparsity_off")}.peak_sustained`]: 131_072,
      [`${tensor("src_fp16_dst_fp32_sparsity_off")}.peak_sustained`]: 65_536,
    };
    const wide = judge({
      ...ada,
      [`${tensor("src_fp16_dst_fp16_sparsity_off")}.per_second`]: 1e13,
      [`${tensor("src_fp16_dst_fp32_sparsity_off")}.per_second`]: 3e13,
    });
    expect(wide.tflops).toBe(40);
    expect(wide.detail.peak_tflops_by_precision?.fp16?.tflops).toBeCloseTo((65_536 * 2 * GHZ) / 1e12, 9);
    const narrow = judge({ ...ada, [`${tensor("src_fp16_dst_fp16_sparsity_off")}.per_second`]: 1e13 });
    expect(narrow.detail.peak_tflops_by_precision?.fp16?.tflops).toBeCloseTo((131_072 * 2 * GHZ) / 1e12, 9);
  });

  test("sparse work is named, its peak is no dense peak", () => {
    const sparse = judge({
      ...H100,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_on")}.per_second`]: 1.5e15,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_on")}.peak_sustained`]: 1_081_344,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_off")}.per_second`]: 0,
      [`${tensor("op_hgmma_src_bf16_dst_fp32_sparsity_off")}.peak_sustained`]: 540_672,
    });
    expect(sparse.detail.peak_tflops_by_precision?.bf16?.tflops).toBeCloseTo((540_672 * 2 * GHZ) / 1e12, 9);
    expect(sparse.findings).toMatchObject([{ code: "sparse_operations" }]);
  });

  test("a count over the duration serves where the rate is missing", () => {
    expect(judge({ ...H100, [tensor("src_fp8_sparsity_off")]: 1e11 }).tflops).toBeCloseTo(1000, 9);
  });

  test("a pipe that is busy without operations makes no tensor kernel", () => {
    const idle = {
      ...H100,
      [`${tensor("src_fp64")}.per_second`]: 0,
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 2.1,
    };
    expect(judge(idle).detail).toMatchObject({ dominant_precision: null, tensor_paths: [] });
  });
});

describe.each(Object.entries(TENSOR_COLUMNS))("compute capability %s", (cc, names) => {
  const plain = names.filter((name) => !name.startsWith("op_"));
  const byOp = names.filter((name) => name.startsWith("op_"));

  test("counts every operation once", () => {
    // Each instruction column 1e12; a column that stands for instruction columns holds their sum, as the tool reports it.
    const types = (name: string): string => name.slice(name.indexOf("src_")).replace(/_sparsity_.*/, "");
    const covers = (name: string): number =>
      byOp.filter(
        (op) => types(op) === name || types(op).startsWith(`${name}_dst`) || name.startsWith(`${types(op)}_dst`),
      ).length;
    const values: Record<string, number> = {};
    for (const name of byOp) values[`${tensor(name)}.per_second`] = 1e12;
    for (const name of plain)
      values[`${tensor(name)}.per_second`] =
        covers(name) > 0 && !name.includes("sparsity") ? covers(name) * 1e12 : 1e12;
    const { detail } = judge({ ...BASE, ...device(cc), ...values });
    const sum = Object.values(detail.tflops_by_precision ?? {}).reduce((all, rate) => all + rate, 0);
    const alone = plain.filter((name) => covers(name) === 0 || name.includes("sparsity")).length;
    expect(sum).toBeCloseTo(byOp.length + alone, 9);
  });

  test("finds a dense peak for each precision from the columns of this GPU", () => {
    const values: Record<string, number> = {};
    for (const name of names) {
      // Totals and sparse columns have twice the dense peak.
      const total = byOp.length > 0 && !name.startsWith("op_") && !name.includes("sparsity");
      values[`${tensor(name)}.peak_sustained`] = name.endsWith("_on") || total ? 2000 : 1000;
    }
    const { detail } = judge({ ...BASE, ...device(cc), ...values });
    for (const [precision, figure] of Object.entries(detail.peak_tflops_by_precision ?? {})) {
      // These have no sparse form: their totals are dense as well.
      if (precision === "fp64_tensor" || precision === "int1") continue;
      expect(figure.tflops, precision).toBe(2);
      expect(figure.source).toBe("launch_counters");
    }
    expect(Object.keys(detail.peak_tflops_by_precision ?? {}).length).toBeGreaterThan(0);
  });
});

test("integers count as operations and may dominate", () => {
  const { detail, tflops } = judge({
    ...BASE,
    ...device("8.0"),
    ...rates({ fadd: 1, fmul: 0, ffma: 0 }),
    [`${tensor("src_int8_sparsity_off")}.per_second`]: 2e14,
  });
  expect(detail.dominant_precision).toBe("int8");
  expect(tflops).toBe(200);
});
