import { describe, expect, it } from "vitest";
import { type AnalysisInput, analyzeTimelines, type TimelineInput } from "../../../src/analysis/index.ts";
import type { KernelNames } from "../../../src/model/launch.ts";
import { type PipelineResult, pipelineResultSchema } from "../../../src/model/result.ts";
import { COMPUTE, DURATION, MEMORY } from "../../helpers/judge.ts";
import { launchOf, type MetricValues, reportOf } from "../../helpers/metric-set.ts";
import { pipelinePlan } from "../../helpers/pipeline-plan.ts";
import { type MadeRow, type MadeTimeline, madeTimeline, namesOf } from "../../helpers/timelines.ts";

const made = (timeline: MadeTimeline): TimelineInput => ({ timeline: madeTimeline(timeline), id: null, sha256: null });
const report = (
  ...launches: readonly (readonly [name: string, us: number, metrics?: MetricValues])[]
): AnalysisInput => ({
  report: reportOf(
    launches.map(([name, us, metrics], index) =>
      launchOf(
        { [COMPUTE]: 10, [MEMORY]: 60, [DURATION]: 1000 * us, ...metrics },
        { index, names: namesOf(name), grid: [1, 1, 1], block: [128, 1, 1] },
      ),
    ),
  ),
  id: null,
  sha256: null,
});
function analysed(
  timelines: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
  options: Partial<Parameters<typeof analyzeTimelines>[2]> = {},
): PipelineResult {
  const result = analyzeTimelines(timelines, reports, { target: "full pipeline", topN: 100, ...options });
  if (!result.ok) throw new Error(result.error.message);
  return pipelineResultSchema.parse(result.value);
}
const entryOf = ({ kernels }: PipelineResult, name: string) => {
  const entry = kernels.find(({ detail }) => detail.names.display === name);
  if (entry === undefined) throw new Error(`no ${name}`);
  return entry;
};
/** One after the other, 10 us apart, from a start. */
function rows(name: string, from: number, durations: readonly number[], rest: Partial<MadeRow> = {}): MadeRow[] {
  let at = from;
  return durations.map((us) => {
    at += us + 10;
    return { name, at: at - us - 10, us, ...rest };
  });
}

describe("collectives of a pipeline", () => {
  const REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
  const rank = (number: number, durations: readonly number[]) =>
    made({ rows: [...rows("gemm", 0, [50], { rank: number }), ...rows(REDUCE, 100, durations, { rank: number })] });

  it("have time, stage and waiting over the ranks, and no verdict with the reason", () => {
    const entry = entryOf(analysed([rank(0, [500, 10, 30]), rank(1, [20, 25, 10])], [report(["gemm", 50])]), REDUCE);
    expect(entry).toMatchObject({ pipeline_stage: "comm", roofline: null, optimization_headroom: null });
    expect(entry.detail.roofline_null_reason).toMatch(/never replayed/);
    expect(entry.detail.exclusive_us).toBe(595);
    expect(entry.detail.collective).toEqual({
      matched_calls: 3,
      transfer_us: 20,
      waiting_us: 35,
      by_rank: [
        { rank: "rank 0, GPU 0", calls: 3, total_us: 540, waiting_us: 20 },
        { rank: "rank 1, GPU 0", calls: 3, total_us: 55, waiting_us: 15 },
      ],
      first: { durations_us: [500, 20], transfer_us: 20, waiting_us: [480, 0] },
      null_reason: null,
    });
    expect(entry.detail.null_reasons).not.toHaveProperty("detail.collective");
  });

  it("of one rank have time and a reason in place of waiting; other kernels are none", () => {
    const result = analysed([rank(0, [500, 10, 30])], []);
    const entry = entryOf(result, REDUCE);
    expect(entry.detail.collective).toMatchObject({ transfer_us: null, waiting_us: null });
    expect(entry.detail.null_reasons["detail.collective.waiting_us"]).toMatch(/^one rank was recorded/);
    const gemm = entryOf(result, "gemm");
    expect(gemm.detail.collective).toBeNull();
    expect(gemm.detail.null_reasons["detail.collective"]).toBe("it does not wait for other GPUs");
  });

  it("whose ranks called them differently often are a finding of the result", () => {
    const { findings } = analysed([rank(0, [500, 10, 30]), rank(1, [20, 25])], []);
    expect(findings.map(({ code }) => code)).toContain("collective_calls_differ");
  });

  it("that hold nearly all of the time are waiting, no broken recording", () => {
    const result = analysed([rank(0, [10, 12, 11, 90_000])], []);
    expect(result.findings.map(({ code }) => code)).toContain("collective_holds_the_time");
  });
});

