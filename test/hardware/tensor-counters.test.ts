import { describe, expect, test } from "vitest";
import { isDense, parseTensorColumn, pathOf, precisionOf, TENSOR_PREFIX } from "../../src/hardware/tensor-counters.ts";
import { TENSOR_COLUMNS } from "./tensor-columns.ts";

const column = (name: string) => {
  const parsed = parseTensorColumn(TENSOR_PREFIX + name);
  if (parsed === null) throw new Error(`${name} is no column`);
  return parsed;
};

const spelled = ({ op, source, destination, sparsity }: ReturnType<typeof column>): string =>
  [
    op === null ? "" : `op_${op}_`,
    `src_${source}`,
    destination === null ? "" : `_dst_${destination}`,
    sparsity === null ? "" : `_sparsity_${sparsity}`,
  ].join("");

describe.each(Object.entries(TENSOR_COLUMNS))("names of compute capability %s", (_, names) => {
  test("read in full", () => {
    for (const name of names) expect(spelled(column(name))).toBe(name);
  });
});

test("precisions of each compute capability", () => {
  const precisions = (cc: string) =>
    [...new Set(TENSOR_COLUMNS[cc]!.map((name) => precisionOf(column(name), "kernel")))].sort();
  expect(precisions("7.0")).toStrictEqual(["fp16"]);
  expect(precisions("7.5")).toStrictEqual(["fp16", "int1", "int4", "int8"]);
  expect(precisions("8.0")).toStrictEqual(["bf16", "fp16", "fp64_tensor", "int1", "int4", "int8", "tf32"]);
  expect(precisions("8.9")).toContain("fp8");
  expect(precisions("9.0")).toStrictEqual(["bf16", "fp16", "fp64_tensor", "fp8", "int1", "int8", "tf32"]);
  expect(precisions("10.0")).toStrictEqual(["bf16", "fp16", "fp4", "fp4_fp6_fp8", "fp64_tensor", "int8", "tf32"]);
  expect(precisions("12.0")).toStrictEqual(["bf16", "fp16", "fp4", "fp4_fp6", "fp64_tensor", "fp8", "int8", "tf32"]);
});

test("FP8, FP6 and FP4 of 10.x share a column: only the kernel's name tells FP8", () => {
  const shared = column("op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off");
  expect(precisionOf(shared, "gemm_e4m3_tn")).toBe("fp8");
  expect(precisionOf(shared, "deep_gemm::fp8_gemm_kernel")).toBe("fp8");
  expect(precisionOf(shared, "mxf4_gemm")).toBe("fp4_fp6_fp8");
});

test("instruction paths", () => {
  expect(pathOf(column("op_hmma_src_bf16_dst_fp32_sparsity_off"))).toBe("mma.sync");
  expect(pathOf(column("op_imma_src_int8_sparsity_off"))).toBe("mma.sync");
  expect(pathOf(column("op_hgmma_src_fp16_sparsity_off"))).toBe("wgmma");
  expect(pathOf(column("op_bgmma_src_int1"))).toBe("wgmma");
  expect(pathOf(column("op_utcimma_src_int8_sparsity_off"))).toBe("tcgen05");
  expect(pathOf(column("op_utcomma_src_fp4_dst_fp32_sparsity_off"))).toBe("tcgen05");
  expect(pathOf(column("src_fp8_sparsity_off"))).toBeNull();
});

test("a total carries the sparse peak from 8.0 on; what has no sparse form is dense", () => {
  expect(isDense(column("op_hgmma_src_bf16_dst_fp32_sparsity_off"), "9.0")).toBe(true);
  expect(isDense(column("op_hgmma_src_bf16_dst_fp32_sparsity_on"), "9.0")).toBe(false);
  expect(isDense(column("src_bf16_dst_fp32"), "9.0")).toBe(false);
  expect(isDense(column("src_int8"), "10.0")).toBe(false);
  expect(isDense(column("src_fp64"), "9.0")).toBe(true);
  expect(isDense(column("src_int1"), "8.0")).toBe(true);
  expect(isDense(column("src_fp16_bf16_tf32_dst_fp32"), "7.5")).toBe(true);
  expect(isDense(column("src_fp16_dst_fp32"), null)).toBe(false);
});

test.each([
  "sm__pipe_tensor_cycles_active",
  `${TENSOR_PREFIX}op_hmma`,
  `${TENSOR_PREFIX}src_`,
  `${TENSOR_PREFIX}hmma_src_bf16`,
  `${TENSOR_PREFIX}src__sparsity_on`,
])("%s is no column", (name) => {
  expect(parseTensorColumn(name)).toBeNull();
});
