import { beforeAll, describe, expect, it } from "vitest";
import { type AnalysisInput, analyzeTimelines, type TimelineInput } from "../../../src/analysis/index.ts";
import { kernelResultSchema, type PipelineResult, pipelineResultSchema } from "../../../src/model/result.ts";
import { readTimeline } from "../../../src/timeline/detect.ts";
import { temporaryFolder } from "../../helpers/databases.ts";
import { fixturePath } from "../../helpers/fixtures.ts";
import { COMPUTE, DURATION, MEMORY } from "../../helpers/judge.ts";
import { launchOf, type MetricValues, reportOf } from "../../helpers/metric-set.ts";
import { madeTimeline, namesOf } from "../../helpers/timelines.ts";
import { fixtureInput } from "../../helpers/verdicts.ts";

async function recorded(name: string): Promise<TimelineInput> {
  const timeline = await readTimeline(fixturePath(`timelines/${name}`), temporaryFolder());
  if (!timeline.ok) throw new Error(timeline.error.message);
  return { timeline: timeline.value, id: "t1", sha256: null };
}
function pipeline(timelines: readonly TimelineInput[], reports: readonly AnalysisInput[], topN = 10): PipelineResult {
  const result = analyzeTimelines(timelines, reports, { target: "full pipeline", topN });
  if (!result.ok) throw new Error(result.error.message);
  return pipelineResultSchema.parse(result.value);
}

describe("a timeline and a report of the same program on an H200", () => {
  let result: PipelineResult;
  beforeAll(async () => {
    result = pipeline([await recorded("tiny-collective.nsys.sqlite.gz")], [await fixtureInput("tiny-full.ncu-rep.gz")]);
  });

  it("has the times of the timeline and the verdicts of the counters", () => {
    expect(
      result.kernels.map(({ target, roofline, detail }) => [target, roofline, detail.timing.source, detail.timing.n]),
    ).toEqual([
      ["pointer_walk", "latency-bound", "timeline", 4],
      ["fma_chain", "compute-bound", "timeline", 4],
      ["smem_tile", "latency-bound", "timeline", 4],
      ["stream_add", "memory-bound", "timeline", 4],
      ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", null, "timeline", 6],
    ]);
    expect(result).toMatchObject({ gpu_busy_us: 16418.887, span_us: 68241.461, launches: 22 });
    // Two runs of one program: ncu and the timeline time the kernels within 5 %.
    for (const { detail } of result.kernels.slice(0, 4)) {
      const [cluster] = detail.shapes[0]?.clusters ?? [];
      expect(cluster).toMatchObject({ joined_by: "duration" });
      expect(cluster?.launches).toHaveLength(3);
      expect(cluster?.ncu_over_timeline).toBeGreaterThan(0.95);
      expect(cluster?.ncu_over_timeline).toBeLessThan(1.05);
    }
  });

  it("leaves the collective without a verdict, with its time and its stage", () => {
    const collective = result.kernels[4];
    expect(collective).toMatchObject({ pipeline_stage: "comm", roofline: null, optimization_headroom: null });
    expect(collective?.detail.launch).toBeNull();
    expect(collective?.detail.null_reasons.roofline).toMatch(/^it waits for other GPUs .*never replayed/);
    expect(collective?.detail.roofline_null_reason).toBe(collective?.detail.null_reasons.roofline);
    expect(collective?.detail.missing_metrics).toEqual([]);
  });

  it("has shares of the busy time, by kernel and by stage, and says how much of it has counters", () => {
    const busy = result.gpu_busy_us ?? Number.NaN;
    for (const { fraction_of_pipeline, detail } of result.kernels)
      expect(fraction_of_pipeline).toBeCloseTo((detail.exclusive_us ?? Number.NaN) / busy, 12);
    // A set runs beside a kernel for 3 us: shares of stages add up to a little more than 1.
    const overlap = (result.timeline?.overlap_between_streams_us ?? Number.NaN) / busy;
    expect(result.stages?.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1 + overlap, 9);
    expect(result.stages?.[0]).toMatchObject({ stage: "memcpy", family: "memory" });
    const covered = result.kernels.slice(0, 4).reduce((sum, { detail }) => sum + (detail.exclusive_us ?? 0), 0);
    expect(result.coverage).toBeCloseTo(covered / busy, 9);
  });

  it("gives the saving of each kernel alone, and the level by its share of the pipeline", () => {
    const add = result.kernels[3];
    // 87 % of the bandwidth, 4.6 % of the busy time: 0.6 % of it could be saved.
    expect(add?.optimization_headroom).toMatch(/^medium — memory-bound with 13% BW unused/);
    expect((add?.detail.saving_us ?? 0) / (add?.detail.exclusive_us ?? 1)).toBeCloseTo(0.133, 2);
  });

  it("gives one kernel with its share of the pipeline", async () => {
    const one = analyzeTimelines(
      [await recorded("tiny-collective.nsys.sqlite.gz")],
      [await fixtureInput("tiny-full.ncu-rep.gz")],
      { target: "/walk|stream/" },
    );
    if (!one.ok) throw new Error(one.error.message);
    const kernel = kernelResultSchema.parse(one.value);
    expect(kernel).toMatchObject({
      target: "pointer_walk",
      roofline: "latency-bound",
      wall_clock_us: expect.closeTo(1153.2, 0),
    });
    expect(kernel.fraction_of_pipeline).toBeCloseTo(0.281, 3);
    expect(kernel.others.map(({ target }) => target)).toEqual(["stream_add"]);
  });
});