describe("kernels that a plan left out", () => {
  it("say why in place of a verdict", () => {
    const left = {
      kernel: "hangs",
      cluster: null,
      total_ns: 1,
      reason: "hang" as const,
      because: "it made no progress",
    };
    const timeline = made({ rows: [...rows("hangs", 0, [50]), ...rows("gemm", 100, [40])] });
    const plan = pipelinePlan({ ordinals: [1], left_out: [left] });
    const result = analysed([timeline], [report(["gemm", 40])], { plan });
    expect(entryOf(result, "hangs").detail.roofline_null_reason).toBe("not measured: it made no progress");
  });
});

describe("stages of a timeline's kernels", () => {
  const GROUPED: KernelNames = {
    ...namesOf("void cutlass::device_kernel<GemmUniversal<GroupProblemShape<tuple<int>>>>(Params)"),
  };
  const stage = (result: PipelineResult, name: string) => entryOf(result, name).detail.stage;

  it("follow the kind of the model where the name leaves room", () => {
    const timeline = made({ rows: rows(GROUPED.display, 0, [50]) });
    for (const [model, expected] of [
      [null, "moe_expert"],
      ["deepseek-ai/DeepSeek-V3", "moe_expert"],
      ["Kimi K2", "moe_expert"],
      ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "gemm"],
    ] as const)
      expect(stage(analysed([timeline], [], { model }), GROUPED.display), String(model)).toMatchObject({
        stage: expected,
      });
    expect(stage(analysed([timeline], [], { model: "DeepSeek R1 Distill Llama 70B" }), GROUPED.display)?.rule).toMatch(
      /\+no-moe$/,
    );
  });

  it("follow the ranges around the launches where these agree, and the name where they do not", () => {
    const gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT";
    const ranges = [
      { text: "model.layers.3.mlp.experts", at: 0, us: 500 },
      { text: "model.layers.3.self_attn", at: 1000, us: 500 },
    ];
    const inside = made({ rows: rows(gemm, 10, [50, 50, 50]), ranges });
    expect(stage(analysed([inside], []), gemm)).toMatchObject({
      stage: "moe_expert",
      rule: expect.stringMatching(/\+nvtx:experts$/),
    });
    expect(analysed([inside], []).stages?.map((one) => one.stage)).toEqual(["moe_expert"]);
    const both = made({ rows: [...rows(gemm, 10, [50, 50]), ...rows(gemm, 1010, [50, 50])], ranges });
    expect(stage(analysed([both], []), gemm)).toMatchObject({ stage: "gemm" });
    // Another thread's ranges say nothing of it.
    const other = made({ rows: rows(gemm, 10, [50]), ranges: ranges.map((one) => ({ ...one, thread: "2" })) });
    expect(stage(analysed([other], []), gemm)).toMatchObject({ stage: "gemm" });
  });
});

