import { describe, expect, test } from "vitest";
import type { MetricSet } from "../../src/model/metrics.ts";
import { COMPUTE, DURATION, judge, MEMORY } from "../helpers/judge.ts";
import { HandMadeMetrics, type MetricValues } from "../helpers/metric-set.ts";

const perCycle = (op: string): string => `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum.per_cycle_elapsed`;
const BASE: MetricValues = {
  [COMPUTE]: 20,
  [MEMORY]: 50,
  [DURATION]: 1e5,
  "smsp__cycles_elapsed.avg.per_second": 2e9,
  [perCycle("fadd")]: 1000,
  [perCycle("fmul")]: 0,
  [perCycle("ffma")]: 0,
  "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16_000,
  "dram__bytes.sum.per_second": 2e12,
  "dram__bytes.sum.peak_sustained": 1000,
  "dram__cycles_elapsed.avg.per_second": 4e9,
};

describe("where a launch stands in the plot", () => {
  test("left of the ridge its position equals the memory utilisation", () => {
    const { detail } = judge(BASE);
    expect(detail.arithmetic_intensity_flop_per_byte).toBe(1);
    expect(detail.ridge_point_flop_per_byte).toBe(16);
    expect(detail.achieved_over_attainable).toBe(0.5);
  });

  test("right of it, that of the compute peak", () => {
    const { detail } = judge({ ...BASE, "dram__bytes.sum.per_second": 1e9 });
    expect(detail.achieved_over_attainable).toBe(1000 / 32_000);
  });

  test("no bytes: the intensity is null with its reason, the position that of the compute roof", () => {
    const { detail } = judge({ ...BASE, "dram__bytes.sum.per_second": 0 });
    expect(detail.arithmetic_intensity_flop_per_byte).toBeNull();
    expect(detail.null_reasons["detail.arithmetic_intensity_flop_per_byte"]).toBe(
      "no bytes of device memory were moved",
    );
    expect(detail.achieved_over_attainable).toBe(1000 / 32_000);
  });

  test("sources are those of work, bytes and peaks", () => {
    expect(judge(BASE).detail.sources["detail.ridge_point_flop_per_byte"]?.metrics.toSorted()).toStrictEqual([
      "dram__bytes.sum.peak_sustained",
      "dram__cycles_elapsed.avg.per_second",
      "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
      "smsp__cycles_elapsed.avg.per_second",
    ]);
  });
});

describe("levels", () => {
  test("L2 runs in its own clock, L1 in that of the SM", () => {
    const { levels } = judge({
      ...BASE,
      "derived__lts__lts2xbar_bytes.sum.per_second": 4e12,
      "derived__lts__lts2xbar_bytes.sum.peak_sustained": 6_016,
      "lts__cycles_elapsed.avg.per_second": 1.7e9,
      "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second": 8e12,
      "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained": 16_896,
      "lts__t_sector_hit_rate.pct": 25,
    }).detail.memory;
    expect(levels).toMatchObject([
      { level: "dram", bytes_per_s: 2e12, peak_bytes_per_s: 4e12, utilization: 0.5, hit_rate: null },
      {
        level: "l2",
        bytes_per_s: 4e12,
        peak_bytes_per_s: 6_016 * 1.7e9,
        hit_rate: 0.25,
        arithmetic_intensity_flop_per_byte: 0.5,
      },
      { level: "l1", bytes_per_s: 8e12, peak_bytes_per_s: 16_896 * 2e9, arithmetic_intensity_flop_per_byte: 0.25 },
    ]);
  });

  test("older names serve", () => {
    const { levels } = judge({ ...BASE, "lts__t_bytes.sum.per_second": 1, "l1tex__t_bytes.sum.per_second": 2 }).detail
      .memory;
    expect(levels.map(({ bytes_per_s }) => bytes_per_s)).toStrictEqual([2e12, 1, 2]);
  });

  test("the L1 throughput of active cycles never stands in for that of elapsed ones", () => {
    const { levels } = judge({ ...BASE, "l1tex__throughput.avg.pct_of_peak_sustained_active": 95 }).detail.memory;
    expect(levels[2]?.utilization).toBeNull();
  });
});

