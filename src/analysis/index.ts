import { err, ok, type Result } from "../base/result.ts";
import type { PipelinePlan } from "../model/pipeline-plan.ts";
import type { KernelEntry, KernelResult, PipelineResult, ProfileResult } from "../model/result.ts";
import { FULL_PIPELINE, RESULT_SCHEMA_VERSION } from "../model/words.ts";
import { compositesOf } from "./composites.ts";
import { durationUs } from "./duration.ts";
import { entryOf, failedLaunches, reportFindings, untimedLaunches } from "./entry.ts";
import { type AnalysisInput, type Item, itemsOf, Judge, type Kernel, kernelsOf, shapesOf, totalUs } from "./kernels.ts";
import { nameKey } from "./names.ts";
import { kernelOfTimelines, pipelineOfTimelines } from "./pipeline/index.ts";
import type { TimelineInput } from "./pipeline/input.ts";
import { provenanceOf } from "./provenance.ts";
import { type ModelKind, modelKind } from "./stages/model-kind.ts";
import type { Survey } from "./survey.ts";
import { type AnalysisFailure, isFullPipeline, targetMatcher } from "./target.ts";
import type { RankFailure } from "./timeline/rank.ts";
import type { TimelineWindow } from "./timeline/window.ts";
import { timingOf } from "./timing.ts";

export { ANALYSES, wantsMetric } from "./analyses.ts";
export { withCapture } from "./capture.ts";
export type { AnalysisInput } from "./kernels.ts";
export type { TimelineInput } from "./pipeline/input.ts";
export { surveyOf } from "./survey.ts";
export { type AnalysisFailure, isFullPipeline } from "./target.ts";
export type { RankFailure } from "./timeline/rank.ts";
export type { TimelineWindow } from "./timeline/window.ts";

/** Kernels of a pipeline that are listed when nobody says how many. */
const DEFAULT_TOP_N = 10;
/** Names shown to somebody who asked for a kernel that is not there. */
const NAMES_IN_EVIDENCE = 20;

interface Totals {
  /** Summed time of all kernels of the reports; null where none has a duration. */
  readonly reportUs: number | null;
}

const share = (part: number | null, { reportUs }: Totals): number | null =>
  part === null || !reportUs ? null : part / reportUs;

function kernelEntry(kernel: Kernel, judge: Judge, totals: Totals, model: ModelKind): KernelEntry | null {
  const shapes = shapesOf(kernel);
  if (shapes === null) return null;
  return entryOf({
    item: shapes.heaviest,
    key: kernel.key,
    analysis: judge.of(shapes.heaviest),
    timing:
      kernel.survey?.kernels.get(kernel.key.key) ??
      timingOf(
        kernel.items.flatMap((item) => item.durationUs ?? []),
        "ncu",
      ),
    shapes: shapes.shapes(judge),
    shareOfReport: share(kernel.totalUs, totals),
    shareReason: null,
    model,
  });
}

function pipelineResult(
  inputs: readonly AnalysisInput[],
  topN: number,
  model: ModelKind,
): Result<PipelineResult, AnalysisFailure> {
  const { kernels: items, composites } = itemsOf(inputs);
  if (items.length + composites.length === 0) return err(noKernels(inputs));
  const kernels = kernelsOf(items);
  const judge = new Judge();
  const reportUs = totalUs(items);
  const spanning = compositesOf(composites);
  const entries = kernels.slice(0, topN).flatMap((kernel) => kernelEntry(kernel, judge, { reportUs }, model) ?? []);
  const alone = "a report alone does not show it: launches ran one by one under the profiler; it takes a timeline";
  return ok({
    kind: "pipeline",
    schema_version: RESULT_SCHEMA_VERSION,
    target: FULL_PIPELINE,
    partial: inputs.some(({ report }) => report.partial),
    gpu_busy_us: null,
    span_us: null,
    gpu_idle_us: null,
    launches: items.length,
    report_us: reportUs,
    stages: null,
    kernels: entries,
    kernels_total: kernels.length,
    composites: spanning.composites,
    timeline: null,
    coverage: null,
    plan: null,
    null_reasons: {
      timeline: alone,
      gpu_busy_us: alone,
      span_us: alone,
      gpu_idle_us: alone,
      stages: alone,
      coverage: alone,
      plan: "the reports were handed in, so nothing was planned",
      ...(reportUs === null ? { report_us: "no launch has a duration above 0" } : {}),
      ...spanning.nullReasons,
    },
    findings: [...reportFindings(inputs), ...failedLaunches(items), ...untimedLaunches([...items, ...composites])],
    provenance: provenanceOf(
      inputs,
      entries.map(({ detail }) => detail),
    ),
  });
}

function noKernels(inputs: readonly AnalysisInput[]): AnalysisFailure {
  return {
    code: "no_kernels_profiled",
    message: `the ${inputs.length === 1 ? "report holds" : "reports hold"} no kernel launch`,
    hint: "check the profiler's log: a filter that matches nothing, or a program that ended before its first launch, leaves an empty report",
    evidence: { reports: inputs.length, launches: inputs.reduce((sum, { report }) => sum + report.launches.length, 0) },
  };
}

const invalidTarget = (target: string, problem: string): AnalysisFailure => ({
  code: "invalid_target",
  message: `the target ${JSON.stringify(target)} cannot be used: ${problem}`,
  hint: "give a function name, a demangled or mangled name, /pattern/ in RE2 syntax, or `full pipeline`",
  evidence: { target },
});

