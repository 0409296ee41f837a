import { describe, expect, test } from "vitest";
import { classify, impedimentOf } from "../../src/analysis/roofline.ts";
import type { Compute, Memory } from "../../src/analysis/utilization.ts";
import { COMPUTE, DURATION, judge, MEMORY } from "../helpers/judge.ts";

const compute = (pct: number | null, basis: Compute["basis"] = "measured"): Compute => ({ pct, metric: "c", basis });
const memory = (pct: number | null, basis: Memory["basis"] = "measured"): Memory => ({ pct, metric: "m", basis });
const verdict = (c: number | null, m: number | null) => classify(compute(c), memory(m), null);

describe("the class", () => {
  test.each([
    [80.1, 10, "compute-bound"],
    [10, 80.1, "memory-bound"],
    [81, 90, "memory-bound"],
    [90, 81, "compute-bound"],
    [85, 85, "compute-bound"],
    [79.999, 79.999, "latency-bound"],
    [0, 0, "latency-bound"],
  ])("compute %f, memory %f: %s", (c, m, word) => {
    expect(verdict(c, m)).toStrictEqual({ roofline: word, reason: null });
  });

  test("80 is not above 80, and nothing is rounded", () => {
    expect(verdict(80, 80).roofline).toBe("latency-bound");
    expect(verdict(80.000001, 80).roofline).toBe("compute-bound");
    expect(verdict(80, 80.000001).roofline).toBe("memory-bound");
  });
});

describe("a missing side", () => {
  test("with the other above 80 the verdict stands, and says what is missing", () => {
    expect(verdict(null, 91)).toStrictEqual({ roofline: "memory-bound", reason: "compute utilisation missing" });
    expect(verdict(91, null)).toStrictEqual({ roofline: "compute-bound", reason: "memory utilisation missing" });
  });

  test("with the other not above 80 there is none: the missing one could be", () => {
    expect(verdict(null, 80)).toStrictEqual({ roofline: null, reason: "compute utilisation missing" });
    expect(verdict(12, null)).toStrictEqual({ roofline: null, reason: "memory utilisation missing" });
    expect(verdict(null, null).roofline).toBeNull();
  });

  test("a negative or undefined number counts as missing", () => {
    expect(verdict(-1, 50)).toStrictEqual({ roofline: null, reason: "compute utilisation is negative" });
    expect(verdict(Number.NaN, 50).roofline).toBeNull();
    expect(verdict(-1, 90).roofline).toBe("memory-bound");
  });
});

describe("over the bound", () => {
  test("up to 105 % a value carries a verdict", () => {
    expect(verdict(104, 10).roofline).toBe("compute-bound");
    expect(verdict(10, 105).roofline).toBe("memory-bound");
  });

  test("above 105 % none, whatever the other side says", () => {
    for (const [c, m] of [
      [106, 10],
      [10, 106],
      [106, 95],
    ] as const) {
      expect(verdict(c, m)).toMatchObject({
        roofline: null,
        reason: expect.stringContaining("106.0 % is over its bound"),
      });
    }
  });

  test("the value itself is reported with a finding, not clipped", () => {
    const over = judge({ [COMPUTE]: 106, [MEMORY]: 10, [DURATION]: 20_000 });
    expect(over.roofline).toBeNull();
    expect(over.detail.compute_utilization).toBeCloseTo(1.06, 12);
    expect(over.optimization_headroom).toBeNull();
    expect(over.findings).toMatchObject([
      { code: "over_bound", severity: "warning", evidence: { metric: COMPUTE, value: 106 } },
    ]);
    const carried = judge({ [COMPUTE]: 104, [MEMORY]: 10, [DURATION]: 20_000 });
    expect(carried.roofline).toBe("compute-bound");
    expect(carried.detail.headroom.within_path).toBeCloseTo(-0.04, 12);
    expect(carried.optimization_headroom).toBe("low — compute-bound at 104% of the compute peak, over its bound");
  });
});

describe("a lower bound of the compute utilisation", () => {
  const bound = (c: number, m: number | null) => classify(compute(c, "lower_bound"), memory(m), null);
  test("proves compute-bound", () => {
    expect(bound(85, 10).roofline).toBe("compute-bound");
    expect(bound(85, null).roofline).toBe("compute-bound");
  });
  test("cannot exclude it", () => {
    expect(bound(50, 10)).toStrictEqual({
      roofline: null,
      reason: "compute utilisation is known only to be at least 50.0 %",
    });
    expect(bound(50, 90)).toMatchObject({
      roofline: "memory-bound",
      reason: expect.stringContaining("at least 50.0 %"),
    });
    expect(classify(compute(50, "estimated"), memory(10), null).roofline).toBeNull();
  });
  test("of two high sides the larger wins, and the bound is mentioned", () => {
    expect(bound(85, 90)).toMatchObject({
      roofline: "memory-bound",
      reason: expect.stringContaining("at least 85.0 %"),
    });
  });
});

