import type { Result } from "../base/result.ts";
import type { CaptureRecord } from "../model/capture.ts";
import type { Finding } from "../model/finding.ts";
import type { Failure, Progress } from "../model/profile.ts";
import type { NcuPlan } from "./ncu/arguments.ts";
import { judgeRun, type RunVerdict } from "./ncu/outcome.ts";
import type { NcuRun } from "./ncu/run.ts";
import { type MeasurementPlan, planMeasurement, type SurveyCluster, type SurveyLaunch } from "./plan.ts";
import { chooseSample, type SeenLaunch, takenBy, timesForAll } from "./sample.ts";

export type Purpose = CaptureRecord["runs"][number]["purpose"];

/** How long a survey goes on after its first launch: a program may launch for hours. */
const SURVEY_MS = 15_000;

/** Tells when a run has seen enough: the launches that were wanted, or a survey that has gone on for long enough. */
export function untilEnough(
  purpose: Purpose,
  expected: number | null,
): (seen: { readonly launchesFinished: number }) => boolean {
  let firstAt: number | null = null;
  return ({ launchesFinished }) => {
    if (launchesFinished === 0) return false;
    if (expected !== null) return launchesFinished >= expected;
    firstAt ??= performance.now();
    return purpose !== "counters" && performance.now() - firstAt > SURVEY_MS;
  };
}

/** What a report that was just written holds. Handed in: this folder reads no reports. */
export interface ReportSummary {
  readonly launches: number;
  readonly failedLaunches: number;
  /** Names of the kernels in it, each once, in order. */
  readonly kernels: readonly string[];
  readonly allCountersNaN: boolean;
  /** Those that match the target and did not fail, in the order of the program. */
  readonly matching: readonly SeenLaunch[];
}

/** Launches that belong together, and their times. */
export interface Grouped {
  /** By kernel, shape and duration. */
  readonly clusters: readonly SurveyCluster[];
  /** By kernel, most time first. */
  readonly times: NonNullable<NonNullable<CaptureRecord["plan"]>["kernels"]>;
}

export interface MeasureOptions {
  /** Runs ncu once with these launches and counters. `expected`: after so many launches it may end; null: not known. */
  run(
    purpose: Purpose,
    launches: NcuPlan["launches"],
    counters: NcuPlan["counters"],
    expected: number | null,
  ): Promise<NcuRun>;
  summarize(reportPath: string): Promise<Result<ReportSummary, { readonly message: string }>>;
  /** Handed in, as `summarize`. */
  group(launches: readonly SurveyLaunch[]): Grouped;
  readonly counters: NcuPlan["counters"];
  /** Metrics of the survey; the time of a launch is among them. */
  readonly surveyMetrics: readonly string[];
  /** Where the time of a launch is dear: every launch is looked at without its time first, and some of each shape are timed. */
  readonly sampled: boolean;
  readonly maxLaunches: number;
  readonly surveyLaunches: number;
  /** First launches of a function that are warm-up. */
  readonly skip: number;
  /** Milliseconds of the request's budget that are left; null: it has none. */
  msLeft(): number | null;
  tell(progress: Progress): void;
}

export interface Measured {
  readonly ended: "completed" | "partial" | "failed";
  readonly failure: Failure | null;
  readonly findings: readonly Finding[];
  /** Report with the counters, where there is one to analyse. */
  readonly report: string | null;
  readonly survey: string | null;
  readonly plan: CaptureRecord["plan"];
  readonly runs: CaptureRecord["runs"];
}

/** Time of each launch: one pass, no replay, some 0.02 s a launch (measured, ncu 2025.3.1, H200). */
export const SURVEY_OF_A_PROGRAM: readonly string[] = ["gpu__time_duration.sum"];

/**
 * For a program that is attached to again: an attachment whose counters fit into one pass leaves it in a state in which
 * every later one fails ("Failed to prepare kernel for profiling", measured on ncu 2025.3.1 with nine lists of one pass,
 * whatever ends it; lists of 9 and more passes leave it well). This metric takes 9.
 */
export const NEEDS_REPLAY = "sm__throughput.avg.pct_of_peak_sustained_elapsed";

/** Known before a launch runs: needs no pass, some 0.01 s a launch, and leaves a program well (measured, as NEEDS_REPLAY). */
export const SHAPE: NcuPlan["counters"] = { kind: "metrics", metrics: ["launch__grid_size"] };

