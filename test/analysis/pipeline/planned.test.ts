import { beforeAll, describe, expect, it } from "vitest";
import { type AnalysisInput, analyzeTimelines, type TimelineInput } from "../../../src/analysis/index.ts";
import { itemsOf } from "../../../src/analysis/kernels.ts";
import { PlannedLaunches } from "../../../src/analysis/pipeline/planned.ts";
import type { Launch } from "../../../src/model/launch.ts";
import type { PipelinePlan } from "../../../src/model/pipeline-plan.ts";
import { type PipelineResult, pipelineResultSchema } from "../../../src/model/result.ts";
import { readTimeline } from "../../../src/timeline/detect.ts";
import { temporaryFolder } from "../../helpers/databases.ts";
import { fixturePath } from "../../helpers/fixtures.ts";
import { COMPUTE, DURATION, MEMORY } from "../../helpers/judge.ts";
import { launchOf, reportOf } from "../../helpers/metric-set.ts";
import { pipelinePlan } from "../../helpers/pipeline-plan.ts";
import { type MadeTimeline, madeTimeline, namesOf } from "../../helpers/timelines.ts";
import { fixtureInput } from "../../helpers/verdicts.ts";

function analysed(
  timeline: TimelineInput,
  reports: readonly AnalysisInput[],
  ordinals: readonly number[] | null,
  options: Partial<Parameters<typeof analyzeTimelines>[2]> = {},
): PipelineResult {
  const plan: PipelinePlan = pipelinePlan({ ordinals: ordinals === null ? null : [...ordinals] });
  const result = analyzeTimelines([timeline], reports, { target: "full pipeline", topN: 100, plan, ...options });
  if (!result.ok) throw new Error(result.error.message);
  return pipelineResultSchema.parse(result.value);
}

const clustersOf = ({ kernels }: PipelineResult) =>
  kernels.flatMap(({ detail }) => detail.shapes.flatMap(({ clusters }) => clusters));
const codesOf = ({ kernels }: PipelineResult) => kernels.flatMap(({ findings }) => findings.map(({ code }) => code));

describe("a plan that was carried out on an H200, and the timeline of another run of the program", () => {
  const ordinals = [1, 2, 7, 51, 82];
  let timeline: TimelineInput;
  let report: AnalysisInput;
  beforeAll(async () => {
    const read = await readTimeline(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"), temporaryFolder());
    if (!read.ok) throw new Error(read.error.message);
    timeline = { timeline: read.value, id: null, sha256: null };
    report = await fixtureInput("captured/engine-plan.ncu-repz");
  });

  it("every launch is of the grid and block of the timeline's launch with its number", () => {
    const { kernels: items } = itemsOf([report]);
    const planned = new PlannedLaunches(ordinals, [timeline.timeline], items);
    expect(items).toHaveLength(33);
    const ratios = items.map((item) => {
      const rows = planned.of(item)?.rows ?? [];
      expect(rows.map(({ grid, block }) => [grid, block])).toEqual([[item.launch.grid, item.launch.block]]);
      const us = Number(rows[0]?.duration_ns) / 1000;
      // ncu adds a little to every launch: up to 2.4 us.
      expect(Math.abs((item.durationUs ?? 0) - us)).toBeLessThan(Math.max(3, 0.1 * us));
      return (item.durationUs ?? 0) / us;
    });
    ratios.sort((a, b) => a - b);
    expect([ratios[0], ratios[16], ratios[32]].map((ratio) => Number(ratio?.toFixed(3)))).toEqual([
      0.917, 0.985, 2.271,
    ]);
  });

  it("no other numbers fit", () => {
    const { kernels: items } = itemsOf([report]);
    for (const other of [
      [2, 3, 8, 52, 83],
      [1, 2, 3, 4, 5],
    ]) {
      const planned = new PlannedLaunches(other, [timeline.timeline], items);
      const same = items.filter((item) => {
        const [row] = planned.of(item)?.rows ?? [];
        return row?.grid?.join() === item.launch.grid?.join();
      });
      expect(same.length).toBeLessThan(items.length);
    }
  });

  it("all of them have a cluster, and none is doubted", () => {
    const result = analysed(timeline, [report], ordinals);
    const joined = clustersOf(result).filter(({ joined_by: by }) => by !== null);
    expect(new Set(joined.map(({ joined_by: by }) => by))).toEqual(new Set(["plan_ordinal"]));
    expect(joined.flatMap(({ launches }) => launches).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 33 }, (_, at) => at),
    );
    for (const code of ["runs_differ", "shape_mismatch", "ncu_time_differs", "dram_bytes_do_not_fit"])
      expect(codesOf(result)).not.toContain(code);
    // Without the numbers a part of them finds no cluster, or several.
    const guessed = clustersOf(analysed(timeline, [report], null)).flatMap(({ launches }) => launches);
    expect(guessed.length).toBeLessThanOrEqual(33);
  });
});

const launch = (index: number, name: string, us: number, rest: Partial<Launch> = {}): Launch =>
  launchOf(
    { [COMPUTE]: 10, [MEMORY]: 90, [DURATION]: 1000 * us },
    { index, names: { ...namesOf(name), mangled: `_Z${name}` }, grid: [8, 1, 1], block: [128, 1, 1], ...rest },
  );
