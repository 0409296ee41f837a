import { describe, expect, test } from "vitest";
import { registerBlocks, registersFor, type Sm, sharedBlocks, sharedFor } from "../../src/analysis/occupancy.ts";
import { COMPUTE, DURATION, judge, MEMORY } from "../helpers/judge.ts";
import { H200_DEVICE, type MetricValues } from "../helpers/metric-set.ts";

const H200: Sm = {
  warps: 64,
  blocks: 32,
  registers: 65_536,
  sharedBytes: 233_472,
  reservedBytes: 1_024,
  registerUnit: 256,
  registerParts: 4,
  sharedUnit: 128,
  maxRegistersPerThread: 255,
};

/** Block size, registers, own shared memory, and the limits that an H200 reported. */
const MEASURED: readonly [
  threads: number,
  registers: number,
  own: number,
  byRegisters: number,
  carveout: number,
  byShared: number,
][] = [
  [128, 34, 0, 12, 32_768, 32],
  [256, 59, 32, 4, 16_384, 14],
  [384, 168, 188_636, 1, 200_704, 1],
  [256, 254, 67_584, 1, 233_472, 3],
  [128, 128, 73_728, 4, 233_472, 3],
  [128, 133, 50_176, 3, 233_472, 4],
  [80, 39, 6_656, 16, 135_168, 17],
];

test.each(MEASURED)(
  "%i threads, %i registers, %i bytes: the reported limits come out",
  (threads, registers, own, r, carveout, s) => {
    expect(registerBlocks(H200, registers, Math.ceil(threads / 32))).toBe(r);
    expect(sharedBlocks(H200, own, carveout)).toBe(s);
  },
);

test("a page that prints Kbyte with two decimals gives the same limits", () => {
  // 45,568 bytes print as 45.57 Kbyte, a carve-out of 233,472 as 233.47.
  expect(sharedBlocks(H200, 45_568, 233_472)).toBe(5);
  expect(sharedBlocks(H200, 45_570, 233_470 + 5, 5)).toBe(5);
  expect(sharedBlocks(H200, 45_570, 233_470 + 5)).toBe(4);
});

test("no shared memory and none reserved (7.x): the limit is that on blocks", () => {
  expect(sharedBlocks({ ...H200, reservedBytes: 0, sharedUnit: 256 }, 0, 32_768)).toBe(32);
});

test("registers for a number of blocks is the inverse of blocks for a number of registers", () => {
  for (const warps of [1, 2, 3, 4, 8, 12, 16, 32]) {
    for (let blocks = 1; blocks * warps <= 64; blocks += 1) {
      const most = registersFor(H200, blocks, warps);
      expect(registerBlocks(H200, most, warps), `${blocks} x ${warps}`).toBeGreaterThanOrEqual(blocks);
      if (most < 255) expect(registerBlocks(H200, most + 1, warps), `${blocks} x ${warps}`).toBeLessThan(blocks);
    }
  }
});

test("shared memory for a number of blocks, in whole units", () => {
  expect(sharedFor(H200, 2)).toBe(116_736);
  expect(sharedFor(H200, 4)).toBe(58_368);
  expect(sharedFor(H200, 3)).toBe(77_824);
  expect(sharedFor(H200, 7) % 128).toBe(0);
});

const limits = (registers: number, shared: number, warps: number, blocks: number, barriers: number): MetricValues => ({
  launch__occupancy_limit_registers: registers,
  launch__occupancy_limit_shared_mem: shared,
  launch__occupancy_limit_warps: warps,
  launch__occupancy_limit_blocks: blocks,
  launch__occupancy_limit_barriers: barriers,
});
const kernel = (registers: number, own: number, carveout: number): MetricValues => ({
  ...H200_DEVICE,
  [COMPUTE]: 10,
  [MEMORY]: 10,
  [DURATION]: 1e5,
  launch__registers_per_thread: registers,
  launch__shared_mem_per_block_static: 0,
  launch__shared_mem_per_block_dynamic: own,
  launch__shared_mem_per_block_driver: 1_024,
  launch__shared_mem_config_size: carveout,
});
const occupancyOf = (metrics: MetricValues, threads = 128) => judge(metrics, { block: [threads, 1, 1] }).detail;

