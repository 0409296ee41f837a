import type { Finding } from "../model/finding.ts";
import type { KernelEntry, Shape, Timing } from "../model/result.ts";
import type { Item } from "./kernels.ts";
import { targetOf } from "./kernels.ts";
import type { NameKey } from "./names.ts";
import type { LaunchAnalysis } from "./verdict.ts";

const NO_TIMELINE = "a report alone does not show the pipeline; it takes a timeline of the whole run";
const NO_STAGES = "the place of a kernel in the pipeline is not analysed yet";

/** What stands around the verdict of a launch where it speaks for a kernel. */
export interface EntryContext {
  readonly item: Item;
  readonly key: NameKey;
  readonly analysis: LaunchAnalysis;
  readonly timing: Timing;
  readonly shapes: Shape[];
  /** Of the summed time of all kernels in the reports; null where there is none. */
  readonly shareOfReport: number | null;
  readonly shareReason: string;
}

function timingReasons(timing: Timing, reason: string): Record<string, string> {
  const fields = Object.entries(timing).filter(([, value]) => value === null);
  return Object.fromEntries(fields.map(([name]) => [`detail.timing.${name}`, reason]));
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
}: EntryContext): KernelEntry {
  const { names } = item.launch;
  const { verdict } = analysis;
  const untimed = verdict.null_reasons.wall_clock_us ?? "no launch has a duration";
  const timed = verdict.sources.wall_clock_us;
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
    pipeline_stage: null,
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
      stage: null,
      timing,
      share_of_report: shareOfReport,
      share_of_wall: null,
      shapes,
      sources: {
        ...verdict.sources,
        ...(timed === undefined ? {} : { "detail.timing": timed }),
        ...(timed === undefined || shareOfReport === null ? {} : { "detail.share_of_report": timed }),
      },
      null_reasons: {
        ...verdict.null_reasons,
        ...timingReasons(timing, timing.n === 0 ? untimed : "all durations are 0"),
        ...(shareOfReport === null ? { "detail.share_of_report": shareReason } : {}),
        fraction_of_pipeline: NO_TIMELINE,
        "detail.share_of_wall": NO_TIMELINE,
        pipeline_stage: NO_STAGES,
        "detail.stage": NO_STAGES,
      },
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
          message: `launch ${launch.index} (${targetOf(launch)}) failed and enters no sum: ${launch.failure}`,
          launch: launch.index,
          evidence: { kernel: targetOf(launch), failure: launch.failure, report: input.id },
        },
  );
}

/** Findings of the readers on the reports themselves. */
export const reportFindings = (items: readonly { report: { findings: readonly Finding[] } }[]): Finding[] =>
  items.flatMap(({ report }) => [...report.findings]);