/**
 * Takes the counters of one target: the survey takes the time of the launches that match, the plan picks some of each
 * duration cluster, and the last run takes the counters of these.
 */
export async function measure(options: MeasureOptions): Promise<Measured> {
  const runs: Measured["runs"] = [];
  const survey = await (options.sampled ? sampledSurvey : wholeSurvey)(options, runs);
  const { clusters, times } = options.group(survey.launches);
  // What stopped the whole capture stops it here; a program that failed by itself may have launched enough before.
  if (clusters.length === 0 || mustStop(survey.run)) {
    return {
      ...survey.verdict,
      ...noVerdictWithoutCounters(survey.verdict),
      report: null,
      survey: survey.path,
      plan: null,
      runs,
    };
  }
  const left = options.msLeft();
  if (left !== null && left <= 0) {
    return {
      ended: "failed",
      failure: budgetSpent(runs),
      findings: survey.verdict.findings,
      report: null,
      survey: survey.path,
      plan: null,
      runs,
    };
  }
  const plan = planMeasurement(clusters, { maxLaunches: options.maxLaunches, skip: options.skip });
  let counters = await step(options, runs, "counters", plan.selection, options.counters, plan.count);
  const findings: Finding[] = [];
  if (
    plan.selection.kind === "ordinals" &&
    counters.summary === null &&
    !mustStop(counters.run) &&
    ranToItsEnd(counters.run)
  ) {
    // The second run launched otherwise, or counts otherwise: any launches are better than none.
    findings.push(notRepeated(plan));
    const any = { kind: "first", skip: 0, count: options.maxLaunches } as const;
    counters = await step(options, runs, "counters", any, options.counters, Math.min(plan.count, options.maxLaunches));
  }
  findings.push(...unseenClusters(plan, counters.summary));
  // The counter run ends as soon as its launches are there: how the program ends by itself was seen in the survey.
  const said = new Set(counters.verdict.findings.map(({ code }) => code));
  findings.push(...survey.verdict.findings.filter(({ code }) => !said.has(code)));
  const { passes } = counters.run.observed;
  // All that the survey chose was measured, but a survey that was cut short chose among the launches until then.
  const cutShort = counters.verdict.failure === null ? survey.verdict.failure : null;
  return {
    ended: cutShort === null ? counters.verdict.ended : "partial",
    failure: cutShort ?? counters.verdict.failure,
    findings: [...findings, ...counters.verdict.findings],
    report: counters.path,
    survey: survey.path,
    plan: {
      survey_launches: survey.seen,
      timed_launches: survey.timed,
      clusters: plan.clusters,
      kernels: [...times],
      launches: plan.count,
      passes,
      reason: plan.reason,
    },
    runs,
  };
}

/** A survey: its last run, and every launch that it saw with a time. */
interface Survey extends Step {
  readonly launches: readonly SurveyLaunch[];
  /** Launches that match, with a time or without. */
  readonly seen: number;
  /** Launches that were timed; the others of a shape have the time of one that was. */
  readonly timed: number;
}

const isTimed = (launch: SeenLaunch): launch is SurveyLaunch => launch.duration_ns !== null;

/** Every launch is timed. */
async function wholeSurvey(options: MeasureOptions, runs: Measured["runs"]): Promise<Survey> {
  const first = { kind: "first", skip: 0, count: options.surveyLaunches } as const;
  const counters = { kind: "metrics", metrics: options.surveyMetrics } as const;
  const survey = withLimit(options, await step(options, runs, "survey", first, counters, null));
  const launches = survey.summary?.matching.filter(isTimed) ?? [];
  return { ...survey, launches, seen: launches.length, timed: launches.length };
}