describe("which limits bind", () => {
  test("registers, with the registers that one block more would need", () => {
    const { occupancy } = occupancyOf({ ...kernel(34, 0, 32_768), ...limits(12, 32, 16, 32, 32) });
    expect(occupancy).toMatchObject({
      theoretical: 0.75,
      limiters: ["registers"],
      limiters_as_reported: ["registers"],
      next_step: {
        blocks_per_sm: 13,
        theoretical_occupancy: 0.8125,
        max_registers_per_thread: 32,
        max_shared_memory_allocated_bytes: null,
      },
    });
  });

  test("registers and shared memory together", () => {
    const { occupancy } = occupancyOf({ ...kernel(168, 188_636, 200_704), ...limits(1, 1, 5, 32, 21) }, 384);
    expect(occupancy.limiters).toStrictEqual(["registers", "shared_mem"]);
    expect(occupancy.next_step).toStrictEqual({
      blocks_per_sm: 2,
      theoretical_occupancy: 0.375,
      max_registers_per_thread: 80,
      max_shared_memory_allocated_bytes: 116_736,
      max_static_plus_dynamic_shared_memory_bytes: 115_712,
    });
  });

  test("shared memory at a small carve-out does not: the driver can raise it", () => {
    const { occupancy } = occupancyOf({ ...kernel(16, 32, 16_384), ...limits(16, 14, 16, 32, 32) });
    expect(occupancy.limiters_as_reported).toStrictEqual(["shared_mem"]);
    expect(occupancy.limiters).toStrictEqual([]);
  });

  test("barriers do only below the limit on blocks", () => {
    const one = occupancyOf({ ...kernel(16, 0, 32_768), ...limits(84, 32, 64, 32, 32) }, 32).occupancy;
    expect(one.limiters_as_reported).toStrictEqual(["shared_mem", "blocks", "barriers"]);
    expect(one.limiters).toStrictEqual(["blocks"]);
    const many = occupancyOf({ ...kernel(16, 0, 32_768), ...limits(84, 32, 32, 32, 9) }, 64);
    expect(many.occupancy.limiters).toStrictEqual(["barriers"]);
    expect(many.null_reasons["detail.occupancy.next_step"]).toBe("barriers per SM allow no further block");
  });

  test("nothing does at 100 %", () => {
    const full = occupancyOf({ ...kernel(32, 0, 32_768), ...limits(16, 32, 16, 32, 32) });
    expect(full.occupancy).toMatchObject({
      theoretical: 1,
      limiters: [],
      limiters_as_reported: ["registers", "warps"],
      next_step: null,
    });
    expect(full.null_reasons["detail.occupancy.next_step"]).toBe("theoretical occupancy is 100 %");
  });

  test("warps forbid a further block", () => {
    const full = occupancyOf({ ...kernel(32, 0, 32_768), ...limits(2, 32, 2, 32, 32) }, 768);
    expect(full.occupancy).toMatchObject({ theoretical: 0.75, limiters: ["registers", "warps"], next_step: null });
    expect(full.null_reasons["detail.occupancy.next_step"]).toBe("warps per SM allow no further block");
  });
});

describe("what is not known", () => {
  test("no limits: theoretical occupancy as reported, no limiter", () => {
    const { occupancy, null_reasons } = occupancyOf({
      ...kernel(32, 0, 32_768),
      sm__maximum_warps_per_active_cycle_pct: 50,
    });
    expect(occupancy).toMatchObject({
      theoretical: 0.5,
      theoretical_from_limits: null,
      limiters: [],
      next_step: null,
      limits_blocks: {},
    });
    expect(null_reasons["detail.occupancy.next_step"]).toBe("no occupancy limit was reported");
  });

  test("an unknown compute capability: limits as reported, nothing recomputed", () => {
    const { device__attribute_compute_capability_major: _, ...unknown } = kernel(34, 0, 32_768);
    const { occupancy, null_reasons } = occupancyOf({
      ...unknown,
      ...limits(12, 32, 16, 32, 32),
      sm__maximum_warps_per_active_cycle_pct: 75,
    });
    expect(occupancy).toMatchObject({
      theoretical: 0.75,
      limiters: ["registers"],
      limits_recomputed_blocks: {},
      next_step: null,
    });
    expect(null_reasons["detail.occupancy.next_step"]).toBe(
      "allocation units of this compute capability are not known",
    );
  });

  test("the table of the compute capability serves where the device says nothing", () => {
    const values = { ...kernel(34, 0, 32_768), ...limits(12, 32, 16, 32, 32) };
    const bare = Object.fromEntries(
      Object.entries(values).filter(([name]) => !name.startsWith("device__attribute_max")),
    );
    expect(occupancyOf(bare).occupancy).toStrictEqual(occupancyOf(values).occupancy);
  });
});

test("a block's own shared memory leaves out what the driver reserves", () => {
  const { shared_memory_usage_bytes, detail } = judge({
    ...kernel(34, 100, 32_768),
    launch__shared_mem_per_block: 1_124,
  });
  expect(shared_memory_usage_bytes).toBe(100);
  expect(detail.shared_memory).toMatchObject({ driver_bytes: 1_024, per_block_with_driver_bytes: 1_124 });
});
