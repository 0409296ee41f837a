import type { Failure } from "../../model/profile.ts";
import type { StopReason } from "../ncu/run.ts";
import type { NsysEndedBy, NsysRun } from "./run.ts";

/** Of a step of a pipeline; those of the ranking are `timeline_…`. */
export type PipelineFailure = Failure;

/** Before anything starts. */
export const nsysMissing = (): PipelineFailure => ({
  code: "tool_missing",
  message: "A full pipeline needs a timeline, and this host has no Nsight Systems (nsys).",
  hint: "Install Nsight Systems on the GPU host, or set NSYS to its path and start the worker again; `profile-kernel worker check` says whether it is found. Kernels by their name can be profiled without it.",
  retryable: false,
  evidence: {},
});

const ENDED: Readonly<
  Record<Exclude<NsysEndedBy, "itself">, readonly [PipelineFailure["code"], string, string, boolean]>
> = {
  time_limit: [
    "capture_timeout",
    "was ended at its time limit",
    "Raise max_duration_s or limits.total_s. Where nsys itself hangs with CUDA graphs, run the program without them.",
    false,
  ],
  disk_full: [
    "disk_full",
    "was ended because the disk was nearly full",
    "Free space under DATA_DIR, or record a shorter run.",
    true,
  ],
  output_limit: [
    "output_too_large",
    "was ended because the program printed more than limits.output_bytes",
    "Make the program print less, or raise limits.output_bytes.",
    false,
  ],
  report_limit: [
    "report_too_large",
    "was ended because its file passed limits.report_bytes",
    "Record a shorter run, or raise limits.report_bytes.",
    false,
  ],
  lease_lost: [
    "lease_lost",
    "was ended because the lease of the GPUs was lost",
    "Submit the profile again; see that the worker reaches Redis.",
    true,
  ],
  worker_stopping: ["worker_stopped", "was ended because the worker was stopped", "Submit the profile again.", true],
  canceled: ["capture_killed", "was canceled", "Submit the profile again if it is still wanted.", true],
};

/**
 * Why a run of nsys gave no file to read, or null. A file that is there counts, whatever the exit code: 143 is the regular
 * end of a capture range, and a program that fails behind its window was recorded. A run that the capture ended gave a
 * file that may lack its end, so it never counts.
 */
export function nsysFailure(run: NsysRun, step: "timeline" | "export"): PipelineFailure | null {
  const { exit, endedBy, path, tookMs, outputTail } = run;
  const evidence = {
    ended_by: endedBy,
    exit_code: exit.code,
    signal: exit.signal,
    output: outputTail.slice(-10),
  };
  if (exit.startError !== null) {
    return {
      code: "tool_missing",
      message: `Nsight Systems could not be started: ${exit.startError} (${run.argv[0]}).`,
      hint: "Install Nsight Systems, or name its path in the settings of the worker.",
      retryable: false,
      evidence: { start_error: exit.startError, path: run.argv[0] ?? null },
    };
  }
  if (endedBy !== "itself") {
    const [code, what, hint, retryable] = ENDED[endedBy];
    const run = step === "timeline" ? "The recording" : "The export of the recording";
    return { code, message: `${run} ${what}, after ${(tookMs / 1000).toFixed(1)} s.`, hint, retryable, evidence };
  }
  if (path !== null) return null;
  const how = exit.signal ?? `exit code ${exit.code}`;
  return {
    code: "nsys_failed",
    message:
      step === "timeline"
        ? `Nsight Systems ended with ${how} and left no recording.`
        : `Nsight Systems ended with ${how} and did not export its recording.`,
    // Without libdw.so.1 the importer of nsys leaves a .qdstrm file alone (measured, 2025.3).
    hint: "See the log for its last lines. Nsight Systems needs libdw.so.1 to write its recording; see too that the program runs without it.",
    retryable: false,
    evidence,
  };
}

/** Codes from here on are those of signals (shells, and nsys as they do). */
const SIGNALED = 128;
/** SIGTERM: how nsys ends a program with its capture range. */
const RANGE_ENDED = 143;

/**
 * What the program's end says about a recording that is there, or null. nsys hands on the program's exit code.
 * `isRange`: nsys ends the program itself, with its window.
 */
export function recordedProgramFailure({ exit, outputTail }: NsysRun, isRange: boolean): PipelineFailure | null {
  const { code, signal } = exit;
  if (signal === null && (code === 0 || code === null || (isRange && code === RANGE_ENDED))) return null;
  const crashed = signal !== null || (code ?? 0) > SIGNALED;
  const how = signal ?? `exit code ${code}`;
  return {
    code: crashed ? "application_crashed" : "application_failed",
    message: `The program ended with ${how} while its timeline was recorded; what it would have done after that is missing.`,
    hint: "See the log for its last lines, and run it without the profiler.",
    retryable: false,
    evidence: { exit_code: code, signal, output: outputTail.slice(-10) },
  };
}

/** A capture that was stopped between two runs of its tools. */
export function stoppedFailure(reason: StopReason): PipelineFailure {
  const [code, what, hint, retryable] = ENDED[reason];
  return { code, message: `The capture ${what}.`, hint, retryable, evidence: { ended_by: reason } };
}
