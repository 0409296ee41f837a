import { describe, expect, test } from "vitest";
import { percent, roundHalfUp } from "../../src/analysis/format.ts";
import { type BestPath, type HeadroomInput, headroomOf } from "../../src/analysis/headroom.ts";
import type { LatencyInput } from "../../src/analysis/latency.ts";
import type { LatencyReason, Limiter } from "../../src/model/result.ts";

const LATENCY: LatencyInput = {
  durationNs: 100_000,
  computePct: 10,
  memoryPct: 40,
  l1Pct: 85.5,
  l2Pct: 90.4,
  gridBlocks: 64,
  smCount: 132,
  waves: 1.295,
  imbalance: 0.294,
  stallShares: { tensor_wait: 0.31, synchronization: 0.355, memory_dependency: 0.65, execution_dependency: 0.445 },
  theoreticalOccupancy: 0.1875,
  achievedOccupancy: 0.164,
};

const input = (change: Partial<HeadroomInput>): HeadroomInput => ({
  roofline: "memory-bound",
  computePct: 10,
  memoryPct: 90,
  durationNs: 100_000,
  pipelineFraction: null,
  opsPerS: null,
  bestPath: null,
  limiter: "dram",
  primary: null,
  latency: LATENCY,
  occupancyLimits: [],
  ...change,
});
const text = (change: Partial<HeadroomInput>): string | null => headroomOf(input(change)).text;

const WGMMA: BestPath = {
  path: "wgmma",
  pathInUse: "mma.sync",
  precision: "bf16",
  peak: 9e14,
  metrics: [],
  requiresPrecisionChange: false,
};
const TF32: BestPath = {
  ...WGMMA,
  path: "tensor core",
  pathInUse: "FFMA",
  precision: "tf32",
  requiresPrecisionChange: true,
};

test("halves are rounded up, also where arithmetic left them just below", () => {
  expect(percent(0.125)).toBe("13%");
  expect(percent(0.145)).toBe("15%");
  expect(percent(1 - 0.855)).toBe("15%");
  expect(percent(0.1449)).toBe("14%");
  expect(percent(0)).toBe("0%");
  expect(percent(-0.005)).toBe("0%");
  expect(roundHalfUp(1.295, 2)).toBe("1.30");
  expect(roundHalfUp(2.65, 1)).toBe("2.7");
  expect(roundHalfUp(4, 1)).toBe("4.0");
});

describe("distances", () => {
  test("to the roof of the class", () => {
    expect(headroomOf(input({})).withinPath).toBeCloseTo(0.1, 12);
    expect(headroomOf(input({ roofline: "compute-bound", computePct: 95 })).withinPath).toBeCloseTo(0.05, 12);
    expect(headroomOf(input({ roofline: "latency-bound", computePct: 30, memoryPct: 59 })).withinPath).toBeCloseTo(
      0.41,
      12,
    );
  });

  test("to a faster path, where it exists and compute is the nearer roof", () => {
    const mma = { roofline: "latency-bound", computePct: 75, memoryPct: 20, opsPerS: 4.5e14, bestPath: WGMMA } as const;
    expect(headroomOf(input(mma)).toBestPath).toBeCloseTo(0.5, 12);
    expect(headroomOf(input({ ...mma, memoryPct: 76 })).toBestPath).toBeNull();
    expect(headroomOf(input({ ...mma, memoryPct: 60 })).toBestPath).toBeCloseTo(0.4, 12);
    expect(headroomOf(input({ ...mma, bestPath: null })).toBestPath).toBeNull();
    expect(headroomOf(input({ ...mma, opsPerS: null })).toBestPath).toBeNull();
    expect(headroomOf(input({ ...mma, roofline: "compute-bound", memoryPct: null })).toBestPath).toBeNull();
    // Not larger than the distance within the path: nothing to be had.
    expect(headroomOf(input({ ...mma, opsPerS: 7e14 })).toBestPath).toBeNull();
  });

  test("the launch floor of 1.7 us", () => {
    const at = (durationNs: number, memoryPct: number) =>
      headroomOf(input({ durationNs, memoryPct, roofline: "latency-bound" })).withLaunchFloor;
    expect(at(2_624, 0.06)).toBeCloseTo(1 - 1_700 / 2_624, 12);
    expect(at(1_696, 0.06)).toBe(0);
    expect(at(100_000, 60)).toBeCloseTo(0.4, 12);
  });

  test("none without a verdict or a duration", () => {
    const none = { withinPath: null, toBestPath: null, level: null, withLaunchFloor: null, text: null };
    expect(headroomOf(input({ roofline: null }))).toStrictEqual(none);
    expect(headroomOf(input({ durationNs: null }))).toStrictEqual(none);
    expect(headroomOf(input({ durationNs: 0 }))).toStrictEqual(none);
  });
});

