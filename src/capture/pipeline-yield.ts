import type { Finding } from "../model/finding.ts";
import type { BenchmarkWorkload } from "../model/workload.ts";
import type { EndedBy } from "./ncu-run.ts";
import type { PipelineFailure } from "./nsys-outcome.ts";
import type { ChosenCluster, NotMeasured, RankedKernel } from "./pipeline-selection.ts";

export interface PipelineStep {
  readonly step: "timeline" | "export" | "rank" | "counters";
  readonly took_s: number;
  /** Of a tool: its command line as it may be shown, and how it ended. */
  readonly run: {
    readonly tool: "nsys" | "ncu";
    readonly argv: readonly string[];
    readonly exit_code: number | null;
    readonly signal: string | null;
    readonly ended_by: EndedBy;
    readonly launches: number | null;
  } | null;
}

export interface PipelinePlan {
  /** Kernels that the timeline ranks. */
  readonly kernels: number;
  readonly chosen: readonly ChosenCluster[];
  readonly left_out: readonly NotMeasured[];
  /** More of them than are listed. */
  readonly left_out_more: number;
  /** Launches that ncu was asked for: names x ordinals. */
  readonly launches: number;
  readonly names: number;
  readonly ordinals: readonly number[];
  readonly passes: number | null;
  /** What bounds the launches, in words. */
  readonly reason: string;
}

export interface PipelineYield {
  readonly ended: "completed" | "partial" | "failed";
  readonly failure: PipelineFailure | null;
  readonly findings: readonly Finding[];
  /** Export of nsys, as SQLite: it holds the environment of the program and is no file to show. */
  readonly timeline: string | null;
  /** Report of ncu. */
  readonly report: string | null;
  /** Null: the timeline gave no ranking. */
  readonly plan: PipelinePlan | null;
  readonly steps: readonly PipelineStep[];
  /** The line that says that the program is warm, where it was declared and seen. */
  readonly warm_line: string | null;
}

/** The timeline stands, and no launch got counters. */
export const budgetSpent = (): PipelineFailure => ({
  code: "capture_timeout",
  message: "The budget of the request was spent before counters could be taken; the timeline stands.",
  hint: "Raise max_duration_s.",
  retryable: false,
  evidence: { ended_by: "time_limit" },
});

export const recordedAgain = (window: BenchmarkWorkload["window"]): Finding => ({
  code: "timeline_recorded_again",
  severity: "warning",
  message:
    window === "from_start"
      ? "The first recording held no kernels, though nsys ended well; the second did."
      : "The window of the program (cudaProfilerStart to cudaProfilerStop) held no kernels; the whole program was recorded and measured instead.",
  launch: null,
  evidence: { window },
});

export const endedTheRun = ({ kernel }: RankedKernel, how: "hang" | "fault", attempt: number): Finding => ({
  code: how === "hang" ? "kernel_hung" : "kernel_failed",
  severity: "warning",
  message: `${how === "hang" ? "Replaying" : "Measuring"} ${kernel} ${how === "hang" ? "made no progress and was ended" : "made the program fail"}${attempt === 0 ? "; the rest was measured without it" : ""}. It keeps its time and gets no verdict.`,
  launch: null,
  evidence: { kernel },
});
