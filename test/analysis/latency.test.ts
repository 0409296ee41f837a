import { describe, expect, test } from "vitest";
import { type LatencyInput, latencyReasons } from "../../src/analysis/latency.ts";

const QUIET: LatencyInput = {
  durationNs: 100_000,
  computePct: 10,
  memoryPct: 10,
  l1Pct: 10,
  l2Pct: 10,
  gridBlocks: 10_000,
  smCount: 132,
  waves: 40,
  imbalance: 0.01,
  stallShares: {},
  theoreticalOccupancy: 1,
  achievedOccupancy: 0.9,
};
const reasons = (change: Partial<LatencyInput>) => latencyReasons({ ...QUIET, ...change });

test("nothing fits: unknown", () => {
  expect(reasons({})).toStrictEqual(["unknown"]);
});

test("nothing is known: unknown", () => {
  const nothing = Object.fromEntries(Object.keys(QUIET).map((name) => [name, null])) as unknown as LatencyInput;
  expect(latencyReasons(nothing)).toStrictEqual(["unknown"]);
});

test.each([
  ["tiny_kernel", { durationNs: 4_999 }, { durationNs: 5_000 }],
  ["near_compute_roof", { computePct: 60 }, { computePct: 59.99 }],
  ["near_memory_roof", { memoryPct: 60 }, { memoryPct: 59.99 }],
  ["grid_smaller_than_sm_count", { gridBlocks: 131 }, { gridBlocks: 132 }],
  ["less_than_one_wave", { waves: 0.89 }, { waves: 0.9 }],
  ["l2_bound", { l2Pct: 80.1 }, { l2Pct: 80 }],
  ["l1_or_shared_bound", { l1Pct: 80.1 }, { l1Pct: 80 }],
  ["tail_effect", { imbalance: 0.15, waves: 1.29 }, { imbalance: 0.149, waves: 1.29 }],
  ["load_imbalance", { imbalance: 0.15 }, { imbalance: 0.149 }],
  ["tensor_wait_stalls", { stallShares: { tensor_wait: 0.3 } }, { stallShares: { tensor_wait: 0.299 } }],
  ["barrier_stalls", { stallShares: { synchronization: 0.3 } }, { stallShares: { synchronization: 0.299 } }],
  [
    "memory_dependency_stalls",
    { stallShares: { memory_dependency: 0.3 } },
    { stallShares: { memory_dependency: 0.299 } },
  ],
  ["execution_dependency_stalls", { stallShares: { execution_dependency: 0.3 } }, { stallShares: {} }],
  [
    "low_theoretical_occupancy",
    { theoreticalOccupancy: 0.49, achievedOccupancy: 0.45 },
    { theoreticalOccupancy: 0.5, achievedOccupancy: 0.45 },
  ],
  ["achieved_occupancy_below_theoretical", { achievedOccupancy: 0.749 }, { achievedOccupancy: 0.75 }],
] as const)("%s, up to its threshold and not beyond", (reason, fits, misses) => {
  expect(reasons(fits)).toStrictEqual([reason]);
  expect(reasons(misses)).not.toContain(reason);
});

describe("how the reasons exclude and order each other", () => {
  test("the larger roof names itself, equal ones compute", () => {
    expect(reasons({ computePct: 70, memoryPct: 75 })[0]).toBe("near_memory_roof");
    expect(reasons({ computePct: 75, memoryPct: 75 })[0]).toBe("near_compute_roof");
  });

  test("a short launch comes first, near a roof comes before a small grid", () => {
    expect(reasons({ durationNs: 2_000, memoryPct: 75, gridBlocks: 8, waves: 0.1 })).toStrictEqual([
      "tiny_kernel",
      "near_memory_roof",
      "grid_smaller_than_sm_count",
    ]);
  });

  test("a busy L2 in a stream from DRAM is normal", () => {
    expect(reasons({ l2Pct: 93, memoryPct: 75 })).toStrictEqual(["near_memory_roof"]);
  });

  test("a busy L1 says nothing of a short launch", () => {
    expect(reasons({ l1Pct: 95, durationNs: 3_000 })).toStrictEqual(["tiny_kernel"]);
  });

  test("imbalance below 10 us is start and end", () => {
    expect(reasons({ imbalance: 0.4, durationNs: 9_999, waves: 1.29 })).toStrictEqual(["unknown"]);
    expect(reasons({ imbalance: 0.4, durationNs: 10_000, waves: 1.29 })).toStrictEqual(["tail_effect"]);
  });

  test("a tail needs few waves and an empty part of the last; else it is an imbalance", () => {
    const idle = { imbalance: 0.3 };
    expect(reasons({ ...idle, waves: 5 })).toStrictEqual(["load_imbalance"]);
    expect(reasons({ ...idle, waves: 5.1 })).toStrictEqual(["load_imbalance"]);
    expect(reasons({ ...idle, waves: 1 })).toStrictEqual(["load_imbalance"]);
    expect(reasons({ ...idle, waves: 1.7 })).toStrictEqual(["tail_effect"]);
    expect(reasons({ ...idle, waves: 1.71 })).toStrictEqual(["load_imbalance"]);
    expect(reasons({ ...idle, waves: 0.95 })).toStrictEqual(["unknown"]);
  });

  test("without a measured imbalance the waves alone come last, as a possibility", () => {
    const waves = { imbalance: null, waves: 1.29, stallShares: { memory_dependency: 0.5 } };
    expect(reasons(waves)).toStrictEqual(["memory_dependency_stalls", "tail_effect"]);
  });

  test("low achieved occupancy says nothing below one wave", () => {
    expect(reasons({ achievedOccupancy: 0.1, waves: 0.95 })).toStrictEqual(["unknown"]);
  });

  test("a grid without a number of SMs is not called small", () => {
    expect(reasons({ gridBlocks: 1, smCount: null, waves: 0.01 })).toStrictEqual(["less_than_one_wave"]);
  });
});