describe("the level", () => {
  const level = (change: Partial<HeadroomInput>) => headroomOf(input(change)).level;
  test("without a pipeline: the distance, unrounded", () => {
    const at = (pct: number) => level({ roofline: "latency-bound", computePct: 0, memoryPct: pct });
    expect([at(60), at(60.001), at(85), at(85.001)]).toStrictEqual(["high", "medium", "medium", "low"]);
  });
  test("without a pipeline, below 5 us: unknown for all", () => {
    expect(level({ durationNs: 4_999, memoryPct: 90 })).toBe("unknown");
    expect(level({ durationNs: 5_000, memoryPct: 90 })).toBe("low");
  });
  test.each([
    [87, 0.18, "high"],
    [91.5, 0.18, "medium"],
    [87, 0.03, "low"],
    [86.66, 0.18, "high"],
  ])("%f %% bandwidth and %f of a pipeline: %s", (memoryPct, pipelineFraction, expected) => {
    expect(level({ memoryPct, pipelineFraction })).toBe(expected);
  });
  test("with a pipeline a short launch has one, counted with the floor", () => {
    expect(level({ durationNs: 2_624, memoryPct: 0.06, roofline: "latency-bound", pipelineFraction: 0.05 })).toBe(
      "medium",
    );
  });
  test("a change of precision never moves it", () => {
    const sgemm = {
      roofline: "compute-bound",
      computePct: 86.45,
      memoryPct: 3,
      opsPerS: 5e13,
      bestPath: TF32,
    } as const;
    expect(level(sgemm)).toBe("low");
    expect(level({ ...sgemm, bestPath: { ...TF32, requiresPrecisionChange: false } })).toBe("high");
  });
});

describe("the sentence", () => {
  test("of a bound launch", () => {
    expect(text({})).toBe("low — memory-bound with 10% BW unused");
    expect(text({ occupancyLimits: ["registers"] })).toBe(
      "low — memory-bound with 10% BW unused, occupancy limited by registers",
    );
    expect(text({ occupancyLimits: ["shared_mem", "warps", "blocks", "barriers"] })).toMatch(
      /limited by shared memory and warps and blocks and barriers$/,
    );
    expect(text({ memoryPct: 103.2 })).toBe("low — memory-bound at 103% of the BW peak, over its bound");
    expect(
      text({
        roofline: "compute-bound",
        computePct: 86.45,
        memoryPct: 3,
        opsPerS: 5.1e13,
        bestPath: { ...TF32, peak: 5.33e14 },
      }),
    ).toBe("low — compute-bound with 14% compute unused, 90% to the TF32 roof if TF32 is accepted");
    expect(text({ roofline: "compute-bound", computePct: 82, memoryPct: 3, opsPerS: 4.5e14, bestPath: WGMMA })).toBe(
      "high — compute-bound with 18% compute unused, 50% to the wgmma roof",
    );
    expect(
      text({
        roofline: "compute-bound",
        computePct: 82,
        memoryPct: 3,
        opsPerS: 4.5e14,
        bestPath: { ...WGMMA, path: "FP64 tensor" },
      }),
    ).toContain("50% to the FP64 tensor roof");
  });

  test("of a short launch", () => {
    const short = {
      durationNs: 2_624,
      roofline: "latency-bound",
      memoryPct: 0.06,
      primary: "tiny_kernel",
      occupancyLimits: ["registers"],
    } as const;
    expect(text(short)).toBe("unknown — 2.6 us kernel: only its number in the pipeline tells");
    expect(text({ ...short, pipelineFraction: 0.1 })).toBe(
      "high — latency-bound (2.6 us kernel), 35% above the launch floor, occupancy limited by registers",
    );
  });

  test.each<[LatencyReason, Limiter, string]>([
    ["near_compute_roof", "tensor", "near the tensor-core roof"],
    ["near_compute_roof", "fma", "near the FMA roof"],
    ["near_compute_roof", "fp64", "near the FP64 roof"],
    ["near_compute_roof", "alu", "near the ALU roof"],
    ["near_compute_roof", "issue", "near the issue-slot roof"],
    ["near_compute_roof", "lsu", "near the LSU roof"],
    ["near_compute_roof", "l1_shared", "near the L1 roof"],
    ["near_compute_roof", "unknown", "near the compute roof"],
    ["near_memory_roof", "dram", "near the DRAM roof"],
    ["grid_smaller_than_sm_count", "latency", "grid of 64 blocks for 132 SMs"],
    ["less_than_one_wave", "latency", "less than one wave: 1.30 waves"],
    ["l2_bound", "l2", "L2 at 90%"],
    ["l1_or_shared_bound", "l1_shared", "L1 or shared memory at 86%"],
    ["tail_effect", "tail", "tail effect: 1.30 waves"],
    ["load_imbalance", "imbalance", "load imbalance: SMs idle 29%"],
    ["tensor_wait_stalls", "latency", "waiting for the tensor core: 31%"],
    ["barrier_stalls", "latency", "barrier stalls: 36%"],
    ["memory_dependency_stalls", "latency", "memory dependency stalls: 65%"],
    ["execution_dependency_stalls", "latency", "execution dependency stalls: 45%"],
    ["low_theoretical_occupancy", "latency", "theoretical occupancy 19%"],
    ["achieved_occupancy_below_theoretical", "latency", "achieved occupancy 16% of 19%"],
    ["unknown", "unknown", "cause not in the counters"],
  ])("of %s (%s)", (primary, limiter, words) => {
    expect(text({ roofline: "latency-bound", memoryPct: 40, primary, limiter })).toBe(
      `high — latency-bound (${words}), 60% of the nearer roof unused`,
    );
  });

  test("one block is no blocks", () => {
    const alone = {
      roofline: "latency-bound",
      memoryPct: 40,
      primary: "grid_smaller_than_sm_count",
      latency: { ...LATENCY, gridBlocks: 1 },
    } as const;
    expect(text(alone)).toContain("grid of 1 block for 132 SMs");
  });
});
