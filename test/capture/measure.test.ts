import { describe, expect, it } from "vitest";
import { ok } from "../../src/base/result.ts";
import { type MeasureOptions, measure, type ReportSummary, untilEnough } from "../../src/capture/measure.ts";
import type { NcuRun } from "../../src/capture/ncu/run.ts";
import type { SurveyLaunch } from "../../src/capture/plan.ts";
import { chooseSample, type SeenLaunch } from "../../src/capture/sample.ts";
import { log, runOf } from "./ncu-logs.ts";

const SURVEY = "survey.ncu-rep";
const COUNTERS = "counters.ncu-rep";
const WHOLE = log("tiny-full");

const launch = (ordinal: number, us: number, grid = 8): SurveyLaunch => ({
  functionName: "k",
  kernel: "k",
  ordinal,
  grid: [grid, 1, 1],
  block: [128, 1, 1],
  duration_ns: us * 1000,
});
const summary = (...matching: SeenLaunch[]): ReportSummary => ({
  launches: matching.length,
  failedLaunches: 0,
  kernels: ["k"],
  allCountersNaN: false,
  matching,
});
/** By grid alone. */
const group: MeasureOptions["group"] = (launches) => ({
  clusters: [...new Set(launches.map(({ grid }) => grid?.[0]))].map((x) => ({
    kernel: "k",
    launches: launches.filter(({ grid }) => grid?.[0] === x),
  })),
  times: [],
});
const FOUR = summary(...[1, 2, 3, 4].map((ordinal) => launch(ordinal, 10)));
const THREE = summary(...[1, 2, 3].map((ordinal) => launch(ordinal, 10)));

interface Step {
  readonly run: NcuRun;
  /** What its report holds; null: there is none. */
  readonly read: ReportSummary | null;
}
const survey = (read: ReportSummary | null = FOUR, more: Partial<NcuRun> = {}, text = WHOLE): Step => ({
  run: runOf(text, { reportPath: read === null ? null : SURVEY, ...more }),
  read,
});
const counters = (read: ReportSummary | null = THREE, more: Partial<NcuRun> = {}, text = WHOLE): Step => ({
  run: runOf(text, { reportPath: read === null ? null : COUNTERS, endedBy: "count_reached", ...more }),
  read,
});

/** Measures with runs that end like these, one after the other. */
async function measured(steps: readonly Step[], more: Partial<MeasureOptions> = {}) {
  const asked: Parameters<MeasureOptions["run"]>[] = [];
  const result = await measure({
    run: async (...given) => {
      asked.push(given);
      const step = steps[asked.length - 1];
      if (step === undefined) throw new Error("one run too many");
      return step.run;
    },
    summarize: async () => ok(steps[asked.length - 1]?.read ?? summary()),
    counters: { kind: "set", set: "full", sections: [], metrics: [] },
    group,
    surveyMetrics: ["gpu__time_duration.sum"],
    sampled: false,
    maxLaunches: 12,
    surveyLaunches: 500,
    skip: 0,
    msLeft: () => null,
    tell: () => {},
    ...more,
  });
  expect(asked).toHaveLength(steps.length);
  return { ...result, asked, codes: result.findings.map(({ code }) => code) };
}

