import type { Finding } from "../../model/finding.ts";
import type { Failure } from "../../model/profile.ts";
import { CAUSES, failure, type NamedCause } from "./failures.ts";
import { type RunExpectation, type RunReport, runFindings } from "./findings.ts";
import { isCollective } from "./kernel-filter.ts";
import type { NcuLineCode } from "./lines.ts";
import type { EndedBy, NcuRun } from "./run.ts";

export interface RunVerdict {
  /** partial: ended early, and complete launches are there; `failure` says why. */
  readonly ended: "completed" | "partial" | "failed";
  readonly failure: Failure | null;
  readonly findings: readonly Finding[];
}

/**
 * Says what the end of a run means, from what can be read of its report first, the lines of the tool second and the
 * exit code last: an exit code of 0 can mean no data, and another can come with a complete report. `read` is null where
 * there is no report or none that can be read.
 */
export function judgeRun(run: NcuRun, read: RunReport | null, expected: RunExpectation): RunVerdict {
  const usable = read === null || read.allCountersNaN ? 0 : read.launches - read.failedLaunches;
  const findings = runFindings(run, read, expected);
  const why = reason(run, read, usable, expected);
  if (usable === 0) return { ended: "failed", failure: why ?? unexplained(run, read), findings };
  return { ended: why === null ? "completed" : "partial", failure: why, findings };
}

/** Why the run is not complete, or null. */
function reason(run: NcuRun, read: RunReport | null, usable: number, expected: RunExpectation): Failure | null {
  const { observed, endedBy, exit } = run;
  if (exit.startError !== null) return notStarted(run);
  const cause = firstCause(run, CAUSES.always);
  if (cause !== null) return cause;
  // An attachment is ended by us when all is there; in a warm session only the count decides.
  if (endedBy === "count_reached" || endedWhenAsked(run)) {
    return usable === 0 ? nothing(run, read, expected) : tooFew(run, usable, expected);
  }
  if (endedBy !== "itself") return ended(run, endedBy);
  const own = firstCause(run, CAUSES.ownEnd);
  if (own !== null) return own;
  if (usable === 0) return nothing(run, read, expected);
  const seen = (line: NcuLineCode): boolean => observed.lines.has(line);
  if (exit.signal !== null || seen("received_signal") || observed.endedFromOutside) return killed(run);
  if (seen("failed_to_profile") || seen("driver_error")) return toolFailed(run);
  if (seen("shutdown")) return killed(run);
  if (crashed(run) && !reached(usable, expected)) return application(run);
  if (applicationFailed(run) && expected.launches !== null && !reached(usable, expected)) return application(run);
  if (observed.report === null)
    return incomplete(run, usable, expected, "Nsight Compute did not say that it closed the report");
  return tooFew(run, usable, expected);
}

/** SIGTERM from outside to an attachment is its regular end: it says so, closes the report, and the program goes on. */
const endedWhenAsked = ({ mode, endedBy, observed }: NcuRun): boolean =>
  mode === "attach" && endedBy === "itself" && observed.report !== null && observed.lines.has("shutdown");

const reached = (usable: number, { launches }: RunExpectation): boolean => launches !== null && usable >= launches;

/** What is known of the run, for whoever reads the failure. */
function evidence(run: NcuRun, ...codes: readonly NcuLineCode[]): Failure["evidence"] {
  const { observed, exit, endedBy, outputTail } = run;
  const lines = codes.flatMap((code) => observed.lines.get(code)?.lines ?? []);
  return {
    ...(lines.length > 0 ? { lines: lines.slice(0, 10) } : { output: outputTail.slice(-10) }),
    ended_by: endedBy,
    exit_code: exit.code,
    signal: exit.signal,
    launches_finished: observed.launchesFinished,
    kernel: observed.openLaunch ?? observed.lastKernel,
  };
}

function firstCause(run: NcuRun, causes: readonly NamedCause[]): Failure | null {
  for (const { line, code, message, hint, retryable, onlyUnfinished } of causes) {
    const { lines, openLaunch, launchesAbandoned } = run.observed;
    if (onlyUnfinished && openLaunch === null && launchesAbandoned === 0) continue;
    if (lines.has(line)) {
      return failure(code, message(run.observed), hint, retryable, evidence(run, line));
    }
  }
  return null;
}

