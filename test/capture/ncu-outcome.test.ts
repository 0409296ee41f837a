import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { RunExpectation, RunReport } from "../../src/capture/ncu/findings.ts";
import { judgeRun } from "../../src/capture/ncu/outcome.ts";
import type { EndedBy, NcuRun } from "../../src/capture/ncu/run.ts";
import { FAILURE_CODES } from "../../src/model/profile.ts";
import { LOGS, log, runOf } from "./ncu-logs.ts";

const read = (launches: number, more: Partial<RunReport> = {}): RunReport => ({
  launches,
  failedLaunches: 0,
  kernels: [],
  allCountersNaN: false,
  ...more,
});
const ANY: RunExpectation = { launches: null };
const end = (code: number | null, signal: NodeJS.Signals | null = null): NcuRun["exit"] => ({
  code,
  signal,
  outputBytes: 0,
  outputTruncated: false,
  startError: null,
});

interface Row {
  readonly log: string;
  /** Launches in the report; null: there is none. */
  readonly launches: number | null;
  readonly failed?: number;
  readonly exit?: NcuRun["exit"];
  readonly endedBy?: EndedBy;
  readonly mode?: NcuRun["mode"];
  readonly wanted?: number;
  readonly ended: "completed" | "partial" | "failed";
  readonly code: string | null;
  readonly findings?: readonly string[];
}

