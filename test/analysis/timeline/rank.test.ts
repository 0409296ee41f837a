import { describe, expect, test } from "vitest";
import { type RankOptions, rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import type { Timeline } from "../../../src/model/timeline.ts";
import { launches, type MadeTimeline, madeTimeline, namesOf } from "../../helpers/timelines.ts";

function ranked(made: MadeTimeline | readonly Timeline[], options: RankOptions = {}) {
  const result = rankTimeline(Array.isArray(made) ? made : [madeTimeline(made as MadeTimeline)], options);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

function refused(made: MadeTimeline | readonly Timeline[], options: RankOptions = {}) {
  const result = rankTimeline(Array.isArray(made) ? made : [madeTimeline(made as MadeTimeline)], options);
  if (result.ok) throw new Error("was ranked");
  return result.error;
}

describe("kernels by exclusive time", () => {
  test("kernel, shape, cluster, each by time, with shares of busy and wall", () => {
    const ranking = ranked({
      rows: [
        ...launches("small", 10, { us: 10 }),
        ...launches("gemm", 4, { from: 200, us: 45, period: 50, grid: [132, 1, 1] }),
        ...launches("gemm", 2, { from: 400, us: 100, period: 100, grid: [132, 1, 1] }),
        ...launches("gemm", 1, { from: 600, us: 20, grid: [8, 1, 1] }),
        { name: "[CUDA memset]", kind: "memset", at: 700, us: 100, bytes: 64 },
      ],
    });
    expect(ranking).toMatchObject({ launches: 17, busy_us: 600, span_us: 800, wall_us: 800, kernels_total: 2 });
    expect(ranking.kernels.map(({ names, exclusive_us }) => [names.display, exclusive_us])).toStrictEqual([
      ["gemm", 400],
      ["small", 100],
    ]);
    const [gemm] = ranking.kernels;
    expect(gemm).toMatchObject({
      recorded_us: 400,
      exclusive_differs: false,
      share_of_wall: 0.5,
      share_of_kernels: 0.8,
    });
    expect(gemm?.share_of_busy).toBeCloseTo(400 / 600);
    expect(gemm?.timing).toMatchObject({ n: 7, total_us: 400, median_us: 45, p90_us: 100, min_us: 20, max_us: 100 });
    expect(gemm?.shapes?.map(({ grid, timing }) => [grid, timing.n])).toStrictEqual([
      [[132, 1, 1], 6],
      [[8, 1, 1], 1],
    ]);
    const clusters = gemm?.shapes?.[0]?.clusters ?? [];
    expect(
      clusters.map(({ timing, exclusive_us, share_of_kernel }) => [timing.n, exclusive_us, share_of_kernel]),
    ).toStrictEqual([
      [2, 200, 0.5],
      [4, 180, 0.45],
    ]);
    expect(
      clusters[0]?.launches.map(({ timeline, rows, ordinals }) => [timeline, [...rows], [...ordinals]]),
    ).toStrictEqual([[0, [14, 15], [4, 5]]]);
    expect(clusters[0]?.median_launch).toStrictEqual({ timeline: 0, row: 14 });
    expect(ranking.activities).toMatchObject([
      { kind: "memset", name: "[CUDA memset]", count: 1, total_us: 100, bytes: 64, share_of_wall: 0.125 },
    ]);
  });

  test("spellings of one name are one kernel, other registers no other shape", () => {
    const ranking = ranked({
      rows: [
        ...launches("void k<(int)8>(float *)", 2, { registers: 32 }),
        ...launches("void k<8>(float*)", 3, { from: 100, registers: 40 }),
      ],
    });
    expect(ranking.kernels.map(({ timing, shapes }) => [timing.n, shapes?.length])).toStrictEqual([[5, 1]]);
  });

  test("equal times are ordered by name, and the same input gives the same bytes", () => {
    const rows = [...launches("b", 5), ...launches("a", 5, { from: 1_000 })];
    expect(ranked({ rows }).kernels.map(({ key }) => key.key)).toStrictEqual(["a", "b"]);
    expect(JSON.stringify(ranked({ rows }))).toBe(JSON.stringify(ranked({ rows })));
  });

  test("topN shortens the list and no sum", () => {
    const rows = [...launches("a", 5), ...launches("b", 5, { from: 1_000, us: 5 })];
    expect(ranked({ rows }, { topN: 1 })).toMatchObject({
      kernels: [{ key: { key: "a" }, share_of_kernels: 2 / 3 }],
      kernels_total: 2,
      launches: 10,
      kernels_recorded_us: 75,
    });
  });

  test("exclusive time is what it is ranked by; a difference to the recorded time is flagged", () => {
    const ranking = ranked({
      rows: [{ name: "a", at: 0, us: 100 }, { name: "b", at: 60, us: 90 }, ...launches("c", 1, { from: 200, us: 80 })],
    });
    expect(
      ranking.kernels.map(({ key, exclusive_us, recorded_us, exclusive_differs }) => [
        key.key,
        exclusive_us,
        recorded_us,
        exclusive_differs,
      ]),
    ).toStrictEqual([
      ["a", 100, 100, false],
      ["c", 80, 80, false],
      ["b", 50, 90, true],
    ]);
    expect(ranking.kernels_recorded_us).toBe(270);
    expect(ranking.kernels_exclusive_us).toBe(230);
    expect(ranking.overlap_on_streams).toStrictEqual({ pairs: 1, us: 40 });
  });

  test("an impossible duration is clipped in every sum, counted, and said", () => {
    const ranking = ranked({
      rows: [...launches("k", 100), { name: "late", at: 2_000, us: 30 }, { name: "k", at: 2_010, us: 10 }],
    });
    const late = ranking.kernels.find(({ key }) => key.key === "late");
    expect(late).toMatchObject({ clipped_launches: 1, exclusive_us: 10, recorded_us: 30, timing: { max_us: 10 } });
    expect(ranking.kernels[0]).toMatchObject({ clipped_launches: 0, recorded_us: 1_010, exclusive_us: 1_010 });
    expect(ranking.findings.map(({ code }) => code)).toContain("impossible_durations");
  });

  test("streams at once: overlap between them, shares of busy time may exceed 1", () => {
    const ranking = ranked({
      rows: [
        { name: "a", at: 0, us: 100 },
        { name: "b", at: 0, us: 100, stream: "8" },
      ],
    });
    expect(ranking).toMatchObject({
      busy_us: 100,
      overlap_between_streams_us: 100,
      kernel_overlap_between_streams_us: 100,
    });
    expect(ranking.kernels.map(({ share_of_busy }) => share_of_busy)).toStrictEqual([1, 1]);
  });

  test("no usable starts: ranked by summed durations, the rest null with the reason", () => {
    const ranking = ranked({
      rows: [...launches("a", 3, { period: 0 }), ...launches("b", 3, { period: 0, us: 20 })],
      has_starts: false,
    });
    expect(
      ranking.kernels.map(({ key, exclusive_us, share_of_busy }) => [key.key, exclusive_us, share_of_busy]),
    ).toStrictEqual([
      ["b", 60, null],
      ["a", 30, null],
    ]);
    for (const field of ["busy_us", "span_us", "wall_us", "idle", "overlap_on_streams", "phases"] as const) {
      expect(ranking[field]).toBeNull();
      expect(ranking.null_reasons[field]).toBeTypeOf("string");
    }
  });

  test("durations that spread evenly make very many clusters: the heaviest are listed, all are counted", () => {
    let at = 0;
    const rows = Array.from({ length: 3_000 }, (_, launch) => {
      at += launch + 2;
      return { name: "k", at, us: launch + 1 };
    });
    const shape = ranked({ rows }).kernels[0]?.shapes?.[0];
    expect(shape?.clusters_total).toBeGreaterThan(1_000);
    expect(shape?.clusters).toHaveLength(64);
    for (const { timing } of shape?.clusters ?? [])
      expect(timing.max_us).toBeLessThanOrEqual(1.5 * (timing.min_us ?? 0));
  });
});

describe("several ranks", () => {
  const rank = (number: number, us: number) =>
    madeTimeline({ rows: launches("k", 4, { us, rank: number, device: number }) });

  test("add up, kernel by kernel; the span is the longest", () => {
    const ranking = ranked([rank(0, 10), rank(1, 18)]);
    expect(ranking).toMatchObject({ launches: 8, busy_us: 112, span_us: 78, wall_us: 148 });
    expect(ranking.kernels[0]).toMatchObject({ launches_by_timeline: [4, 4], exclusive_us: 112 });
    const launched = ranking.kernels[0]?.shapes?.[0]?.clusters.flatMap((cluster) => cluster.launches);
    expect(launched?.map(({ timeline, ordinals }) => [timeline, [...ordinals]])).toStrictEqual([
      [1, [0, 1, 2, 3]],
      [0, [0, 1, 2, 3]],
    ]);
  });

  test("one that cannot be trusted stops all, and is named", () => {
    expect(refused([rank(0, 10), madeTimeline({})])).toMatchObject({ code: "timeline_no_kernels", timeline: 1 });
  });

  test("what is found of several alike is said once, with all of them; the rest with its own", () => {
    const nameless = (number: number, rest: Partial<MadeTimeline> = {}) =>
      madeTimeline({ rows: launches("k", 4, { us: 18, rank: number, device: number }), gpus: [], ...rest });
    const { findings } = ranked([nameless(0), rank(1, 18), nameless(2), nameless(3, { recording: { is_cut: true } })]);
    expect(findings.map(({ code, evidence }) => [code, evidence.timelines ?? evidence.timeline])).toStrictEqual([
      ["gpu_not_recorded", "0, 2, 3"],
      ["cut_to_a_window", 3],
    ]);
    expect(ranked([nameless(0)]).findings.map(({ evidence }) => evidence)).toStrictEqual([{ gpus_listed: 0 }]);
  });

  test("what is no job of ranks is not added up", () => {
    expect(refused([rank(0, 10), rank(0, 10)])).toMatchObject({
      code: "timeline_not_comparable",
      evidence: { rank: 0 },
    });
    const torch = { ...rank(1, 10), format: "torch-trace" as const };
    expect(refused([rank(0, 10), torch]).message).toContain("nsys-sqlite, torch-trace");
    expect(refused([])).toMatchObject({ code: "timeline_not_comparable" });
  });
});

describe("phases", () => {
  const ranges = [
    { text: "execute_context_1(5)_generation_0(0)", at: 0, us: 100 },
    { text: "execute_context_0(0)_generation_1(1)", at: 100, us: 100 },
    { text: "execute_context_0(0)_generation_1(1)", at: 200, us: 100 },
  ];
  const rows = [...launches("k", 3, { from: 50, period: 100, us: 20 }), { name: "k", at: 500, us: 40, call: 450 }];

  test("time of each phase, of all and of each kernel", () => {
    const ranking = ranked({ ranges, rows });
    expect(ranking.phases).toStrictEqual([
      { phase: "prefill", steps: 1, launches: 1, exclusive_us: 20, share_of_kernels: 0.2 },
      { phase: "decode", steps: 2, launches: 2, exclusive_us: 40, share_of_kernels: 0.4 },
      { phase: "unknown", steps: 0, launches: 1, exclusive_us: 40, share_of_kernels: 0.4 },
    ]);
    expect(ranking.kernels[0]?.phases?.map(({ phase, launches: n }) => [phase, n])).toStrictEqual([
      ["prefill", 1],
      ["decode", 2],
      ["unknown", 1],
    ]);
  });

  test("null with the reason where steps or their phases are not known", () => {
    expect(ranked({ rows }).null_reasons.phases).toContain("steps not recognised");
    const torch = ranked({ rows, ranges: [{ text: "ProfilerStep#1", at: 0, us: 1_000 }] });
    expect(torch.phases).toBeNull();
    expect(torch.null_reasons.phases).toContain("do not say which phase");
    const partial = ranked({ rows, ranges, recording: { graph_launch_calls: 10, graph_launch_calls_without_row: 2 } });
    expect(partial.phases).toBeNull();
    expect(partial.kernels[0]?.phases).toBeNull();
    expect(partial.null_reasons.phases).toContain("graph launches are missing");
  });
});

describe("idle time", () => {
  test("gaps by length, and what the host called in them", () => {
    const ranking = ranked({
      rows: [
        { name: "a", at: 0, us: 100 },
        { name: "b", at: 130, us: 100 },
        { name: "[CUDA memset]", kind: "memset", at: 300, us: 100 },
      ],
      calls: [
        { text: "cudaLaunchKernel_v7000", at: 110, us: 10 },
        { text: "cudaMalloc_v3020", at: 200, us: 90 },
        { text: "cudaMalloc_v3020", at: 90, us: 15, thread: "2" },
        { text: "cudaFree", at: 260, us: 100, process: "2" },
      ],
    });
    expect(ranking.idle).toMatchObject({ count: 2, total_us: 100, share_of_wall: 0.25 });
    expect(ranking.idle?.host.calls).toStrictEqual([
      { name: "cudaMalloc", calls: 2, overlap_us: 65 },
      { name: "cudaLaunchKernel", calls: 1, overlap_us: 10 },
    ]);
    expect(ranking.idle?.largest).toMatchObject([
      {
        start_us: 230,
        duration_us: 70,
        after: "b",
        before: "[CUDA memset]",
        host: { calls: [{ name: "cudaMalloc", overlap_us: 60 }] },
      },
      { start_us: 100, duration_us: 30, after: "a", before: "b" },
    ]);
    expect(ranking.findings).toStrictEqual([]);
  });

  test("calls that span many gaps count for each", () => {
    const ranking = ranked({
      rows: launches("k", 1_000),
      calls: [{ text: "cudaDeviceSynchronize", at: 5, us: 15_000 }],
    });
    // 750 periods of 20 us with 10 us of work each, from 5 us on.
    expect(ranking.idle?.host.calls).toStrictEqual([{ name: "cudaDeviceSynchronize", calls: 1, overlap_us: 7_500 }]);
  });

  test("calls not recorded: null with the reason", () => {
    expect(ranked({ rows: launches("k", 3) }).idle?.host).toStrictEqual({
      calls: null,
      null_reason: "calls of the host were not recorded",
    });
  });

  test("busy for less than half of the span: said first, with the tracer's part in it", () => {
    const ranking = ranked({ rows: launches("k", 20, { us: 9 }), gpus: [] });
    expect(ranking.findings.map(({ code }) => code)).toStrictEqual(["gpu_mostly_idle", "gpu_not_recorded"]);
    expect(ranking.findings[0]?.message).toMatch(/kernels are not the bottleneck.*tracer/);
    expect(ranked({ rows: launches("k", 20, { us: 11 }) }).findings).toStrictEqual([]);
  });

  test("a stray event far from the rest is no idle GPU", () => {
    const ranking = ranked({
      rows: [{ name: "stray", at: 0, us: 1 }, ...launches("k", 20, { from: 500_000, us: 19 })],
    });
    expect(ranking.findings).toMatchObject([{ code: "span_holds_one_long_gap", evidence: { gaps: 20 } }]);
  });

  test("missing kernels: no idle time, null with the reason", () => {
    const ranking = ranked({ rows: launches("k", 20), recording: { launch_calls: 30, launch_calls_without_row: 10 } });
    expect(ranking.idle).toBeNull();
    expect(ranking.null_reasons.idle).toContain("kernels are missing");
    expect(ranking.findings.map(({ code }) => code)).toStrictEqual(["launch_calls_without_kernel"]);
  });
});

describe("summaries by name", () => {
  const sums = [
    { kernel: "void k<(int)8>(float *)", launches: 2, total_ns: 4_000, median_ns: 2_000, min_ns: 1_000, max_ns: 3_000 },
    { kernel: "void k<8>(float*)", launches: 1, total_ns: 5_000, median_ns: 5_000, min_ns: 5_000, max_ns: 5_000 },
    { kernel: "gemm", launches: 4, total_ns: 6_000, median_ns: 1_500, min_ns: 1_000, max_ns: 2_500 },
  ];

  test("ranked by total; equal kernels add up; what a summary cannot say is null with the reason", () => {
    const ranking = ranked({ sums });
    expect(
      ranking.kernels.map(({ timing, share_of_kernels }) => [
        timing.n,
        timing.total_us,
        timing.median_us,
        timing.min_us,
        timing.max_us,
        share_of_kernels,
      ]),
    ).toStrictEqual([
      [3, 9, null, 1, 5, 0.6],
      [4, 6, 1.5, 1, 2.5, 0.4],
    ]);
    expect(ranking).toMatchObject({
      launches: 7,
      busy_us: null,
      span_us: null,
      idle: null,
      kernels: [{ shapes: null }, {}],
    });
    expect(ranking.null_reasons.span_us).toContain("no start times");
    expect(ranking.findings).toMatchObject([{ code: "summary_only" }]);
  });

  test("has no window", () => {
    expect(refused({ sums }, { window: { step: 1 } })).toMatchObject({ code: "timeline_window_invalid" });
  });
});

test("a name that is only mangled joins by what it says", () => {
  const timeline = madeTimeline({ rows: launches("x", 3) });
  const mangled = { ...namesOf("x"), demangled: null, mangled: "_Z1xv", display: "_Z1xv" };
  expect(ranked([{ ...timeline, names: [mangled] }]).kernels[0]?.key).toStrictEqual({ key: "x", kind: "demangled" });
});
