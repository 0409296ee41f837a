import { lstat, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { within } from "../base/deadline.ts";
import { redactor } from "../base/redact.ts";
import { type GroupEnd, startGroup } from "./group.ts";
import { diskBelow, type EndedBy, KILL_LIMIT_MS, LOST, stopReason } from "./ncu-run.ts";
import {
  type NsysPlan,
  nsysExportArguments,
  nsysProfileArguments,
  recordingPath,
  shownExport,
  shownProfile,
} from "./nsys-arguments.ts";
import { LastLines } from "./tail.ts";

export type NsysEndedBy = Exclude<EndedBy, "count_reached" | "stall" | "start_limit">;

export interface NsysRunLimits {
  /** The whole run. nsys says nothing while the program runs: there is no other sign of a hang. */
  readonly totalMs: number;
  /** What nsys and the program may print. */
  readonly outputBytes: number;
  /** Size of the file that is written. */
  readonly reportBytes: number;
  /** The run ends when the file system of the file has less space than this. */
  readonly diskFloorBytes: number;
  /** From the signal to the kill after a limit: nsys writes its recording meanwhile. */
  readonly graceMs: number;
  /** The same when the run must be gone soon: canceled, lease lost. */
  readonly shortGraceMs: number;
}

export interface NsysRunOptions {
  /** Path of nsys. */
  readonly nsys: string;
  readonly cwd: string;
  /** The whole environment (`childEnvironment`): nsys writes it into its recording. */
  readonly env: Readonly<Record<string, string>>;
  /** File for what nsys and the program print. */
  readonly outputPath: string;
  readonly recordFolder: string;
  readonly limits: NsysRunLimits;
  /** Aborted with one of `STOP_REASONS`; any other reason counts as canceled. */
  readonly stop: AbortSignal;
  /** What the program prints, for who looks for patterns in it. */
  onOutput?(chunk: Buffer): void;
  /** Values to take out of `outputTail`. */
  readonly secrets?: readonly string[];
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
  const { limits, stop } = options;
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
  const decided = (): boolean => endedBy !== null;
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

  // nsys has waited for its program by itself: what is left of the group is a leftover.
  const short = endedBy === "canceled" || endedBy === "lease_lost";
  const graceMs = endedBy === null ? 0 : short ? limits.shortGraceMs : limits.graceMs;
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
