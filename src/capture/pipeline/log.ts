import type { CaptureRecord } from "../../model/capture.ts";
import type { Finding } from "../../model/finding.ts";
import type { PipelinePlan } from "../../model/pipeline-plan.ts";
import type { Failure } from "../../model/profile.ts";
import type { BenchmarkWorkload } from "../../model/workload.ts";
import type { NcuRun } from "../ncu/run.ts";
import type { NsysRun } from "../nsys/run.ts";
import type { RankedKernel } from "./selection.ts";

type RecordedRun = CaptureRecord["runs"][number];
export type PlannedStep = PipelinePlan["steps"][number];

/** What the tools of a pipeline did, in order: the steps of its plan, and their runs for the record. */
export class PipelineLog {
  readonly steps: PlannedStep[] = [];
  readonly runs: RecordedRun[] = [];
  readonly findings: Finding[] = [];

  /** Of work without a tool. */
  step(step: PlannedStep["step"], tookMs: number): void {
    this.steps.push({ step, took_s: tookMs / 1000 });
  }

  nsys(purpose: "timeline" | "export", run: NsysRun): void {
    this.step(purpose, run.tookMs);
    this.runs.push({ ...common(run), tool: "nsys", purpose, first_launch_after_s: null, launches: null });
  }

  /** @param launches Launches in its report; null: there is none. */
  ncu(run: NcuRun, launches: number | null): void {
    this.step("counters", run.tookMs);
    const after = run.firstLaunchAfterMs;
    const first_launch_after_s = after === null ? null : after / 1000;
    this.runs.push({ ...common(run), tool: "ncu", purpose: "counters", first_launch_after_s, launches });
  }
}

const common = ({ argv, exit, endedBy, tookMs }: NcuRun | NsysRun) => ({
  argv: [...argv],
  exit_code: exit.code,
  signal: exit.signal,
  ended_by: endedBy,
  took_s: tookMs / 1000,
});

/** The timeline stands, and no launch got counters. */
export const budgetSpent = (): Failure => ({
  code: "capture_timeout",
  message: "The budget of the request was spent before counters could be taken; the timeline stands.",
  hint: "Raise max_duration_s.",
  retryable: false,
  evidence: { ended_by: "time_limit" },
});

export const programFailed = ({ message, evidence }: Failure): Finding => ({
  code: "application_failed",
  severity: "warning",
  message,
  launch: null,
  evidence: { exit_code: typeof evidence.exit_code === "number" ? evidence.exit_code : null },
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
