import { lstat, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { within } from "../../base/deadline.ts";
import { redactor } from "../../base/redact.ts";
import {
  diskBelow,
  type EndedBy,
  KILL_LIMIT_MS,
  LOST,
  type NcuRunLimits,
  type NcuRunOptions,
  stopReason,
} from "../ncu/run.ts";
import { type GroupEnd, startGroup } from "../process/group.ts";
import { LastLines } from "../process/tail.ts";
import {
  type NsysPlan,
  nsysExportArguments,
  nsysProfileArguments,
  recordingPath,
  shownExport,
  shownProfile,
} from "./arguments.ts";

export type NsysEndedBy = Exclude<EndedBy, "count_reached" | "stall" | "start_limit">;

/** As of a run of ncu; while nsys ends it writes its recording. */
export interface NsysRunLimits
  extends Pick<NcuRunLimits, "outputBytes" | "reportBytes" | "diskFloorBytes" | "graceMs" | "shortGraceMs"> {
  /** The whole run. nsys says nothing while the program runs: there is no other sign of a hang. */
  readonly totalMs: number;
}

/** As of a run of ncu. nsys writes `env` into its recording. */
export interface NsysRunOptions
  extends Pick<NcuRunOptions, "cwd" | "env" | "outputPath" | "recordFolder" | "stop" | "onOutput" | "secrets"> {
  /** Path of nsys. */
  readonly nsys: string;
  readonly limits: NsysRunLimits;
  /** Ends the run where it has what was wanted: that is its regular end, as if it had ended by itself. */
  readonly enough?: AbortSignal;
}

/** How a run of nsys ended. Whether rows are in the file is not known here: an exit code of 0 can come with none. */
export interface NsysRun {
  /** As it may be shown. */
  readonly argv: readonly string[];
  readonly endedBy: NsysEndedBy;
  /** nsys ends with 143 when a capture range closes (measured, 2025.3): the code alone is no failure. */
  readonly exit: GroupEnd;
  /** The file, where it exists and is not empty. */
  readonly path: string | null;
  readonly bytes: number;
  readonly tookMs: number;
  /** The last lines of tool and program, redacted. */
  readonly outputTail: readonly string[];
  /** Processes were still there long after SIGKILL: the driver holds them. */
  readonly processesLeft: boolean;
}

const POLL_MS = 250;
const TAIL_LINES = 60;

/** Starts the program under nsys, and ends all of it when it is done, when a limit is reached or when it is stopped. */
export async function runNsysProfile(options: NsysRunOptions, plan: NsysPlan): Promise<NsysRun> {
  return watch(options, nsysProfileArguments(plan), recordingPath(plan), shownProfile(options.nsys, plan));
}

/** Writes a recording anew as an SQLite file. */
export async function runNsysExport(options: NsysRunOptions, recording: string, sqlite: string): Promise<NsysRun> {
  return watch(options, nsysExportArguments(recording, sqlite), sqlite, shownExport(options.nsys, recording, sqlite));
}

async function watch(
  options: NsysRunOptions,
  args: readonly string[],
  file: string,
  shown: readonly string[],
): Promise<NsysRun> {
  const { limits, stop, enough } = options;
  // What an earlier run left under this name must not be taken for this one's.
  await rm(file, { force: true });
  const startedAt = performance.now();
  const now = (): number => performance.now() - startedAt;
  const lines = new LastLines(TAIL_LINES);
  let endedBy: NsysEndedBy | null = null;
  let wake = (): void => {};
  const decide = (reason: NsysEndedBy): void => {
    endedBy ??= reason;
    wake();
  };
  const decided = (): boolean => endedBy !== null || enough?.aborted === true;
  const onEnough = (): void => wake();
  enough?.addEventListener("abort", onEnough, { once: true });
  const onAbort = (): void => decide(stopReason(stop.reason));
  if (stop.aborted) onAbort();
  stop.addEventListener("abort", onAbort, { once: true });

  const group = await startGroup({
    argv: [options.nsys, ...args],
    cwd: options.cwd,
    env: options.env,
    outputPath: options.outputPath,
    outputLimitBytes: limits.outputBytes,
    recordFolder: options.recordFolder,
    onOutput(chunk) {
      lines.push(chunk);
      options.onOutput?.(chunk);
    },
    onOutputLimit: () => decide("output_limit"),
  });
  let exited = false;
  const ended = group.ended.then(() => {
    exited = true;
    wake();
  });
  while (!exited && !decided()) {
    if ((await sizeOf(file)) > limits.reportBytes) decide("report_limit");
    if (await diskBelow(dirname(file), limits.diskFloorBytes)) decide("disk_full");
    const left = limits.totalMs - now();
    if (left <= 0) decide("time_limit");
    if (exited || decided()) break;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await within(Math.min(POLL_MS, left), woken, undefined);
  }
  stop.removeEventListener("abort", onAbort);
  enough?.removeEventListener("abort", onEnough);

  // nsys has waited for its program by itself: what is left of the group is a leftover.
  // The file of a run that was ended here never counts, so nobody waits for it.
  const short = endedBy !== null && endedBy !== "itself";
  const graceMs = exited ? 0 : short ? limits.shortGraceMs : limits.graceMs;
  const hurry = (): void => void group.end({ signal: "SIGINT", graceMs: Math.min(graceMs, limits.shortGraceMs) });
  stop.addEventListener("abort", hurry, { once: true });
  // As by hand: on SIGINT nsys stops recording and writes what it has (its user guide).
  const end = group.end({ signal: "SIGINT", graceMs }).then(() => true);
  const gone = await within(graceMs + KILL_LIMIT_MS, end, false);
  stop.removeEventListener("abort", hurry);
  await within(KILL_LIMIT_MS, ended, undefined);
  const exit = await within(1000, group.ended, LOST);
  const bytes = await sizeOf(file);
  return {
    argv: shown,
    endedBy: endedBy ?? "itself",
    exit,
    path: bytes > 0 ? file : null,
    bytes,
    tookMs: now(),
    outputTail: lines.lines.map(redactor(options.secrets)),
    processesLeft: !gone,
  };
}

const sizeOf = (path: string): Promise<number> =>
  lstat(path).then(
    (entry) => (entry.isFile() ? entry.size : 0),
    () => 0,
  );
