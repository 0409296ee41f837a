import { expect, it } from "vitest";
import { analyze } from "../../src/analysis/index.ts";
import { fixtureInput } from "../helpers/verdicts.ts";

/** Reports that captures of the service itself wrote on an H200: what the arithmetic of the programs says they are. */
it.each([
  ["tiny-stream_add", "stream_add", "memory-bound", 3],
  ["tiny-fma_chain", "fma_chain", "compute-bound", 2],
  ["tiny-pointer_walk", "pointer_walk", "latency-bound", 2],
  ["tiny-smem_tile", "smem_tile", "latency-bound", 2],
  ["kernels-moe", "fused_moe_kernel", "memory-bound", 3],
  ["engine-child", "/nvjet/", "latency-bound", 3],
] as const)("%s: %s is %s", async (report, target, roofline, launches) => {
  const input = await fixtureInput(`captured/${report}.ncu-rep.gz`);
  const result = analyze([input], { target });
  if (!result.ok || result.value.kind !== "kernel") throw new Error("expected the result of a kernel");
  expect(result.value.roofline).toBe(roofline);
  expect(input.report.launches).toHaveLength(launches);
});

it("names shared memory as what limits the occupancy of smem_tile", async () => {
  const result = analyze([await fixtureInput("captured/tiny-smem_tile.ncu-rep.gz")], { target: "smem_tile" });
  expect(JSON.stringify(result)).toMatch(/"limiters":\["shared_mem"\]/);
});