describe("sectors", () => {
  const LD = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
  const REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
  const RATIO = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
  const loads = (ldg: number, ldgsts: number, tma: number): MetricValues => ({
    [RATIO]: 8,
    sass__inst_executed_global_loads: ldg,
    "smsp__inst_executed_op_ldgsts.sum": ldgsts,
    "smsp__inst_executed_op_tma_ld.sum": tma,
  });
  const perSector = (metrics: MetricValues) => judge(metrics).detail.memory.bytes_per_sector_load;

  test("per request; none without requests", () => {
    expect(judge({ [LD]: 64, [REQUESTS]: 4 }).detail.memory.sectors_per_request_load).toBe(16);
    const none = judge({ [LD]: 0, [REQUESTS]: 0 }).detail;
    expect(none.memory.sectors_per_request_load).toBeNull();
    expect(none.null_reasons["detail.memory.sectors_per_request_load"]).toContain("no global requests");
  });

  test("bytes per sector only where at least half of the loads are LDG", () => {
    expect(perSector(loads(100, 0, 0))).toBe(8);
    expect(perSector(loads(100, 60, 40))).toBe(8);
    expect(perSector(loads(100, 60, 41))).toBeNull();
    expect(perSector(loads(0, 0, 0))).toBeNull();
    expect(perSector({ [RATIO]: 8 })).toBeNull();
  });
});