const reported = (...launches: Launch[]): AnalysisInput => ({ report: reportOf(launches), id: null, sha256: null });

function mangled(rows: MadeTimeline["rows"]): TimelineInput {
  const timeline = madeTimeline({ rows: rows ?? [] });
  const names = timeline.names.map((own) => ({ ...own, mangled: `_Z${own.display}` }));
  return { timeline: { ...timeline, names }, id: null, sha256: null };
}
const rows = (name: string, ...durations: readonly number[]) =>
  durations.map((us, at) => ({ name, at: 1000 * at, us, grid: [8, 1, 1] as const }));
const placed = (result: PipelineResult) =>
  clustersOf(result).map(({ timing, launches, joined_by: by, ncu_over_timeline: ratio }) => [
    timing.median_us,
    launches,
    by,
    ratio,
  ]);

describe("launches that were asked for by number", () => {
  it("join by it whatever they took, chosen or not, each with its own ratio", () => {
    const timeline = mangled(rows("k", 100, 20, 120, 20));
    const result = analysed(timeline, [reported(launch(0, "k", 30), launch(1, "k", 60))], [2, 3]);
    expect(placed(result)).toEqual([
      [110, [1], "plan_ordinal", 0.5],
      [20, [0], "plan_ordinal", 1.5],
    ]);
  });

  it("a launch that failed counts, and has no verdict", () => {
    const timeline = mangled(rows("k", 100, 20, 100));
    const failed = launch(0, "k", 1, { failure: "LaunchFailed" });
    const result = analysed(timeline, [reported(failed, launch(1, "k", 21))], [1, 2, 3]);
    expect(placed(result)).toEqual([
      [100, [], null, null],
      [20, [1], "plan_ordinal", 1.05],
    ]);
  });

  it("numbers that a name does not reach are not missed, and a run that ended early has the first ones", () => {
    const timeline = mangled([...rows("k", 100, 20), ...rows("m", 5, 50).map((row) => ({ ...row, at: row.at + 300 }))]);
    const result = analysed(timeline, [reported(launch(0, "k", 20), launch(1, "m", 50))], [2, 9]);
    expect(placed(result)).toEqual([
      [100, [], null, null],
      [20, [0], "plan_ordinal", 1],
      [50, [1], "plan_ordinal", 1],
      [5, [], null, null],
    ]);
  });

  it("of other grids were not of the same run: shape and duration decide for this kernel, and a finding says so", () => {
    const timeline = mangled([...rows("k", 100, 20), ...rows("m", 50).map((row) => ({ ...row, at: 300 }))]);
    const other = launch(0, "k", 20, { grid: [9, 1, 1] });
    const result = analysed(timeline, [reported(other, launch(1, "k", 101), launch(2, "m", 70))], [1, 2]);
    expect(placed(result)).toEqual([
      [100, [1], "duration", 1.01],
      [20, [], null, null],
      [50, [2], "plan_ordinal", 1.4],
    ]);
    expect(codesOf(result)).toEqual(expect.arrayContaining(["runs_differ", "shape_mismatch"]));
    const finding = result.kernels[0]?.findings.find(({ code }) => code === "runs_differ");
    expect(finding).toMatchObject({ launch: 0, evidence: { ordinal: 1, ncu_grid: "9x1x1", timeline_grid: "8x1x1" } });
  });

  it("a number that the timeline does not have, or one launch too many, are of another run too", () => {
    const timeline = mangled(rows("k", 100));
    const beyond = analysed(timeline, [reported(launch(0, "k", 100), launch(1, "k", 100))], [1, 2]);
    expect(beyond.kernels[0]?.findings.map(({ message }) => message).join()).toContain("no launch number 2");
    const more = analysed(timeline, [reported(launch(0, "k", 100), launch(1, "k", 100))], [1]);
    expect(more.kernels[0]?.findings.map(({ message }) => message).join()).toContain("more launches were measured");
    expect(placed(more)).toEqual([[100, [0, 1], "duration", 1]]);
  });

  it("each process counts by itself, and of the launches with one number the nearest is meant", () => {
    const two = ["1", "2"].flatMap((process, device) =>
      rows("k", ...(device === 0 ? [100, 20] : [100, 40])).map((row) => ({ ...row, process, device })),
    );
    const launches = [
      launch(0, "k", 101, { process_id: 7 }),
      launch(1, "k", 99, { process_id: 8 }),
      launch(2, "k", 21, { process_id: 7 }),
      launch(3, "k", 41, { process_id: 8 }),
    ];
    expect(placed(analysed(mangled(two), [reported(...launches)], [1, 2]))).toEqual([
      [100, [0, 1], "plan_ordinal", expect.closeTo(1, 6)],
      [40, [3], "plan_ordinal", 1.025],
      [20, [2], "plan_ordinal", 1.05],
    ]);
  });

  it("outside of the window they say nothing about it", () => {
    const timeline = mangled(rows("k", 100, 100, 100));
    const result = analysed(timeline, [reported(launch(0, "k", 100), launch(1, "k", 80))], [1, 2], {
      window: { from_us: 900, to_us: 5000 },
    });
    expect(placed(result)).toEqual([[100, [1], "plan_ordinal", 0.8]]);
    expect(codesOf(result)).not.toContain("shape_mismatch");
  });
});