function kernelResult(
  inputs: readonly AnalysisInput[],
  target: string,
  survey: Survey | null,
  model: ModelKind,
): Result<KernelResult, AnalysisFailure> {
  const matcher = targetMatcher(target);
  if (!matcher.ok) return err(invalidTarget(target, matcher.error));
  const { kernels: items } = itemsOf(inputs);
  if (items.length === 0) return err(noKernels(inputs));
  const kernels = kernelsOf(items, survey);
  const matching = kernels.filter((kernel) => kernel.items.some(({ launch }) => matcher.value(launch.names)));
  const judge = new Judge();
  const totals = { reportUs: totalUs(items) };
  const [best, ...rest] = matching;
  const entry = best === undefined ? null : kernelEntry(best, judge, totals, model);
  if (best === undefined || entry === null) {
    const names = [...new Set(kernels.map((kernel) => kernel.target))];
    return err({
      code: "no_matching_kernel",
      message: `no kernel of the ${inputs.length === 1 ? "report" : "reports"} matches ${JSON.stringify(target)}`,
      hint: "take one of the names in `kernels`, or a /pattern/",
      evidence: { target, kernels: names.slice(0, NAMES_IN_EVIDENCE), kernels_total: names.length },
    });
  }
  return ok({
    kind: "kernel",
    ...entry,
    schema_version: RESULT_SCHEMA_VERSION,
    partial: inputs.some(({ report }) => report.partial),
    others: rest.map((kernel) => other(kernel, judge)),
    findings: [
      ...reportFindings(inputs),
      ...failedLaunches(best.items),
      ...untimedLaunches(best.items),
      ...entry.findings,
    ],
    provenance: provenanceOf(inputs, [entry.detail]),
  });
}

function other(kernel: Kernel, judge: Judge): KernelResult["others"][number] {
  const shapes = shapesOf(kernel);
  return {
    target: kernel.target,
    name_key: kernel.key.key,
    roofline: shapes === null ? null : judge.of(shapes.heaviest).roofline,
    total_us: kernel.totalUs,
    launches: kernel.survey?.kernels.get(kernel.key.key)?.n ?? kernel.items.length,
  };
}

/**
 * Judges the kernels of one or several reports. `target`: a kernel (of several that match, the one with the most time
 * is the answer and `others` lists the rest) or `full pipeline` (all kernels ranked by summed time, `topN` of them in
 * full, default 10). `survey`: times of all launches where the reports hold only some picked by it. Reports and launches keep their order; the same input gives the same bytes.
 */
export function analyze(
  inputs: readonly AnalysisInput[],
  options: {
    readonly target: string;
    readonly topN?: number;
    readonly survey?: Survey | null;
    readonly model?: string | null;
  },
): Result<ProfileResult, AnalysisFailure> {
  const kind = modelKind(options.model ?? null);
  if (isFullPipeline(options.target)) return pipelineResult(inputs, options.topN ?? DEFAULT_TOP_N, kind);
  return kernelResult(inputs, options.target, options.survey ?? null, kind);
}

/**
 * The same with timelines, one a rank: times, shares and stages are theirs, verdicts those of the launches of `reports`
 * that belong to a kernel's clusters. `plan`: of the capture that took the reports; it says which launches these are.
 * `model`: its name, for stages that depend on the kind of model.
 */
export function analyzeTimelines(
  timelines: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
  options: {
    readonly target: string;
    readonly topN?: number;
    readonly window?: TimelineWindow;
    readonly plan?: PipelinePlan | null;
    readonly model?: string | null;
  },
): Result<ProfileResult, AnalysisFailure | RankFailure> {
  const { target, topN = DEFAULT_TOP_N, window = null, plan = null, model = null } = options;
  if (isFullPipeline(target)) return pipelineOfTimelines(timelines, reports, { topN, window, plan, model });
  const matcher = targetMatcher(target);
  if (!matcher.ok) return err(invalidTarget(target, matcher.error));
  return kernelOfTimelines(timelines, reports, { target, matches: matcher.value, window, plan, model });
}

/**
 * One result a launch, in file order, with the fields of a kernel result. What measured several kernels as one (range,
 * graph) gets a verdict too; its time is in no sum.
 */
export function* launchResults(input: AnalysisInput): Iterable<KernelResult> {
  const { kernels } = itemsOf([input]);
  const totals = { reportUs: totalUs(kernels) };
  const judge = new Judge();
  const provenance = provenanceOf([input], []);
  for (const launch of input.report.launches) {
    const item = { launch, input, inputIndex: 0, durationUs: durationUs({ launch }) };
    yield launchResult(item, judge, totals, provenance);
    judge.forget(item);
  }
}

function launchResult(item: Item, judge: Judge, totals: Totals, provenance: KernelResult["provenance"]): KernelResult {
  const { launch, input, durationUs: duration } = item;
  const analysis = judge.of(item);
  const key = nameKey(launch.names);
  const alone: Kernel = { key, target: launch.names.display, items: [item], totalUs: duration, survey: null };
  const composite = launch.kind !== "kernel";
  const timing = timingOf(duration === null ? [] : [duration], "ncu");
  const entry = entryOf({
    item,
    key,
    analysis,
    timing,
    shapes: shapesOf(alone)?.shapes(judge) ?? [],
    shareOfReport: composite ? null : share(duration, totals),
    shareReason: composite ? `a ${launch.kind} spans several kernels and is in no sum` : null,
  });
  return {
    kind: "kernel",
    ...entry,
    schema_version: RESULT_SCHEMA_VERSION,
    partial: input.report.partial,
    others: [],
    findings: [...failedLaunches([item]), ...untimedLaunches([item]), ...entry.findings],
    provenance: { ...provenance, peaks: provenanceOf([], [analysis.judgement]).peaks },
  };
}
