import { isCollectiveKernel } from "../model/collective.ts";
import type { Finding } from "../model/finding.ts";
import type { KernelEntry, Shape, Timing } from "../model/result.ts";
import { detailOf } from "./detail.ts";
import { durationProblem, reportedDuration } from "./duration.ts";
import { type Item, targetOf } from "./kernels.ts";
import type { NameKey } from "./names.ts";
import { type StageMatch, stageOf } from "./stages/index.ts";
import type { ModelKind } from "./stages/model-kind.ts";
import type { LaunchAnalysis } from "./verdict.ts";

/** Null for want of a timeline where there is none. */
export const TOLD_BY_TIMELINE: readonly string[] = [
  "fraction_of_pipeline",
  "detail.share_of_wall",
  "detail.exclusive_us",
  "detail.saving_us",
  "detail.saving_of_busy",
  "detail.phases",
];

const NO_TIMELINE = "a report alone does not show the pipeline; it takes a timeline of the whole run";

/** What stands around the verdict of a launch where it speaks for a kernel. */
export interface EntryContext {
  readonly item: Item;
  readonly key: NameKey;
  readonly analysis: LaunchAnalysis;
  readonly timing: Timing;
  readonly shapes: Shape[];
  /** Of the summed time of all kernels in the reports; null where there is none. */
  readonly shareOfReport: number | null;
  /** Why there is none; null where it is for want of a duration. */
  readonly shareReason: string | null;
  /** What is known of the model. */
  readonly model?: ModelKind | undefined;
  /** Where a timeline tells more than name and report. */
  readonly stage?: StageMatch | undefined;
}

/** The fields of a kernel: those of the verdict that stands for it, its times, and why the rest is null. */
export function entryOf({
  item,
  key,
  analysis,
  timing,
  shapes,
  shareOfReport,
  shareReason,
  model,
  stage: known,
}: EntryContext): KernelEntry {
  const { names, nvtx } = item.launch;
  const { stage, family, rule, confidence, alternatives } =
    known ?? stageOf(names, { ...model, nvtx: nvtx.map(({ name }) => name) });
  const verdict = detailOf(analysis, item.input.id);
  const { sources, null_reasons: reasons } = verdict;
  const untimed = reasons.wall_clock_us ?? "no launch has a duration";
  const timed = sources.wall_clock_us;
  if (timing.source === "ncu_survey" || timing.source === "timeline") {
    // Of launches that are in no report.
    delete sources.wall_clock_us;
  } else if (timed !== undefined) {
    sources["detail.timing"] = timed;
    if (shareOfReport !== null) sources["detail.share_of_report"] = timed;
  }
  if (shareOfReport === null) reasons["detail.share_of_report"] = shareReason ?? untimed;
  for (const [name, value] of Object.entries(timing)) {
    if (value === null) reasons[`detail.timing.${name}`] = untimed;
  }
  for (const path of TOLD_BY_TIMELINE) reasons[path] = NO_TIMELINE;
  reasons["detail.collective"] = isCollectiveKernel(names) ? NO_TIMELINE : "it does not wait for other GPUs";
  return {
    target: targetOf(item.launch),
    roofline: analysis.roofline,
    tflops: analysis.tflops,
    memory_bw_utilization: analysis.memory_bw_utilization,
    sm_occupancy: analysis.sm_occupancy,
    shared_memory_usage_bytes: analysis.shared_memory_usage_bytes,
    warp_stall_reasons: analysis.warp_stall_reasons,
    wall_clock_us: timing.mean_us,
    fraction_of_pipeline: null,
    pipeline_stage: stage,
    optimization_headroom: analysis.optimization_headroom,
    detail: {
      ...verdict,
      names: {
        key: key.key,
        key_kind: key.kind,
        display: names.display,
        function: names.function,
        demangled: names.demangled,
        mangled: names.mangled,
      },
      stage: { stage, family, rule, confidence, alternatives: [...alternatives] },
      timing,
      share_of_report: shareOfReport,
      share_of_wall: null,
      exclusive_us: null,
      saving_us: null,
      saving_of_busy: null,
      phases: null,
      collective: null,
      shapes,
    },
    findings: [...analysis.findings],
  };
}

/** Findings on launches that failed: they are listed and enter no sum. */
export function failedLaunches(items: readonly Item[]): Finding[] {
  return items.flatMap(({ launch, input }) =>
    launch.failure === null
      ? []
      : {
          code: "launch_failed",
          severity: "error" as const,
          message: `launch ${launch.index} (${targetOf(launch)}) has no verdict and enters no sum: ${launch.failure}`,
          launch: launch.index,
          evidence: { kernel: targetOf(launch), failure: launch.failure, report: input.id },
        },
  );
}

/** Findings on launches whose duration is no measurement: they are listed and enter no time. */
export function untimedLaunches(items: readonly Item[]): Finding[] {
  return items.flatMap(({ launch, input }) => {
    const reported = launch.failure === null ? reportedDuration(launch) : null;
    const problem = reported === null ? null : durationProblem(reported.ns);
    if (reported === null || problem === null) return [];
    return {
      code: "duration_not_positive",
      severity: "warning" as const,
      message: `launch ${launch.index} (${targetOf(launch)}) has no verdict and enters no time, sum or share: ${problem}, which no launch can take`,
      launch: launch.index,
      evidence: {
        kernel: targetOf(launch),
        metric: reported.metric,
        value: reported.ns,
        unit: "ns",
        expected: "above 0",
        report: input.id,
      },
    };
  });
}

/** Findings of the readers on the reports themselves. */
export const reportFindings = (items: readonly { report: { findings: readonly Finding[] } }[]): Finding[] =>
  items.flatMap(({ report }) => [...report.findings]);