/** Every launch is looked at, some of each shape are timed. */
async function sampledSurvey(options: MeasureOptions, runs: Measured["runs"]): Promise<Survey> {
  const first = { kind: "first", skip: 0, count: options.surveyLaunches } as const;
  const look = withLimit(options, await step(options, runs, "shapes", first, SHAPE, null));
  const seen = look.summary?.matching ?? [];
  if (seen.length === 0 || mustStop(look.run)) return { ...look, launches: [], seen: seen.length, timed: 0 };

  const sample = chooseSample(seen);
  const counters = { kind: "metrics", metrics: options.surveyMetrics } as const;
  let chosen: NcuPlan["launches"] = sample.selection;
  let survey = await step(options, runs, "survey", chosen, counters, sample.count);
  if (survey.summary === null && !mustStop(survey.run) && ranToItsEnd(survey.run)) {
    // They did not come again: any times are better than none.
    chosen = { kind: "first", skip: 0, count: sample.count };
    survey = await step(options, runs, "survey", chosen, counters, sample.count);
  }
  const timed = takenBy(chosen, seen, survey.summary?.matching.filter(isTimed) ?? []);
  const launches = timesForAll(seen, timed);
  const findings = [
    ...(timed.length < launches.length ? [sampledTimes(timed.length, seen.length)] : []),
    ...untimedShapes(seen, launches),
  ];
  const said = new Set(survey.verdict.findings.map(({ code }) => code));
  const verdict: RunVerdict = {
    // What the look saw is all that the times can be about: where it was cut short, so is the survey.
    ended: survey.verdict.failure === null ? look.verdict.ended : survey.verdict.ended,
    failure: survey.verdict.failure ?? look.verdict.failure,
    findings: [...look.verdict.findings.filter(({ code }) => !said.has(code)), ...survey.verdict.findings, ...findings],
  };
  return { ...survey, verdict, launches, seen: seen.length, timed: timed.length };
}

/** Says so where the launches that were looked at may not be all. */
export function withLimit({ surveyLaunches }: MeasureOptions, looked: Step): Step {
  const { tookMs, firstLaunchAfterMs, endedBy } = looked.run;
  const launches = looked.summary?.launches ?? 0;
  const isCut = endedBy === "count_reached" && firstLaunchAfterMs !== null && tookMs - firstLaunchAfterMs > SURVEY_MS;
  if (launches === 0 || (launches < surveyLaunches && !isCut)) return looked;
  const limit = isCut ? `${SURVEY_MS / 1000} s` : `${surveyLaunches} launches (survey_launches)`;
  const finding: Finding = {
    code: "survey_limited",
    severity: "info",
    message: `Launches were looked at up to the limit of ${limit}; what the program launched after that is in no time and no cluster.`,
    launch: null,
    evidence: { launches },
  };
  return { ...looked, verdict: { ...looked.verdict, findings: [...looked.verdict.findings, finding] } };
}

/** One run of ncu and what came of it. */
export interface Step {
  readonly run: NcuRun;
  readonly summary: ReportSummary | null;
  readonly verdict: RunVerdict;
  /** The report, where it can be read and holds launches. */
  readonly path: string | null;
}

/** Runs ncu once, reads its report and judges both; the run is added to `runs`. */
export async function step(
  { run, summarize, tell }: MeasureOptions,
  runs: CaptureRecord["runs"],
  purpose: Purpose,
  launches: NcuPlan["launches"],
  counters: NcuPlan["counters"],
  expected: number | null,
): Promise<Step> {
  tell({ phase: purpose, done: 0, total: expected, message: null });
  const ended = await run(purpose, launches, counters, expected);
  const read = ended.reportPath === null ? null : await summarize(ended.reportPath);
  const summary = read?.ok && read.value.launches > 0 ? read.value : null;
  // A survey takes what there is: what it did not see has findings of its own.
  const verdict = judgeRun(ended, summary, { launches: purpose === "counters" ? expected : null });
  runs.push({
    tool: "ncu",
    purpose,
    argv: [...ended.argv],
    exit_code: ended.exit.code,
    signal: ended.exit.signal,
    ended_by: ended.endedBy,
    took_s: ended.tookMs / 1000,
    first_launch_after_s: ended.firstLaunchAfterMs === null ? null : ended.firstLaunchAfterMs / 1000,
    launches: summary?.launches ?? null,
  });
  return { run: ended, summary, verdict, path: summary === null ? null : ended.reportPath };
}

const STOPPED: ReadonlySet<NcuRun["endedBy"]> = new Set([
  "canceled",
  "lease_lost",
  "worker_stopping",
  "disk_full",
  "report_limit",
]);
/** It was ended from outside, and nothing more is to be run. */
export const mustStop = ({ endedBy }: NcuRun): boolean => STOPPED.has(endedBy);
/** It was not cut off. */
export const ranToItsEnd = ({ endedBy }: NcuRun): boolean => endedBy === "itself" || endedBy === "count_reached";

