import { describe, expect, it } from "vitest";
import { measurableKernels } from "../../src/analysis/timeline/measurable.ts";
import { rankTimeline } from "../../src/analysis/timeline/rank.ts";
import { kernelId } from "../../src/capture/ncu/arguments.ts";
import { isCollective } from "../../src/capture/ncu/kernel-filter.ts";
import { kernelOfLine } from "../../src/capture/pipeline/hang.ts";
import {
  type PipelineSelection,
  type RankedKernel,
  type SelectionLimits,
  selectLaunches,
} from "../../src/capture/pipeline/selection.ts";
import { sharedOrdinals } from "../../src/capture/pipeline/shared-ordinals.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { readTimelineFixture } from "../helpers/timeline-fixtures.ts";

const LIMITS: SelectionLimits = { topN: 10, maxLaunches: 64, skip: 0 };

/** A kernel of one shape a cluster: durations by ordinal, in clusters. */
const kernel = (name: string, clusters: readonly (readonly [ordinal: number, us: number][])[]): RankedKernel => ({
  kernel: `${name}(float*)`,
  function: name,
  has_mangled: true,
  total_ns: clusters.flat().reduce((sum, [, us]) => sum + us * 1000, 0),
  clusters: clusters.map((launches, at) => ({
    grid: `${at + 1}x1x1`,
    block: "128x1x1",
    launches: launches.map(([ordinal, us]) => ({ mangled: `_Z${name}`, ordinal, duration_ns: us * 1000 })),
  })),
});

const even = (count: number, us: number, from = 1): [number, number][] =>
  Array.from({ length: count }, (_, at) => [from + at, us]);

/** Launches that ncu takes: every name at every ordinal that it has. */
function taken(kernels: readonly RankedKernel[], { names, ordinals }: PipelineSelection): number {
  const seen = new Set<string>();
  for (const { clusters } of kernels)
    for (const { launches } of clusters)
      for (const { mangled, ordinal } of launches)
        if (names.includes(mangled) && ordinals.includes(ordinal)) seen.add(`${mangled} ${ordinal}`);
  return seen.size;
}