function notStarted(run: NcuRun): Failure {
  return failure(
    "tool_missing",
    `Nsight Compute could not be started: ${run.exit.startError} (${run.argv[0]}).`,
    "Install Nsight Compute, or name its path in the settings of the worker.",
    false,
    { start_error: run.exit.startError, path: run.argv[0] ?? null },
  );
}

/** The capture itself ended the run. */
function ended(run: NcuRun, endedBy: Exclude<EndedBy, "itself" | "count_reached">): Failure {
  const { observed, tookMs } = run;
  const after = `after ${(tookMs / 1000).toFixed(1)} s`;
  const at = observed.openLaunch ?? observed.lastKernel;
  const facts = evidence(run, "hang");
  switch (endedBy) {
    case "stall": {
      const waits = at !== null && isCollective(at);
      return failure(
        "capture_stalled",
        `Nsight Compute made no progress${at === null ? "" : ` at "${at}"`} and was ended ${after}.${waits ? " The kernel waits for other GPUs, whose launches the profiler holds back." : ""}`,
        waits
          ? "Collectives cannot be replayed: their time comes from a timeline. Profile a single rank, or name another kernel."
          : "A kernel that waits for another GPU or for the host cannot be replayed. Name another kernel, profile a single rank, or raise limits.stall_s if the kernel only takes long.",
        false,
        facts,
      );
    }
    case "start_limit":
      return failure(
        "capture_timeout",
        `The program made no CUDA call that Nsight Compute saw, and was ended ${after}.`,
        "Raise limits.start_s if loading takes longer. A program that forks workers after CUDA is initialised must spawn them instead.",
        false,
        facts,
      );
    case "time_limit":
      return failure(
        "capture_timeout",
        `The run was ended ${after}, at its time limit, with ${observed.launchesFinished} launches finished.`,
        "Raise limits.total_s, ask for fewer launches or fewer counters, or make the KV cache smaller: saving the memory costs most.",
        false,
        facts,
      );
    case "disk_full":
      return failure(
        "disk_full",
        "The disk of the report was nearly full, so the run was ended.",
        "Free space under DATA_DIR, or measure fewer launches.",
        true,
        facts,
      );
    case "output_limit":
      return failure(
        "output_too_large",
        "The program printed more than limits.output_bytes, so the run was ended.",
        "Make the program print less, or raise limits.output_bytes.",
        false,
        facts,
      );
    case "report_limit":
      return failure(
        "report_too_large",
        `The report passed limits.report_bytes (${run.reportBytes} bytes), so the run was ended.`,
        "Measure fewer launches, or raise limits.report_bytes.",
        false,
        facts,
      );
    case "lease_lost":
      return failure(
        "lease_lost",
        "The lease of the GPUs was lost, so the run was ended.",
        "Submit the profile again; see that the worker reaches Redis.",
        true,
        facts,
      );
    case "worker_stopping":
      return failure(
        "worker_stopped",
        "The worker was stopped, so the run was ended.",
        "Submit the profile again.",
        true,
        facts,
      );
    case "canceled":
      return failure(
        "capture_killed",
        "The profile was canceled.",
        "Submit it again if it is still wanted.",
        true,
        facts,
      );
  }
}

/** Nothing usable is there, and no line says why better. */
function nothing(run: NcuRun, read: RunReport | null, { completedRequests, versions }: RunExpectation): Failure | null {
  const { observed } = run;
  const seen = (line: NcuLineCode): boolean => observed.lines.has(line);
  const fit = versions ? ` (${versions})` : "";
  if (read?.allCountersNaN) {
    return failure(
      "counters_invalid",
      `All counters of all ${read.launches} launches are NaN although the launches succeeded: they are not valid with this tool and chip${fit}.`,
      "Use another version of Nsight Compute; some releases read counters of new chips wrongly.",
      false,
      { ...evidence(run), launches: read.launches },
    );
  }
  if (observed.noKernels || (read !== null && read.launches === 0)) {
    if (observed.availableKernels.length > 0) {
      return failure(
        "no_matching_kernel",
        "No kernel that ran matches the target.",
        "Give one of the kernels that ran as target; they are listed in the evidence.",
        false,
        { ...evidence(run, "no_kernels"), available_kernels: observed.availableKernels.slice(0, 100) },
      );
    }
    if (seen("failed_to_profile") || seen("driver_error")) return toolFailed(run);
    if (crashed(run) || applicationFailed(run)) return application(run);
    const served = completedRequests ? ` while the engine completed ${completedRequests} requests` : "";
    return failure(
      "no_kernels_profiled",
      observed.connections === 0
        ? `No kernel was profiled: no process used CUDA${served}${fit}.`
        : `No kernel was profiled${served}${fit}.`,
      served !== ""
        ? "Kernels must have run: driver, CUPTI and Nsight Compute may not fit each other, or the workers of the engine were forked after CUDA was initialised (spawn them)."
        : "See the log: did the program reach the GPU, and within the profiled window? NVTX filters see only push/pop ranges of the same thread.",
      false,
      evidence(run, "no_kernels", "nvtx_push_pop", "children_hint"),
    );
  }
  if (seen("no_metrics")) {
    return failure(
      "no_metrics",
      "The sections hold no metric for this chip, so nothing was measured.",
      "Give HOME of the worker a folder that can be written (ncu puts its section files there), or name other sections.",
      false,
      evidence(run, "no_metrics"),
    );
  }
  if (seen("failed_to_profile") || seen("driver_error")) return toolFailed(run);
  if (crashed(run) || applicationFailed(run)) return application(run);
  if (run.exit.signal !== null || seen("received_signal") || seen("shutdown")) return killed(run);
  return null;
}