describe("what a better kernel would return", () => {
  it("is of its own exclusive time and of the busy time, and nowhere added up", () => {
    // 100 us of busy time in which two streams each have a kernel: neither return is more than its own time.
    const timeline = made({
      rows: [
        { name: "a", at: 0, us: 100, stream: "1" },
        { name: "b", at: 0, us: 100, stream: "2" },
      ],
    });
    const result = analysed([timeline], [report(["a", 100], ["b", 100])]);
    expect(result.gpu_busy_us).toBe(100);
    for (const name of ["a", "b"]) {
      const { detail } = entryOf(result, name);
      expect(detail.saving_us).toBeCloseTo(40, 9);
      expect(detail.saving_of_busy).toBeCloseTo(0.4, 9);
    }
    const sums = Object.entries(result).filter(([key]) => /saving|headroom/.test(key));
    expect(sums).toEqual([]);
  });

  it("is that of the measured clusters alone", () => {
    const timeline = made({ rows: rows("k", 0, [100, 20, 20]) });
    const { detail } = entryOf(analysed([timeline], [report(["k", 100])]), "k");
    expect(detail.saving_us).toBeCloseTo(40, 9);
    expect(detail.saving_of_busy).toBeCloseTo(40 / 140, 9);
    const unmeasured = entryOf(analysed([timeline], []), "k").detail;
    expect([unmeasured.saving_us, unmeasured.saving_of_busy]).toEqual([null, null]);
    expect(unmeasured.null_reasons["detail.saving_of_busy"]).toMatch(/no counters/);
  });

  it("of launches that overlap on several streams is no more than the kernel's own part of the busy time", () => {
    // 105 us of busy time: eight launches of one kernel at once, and a copy after them.
    const at = (name: string, stream: number, from = 0, us = 100): MadeRow => ({
      name,
      at: from,
      us,
      stream: `${stream}`,
    });
    const copy: MadeRow = { name: "[CUDA memcpy]", kind: "memcpy", at: 100, us: 5, stream: "1" };
    const many = Array.from({ length: 8 }, (_, stream) => at("k", stream));
    const result = analysed([made({ rows: [...many, copy] })], [report(["k", 100])]);
    expect(result.gpu_busy_us).toBe(105);
    expect(entryOf(result, "k").detail.exclusive_us).toBe(800);
    expect(entryOf(result, "k").detail.saving_us).toBeCloseTo(40, 9);
    expect(entryOf(result, "k").detail.saving_of_busy).toBeCloseTo(40 / 105, 9);
    expect(result.coverage).toBeCloseTo(100 / 105, 9);
    // Half over one another: 150 us in which it runs, of 200 us of work. Other GPUs are no other streams.
    const half = [at("k", 1), at("k", 2, 50), { ...at("k", 1, 0), device: 1 }];
    const { detail } = entryOf(analysed([made({ rows: half })], [report(["k", 100])]), "k");
    expect(detail.saving_us).toBeCloseTo(0.4 * 250, 9);
    expect(detail.saving_of_busy).toBeCloseTo(0.4, 9);
    // The one that starts while another kernel of its stream still runs has its exclusive time, as before.
    const dependent = made({ rows: [at("m", 1), at("k", 1, 90, 20)] });
    expect(entryOf(analysed([dependent], [report(["k", 20])]), "k").detail.saving_us).toBeCloseTo(4, 9);
  });

  it("has the level of what was measured, not of launches that nobody looked at", () => {
    // 40 % of a cluster that holds 3 % of the busy time; the other clusters of the kernel have no counters.
    const timeline = made({
      rows: [...rows("k", 0, [30, ...Array(20).fill(1.4)]), ...rows("m", 2000, Array(10).fill(94.2))],
    });
    const { detail } = entryOf(analysed([timeline], [report(["k", 30])]), "k");
    expect(detail.saving_of_busy).toBeCloseTo(0.012, 9);
    expect(detail.headroom.level).toBe("medium");
  });

  it("coverage is the share of the busy time whose clusters got counters, listed or not", () => {
    const timeline = made({ rows: [...rows("k", 0, [100]), ...rows("m", 200, [60]), ...rows("n", 300, [40])] });
    const inputs = [report(["k", 100], ["m", 60])];
    expect(analysed([timeline], inputs).coverage).toBeCloseTo(0.8, 9);
    expect(analysed([timeline], inputs, { topN: 1 }).coverage).toBeCloseTo(0.8, 9);
    // Two streams at once: what another one covers as well is covered, and counts once.
    const both = made({
      rows: [
        { name: "k", at: 0, us: 100, stream: "1" },
        { name: "k", at: 20, us: 100, stream: "2" },
        { name: "n", at: 20, us: 140, stream: "3" },
      ],
    });
    expect(analysed([both], [report(["k", 100])]).coverage).toBeCloseTo(0.75, 9);
    expect(
      analysed(
        [both, both].map(({ timeline }, rank) => ({
          timeline: { ...timeline, lanes: timeline.lanes.map((lane) => ({ ...lane, rank })) },
          id: null,
          sha256: null,
        })),
        [report(["k", 100])],
      ).coverage,
    ).toBeCloseTo(0.75, 9);
  });
});

describe("counters beside the timeline's durations", () => {
  const codes = (timelineUs: number, ncuUs: number, metrics: MetricValues = {}) => {
    const result = analysed([made({ rows: rows("k", 0, [timelineUs]) })], [report(["k", ncuUs, metrics])]);
    return entryOf(result, "k").findings.map(({ code }) => code);
  };

  it.each([
    [100, 104, false],
    [100, 204, true],
    [100, 49, true],
    // What ncu adds to a launch of any length.
    [2, 4.4, false],
    [2, 8, true],
  ])("%d us in the timeline and %d under ncu: doubted %s", (timelineUs, ncuUs, doubted) => {
    expect(codes(timelineUs, ncuUs).includes("ncu_time_differs")).toBe(doubted);
  });

  it("bytes that the DRAM cannot move in the timeline's time are doubted", () => {
    // 4.9 TB/s peak: 6,144 bytes a cycle at 800 MHz.
    const dram = (bytes: number): MetricValues => ({
      "dram__bytes.sum.peak_sustained": 6144,
      "dram__cycles_elapsed.avg.per_second": 8e8,
      "dram__bytes_read.sum": bytes / 2,
      "dram__bytes_write.sum": bytes / 2,
    });
    const peakBytes = 6144 * 8e8 * 100e-6;
    expect(codes(100, 110, dram(peakBytes))).not.toContain("dram_bytes_do_not_fit");
    expect(codes(100, 110, dram(1.1 * peakBytes))).toContain("dram_bytes_do_not_fit");
  });
});