/** Random numbers from a seed (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

describe("the launches of a pipeline that get counters", () => {
  it("share one ordinal where kernels have the same", () => {
    const kernels = [kernel("a", [even(10, 50)]), kernel("b", [even(5, 40)]), kernel("c", [even(2, 30)])];
    const chosen = selectLaunches(kernels, LIMITS);
    expect(chosen).toMatchObject({ names: ["_Za", "_Zb", "_Zc"], ordinals: [1], launches: 3, left_out: [] });
    expect(selectLaunches(kernels, { ...LIMITS, skip: 1 }).ordinals).toEqual([2]);
    // c has no third launch, so its warm-up is taken.
    expect(selectLaunches(kernels, { ...LIMITS, skip: 2 }).ordinals).toEqual([1, 3]);
  });

  it("are one of each cluster that holds a tenth of its kernel's time, near the median", () => {
    const kernels = [
      kernel("a", [
        [
          [1, 100],
          [3, 104],
          [5, 140],
        ],
        [
          [2, 30],
          [4, 31],
        ],
        [[6, 5]],
      ]),
    ];
    const { chosen, left_out } = selectLaunches(kernels, LIMITS);
    expect(chosen.map(({ grid, ordinal, duration_ns, median_ns }) => [grid, ordinal, duration_ns, median_ns])).toEqual([
      ["1x1x1", 1, 100_000, 104_000],
      ["2x1x1", 2, 30_000, 30_000],
    ]);
    expect(left_out).toEqual([
      expect.objectContaining({
        reason: "small_cluster",
        cluster: { grid: "3x1x1", block: "128x1x1", median_ns: 5000 },
      }),
    ]);
  });

  it("leave out collectives, kernels below the top and kernels without a mangled name, each with the reason", () => {
    const kernels = [
      kernel("ncclDevKernel_AllReduce", [even(3, 500)]),
      kernel("combine", [even(3, 400)]),
      { ...kernel("nameless", [even(3, 300)]), has_mangled: false, clusters: [] },
      kernel("a", [even(3, 50)]),
      kernel("b", [even(3, 40)]),
      kernel("c", [even(3, 30)]),
    ];
    const { chosen, left_out } = selectLaunches(kernels, { ...LIMITS, topN: 2 });
    expect(chosen.map((one) => one.kernel)).toEqual(["a(float*)", "b(float*)"]);
    expect(left_out.map(({ kernel: name, reason }) => [name, reason])).toEqual([
      ["ncclDevKernel_AllReduce(float*)", "collective"],
      ["combine(float*)", "collective"],
      ["nameless(float*)", "no_mangled_name"],
      ["c(float*)", "below_top_n"],
    ]);
    const without = selectLaunches(kernels, { ...LIMITS, topN: 2, failed: new Map([["a(float*)", "hang"]]) });
    expect(without.chosen.map((one) => one.kernel)).toEqual(["b(float*)"]);
    expect(without.left_out).toContainEqual(expect.objectContaining({ kernel: "a(float*)", reason: "hang" }));
  });

  it("stay within the launches and the length of the argument; what does not fit is named", () => {
    const kernels = [
      kernel("a", [even(20, 50)]),
      kernel("b", [
        [
          [1, 30],
          [2, 31],
        ],
        [[7, 90]],
        [[15, 80]],
      ]),
      kernel("c", [even(20, 20)]),
    ];
    const few = selectLaunches(kernels, { ...LIMITS, maxLaunches: 4 });
    expect(few.launches).toBeLessThanOrEqual(4);
    // With its heaviest cluster alone.
    expect(few.chosen.map((one) => [one.kernel, one.grid])).toEqual([
      ["a(float*)", "1x1x1"],
      ["b(float*)", "2x1x1"],
      ["c(float*)", "1x1x1"],
    ]);
    expect(few.left_out.map(({ reason, cluster }) => [reason, cluster?.grid])).toEqual([
      ["launch_limit", "3x1x1"],
      ["launch_limit", "1x1x1"],
    ]);
    const none = selectLaunches(kernels, { ...LIMITS, maxLaunches: 0 });
    expect(none).toMatchObject({ names: [], ordinals: [], launches: 0, chosen: [] });
    expect(none.left_out.map(({ reason }) => reason)).toEqual(["launch_limit", "launch_limit", "launch_limit"]);

    const long = [
      kernel("x".repeat(70_000), [even(3, 9)]),
      kernel("y".repeat(70_000), [even(3, 8)]),
      kernel("z", [even(3, 7)]),
    ];
    const cut = selectLaunches(long, LIMITS);
    expect(cut.chosen.map((one) => one.kernel.length > 100)).toEqual([true, false]);
    expect(cut.left_out.map(({ reason }) => reason)).toEqual(["argument_limit"]);
    expect(Buffer.byteLength(kernelId(cut.names, cut.ordinals))).toBeLessThan(128 * 1024);
  });

  it("cover every cluster that fits, are counted right and come out the same, whatever the kernels", () => {
    const next = random(7);
    for (let round = 0; round < 60; round++) {
      const kernels = Array.from({ length: 1 + Math.floor(next() * 12) }, (_, at) => {
        const clusters = Array.from({ length: 1 + Math.floor(next() * 3) }, () => [] as [number, number][]);
        const launches = clusters.length + Math.floor(next() * 80);
        for (let ordinal = 1; ordinal <= launches; ordinal++) {
          const own = ordinal <= clusters.length ? ordinal - 1 : Math.floor(next() * clusters.length);
          clusters[own]?.push([ordinal, (own + 1) * 40 + Math.floor(next() * 12)]);
        }
        return kernel(`k${at}`, clusters);
      });
      const limits = { ...LIMITS, maxLaunches: 5 + Math.floor(next() * 60), skip: Math.floor(next() * 3) };
      const selection = selectLaunches(kernels, limits);
      expect(selection.launches).toBe(taken(kernels, selection));
      expect(selection.launches).toBeLessThanOrEqual(limits.maxLaunches);
      for (const { mangled, ordinal, duration_ns, median_ns } of selection.chosen) {
        expect(selection.names).toContain(mangled);
        expect(selection.ordinals).toContain(ordinal);
        expect(Math.abs(duration_ns - median_ns)).toBeLessThanOrEqual(0.1 * median_ns);
      }
      const said = new Set([...selection.chosen, ...selection.left_out].map((one) => one.kernel));
      expect(said.size).toBe(kernels.length);
      expect(selectLaunches(kernels, limits)).toEqual(selection);
    }
  });

  it("are few on the recorded pipeline", async () => {
    const timeline = await readTimelineFixture(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
    const ranking = rankTimeline([timeline]);
    if (!ranking.ok) throw new Error(ranking.error.message);
    const kernels = measurableKernels(timeline, ranking.value.kernels);
    expect(kernels).toHaveLength(79);
    expect(kernels.flatMap(({ clusters }) => clusters.flatMap(({ launches }) => launches))).toHaveLength(3892);
    const selection = selectLaunches(kernels, LIMITS);
    expect(selection.launches).toBe(taken(kernels, selection));
    expect(new Set(selection.chosen.map((one) => one.kernel)).size).toBe(10);
    expect(selection.launches).toBeLessThanOrEqual(49);
    expect(
      selection.chosen.every(({ duration_ns, median_ns }) => Math.abs(duration_ns - median_ns) <= 0.1 * median_ns),
    ).toBe(true);
    expect(selection.left_out.filter(({ reason }) => reason === "below_top_n")).toHaveLength(
      79 - 10 - kernels.filter((one) => isCollective(one.kernel)).length,
    );
    // With half the launches most kernels still have their heaviest cluster.
    const half = selectLaunches(kernels, { ...LIMITS, maxLaunches: 24 });
    expect(half.launches).toBeLessThanOrEqual(24);
    expect(new Set(half.chosen.map((one) => one.kernel)).size).toBeGreaterThanOrEqual(9);
  });
});

/** The least cost of ordinals of which each group holds one, by trying all. */
function leastCost(groups: readonly (readonly number[])[], cost: (ordinal: number) => number): number {
  let best = Number.POSITIVE_INFINITY;
  const open = (picked: readonly number[]) => groups.filter((group) => !group.some((one) => picked.includes(one)));
  const search = (picked: readonly number[], spent: number): void => {
    if (spent >= best) return;
    const [group] = open(picked).sort((a, b) => a.length - b.length);
    if (group === undefined) best = spent;
    else for (const ordinal of group) search([...picked, ordinal], spent + cost(ordinal));
  };
  search([], 0);
  return best;
}

