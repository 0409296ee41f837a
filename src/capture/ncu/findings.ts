import type { Finding } from "../../model/finding.ts";
import type { NcuLineCode } from "./lines.ts";
import type { NcuRun } from "./run.ts";

/** What the report of a run holds. */
export interface RunReport {
  /** All launches, also those that failed. */
  readonly launches: number;
  readonly failedLaunches: number;
  readonly kernels: readonly string[];
  /** No launch has a counter that is a number, though none failed. */
  readonly allCountersNaN: boolean;
  /** Metrics that were asked for and that no launch has: ncu leaves out unknown names without a word. */
  readonly missingMetrics?: readonly string[];
}

/** What was wanted of a run. */
export interface RunExpectation {
  /** Launches that were to get counters; null: as many as there are. */
  readonly launches: number | null;
  /** Requests that the engine answered meanwhile, where it was under load. */
  readonly completedRequests?: number | null;
  /** Versions of tool and driver in words, for where they may not fit. */
  readonly versions?: string | null;
}

const MAX_NAMES = 20;

/** Lines that say something about the trustworthiness of what was measured. */
const LINES: readonly {
  readonly line: NcuLineCode;
  readonly code: string;
  readonly severity: Finding["severity"];
  readonly message: string;
}[] = [
  {
    line: "memory_backup",
    code: "memory_backed_up_to_host",
    severity: "warning",
    message:
      "The device memory was saved to the host for replay, because there was no room beside it: each launch took about ten times as long. Give the counter run a smaller KV cache (counter_args).",
  },
  {
    line: "clock_reset",
    code: "clocks_were_locked",
    severity: "info",
    message:
      "An earlier run was killed with the clocks locked; Nsight Compute set them free. What ran between may have been slower.",
  },
  {
    line: "clocks_unmodified",
    code: "clocks_not_fixed",
    severity: "info",
    message: "The clocks were not fixed: each launch ran at the clock of its moment, which the result names.",
  },
  {
    line: "hang",
    code: "launch_took_long",
    severity: "warning",
    message: "Nsight Compute said that a launch took longer than expected.",
  },
  {
    line: "nvtx_push_pop",
    code: "nvtx_filter_push_pop_only",
    severity: "warning",
    message: "The NVTX filter sees push/pop ranges of the launching thread only.",
  },
];

/** Findings of a run, whatever its end. */
export function runFindings(run: NcuRun, read: RunReport | null, expected: RunExpectation): Finding[] {
  const { observed, exit, processesLeft } = run;
  const findings: Finding[] = [];
  const add = (code: string, severity: Finding["severity"], message: string, evidence: Finding["evidence"]): void => {
    findings.push({ code, severity, message, launch: null, evidence });
  };
  const inaccessible = observed.lines.get("metrics_inaccessible")?.lines[0];
  if (inaccessible !== undefined) {
    const [, count = "0", names = ""] = /following (\d+) metrics: (.*)/.exec(inaccessible) ?? [];
    const listed = names.split(/,\s*/).slice(0, MAX_NAMES).join(", ");
    add(
      "metrics_not_collected",
      "info",
      `This GPU gives no access to ${count} metrics; they are missing in every launch.`,
      {
        metrics: Number(count),
        names: listed,
      },
    );
  }
  const missing = read?.missingMetrics ?? [];
  if (missing.length > 0) {
    const names = missing.slice(0, MAX_NAMES).join(", ");
    add(
      "metrics_not_collected",
      "warning",
      `${missing.length} metrics that were asked for are in no launch; this version or chip does not have them: ${names}.`,
      { metrics: missing.length, names },
    );
  }
  if (observed.lines.has("no_metrics") && (read?.launches ?? 0) > 0) {
    add(
      "metrics_not_collected",
      "error",
      "The sections hold no metric for this chip: launches were recorded without counters.",
      {
        line: observed.lines.get("no_metrics")?.lines[0] ?? null,
      },
    );
  }
  for (const { line, code, severity, message } of LINES) {
    const seen = observed.lines.get(line);
    if (seen !== undefined) add(code, severity, message, { line: seen.lines[0] ?? null, count: seen.count });
  }
  const application = observed.applicationCode;
  // After a shutdown the code is that of ncu's own signal.
  if (application !== null && application !== 0 && !observed.lines.has("shutdown")) {
    add(
      "application_failed",
      "warning",
      `The program ended with code ${application}; what it would have launched after that is missing.`,
      {
        exit_code: application,
      },
    );
  }
  if (read !== null && read.failedLaunches > 0) {
    add("launches_failed", "warning", `${read.failedLaunches} launches failed and have no counters.`, {
      launches: read.failedLaunches,
    });
  }
  // Where saving fails the index stays; each finished launch is otherwise one result.
  if (read !== null && read.launches < observed.launchesFinished) {
    add(
      "launches_not_in_report",
      "warning",
      `Nsight Compute finished ${observed.launchesFinished} launches, and the report holds ${read.launches}.`,
      {
        finished: observed.launchesFinished,
        in_report: read.launches,
      },
    );
  }
  if (exit.outputTruncated) {
    add("output_truncated", "info", "The program printed more than is kept; the log is cut.", {
      bytes: exit.outputBytes,
    });
  }
  if (processesLeft) {
    add(
      "processes_left",
      "error",
      "Processes of the run could not be ended; the driver may hold them until the GPU is reset.",
      {},
    );
  }
  if (
    run.endedBy === "itself" &&
    exit.code !== null &&
    exit.code !== 0 &&
    application === null &&
    (read?.launches ?? 0) > 0
  ) {
    add(
      "tool_exit_code",
      "info",
      `Nsight Compute ended with exit code ${exit.code} and left a report that can be read.`,
      {
        exit_code: exit.code,
        wanted: expected.launches,
      },
    );
  }
  return findings;
}