describe("no verdict at all", () => {
  const full = { [COMPUTE]: 90, [MEMORY]: 10 };
  test("without a duration, with a duration or cycles of 0, or after a failure", () => {
    expect(impedimentOf(null, null, 1)).toBe("the launch has no duration");
    expect(impedimentOf(null, 0, 1)).toBe("the duration is 0 ns");
    expect(impedimentOf(null, 10, 0)).toBe("no cycles elapsed");
    expect(impedimentOf("crashed", 10, 10)).toBe("crashed");
    expect(impedimentOf(null, 10, null)).toBeNull();
  });
  test.each([
    ["no duration", full, "the launch has no duration"],
    ["zero duration", { ...full, [DURATION]: 0 }, "the duration is 0 ns"],
    ["NaN duration", { ...full, [DURATION]: Number.NaN }, "the launch has no duration"],
    ["zero cycles", { ...full, [DURATION]: 10_000, "gpc__cycles_elapsed.max": 0 }, "no cycles elapsed"],
  ])("%s", (_, metrics, reason) => {
    const result = judge(metrics);
    expect(result.roofline).toBeNull();
    expect(result.detail.roofline_null_reason).toBe(reason);
    expect(result.detail.null_reasons.roofline).toBe(reason);
    expect(result.detail.limiter).toBe("unknown");
  });
});

describe("fall-backs", () => {
  const rates = { [COMPUTE]: 10, [DURATION]: 100_000, "dram__bytes_read.sum": 3.6e8, "dram__bytes_write.sum": 0.6e8 };

  test("DRAM throughput under its other name", () => {
    const result = judge({ [COMPUTE]: 10, [DURATION]: 1e5, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 85 });
    expect(result.roofline).toBe("memory-bound");
    expect(result.detail).toMatchObject({
      memory_metric: "dram__throughput.avg.pct_of_peak_sustained_elapsed",
      memory_basis: "measured",
    });
  });

  test("bytes per second over the peak of the launch", () => {
    const result = judge({
      [COMPUTE]: 10,
      [DURATION]: 1e5,
      "dram__bytes.sum.per_second": 4.4e12,
      "dram__bytes.sum.peak_sustained": 1504,
      "dram__cycles_elapsed.avg.per_second": 3.2e9,
    });
    expect(result.memory_bw_utilization).toBeCloseTo(4.4e12 / (1504 * 3.2e9), 12);
    expect(result.detail).toMatchObject({ memory_metric: "dram__bytes.sum.per_second", memory_basis: "computed" });
  });

  test("bytes over the duration and the published bandwidth, marked as an estimate", () => {
    const result = judge({ ...rates, device__attribute_display_name: "NVIDIA H200" });
    expect(result.memory_bw_utilization).toBeCloseTo(4.2e8 / 1e-4 / 4.8e12, 12);
    expect(result.detail).toMatchObject({ memory_basis: "estimated", memory: { peak_dram_source: "catalogue" } });
    expect(result.provenance.peaks).toContain("estimated");
  });

  test("never the claimed bandwidth: 30 % of a B300 is not memory-bound", () => {
    const result = judge({
      [COMPUTE]: 10,
      [DURATION]: 1e5,
      "dram__bytes.sum": 2.31e8,
      device__attribute_display_name: "NVIDIA B300 SXM6 AC",
    });
    expect(result.memory_bw_utilization).toBeCloseTo(0.3, 12);
    expect(result.roofline).toBe("latency-bound");
  });

  test("no published figure for a part of a GPU", () => {
    const mig = { ...rates, device__attribute_display_name: "NVIDIA H200", device__attribute_multiprocessor_count: 16 };
    expect(judge(mig).memory_bw_utilization).toBeNull();
    expect(judge(rates, {}, { devices: [{ index: 0, name: "Unknown GPU" }] }).memory_bw_utilization).toBeNull();
  });

  test("the highest part of the SM is a lower bound of the compute utilisation", () => {
    const parts = {
      [MEMORY]: 10,
      [DURATION]: 1e5,
      "sm__issue_active.avg.pct_of_peak_sustained_elapsed": 60,
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 88,
    };
    expect(judge(parts)).toMatchObject({
      roofline: "compute-bound",
      detail: {
        compute_basis: "lower_bound",
        limiter: "tensor",
        compute_utilization_set_by: ["sm__pipe_tensor_cycles_active"],
      },
    });
  });

  test("operations over their peak are another", () => {
    const tensor = "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum";
    const result = judge({
      [MEMORY]: 10,
      [DURATION]: 1e5,
      [`${tensor}.per_second`]: 9e14,
      [`${tensor}.peak_sustained`]: 540_672,
      "smsp__cycles_elapsed.avg.per_second": 1.8e9,
    });
    expect(result).toMatchObject({ roofline: "compute-bound", detail: { compute_basis: "lower_bound" } });
    expect(result.detail.compute_utilization).toBeCloseTo(9e14 / (540_672 * 1.8e9), 12);
    const published = judge({
      [MEMORY]: 10,
      [DURATION]: 1e5,
      [`${tensor}.per_second`]: 9e14,
      device__attribute_display_name: "NVIDIA H200",
    });
    expect(published).toMatchObject({ roofline: "compute-bound", detail: { compute_basis: "estimated" } });
  });

  test("the busiest memory level never stands in for device memory", () => {
    const trap = {
      [COMPUTE]: 10,
      [DURATION]: 1e5,
      "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 95,
    };
    expect(judge(trap).memory_bw_utilization).toBeNull();
    expect(judge(trap).roofline).toBeNull();
  });
});