/** A survey holds times only: it cannot carry a verdict, so what ended it is the end of the capture. */
const noVerdictWithoutCounters = ({ ended, failure }: RunVerdict): Pick<Measured, "ended" | "failure"> => ({
  ended: "failed",
  failure: failure ?? {
    code: "no_matching_kernel",
    message: `The survey ${ended === "completed" ? "ran to its end" : "ended early"} and saw no launch that matches the target.`,
    hint: "Look at the log for the kernels that ran; give one of their names, or /regex/.",
    retryable: false,
    evidence: {},
  },
});

function budgetSpent(runs: Measured["runs"]): Failure {
  const tookS = runs.reduce((sum, { took_s }) => sum + took_s, 0);
  return {
    code: "capture_timeout",
    message: `The budget of the request was spent before counters could be taken; looking at the launches took ${tookS.toFixed(1)} s.`,
    hint: "Raise max_duration_s.",
    retryable: false,
    evidence: { ended_by: "time_limit", survey_s: tookS },
  };
}

const sampledTimes = (timed: number, all: number): Finding => ({
  code: "survey_sampled",
  severity: "info",
  message: `Of ${all} launches that were seen ${timed} were timed, some of each shape; each of the others stands with the time of the nearest timed launch of its kernel and shape.`,
  launch: null,
  evidence: { launches: all, timed },
});

/** Kernels and shapes of which none of the launches was timed: they are in no sum and in no cluster. */
function untimedShapes(seen: readonly SeenLaunch[], timed: readonly SeenLaunch[]): Finding[] {
  const keyOf = ({ kernel, grid, block }: SeenLaunch): string => shapeKey(kernel, grid?.join("x"), block?.join("x"));
  const known = new Set(timed.map(keyOf));
  const lost = new Map<string, SeenLaunch[]>();
  for (const launch of seen) {
    if (known.has(keyOf(launch))) continue;
    lost.set(keyOf(launch), [...(lost.get(keyOf(launch)) ?? []), launch]);
  }
  return [...lost.values()].slice(0, 20).map((launches) => {
    const { kernel, grid, block } = launches[0] as SeenLaunch;
    const [shape, threads] = [grid?.join("x") ?? "unknown", block?.join("x") ?? "unknown"];
    return {
      code: "cluster_not_measured",
      severity: "warning" as const,
      message: `${launches.length} launches of ${kernel} with grid ${shape} and block ${threads} were seen, and none of that shape came in the run that takes times: they are in no time and no cluster.`,
      launch: null,
      evidence: { kernel, grid: shape, block: threads, launches: launches.length, median_us: null },
    };
  });
}

const notRepeated = ({ selection, count }: MeasurementPlan): Finding => ({
  code: "launches_not_repeated",
  severity: "warning",
  message: `None of the ${count} launches that the survey chose came again in the run that takes counters; the first launches that match were measured instead, and clusters may be missing.`,
  launch: null,
  evidence: { ordinals: selection.kind === "ordinals" ? selection.ordinals.join(",") : null },
});

/** Clusters of the plan of whose kernel and shape no launch got counters. */
function unseenClusters({ clusters }: MeasurementPlan, summary: ReportSummary | null): Finding[] {
  if (summary === null) return [];
  const seen = new Set(
    summary.matching.map(({ kernel, grid, block }) => shapeKey(kernel, grid?.join("x"), block?.join("x"))),
  );
  const unseen = clusters.filter(
    ({ kernel, grid, block, chosen }) => chosen.length > 0 && !seen.has(shapeKey(kernel, grid, block)),
  );
  return unseen.slice(0, 20).map(({ kernel, grid, block, launches, median_us }) => ({
    code: "cluster_not_measured",
    severity: "warning" as const,
    message: `The survey saw ${launches} launches of ${kernel} with grid ${grid} and block ${block}, and none of that shape came in the run that takes counters.`,
    launch: null,
    evidence: { kernel, grid, block, launches, median_us },
  }));
}

const shapeKey = (kernel: string, grid: string | undefined, block: string | undefined): string =>
  JSON.stringify([kernel, grid ?? "unknown", block ?? "unknown"]);