/** Every recorded output, with the end that the recording had. */
const ROWS: readonly Row[] = [
  // Whole.
  {
    log: "full",
    launches: 19,
    ended: "completed",
    code: null,
    findings: ["metrics_not_collected", "clocks_not_fixed"],
  },
  { log: "graphs", launches: 6, ended: "completed", code: null },
  { log: "multiproc", launches: 12, wanted: 12, ended: "completed", code: null },
  { log: "fromstart", launches: 12, wanted: 12, ended: "completed", code: null },
  { log: "tiny-full", launches: 12, ended: "completed", code: null },
  { log: "tiny-verdict", launches: 12, ended: "completed", code: null },
  { log: "tiny-graph-nodes", launches: 12, ended: "completed", code: null },
  { log: "tiny-not-root", launches: 8, ended: "completed", code: null },
  { log: "tiny-two-a", launches: 16, ended: "completed", code: null },
  { log: "tiny-two-b", launches: 16, ended: "completed", code: null },
  { log: "err_badmetric", launches: 6, ended: "completed", code: null },
  // The program failed, its launches are all there.
  { log: "err_appfail", launches: 2, exit: end(3), ended: "completed", code: null, findings: ["application_failed"] },
  {
    log: "tiny-fail",
    launches: 8,
    exit: end(3),
    wanted: 8,
    ended: "completed",
    code: null,
    findings: ["application_failed"],
  },
  { log: "tiny-fail", launches: 8, exit: end(3), wanted: 10, ended: "partial", code: "application_failed" },
  { log: "tiny-fail", launches: null, exit: end(3), ended: "failed", code: "application_failed" },
  {
    log: "hand-written/application-crashed",
    launches: 2,
    exit: end(11),
    ended: "partial",
    code: "application_crashed",
  },
  {
    log: "hand-written/application-crashed",
    launches: 2,
    wanted: 2,
    exit: end(11),
    ended: "completed",
    code: null,
    findings: ["application_failed"],
  },
  // A kernel failed: the launches before it stay.
  {
    log: "tiny-fault",
    launches: 9,
    failed: 1,
    exit: end(9),
    ended: "partial",
    code: "kernel_fault",
    findings: ["launches_failed"],
  },
  { log: "err_illegal", launches: 2, failed: 1, exit: end(9), ended: "partial", code: "kernel_fault" },
  { log: "err_illegal", launches: 1, failed: 1, exit: end(9), ended: "failed", code: "kernel_fault" },
  // Ended from outside.
  { log: "tiny-term", launches: 5, exit: end(1), ended: "partial", code: "capture_killed" },
  { log: "tiny-int", launches: 5, exit: end(9), ended: "partial", code: "capture_killed" },
  {
    log: "hand-written/received-signal",
    launches: 2,
    exit: end(15),
    ended: "partial",
    code: "capture_killed",
    findings: ["clocks_were_locked"],
  },
  { log: "tiny-killed", launches: 5, exit: end(null, "SIGKILL"), ended: "partial", code: "capture_killed" },
  { log: "tiny-killed", launches: null, exit: end(null, "SIGKILL"), ended: "failed", code: "capture_killed" },
  {
    log: "server_sigterm_to_wrapper",
    launches: 30,
    exit: end(null, "SIGTERM"),
    wanted: 30,
    ended: "partial",
    code: "capture_killed",
  },
  // Ended by the capture.
  { log: "tiny-term", launches: 5, endedBy: "time_limit", ended: "partial", code: "capture_timeout" },
  { log: "tiny-term", launches: 5, endedBy: "canceled", ended: "partial", code: "capture_killed" },
  { log: "tiny-term", launches: 5, endedBy: "lease_lost", ended: "partial", code: "lease_lost" },
  { log: "tiny-term", launches: 5, endedBy: "worker_stopping", ended: "partial", code: "worker_stopped" },
  { log: "tiny-term", launches: 5, endedBy: "disk_full", ended: "partial", code: "disk_full" },
  { log: "tiny-term", launches: 5, endedBy: "output_limit", ended: "partial", code: "output_too_large" },
  { log: "tiny-term", launches: 5, endedBy: "report_limit", ended: "partial", code: "report_too_large" },
  { log: "tiny-log-file", launches: null, endedBy: "start_limit", ended: "failed", code: "capture_timeout" },
  {
    log: "tiny-collective-hang",
    launches: 8,
    endedBy: "stall",
    ended: "partial",
    code: "capture_stalled",
    findings: ["launch_took_long"],
  },
  { log: "tiny-collective-hang", launches: null, exit: end(1), ended: "failed", code: "capture_stalled" },
  // The host.
  { log: "hand-written/not-permitted", launches: null, ended: "failed", code: "counters_not_permitted" },
  {
    log: "hand-written/not-permitted",
    launches: null,
    endedBy: "time_limit",
    ended: "failed",
    code: "counters_not_permitted",
  },
  { log: "hand-written/counters-in-use", launches: null, exit: end(9), ended: "failed", code: "counters_in_use" },
  { log: "hand-written/lock-file", launches: null, exit: end(9), ended: "failed", code: "lock_file_denied" },
  { log: "hand-written/mig-clocks", launches: null, exit: end(9), ended: "failed", code: "clock_control_failed" },
  { log: "hand-written/gpu-unsupported", launches: null, ended: "failed", code: "gpu_not_supported" },
  {
    log: "hand-written/driver-incompatible",
    launches: null,
    exit: end(11),
    ended: "failed",
    code: "driver_incompatible",
  },
  { log: "hand-written/subscribers", launches: null, ended: "failed", code: "injection_slot_taken" },
  { log: "hand-written/installation", launches: null, exit: end(1), ended: "failed", code: "tool_missing" },
  {
    log: "tiny-disk-full",
    launches: 1,
    exit: end(1),
    ended: "partial",
    code: "disk_full",
    findings: ["launches_not_in_report"],
  },
  { log: "tiny-disk-full", launches: null, exit: end(1), ended: "failed", code: "disk_full" },
  // Replay.
  { log: "hand-written/context-save", launches: 1, exit: end(1), ended: "partial", code: "replay_impossible" },
  {
    log: "hand-written/unexpected-count",
    launches: null,
    exit: end(1),
    ended: "failed",
    code: "replay_not_deterministic",
  },
  { log: "hand-written/watchdog", launches: 1, exit: end(6), ended: "partial", code: "replay_impossible" },
  { log: "hand-written/deep-ep-timeout", launches: null, exit: end(6), ended: "failed", code: "replay_impossible" },
  { log: "hand-written/prepare-failed", launches: null, exit: end(9), ended: "failed", code: "ncu_failed" },
  {
    log: "hand-written/memory-backup",
    launches: 1,
    ended: "completed",
    code: null,
    findings: ["memory_backed_up_to_host"],
  },
  { log: "hand-written/mid-line", launches: 3, ended: "completed", code: null },
  { log: "hand-written/no-metrics", launches: 1, ended: "completed", code: null, findings: ["metrics_not_collected"] },
  // Options, and nothing that matched.
  { log: "err_nokernel", launches: null, ended: "failed", code: "no_matching_kernel" },
  {
    log: "warm-tiny-release",
    launches: null,
    mode: "attach",
    endedBy: "count_reached",
    ended: "failed",
    code: "no_matching_kernel",
  },
  { log: "err_nogpu", launches: null, ended: "failed", code: "no_kernels_profiled" },
  { log: "err_badsection", launches: null, exit: end(1), ended: "failed", code: "unknown_section" },
  { log: "err_badflag", launches: null, exit: end(1), ended: "failed", code: "ncu_usage" },
  { log: "tiny-timeout-option", launches: null, exit: end(1), ended: "failed", code: "ncu_usage" },
  { log: "rangereplay", launches: null, exit: end(1), ended: "failed", code: "ncu_usage" },
  { log: "err_exists", launches: null, exit: end(1), ended: "failed", code: "ncu_usage" },
  { log: "err_dir", launches: null, exit: end(1), ended: "failed", code: "disk_full" },
  { log: "err_noapp", launches: null, exit: end(1), ended: "failed", code: "program_missing" },
  { log: "tiny-log-file", launches: null, exit: end(1), ended: "failed", code: "ncu_failed" },
  // Warm sessions: SIGTERM and the shutdown line are the regular end.
  ...[
    "tiny-attach0",
    "tiny-attach1",
    "engine-attach0",
    "engine-attach1",
    "engine-attach2",
    "mp-attach0",
    "mp-attach1",
    "tiny-attach-after-kill",
    "engine-attach-after-kill",
    "tiny-attach-mid",
  ].map((name): Row => {
    const launches =
      {
        "tiny-attach0": 2,
        "tiny-attach1": 2,
        "mp-attach0": 4,
        "mp-attach1": 4,
        "tiny-attach-after-kill": 1,
        "engine-attach-after-kill": 1,
      }[name] ?? 3;
    return {
      log: `warm-${name}`,
      launches,
      wanted: launches,
      mode: "attach",
      endedBy: "count_reached",
      exit: end(null, "SIGTERM"),
      ended: "completed",
      code: null,
    };
  }),
  {
    log: "warm-tiny-attach0",
    launches: 2,
    mode: "attach",
    exit: end(null, "SIGTERM"),
    wanted: 2,
    ended: "completed",
    code: null,
  },
  {
    log: "warm-tiny-attach0",
    launches: 2,
    mode: "attach",
    endedBy: "count_reached",
    wanted: 3,
    ended: "partial",
    code: "capture_incomplete",
  },
  {
    log: "warm-tiny-attach-kill",
    launches: 2,
    mode: "attach",
    exit: end(null, "SIGKILL"),
    ended: "partial",
    code: "capture_killed",
  },
  {
    log: "warm-engine-attach-kill",
    launches: 2,
    mode: "attach",
    exit: end(null, "SIGKILL"),
    ended: "partial",
    code: "capture_killed",
  },
  ...["attach-nobody", "engine-release", "mp-release"].map(
    (name): Row => ({
      log: `warm-${name}`,
      launches: null,
      mode: "attach",
      exit: end(1),
      ended: "failed",
      code: "engine_start_failed",
    }),
  ),
];