describe("timelines alone", () => {
  it("rank the kernels of an engine, with two recordings of one program alike in launches", async () => {
    const nsys = pipeline([await recorded("h200-pipeline.nsys.sqlite.gz")], [], 1000);
    const torch = pipeline([await recorded("h200-pipeline.torch-trace.json.gz")], [], 1000);
    expect([nsys.launches, nsys.kernels_total, torch.launches, torch.kernels_total]).toEqual([3892, 79, 3892, 79]);
    const counts = ({ kernels }: PipelineResult) => kernels.map(({ detail }) => detail.timing.n).sort((a, b) => a - b);
    expect(counts(torch)).toEqual(counts(nsys));
    expect(nsys).toMatchObject({ gpu_busy_us: 42556.026, span_us: 909325.324, coverage: 0, report_us: null });
    expect(nsys.kernels[0]?.fraction_of_pipeline).toBeCloseTo(0.1142, 4);
    expect(nsys.findings.map(({ code }) => code)).toContain("gpu_mostly_idle");
    expect(nsys.provenance.gpus).toMatchObject([{ name: "NVIDIA H200", sm_count: 132 }]);
  });

  it("give a reason for every number that they do not have", async () => {
    const { kernels } = pipeline([await recorded("tiny-graph-nodes.nsys.sqlite.gz")], []);
    for (const { detail, ...fields } of kernels) {
      for (const [path, value] of Object.entries(fields)) {
        if (value === null) expect(detail.null_reasons[path], path).toBeTruthy();
      }
      expect(detail.roofline_null_reason).toBe("no counters were taken: a timeline alone shows times");
    }
  });

  it("of which none can be trusted are refused", () => {
    const empty = { timeline: madeTimeline({ rows: [] }), id: null, sha256: null };
    const result = analyzeTimelines([empty], [], { target: "full pipeline" });
    expect(result).toMatchObject({ ok: false, error: { code: "timeline_no_kernels" } });
  });
});

describe("where counters and timeline do not fit", () => {
  const rows = [100, 100, 100].map((us, at) => ({ name: "k", at: 200 * at, us, grid: [8, 1, 1] as const }));
  const timeline = { timeline: madeTimeline({ rows }), id: null, sha256: null };
  const report = (name: string, us: number, metrics: MetricValues = {}): AnalysisInput => ({
    report: reportOf([
      launchOf(
        { [COMPUTE]: 10, [MEMORY]: 90, [DURATION]: 1000 * us, ...metrics },
        { names: namesOf(name), grid: [8, 1, 1] },
      ),
    ]),
    id: null,
    sha256: null,
  });
  const codes = ({ kernels, findings }: PipelineResult) =>
    [...findings, ...kernels.flatMap((entry) => entry.findings)].map(({ code }) => code);

  it("says that a report has none of the kernels that take the time", () => {
    expect(codes(pipeline([timeline], [report("other", 100)]))).toContain("report_misses_hot_kernels");
    expect(codes(pipeline([timeline], [report("k", 100)]))).not.toContain("report_misses_hot_kernels");
  });

  it("withholds the verdict of a kernel whose launches are of no cluster", () => {
    const two = {
      timeline: madeTimeline({ rows: [...rows, { ...rows[0]!, at: 900, us: 20 }] }),
      id: null,
      sha256: null,
    };
    const result = pipeline(
      [two],
      [
        {
          ...report("k", 20),
          report: reportOf([
            ...report("k", 20).report.launches,
            ...report("k", 50).report.launches.map((one) => ({ ...one, index: 1 })),
          ]),
        },
      ],
    );
    expect(codes(result)).toContain("shape_mismatch");
    expect(result.kernels[0]).toMatchObject({ roofline: null, wall_clock_us: 80 });
    expect(result.kernels[0]?.detail.roofline_null_reason).toMatch(/^shape_mismatch/);
  });

  it("flags times under ncu that are far from the timeline's", () => {
    expect(codes(pipeline([timeline], [report("k", 350)]))).toContain("ncu_time_differs");
    expect(codes(pipeline([timeline], [report("k", 120)]))).not.toContain("ncu_time_differs");
  });
});