describe("taking the counters of a target", () => {
  it("looks at all launches first, then takes the counters of some", async () => {
    const { asked, ended, failure, report, survey: surveyed, plan, runs } = await measured([survey(), counters()]);
    expect(asked).toEqual([
      [
        "survey",
        { kind: "first", skip: 0, count: 500 },
        { kind: "metrics", metrics: ["gpu__time_duration.sum"] },
        null,
      ],
      [
        "counters",
        { kind: "ordinals", names: ["k"], ordinals: [1, 2, 3] },
        { kind: "set", set: "full", sections: [], metrics: [] },
        3,
      ],
    ]);
    expect({ ended, failure, report, surveyed }).toEqual({
      ended: "completed",
      failure: null,
      report: COUNTERS,
      surveyed: SURVEY,
    });
    expect(plan).toMatchObject({ survey_launches: 4, launches: 3, passes: 38, clusters: [{ launches: 4 }] });
    expect(runs).toMatchObject([
      { purpose: "survey", ended_by: "itself", launches: 4, took_s: 1 },
      { purpose: "counters", ended_by: "count_reached", launches: 3 },
    ]);
  });

  it("ends with the survey where nothing matched", async () => {
    const nothing = survey(null, {}, log("err_nokernel"));
    const { ended, failure, report, plan } = await measured([nothing]);
    expect({ ended, code: failure?.code, report, plan }).toEqual({
      ended: "failed",
      code: "no_matching_kernel",
      report: null,
      plan: null,
    });
    expect(failure?.evidence.available_kernels).toEqual(expect.arrayContaining([expect.any(String)]));
    expect((await measured([survey(summary())])).failure?.code).toBeDefined();
  });

  it("ends with the survey where the capture was stopped in it, whatever it saw", async () => {
    for (const [endedBy, code] of [
      ["lease_lost", "lease_lost"],
      ["worker_stopping", "worker_stopped"],
      ["disk_full", "disk_full"],
      ["report_limit", "report_too_large"],
    ] as const) {
      const { ended, failure, report } = await measured([survey(FOUR, { endedBy })]);
      expect({ ended, code: failure?.code, report }).toEqual({ ended: "failed", code, report: null });
    }
  });

  it("ends with the survey where that spent the budget", async () => {
    const { ended, failure, plan } = await measured([survey()], { msLeft: () => 0 });
    expect({ ended, plan }).toEqual({ ended: "failed", plan: null });
    expect(failure).toMatchObject({ code: "capture_timeout", evidence: { survey_s: 1 } });
  });

  it("measures what a survey saw before it was cut short, and says that there may be more", async () => {
    const killed = { exit: { ...runOf(WHOLE).exit, code: null, signal: "SIGKILL" } } as const;
    for (const [early, code] of [
      [survey(FOUR, killed, log("tiny-killed")), "capture_killed"],
      [survey({ ...FOUR, failedLaunches: 1 }, {}, log("tiny-fault")), "kernel_fault"],
      [survey(FOUR, { endedBy: "stall" }, log("tiny-collective-hang")), "capture_stalled"],
      [survey(FOUR, { endedBy: "time_limit" }), "capture_timeout"],
    ] as const) {
      const { ended, failure, report } = await measured([early, counters()]);
      expect({ ended, code: failure?.code, report }).toEqual({ ended: "partial", code, report: COUNTERS });
    }
  });

  it("says what ended the run that takes counters", async () => {
    const stalled = await measured([survey(), counters(summary(launch(1, 10)), { endedBy: "stall" })]);
    expect(stalled).toMatchObject({ ended: "partial", failure: { code: "capture_stalled" }, report: COUNTERS });
    const lost = await measured([survey(), counters(null, { endedBy: "lease_lost" })]);
    expect(lost).toMatchObject({ ended: "failed", failure: { code: "lease_lost" }, report: null });
    const few = await measured([survey(), counters(summary(launch(1, 10)), { endedBy: "itself" })]);
    expect(few).toMatchObject({ ended: "partial", failure: { code: "capture_incomplete" } });
  });

  it("takes the first launches where the chosen ones did not come again", async () => {
    const none = counters(null, { endedBy: "itself" }, log("err_nokernel"));
    const { asked, ended, codes } = await measured([survey(), none, counters()], { maxLaunches: 5 });
    expect(asked[2]?.slice(0, 2)).toEqual(["counters", { kind: "first", skip: 0, count: 5 }]);
    expect(ended).toBe("completed");
    expect(codes).toContain("launches_not_repeated");
  });

  it("names the clusters that were not seen again", async () => {
    const two = summary(launch(1, 10), launch(3, 10), launch(2, 40, 16));
    const { findings } = await measured([survey(two), counters(THREE)]);
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: "cluster_not_measured",
        evidence: expect.objectContaining({ grid: "16x1x1", launches: 1, median_us: 40 }),
      }),
    );
  });

  it("says once what both runs say, and keeps what only the survey saw", async () => {
    const fails = survey(FOUR, { exit: { ...runOf(WHOLE).exit, code: 3 } }, log("tiny-fail"));
    const { ended, codes } = await measured([fails, counters()]);
    expect(ended).toBe("completed");
    expect(codes.toSorted()).toEqual([
      "application_failed",
      "clocks_not_fixed",
      "launches_not_in_report",
      "metrics_not_collected",
    ]);
  });
});

describe("a survey that did not see all launches", () => {
  const codes = async (more: Partial<NcuRun>, limits: Partial<MeasureOptions>) =>
    (await measured([survey(FOUR, more), counters()], limits)).codes.filter((code) => code === "survey_limited");

  it("says so where a limit ended it, and not otherwise", async () => {
    const ended = { endedBy: "count_reached", firstLaunchAfterMs: 1_000 } as const;
    expect(await codes({}, { surveyLaunches: 4 })).toHaveLength(1);
    expect(await codes({ ...ended, tookMs: 16_100 }, {})).toHaveLength(1);
    expect(await codes({ ...ended, tookMs: 9_000 }, {})).toHaveLength(0);
    expect(await codes({ endedBy: "itself", firstLaunchAfterMs: 1_000, tookMs: 90_000 }, {})).toHaveLength(0);
  });
});