describe("findings", () => {
  const codes = (metrics: MetricValues): string[] => judge(metrics).findings.map(({ code }) => code);

  test("bytes that disagree by more than 5 %", () => {
    const bytes = (sum: number): MetricValues => ({ ...BASE, "dram__bytes_read.sum": sum, "dram__bytes_write.sum": 0 });
    expect(codes(bytes(2e12 * 1e-4))).toStrictEqual([]);
    expect(codes(bytes(1.049 * 2e12 * 1e-4))).toStrictEqual([]);
    expect(codes(bytes(1.051 * 2e12 * 1e-4))).toStrictEqual(["dram_bytes_disagree"]);
    expect(codes(bytes(0.949 * 2e12 * 1e-4))).toStrictEqual(["dram_bytes_disagree"]);
  });

  const rounded = (values: MetricValues, resolutions: Readonly<Record<string, number>>): MetricSet => {
    const metrics = new HandMadeMetrics(values);
    return {
      number: (name) => metrics.number(name),
      text: (name) => metrics.text(name),
      absence: (name) => metrics.absence(name),
      names: () => metrics.names(),
      resolution: (name) => resolutions[name] ?? 0,
    };
  };
  const codesWithin = (values: MetricValues, resolutions: Readonly<Record<string, number>>) =>
    judge(rounded(values, resolutions)).findings.map(({ code }) => code);

  test("bytes that disagree by no more than their rounding are no finding", () => {
    // Exact 1.1: each operand alone, rounded by up to 5 %, brings it to 1.05 or below.
    const sums = { ...BASE, "dram__bytes_read.sum": 2.2e8, "dram__bytes_write.sum": 0 };
    expect(codesWithin(sums, {})).toStrictEqual(["dram_bytes_disagree"]);
    for (const [metric, enough, tooLittle] of [
      ["dram__bytes_read.sum", 1.01e7, 0.99e7],
      ["dram__bytes_write.sum", 1, 1],
      ["dram__bytes.sum.per_second", 1e11, 9e10],
      [DURATION, 5e3, 4.5e3],
    ] as const) {
      const explained = metric === "dram__bytes_write.sum" ? ["dram_bytes_disagree"] : [];
      expect(codesWithin(sums, { [metric]: enough }), metric).toStrictEqual(explained);
      expect(codesWithin(sums, { [metric]: tooLittle }), metric).toStrictEqual(["dram_bytes_disagree"]);
    }
    // Roundings of several operands add up; so they do below the expected range.
    expect(codesWithin(sums, { "dram__bytes_read.sum": 5.1e6, [DURATION]: 2.5e3 })).toStrictEqual([]);
    const less = { ...sums, "dram__bytes_read.sum": 1.8e8 };
    expect(codesWithin(less, { "dram__bytes_read.sum": 0.99e7 })).toStrictEqual(["dram_bytes_disagree"]);
    expect(codesWithin(less, { "dram__bytes_write.sum": 1.01e7 })).toStrictEqual([]);
    // A rate that may have been 0 says nothing.
    expect(codesWithin(sums, { "dram__bytes.sum.per_second": 2e12 })).toStrictEqual([]);
  });

  test("a percentage over 100 within its rounding is none", () => {
    const rate = "lts__t_sector_op_write_hit_rate.pct";
    expect(codesWithin({ [rate]: 100.4 }, { [rate]: 0.5 })).toStrictEqual([]);
    expect(codesWithin({ [rate]: 100.6 }, { [rate]: 0.5 })).toStrictEqual(["over_bound"]);
  });

  test("percentages over 100 are kept and named, exactly 100 is none", () => {
    const rate = "lts__t_sector_op_write_hit_rate.pct";
    expect(codes({ [rate]: 100 })).toStrictEqual([]);
    const [finding] = judge({ [rate]: 795.7 }, { index: 9 }).findings;
    expect(finding).toMatchObject({
      code: "over_bound",
      severity: "info",
      launch: 9,
      evidence: { metric: rate, value: 795.7, bound: 100 },
    });
  });

  const stall = (reason: string): string => `smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio`;
  const parked: MetricValues = {
    [stall("barrier")]: 3,
    [stall("wait")]: 7,
    "smsp__inst_executed_op_tma_ld.sum": 100,
    "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed": 5,
  };
  test("stall sums, barrier shares and moves count only beyond their rounding", () => {
    const latency = "smsp__average_warp_latency_per_inst_issued.ratio";
    const sum = { [stall("wait")]: 6, [stall("selected")]: 1, [latency]: 6.5 };
    expect(codesWithin(sum, {})).toStrictEqual(["stall_shares_unreliable"]);
    expect(codesWithin(sum, { [stall("wait")]: 0.17 })).toStrictEqual(["stall_shares_unreliable"]);
    expect(codesWithin(sum, { [stall("wait")]: 0.1, [stall("selected")]: 0.08 })).toStrictEqual([]);
    expect(codesWithin(sum, { [latency]: 0.2 })).toStrictEqual([]);

    expect(codesWithin(parked, {})).toStrictEqual(["barrier_of_parked_warps"]);
    expect(codesWithin(parked, { [stall("barrier")]: 0.01 })).toStrictEqual([]);
    expect(codesWithin(parked, { [stall("wait")]: 0.01 })).toStrictEqual([]);
    const more = { ...parked, [stall("barrier")]: 3.1 };
    expect(codesWithin(more, { [stall("wait")]: 0.01 })).toStrictEqual(["barrier_of_parked_warps"]);

    const peak = "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained";
    const half = { ...BASE, [perCycle("hadd")]: 0, [perCycle("hmul")]: 0, [perCycle("hfma")]: 337, [peak]: 16_896 };
    expect(codesWithin(half, {})).toStrictEqual(["hfma_moves"]);
    expect(codesWithin(half, { [perCycle("hfma")]: 0.5 })).toStrictEqual(["hfma_moves"]);
    expect(codesWithin(half, { [perCycle("hfma")]: 2 })).toStrictEqual([]);
    expect(codesWithin(half, { [peak]: 100 })).toStrictEqual([]);
  });

  test("barriers of parked warps need warp-group products, TMA loads and a share of 30 %", () => {
    expect(codes(parked)).toStrictEqual(["barrier_of_parked_warps"]);
    expect(codes({ ...parked, [stall("barrier")]: 2.99 })).toStrictEqual([]);
    expect(codes({ ...parked, "smsp__inst_executed_op_tma_ld.sum": 0 })).toStrictEqual([]);
    expect(
      codes({ ...parked, "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed": 0 }),
    ).toStrictEqual([]);
    const tcgen05 = {
      ...parked,
      "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed": 0,
      "sm__ops_path_tensor_op_utchmma_src_bf16_dst_fp32_sparsity_off.sum.per_second": 1e14,
    };
    expect(codes(tcgen05)).toStrictEqual(["barrier_of_parked_warps"]);
  });
});