/** Printed without -o (so without a report), or not by a run that profiles. */
const NOT_JUDGED = new Set([
  "tiny-collective-lookahead",
  "tiny-csv-on-stdout",
  "tiny-kernel-id",
  "tiny-kill-0",
  "tiny-metrics-badname",
  "tiny-name-skip-before-match",
  "tiny-per-launch-config",
  "warm-launch-engine",
  "warm-launch-mp",
  "warm-launch-tiny",
]);

describe("how a run ended", () => {
  it.each(ROWS)("$log, $launches launches, $endedBy $exit.signal, wanted $wanted: $ended, $code", (row) => {
    const run = runOf(log(row.log), {
      exit: row.exit ?? end(0),
      endedBy: row.endedBy ?? "itself",
      mode: row.mode ?? "run",
      reportPath: row.launches === null ? null : "/opt/w/x.ncu-rep",
    });
    const verdict = judgeRun(
      run,
      row.launches === null ? null : read(row.launches, { failedLaunches: row.failed ?? 0 }),
      {
        launches: row.wanted ?? null,
      },
    );
    expect([verdict.ended, verdict.failure?.code ?? null]).toEqual([row.ended, row.code]);
    for (const code of row.findings ?? []) expect(verdict.findings.map((finding) => finding.code)).toContain(code);
    if (verdict.failure !== null) {
      expect(verdict.failure.message.length).toBeGreaterThan(10);
      expect(verdict.failure.hint.length).toBeGreaterThan(10);
      expect(FAILURE_CODES).toContain(verdict.failure.code);
    }
  });

  it("is decided for every recording", () => {
    const judged = new Set(ROWS.map((row) => row.log));
    expect(LOGS.filter((name) => !judged.has(name) && !NOT_JUDGED.has(name))).toEqual([]);
  });

  it("gives the lines that it was decided by", () => {
    const { failure } = judgeRun(runOf(log("hand-written/counters-in-use"), { exit: end(9) }), null, ANY);
    expect(failure?.evidence.lines).toEqual([expect.stringContaining("driver resource was unavailable")]);
    expect(failure?.retryable).toBe(true);
    const matched = judgeRun(runOf(log("err_nokernel")), null, ANY).failure;
    expect(matched?.evidence.available_kernels).toEqual([
      "distribution_elementwise_grid_stride_kernel",
      "vectorized_elementwise_kernel",
    ]);
    const stalled = judgeRun(runOf(log("tiny-collective-hang"), { endedBy: "stall" }), read(8), ANY).failure;
    expect(stalled?.evidence.kernel).toBe("ncclDevKernel_AllReduce_Sum_f...");
    expect(stalled?.message).toContain("waits for other GPUs");
  });

  it("withholds launches whose counters are all NaN, and names the versions", () => {
    const nan = read(12, { allCountersNaN: true });
    const { ended, failure } = judgeRun(runOf(log("tiny-full")), nan, {
      launches: 12,
      versions: "ncu 2026.2, driver 600",
    });
    expect([ended, failure?.code]).toEqual(["failed", "counters_invalid"]);
    expect(failure?.message).toContain("ncu 2026.2, driver 600");
  });

  it("calls no kernels under load a failure that names the versions", () => {
    const { failure } = judgeRun(runOf(log("err_nogpu")), null, {
      launches: null,
      completedRequests: 40,
      versions: "ncu 2025.3.1, driver 580",
    });
    expect(failure?.message).toMatch(/completed 40 requests.*driver 580/);
  });

  it("says which metrics that were asked for are missing", () => {
    const { findings } = judgeRun(runOf(log("err_badmetric")), read(6, { missingMetrics: ["nope__x.sum"] }), ANY);
    expect(findings.find(({ code }) => code === "metrics_not_collected")?.message).toContain("nope__x.sum");
  });

  it("calls a report without any results no report", () => {
    const { failure } = judgeRun(runOf(log("err_nokernel")), read(0), ANY);
    expect(failure?.code).toBe("no_matching_kernel");
    const unread = judgeRun(runOf(log("tiny-full")), null, ANY).failure;
    expect(unread?.code).toBe("report_unreadable");
  });

  it("tells a tool that cannot be started, and processes that stay", () => {
    const missing = judgeRun(runOf(Buffer.from(""), { exit: { ...end(null), startError: "ENOENT" } }), null, ANY);
    expect(missing.failure).toMatchObject({ code: "tool_missing", evidence: { start_error: "ENOENT" } });
    const left = judgeRun(runOf(log("tiny-full"), { processesLeft: true }), read(12), ANY);
    expect(left.findings.map(({ code }) => code)).toContain("processes_left");
  });
});

describe("docs/failures.md", () => {
  const page = readFileSync(fileURLToPath(new URL("../../docs/failures.md", import.meta.url)), "utf8");
  const documented = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code);

  it("lists every failure code once, and no other", () => {
    expect([...documented].sort()).toEqual([...FAILURE_CODES].sort());
  });
});

describe("docs/findings.md", () => {
  const page = readFileSync(fileURLToPath(new URL("../../docs/findings.md", import.meta.url)), "utf8");

  it("lists the findings of a run", () => {
    const codes = new Set(
      ROWS.flatMap((row) =>
        judgeRun(
          runOf(log(row.log), { processesLeft: true, exit: { ...end(5), outputTruncated: true } }),
          read(1, { failedLaunches: 1 }),
          ANY,
        ).findings.map(({ code }) => code),
      ),
    );
    expect([...codes].filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});