const unexplained = (run: NcuRun, read: RunReport | null): Failure =>
  failure(
    read === null && run.reportPath !== null ? "report_unreadable" : "ncu_failed",
    read === null && run.reportPath !== null
      ? "The report that Nsight Compute left cannot be read."
      : `Nsight Compute ended with ${run.exit.signal ?? `exit code ${run.exit.code}`} and left no result.`,
    "See the log for its last lines.",
    false,
    evidence(run, "other_error", "profile_error"),
  );

const toolFailed = (run: NcuRun): Failure =>
  failure(
    "ncu_failed",
    `Nsight Compute failed to profile ${run.observed.lastKernel === null ? "a kernel" : `"${run.observed.lastKernel}"`}.`,
    "See the lines of the tool in the evidence; try another version of ncu, or another kernel.",
    false,
    evidence(run, "driver_error", "failed_to_profile", "other_error", "profile_error"),
  );

const killed = (run: NcuRun): Failure =>
  failure(
    "capture_killed",
    `Nsight Compute was ended from outside${run.exit.signal === null ? "" : ` by ${run.exit.signal}`} after ${run.observed.launchesFinished} launches.`,
    "Something on the host ended it: the out-of-memory killer, an operator, a time limit of the batch system. Try again.",
    true,
    evidence(run, "received_signal", "shutdown"),
  );

/** Numbers of signals by which programs crash: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV (signal(7)). */
const CRASHES: ReadonlySet<number> = new Set([4, 5, 6, 7, 8, 9, 11]);

/** ncu prints the exit status or, where a signal ended the program, the signal's number: shells add 128. */
const crashed = ({ observed: { applicationCode: code } }: NcuRun): boolean =>
  code !== null && (CRASHES.has(code) || (code > 128 && CRASHES.has(code - 128)));

/** Exit codes of `ncu` are the program's where it ended by itself. */
const applicationFailed = ({ observed }: NcuRun): boolean =>
  observed.applicationCode !== null && observed.applicationCode !== 0;

function application(run: NcuRun): Failure {
  const code = run.observed.applicationCode;
  return crashed(run)
    ? failure(
        "application_crashed",
        `The program crashed (code ${code}).`,
        "Run it without the profiler; if it runs there, its memory may not suffice under replay.",
        false,
        evidence(run, "application_code"),
      )
    : failure(
        "application_failed",
        `The program ended with exit code ${code}.`,
        "See the log for what it printed; run it without the profiler.",
        false,
        evidence(run, "application_code"),
      );
}

function tooFew(run: NcuRun, usable: number, expected: RunExpectation): Failure | null {
  if (expected.launches === null || usable >= expected.launches) return null;
  return incomplete(
    run,
    usable,
    expected,
    run.mode === "attach" ? "The load of the window came to its end" : "The program ran to its end",
  );
}

const incomplete = (run: NcuRun, usable: number, { launches }: RunExpectation, what: string): Failure =>
  failure(
    "capture_incomplete",
    `${what}, and ${usable}${launches === null ? "" : ` of ${launches}`} launches are in the report.`,
    "The program launched the kernel less often than before, or was ended early. What is there is complete in itself.",
    true,
    { ...evidence(run), launches: usable, wanted: launches },
  );