describe("ordinals that groups share", () => {
  it("cost little more than the least", () => {
    const next = random(11);
    let [spent, least] = [0, 0];
    for (let round = 0; round < 200; round++) {
      const sizes = Array.from({ length: 2 + Math.floor(next() * 6) }, () => 1 + Math.floor(next() * 30));
      const groups = sizes.map((size) =>
        Array.from({ length: 1 + Math.floor(next() * 4) }, () => 1 + Math.floor(next() * size)),
      );
      const price = (ordinal: number) => Math.max(1, sizes.filter((size) => size >= ordinal).length);
      const ordinals = sharedOrdinals(groups, price);
      expect(groups.every((group) => group.some((one) => ordinals.includes(one)))).toBe(true);
      spent += ordinals.reduce((sum, ordinal) => sum + price(ordinal), 0);
      least += leastCost(groups, price);
    }
    expect(spent / least).toBeLessThan(1.02);
  });
  const cost = () => 1;
  it("are as few as there need be in small cases", () => {
    expect(sharedOrdinals([], cost)).toEqual([]);
    expect(
      sharedOrdinals(
        [
          [3, 5],
          [5, 7],
          [7, 9],
        ],
        cost,
      ),
    ).toHaveLength(2);
    // Greedy takes 1 first, which the exchange gives up.
    expect(sharedOrdinals([[2, 1], [2, 1], [3, 1], [3, 1], [2], [3]], cost)).toEqual([2, 3]);
  });
  it("prefer what costs less", () => {
    expect(sharedOrdinals([[1, 50]], (ordinal) => (ordinal < 10 ? 8 : 1))).toEqual([50]);
  });
});

it("thousands of kernels are chosen from in no time, and all are named", () => {
  const many = Array.from({ length: 1500 }, (_, at) => kernel(`k${at}`, [even(60, 50), even(60, 90, 61)]));
  const startedAt = performance.now();
  const selection = selectLaunches(many, { topN: 1000, maxLaunches: 500, skip: 0 });
  expect(performance.now() - startedAt).toBeLessThan(5000);
  expect(selection.launches).toBe(taken(many, selection));
  expect(selection.launches).toBeLessThanOrEqual(500);
  expect(new Set([...selection.chosen, ...selection.left_out].map((one) => one.kernel)).size).toBe(1500);
});

describe("the kernel that a line of progress means", () => {
  const kernels = [kernel("gemm", [even(2, 5)]), kernel("gemm_long_name_of_a_kernel", [even(2, 4)])];
  it.each([
    ["1:13:_Zgemm:2", "gemm(float*)"],
    ["_Zgemm", "gemm(float*)"],
    ["gemm", "gemm(float*)"],
    ["gemm_long_name_of_...", "gemm_long_name_of_a_kernel(float*)"],
    ["gemm...", null],
    ["other", null],
  ])("%s is %s", (line, expected) => {
    expect(kernelOfLine(line, kernels)?.kernel ?? null).toBe(expected);
  });
});
