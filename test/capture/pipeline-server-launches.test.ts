import { describe, expect, it } from "vitest";
import { type RankedKernel, selectLaunches } from "../../src/capture/pipeline/selection.ts";
import { byMangledName, filterFor, replayable, SeenLaunches } from "../../src/capture/pipeline/server-launches.ts";
import type { SeenLaunch } from "../../src/capture/sample.ts";

/** A kernel of a timeline: clusters by grid and time, so many launches each. */
const kernel = (
  name: string,
  ...clusters: readonly (readonly [grid: number, ns: number, n: number])[]
): RankedKernel => ({
  kernel: name,
  function: name,
  has_mangled: true,
  total_ns: clusters.reduce((sum, [, ns, n]) => sum + ns * n, 0),
  clusters: clusters.map(([grid, ns, n]) => ({
    grid: `${grid}x1x1`,
    block: "32x1x1",
    launches: Array.from({ length: n }, (_, at) => ({ mangled: `_Z${name}`, ordinal: 1000 + at, duration_ns: ns })),
  })),
});

/** Launches of a report, in order: name, grid, time. */
function seen(...launches: readonly (readonly [name: string, grid: number, ns: number | null])[]): SeenLaunch[] {
  const counts = new Map<string, number>();
  return launches.map(([name, grid, duration_ns]) => {
    const ordinal = (counts.get(name) ?? 0) + 1;
    counts.set(name, ordinal);
    const mangled = { name: `_Z${name}`, ordinal };
    return {
      functionName: "same",
      kernel: name,
      ordinal: 7,
      grid: [grid, 1, 1],
      block: [32, 1, 1],
      duration_ns,
      mangled,
    };
  });
}

const limits = { topN: 10, maxLaunches: 32, skip: 0 };

describe("launches of another load that stand for the clusters of a timeline", () => {
  it("are of the same name and shape; what was not launched is named", () => {
    const kernels = [kernel("gemm", [4, 900, 10], [8, 500, 9]), kernel("norm", [2, 50, 9])];
    const run = new SeenLaunches(byMangledName(seen(["gemm", 4, null], ["gemm", 4, null], ["other", 2, null])));
    expect(run.toTime(kernels)).toBeNull();
    const { chosen, left_out, launches } = selectLaunches(kernels, { ...limits, run });
    expect(chosen).toMatchObject([{ kernel: "gemm", grid: "4x1x1", launches: 10, total_ns: 9000, mangled: "_Zgemm" }]);
    expect(launches).toBe(1);
    expect(left_out.map(({ kernel, cluster, reason }) => [kernel, cluster?.grid ?? null, reason])).toEqual([
      ["gemm", "8x1x1", "not_launched"],
      ["norm", null, "not_launched"],
    ]);
  });

  it("are told apart by time where one shape has clusters of several times", () => {
    const kernels = [kernel("gemm", [4, 1000, 6], [4, 300, 12], [4, 100, 30])];
    const looked = seen(...Array.from({ length: 12 }, () => ["gemm", 4, null] as const));
    const run = new SeenLaunches(byMangledName(looked));
    const wanted = run.toTime(kernels);
    expect(wanted?.launches).toMatchObject({ names: ["_Zgemm"], base: "mangled" });
    expect(wanted?.count).toBe(12);
    // As ncu times them: every third is long, and one fits nowhere.
    const times = [105, 310, 1010, 105, 310, 1010, 105, 310, 1010, 105, 310, 5000];
    run.takeTimes(
      wanted?.launches ?? { kind: "all" },
      byMangledName(seen(...times.map((ns) => ["gemm", 4, ns] as const))),
    );
    const { chosen } = selectLaunches(kernels, { ...limits, run });
    const place = ({ ordinal }: { ordinal: number }): number => times[ordinal - 1] ?? 0;
    expect(chosen.map((one) => [one.median_ns, place(one)])).toEqual([
      [1000, 1010],
      [300, 310],
      [100, 105],
    ]);
  });

  it("are told apart after scaling where ncu takes longer throughout", () => {
    const kernels = [kernel("gemm", [4, 1000, 6], [4, 300, 6])];
    const run = new SeenLaunches(
      byMangledName(seen(["gemm", 4, 480], ["gemm", 4, 1600], ["gemm", 4, 480], ["gemm", 4, 1600])),
    );
    const { chosen } = selectLaunches(kernels, { ...limits, run });
    expect(chosen.map(({ median_ns, ordinal }) => [median_ns, ordinal % 2])).toEqual([
      [1000, 0],
      [300, 1],
    ]);
  });

  it("are asked for by whole names, without collectives", () => {
    const kernels = [
      kernel("ncclDevKernel_AllReduce", [1, 9000, 1]),
      kernel("a$b.1", [1, 10, 1]),
      kernel("c", [1, 5, 1]),
    ];
    const top = replayable(kernels, 1);
    expect(top.map(({ kernel }) => kernel)).toEqual(["a$b.1"]);
    const { pattern } = filterFor(top);
    expect(new RegExp(pattern ?? "").test("_Za$b.1")).toBe(true);
    for (const other of ["_Za$b11", "x_Za$b.1", "_Za$b.12"]) expect(new RegExp(pattern ?? "").test(other)).toBe(false);
  });
});