describe("a survey where the time of a launch is dear", () => {
  // 100 launches of grid 8, and one of grid 16 in the middle.
  const seen = Array.from({ length: 101 }, (_, at) => ({
    ...launch(at + 1, 10, at === 50 ? 16 : 8),
    duration_ns: null,
  }));
  /** What a report of these launches holds: it numbers what is in it. */
  const timed = (ordinals: readonly number[]) =>
    summary(
      ...ordinals.map((ordinal, at) => ({
        ...launch(at + 1, ordinal === 51 ? 40 : ordinal <= 50 ? 10 : 20, ordinal === 51 ? 16 : 8),
      })),
    );
  const sample = chooseSample(seen);
  const ordinals = sample.selection.kind === "ordinals" ? sample.selection.ordinals : [];

  it("looks at every launch without its time, then times some of each shape", async () => {
    const { asked, plan, codes, ended } = await measured(
      [survey(summary(...seen)), counters(timed(ordinals)), counters(timed([2, 51, 60]))],
      { sampled: true },
    );
    expect(asked[0]).toEqual([
      "shapes",
      { kind: "first", skip: 0, count: 500 },
      { kind: "metrics", metrics: ["launch__grid_size"] },
      null,
    ]);
    expect(asked[1]?.[1]).toEqual({ kind: "ordinals", names: ["k"], ordinals });
    expect(asked[1]?.[3]).toBe(ordinals.length);
    expect(plan).toMatchObject({ survey_launches: 101, timed_launches: ordinals.length });
    // 50 of 10 us and 50 of 20 us: the times of those that were not timed follow their neighbours.
    expect(plan?.clusters?.map(({ launches, total_us }) => [launches, total_us])).toContainEqual([100, 1500]);
    expect(codes).toContain("survey_sampled");
    expect(ended).toBe("completed");
  });

  it("ends where nothing matched or where it was stopped", async () => {
    const nothing = await measured([survey(null, {}, log("err_nokernel"))], { sampled: true });
    expect(nothing).toMatchObject({ ended: "failed", failure: { code: "no_matching_kernel" } });
    const lost = await measured([survey(summary(...seen), { endedBy: "lease_lost" })], { sampled: true });
    expect(lost).toMatchObject({ ended: "failed", failure: { code: "lease_lost" } });
    const full = await measured([survey(summary(...seen)), survey(timed(ordinals), { endedBy: "disk_full" })], {
      sampled: true,
    });
    expect(full).toMatchObject({ ended: "failed", failure: { code: "disk_full" } });
  });

  it("times the first launches where the chosen ones did not come again", async () => {
    const none = counters(null, { endedBy: "itself" }, log("err_nokernel"));
    const { asked, plan, findings } = await measured(
      [survey(summary(...seen)), none, counters(timed([1, 2, 3])), counters(timed([1, 2]))],
      { sampled: true },
    );
    expect(asked[2]?.[1]).toEqual({ kind: "first", skip: 0, count: ordinals.length });
    expect(plan).toMatchObject({ survey_launches: 101, timed_launches: 3 });
    // It may be the heaviest: nobody knows.
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: "cluster_not_measured",
        evidence: { kernel: "k", grid: "16x1x1", block: "128x1x1", launches: 1, median_us: null },
      }),
    );
  });

  it("is whole with one launch fewer in the run that takes times", async () => {
    const { ended, failure, plan } = await measured(
      [survey(summary(...seen)), counters(timed(ordinals.slice(0, -1))), counters(timed([2, 51, 60]))],
      { sampled: true },
    );
    expect({ ended, failure }).toEqual({ ended: "completed", failure: null });
    expect(plan?.timed_launches).toBe(ordinals.length - 1);
  });
});

describe("when a run has seen enough", () => {
  it("is after the launches that were wanted", () => {
    const enough = untilEnough("counters", 2);
    expect([0, 1, 2, 3].map((launchesFinished) => enough({ launchesFinished }))).toEqual([false, false, true, true]);
  });

  it("is never at once where all are wanted", () => {
    const enough = untilEnough("survey", null);
    expect([0, 1, 500].map((launchesFinished) => enough({ launchesFinished }))).toEqual([false, false, false]);
  });
});