describe("a faster path", () => {
  const tensor = (name: string, rate: number, peak: number): MetricValues => ({
    [`sm__ops_path_tensor_${name}.sum.per_second`]: rate,
    [`sm__ops_path_tensor_${name}.sum.peak_sustained`]: peak,
  });
  const clock = { [COMPUTE]: 75, [MEMORY]: 20, [DURATION]: 1e5, "smsp__cycles_elapsed.avg.per_second": 2e9 };

  test("wgmma for mma.sync of the same types", () => {
    const { detail, optimization_headroom } = judge({
      ...clock,
      ...tensor("op_hmma_src_fp16_dst_fp32_sparsity_off", 0.75 * 360_448 * 2e9, 360_448),
      ...tensor("op_hgmma_src_fp16_sparsity_off", 0, 540_672),
      ...tensor("op_hgmma_src_bf16_dst_fp32_sparsity_off", 0, 900_000),
      ...tensor("op_hgmma_src_fp16_sparsity_on", 0, 1_081_344),
    });
    expect(detail.headroom.best_path).toMatchObject({
      path: "wgmma",
      path_in_use: "mma.sync",
      precision: "fp16",
      requires_precision_change: false,
    });
    expect(detail.headroom.best_path?.peak_tflops).toBeCloseTo((540_672 * 2e9) / 1e12, 6);
    expect(detail.headroom.within_path).toBeCloseTo(0.25, 12);
    expect(detail.headroom.to_best_path).toBeCloseTo(0.5, 5);
    expect(detail.headroom.level).toBe("high");
    expect(optimization_headroom).toContain(", 50% to the wgmma roof");
    expect(detail.sources["detail.headroom.best_path"]?.metrics).toContain(
      "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained",
    );
  });

  test("tcgen05 on 10.x, and none where the peaks are the same", () => {
    const mma = tensor("op_hmma_src_bf16_dst_fp32_sparsity_off", 1e14, 100_000);
    const path = (peak: number) =>
      judge({ ...clock, ...mma, ...tensor("op_utchmma_src_bf16_dst_fp32_sparsity_off", 0, peak) }).detail.headroom
        .best_path;
    expect(path(400_000)).toMatchObject({ path: "tcgen05" });
    expect(path(101_000)).toBeNull();
    expect(path(101_001)).toMatchObject({ path: "tcgen05" });
  });

  test("none for FP8 of 9.0, whose column counts both paths", () => {
    const fp8 = judge({ ...clock, ...tensor("src_fp8_sparsity_off", 1e15, 1_081_344) }).detail;
    expect(fp8.headroom.best_path).toBeNull();
    expect(fp8.null_reasons["detail.headroom.best_path"]).toContain("no faster path");
  });

  const fp32: MetricValues = {
    ...clock,
    [perCycle("fadd")]: 0,
    [perCycle("fmul")]: 0,
    [perCycle("ffma")]: 12_000,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16_896,
    ...tensor("op_hgmma_src_tf32_dst_fp32_sparsity_off", 0, 270_336),
  };
  const named = (metrics: MetricValues, name: string) =>
    judge(metrics, { names: { mangled: name, function: name, demangled: "", display: name, simplified: false } }).detail
      .headroom;

  test("TF32 for a matrix product in FFMA, by its name alone", () => {
    expect(named(fp32, "sm80_xmma_gemm_f32f32").best_path).toMatchObject({
      path: "tensor core",
      path_in_use: "FFMA",
      precision: "tf32",
      requires_precision_change: true,
    });
    expect(named(fp32, "fma_chain").best_path).toBeNull();
  });

  test("FP64 tensor cores for one in DFMA", () => {
    const fp64: MetricValues = {
      ...clock,
      [perCycle("dadd")]: 0,
      [perCycle("dmul")]: 0,
      [perCycle("dfma")]: 6_000,
      "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 8_448,
      ...tensor("src_fp64", 0, 33_792),
    };
    const headroom = named(fp64, "dgemm_kernel");
    expect(headroom.best_path).toMatchObject({
      path: "FP64 tensor",
      path_in_use: "DFMA",
      requires_precision_change: false,
    });
    expect(headroom.to_best_path).toBeCloseTo(1 - (12_000 * 2e9) / (33_792 * 2e9), 9);
    expect(headroom.level).toBe("high");
  });
});

test("imbalance: idle share of the average SM, by either count of elapsed cycles", () => {
  const active = { "sm__cycles_active.avg": 70 };
  expect(judge({ ...active, "sm__cycles_elapsed.max": 100, "gpc__cycles_elapsed.max": 140 }).detail).toMatchObject({
    imbalance: 1 - 70 / 100,
    imbalance_metric: "sm__cycles_elapsed.max",
  });
  expect(judge({ ...active, "gpc__cycles_elapsed.max": 140 }).detail).toMatchObject({
    imbalance: 0.5,
    imbalance_metric: "gpc__cycles_elapsed.max",
  });
  expect(judge({ ...active, "sm__cycles_elapsed.max": 0 }).detail.imbalance).toBeNull();
});
