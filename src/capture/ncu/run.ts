import { lstat, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { within } from "../../base/deadline.ts";
import { redactor } from "../../base/redact.ts";
import { type Group, type GroupEnd, startGroup } from "../process/group.ts";
import { FileTail, LastLines } from "../process/tail.ts";
import { type NcuPlan, ncuArguments, shownArguments } from "./arguments.ts";
import { type NcuEvent, type NcuObservation, NcuOutput } from "./output.ts";
import { Watchdog, type WatchdogLimits } from "./watchdog.ts";

/** Reasons given to `AbortController.abort` for stopping a run. */
export const STOP_REASONS = ["canceled", "lease_lost", "worker_stopping"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export type EndedBy =
  | "itself"
  | "count_reached"
  | "time_limit"
  | "stall"
  | "start_limit"
  | "disk_full"
  | "output_limit"
  | "report_limit"
  | StopReason;

export interface NcuRunLimits extends WatchdogLimits {
  /** What the program may print. */
  readonly outputBytes: number;
  /** Size of the report. */
  readonly reportBytes: number;
  /** The run ends when the file system of the report has less space than this. */
  readonly diskFloorBytes: number;
  /** From the signal to the kill after a limit: ncu closes the report meanwhile. */
  readonly graceMs: number;
  /** The same when the run must be gone soon: canceled, lease lost. */
  readonly shortGraceMs: number;
}

export interface NcuRunOptions {
  /** Path of ncu. */
  readonly ncu: string;
  readonly plan: NcuPlan;
  readonly cwd: string;
  /** The whole environment (`childEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  /** File for what the program prints. */
  readonly outputPath: string;
  readonly recordFolder: string;
  readonly limits: NcuRunLimits;
  /** Aborted with one of {@link STOP_REASONS}; any other reason counts as canceled. */
  readonly stop: AbortSignal;
  /** True: all launches that were wanted are there, and the run is ended. For `attach`, which does not end by itself. */
  enough?(observed: NcuObservation): boolean;
  progress?(progress: { readonly done: number; readonly total: number | null; readonly kernel: string | null }): void;
  onEvent?(event: NcuEvent): void;
  /** What the program prints, for who looks for patterns in it. */
  onOutput?(chunk: Buffer): void;
  /** Values to take out of `outputTail`. */
  readonly secrets?: readonly string[];
}

export interface NcuRun {
  /** As it may be shown: see `shownArguments`. */
  readonly argv: readonly string[];
  readonly mode: NcuPlan["mode"];
  readonly endedBy: EndedBy;
  readonly exit: GroupEnd;
  readonly observed: NcuObservation;
  /** A file that exists and is not empty. */
  readonly reportPath: string | null;
  readonly reportBytes: number;
  readonly tookMs: number;
  /** From the start of ncu to its first line about a launch. */
  readonly firstLaunchAfterMs: number | null;
  /** The last lines of tool and program, redacted. */
  readonly outputTail: readonly string[];
  /** Processes were still there long after SIGKILL: the driver holds them. */
  readonly processesLeft: boolean;
}

/** ncu writes each dot of its progress at once (measured): often enough to see it, rare enough to cost nothing. */
const POLL_MS = 50;
/** Sizes and free space: every so many polls. */
const SLOW_POLLS = 5;
const TAIL_LINES = 60;
/** The first process ended and others of its group say nothing: they are leftovers. */
const LEFTOVER_QUIET_MS = 5000;
/** A process that SIGKILL does not end is in the driver's hands; the run does not wait for it. */
export const KILL_LIMIT_MS = 15_000;

/** Suffixes that ncu gives to reports: `.ncu-rep`, and `.ncu-repz` from 2026.3 on. */
const reportPaths = (output: string): string[] =>
  /\.ncu-repz?$/.test(output) ? [output, `${output}z`] : [`${output}.ncu-rep`, `${output}.ncu-repz`, output];

/**
 * Runs ncu once, watches it, and ends it with everything it started when it is done, when a limit is reached or when it
 * is stopped. Says how it ended; what that means is for `judgeRun`.
 */
export async function runNcu(options: NcuRunOptions): Promise<NcuRun> {
  const { plan, limits, stop } = options;
  // What an earlier run left under these names must not be taken for this one's.
  for (const path of [plan.logFile, ...reportPaths(plan.output)]) await rm(path, { force: true });
  const startedAt = performance.now();
  const now = (): number => performance.now() - startedAt;
  const watchdog = new Watchdog(limits, plan.mode);
  const lines = new LastLines(TAIL_LINES);
  const log = new FileTail(plan.logFile);
  let firstLaunchAfterMs: number | null = null;
  let endedBy: EndedBy | null = null;
  let wake = (): void => {};
  const decide = (reason: EndedBy): void => {
    endedBy ??= reason;
    wake();
  };

  const output: NcuOutput = new NcuOutput((event) => {
    watchdog.saw(event, now());
    if (event.kind === "launch_started") firstLaunchAfterMs ??= now();
    options.onEvent?.(event);
    if (event.kind === "launch_started" || event.kind === "launch_finished") {
      const { launchesFinished, total, lastKernel } = output.observation;
      options.progress?.({ done: launchesFinished, total, kernel: lastKernel });
    }
  });
  const onAbort = (): void => decide(stopReason(stop.reason));
  if (stop.aborted) onAbort();
  stop.addEventListener("abort", onAbort, { once: true });

  const group = await startGroup({
    argv: [options.ncu, ...ncuArguments(plan)],
    cwd: options.cwd,
    env: options.env,
    outputPath: options.outputPath,
    outputLimitBytes: limits.outputBytes,
    recordFolder: options.recordFolder,
    onOutput(chunk) {
      output.push(chunk, "program");
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

  const look = async (slow: boolean): Promise<void> => {
    const bytes = await log.read((chunk) => {
      output.push(chunk);
      lines.push(chunk);
    });
    if (bytes > 0) watchdog.alive(now());
    if (slow) {
      const size = (await findReport(plan, options.cwd, null)).bytes;
      if (watchdog.reportSize(size, now()) && size > limits.reportBytes) decide("report_limit");
      if (await diskBelow(dirname(plan.output), limits.diskFloorBytes)) decide("disk_full");
    }
    if (options.enough?.(output.observation)) decide("count_reached");
    const expired = watchdog.expired(now());
    if (expired !== null) decide(expired);
  };
  const sleepUntilWoken = (): Promise<void> =>
    within(
      POLL_MS,
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
      undefined,
    );

  for (let turn = 0; !exited && endedBy === null; turn++) {
    await look(turn % SLOW_POLLS === 0);
    if (!exited && endedBy === null) await sleepUntilWoken();
  }
  // The first process may be a script whose children go on (a signal to the script alone ends only that).
  if (endedBy === null)
    await waitForRest(
      group,
      watchdog,
      now,
      () => look(true),
      () => endedBy !== null,
    );
  stop.removeEventListener("abort", onAbort);

  const short = endedBy === "canceled" || endedBy === "lease_lost";
  const graceMs = endedBy === null ? 0 : short ? limits.shortGraceMs : limits.graceMs;
  const gone = await within(
    graceMs + KILL_LIMIT_MS,
    endGroup(group, graceMs, stop, limits.shortGraceMs, () => look(false)).then(() => true),
    false,
  );
  await within(KILL_LIMIT_MS, ended, undefined);
  await log.read((chunk) => {
    output.push(chunk);
    lines.push(chunk);
  });
  await log.close();
  output.end();
  const exit = await within(1000, group.ended, LOST);
  const report = await findReport(plan, options.cwd, output.observation.report);
  const redact = redactor(options.secrets);
  return {
    argv: shownArguments(options.ncu, plan),
    mode: plan.mode,
    endedBy: endedBy ?? "itself",
    exit,
    observed: output.observation,
    reportPath: report.path,
    reportBytes: report.bytes,
    tookMs: now(),
    firstLaunchAfterMs,
    outputTail: lines.lines.map(redact),
    processesLeft: !gone,
  };
}

/** The end of a group that nothing was heard of. */
export const LOST: GroupEnd = {
  code: null,
  signal: "SIGKILL",
  outputBytes: 0,
  outputTruncated: false,
  startError: null,
};

/** What an `AbortController` was aborted with, as a reason. */
export const stopReason = (reason: unknown): StopReason => STOP_REASONS.find((known) => known === reason) ?? "canceled";

/** Until no process is left, or the ones that are left say nothing for a while. */
async function waitForRest(
  group: Group,
  watchdog: Watchdog,
  now: () => number,
  look: () => Promise<void>,
  decided: () => boolean,
): Promise<void> {
  const from = now();
  while (!decided()) {
    if (
      await within(
        POLL_MS,
        group.gone.then(() => true),
        false,
      )
    )
      return;
    await look();
    if (now() - Math.max(from, watchdog.lastAlive) > LEFTOVER_QUIET_MS) return;
  }
}

/** Ends the group; a stop that comes meanwhile shortens the wait. The log is read on, so that the end is seen. */
async function endGroup(
  group: Group,
  graceMs: number,
  stop: AbortSignal,
  shortGraceMs: number,
  look: () => Promise<void>,
): Promise<void> {
  const hurry = (): void => void group.end({ signal: "SIGTERM", graceMs: Math.min(graceMs, shortGraceMs) });
  if (!stop.aborted) stop.addEventListener("abort", hurry, { once: true });
  const ended = group.end({ signal: "SIGTERM", graceMs });
  while (
    !(await within(
      POLL_MS,
      ended.then(() => true),
      false,
    ))
  )
    await look();
  stop.removeEventListener("abort", hurry);
}

async function findReport(
  plan: NcuPlan,
  cwd: string,
  named: string | null,
): Promise<{ readonly path: string | null; readonly bytes: number }> {
  const candidates = [...reportPaths(plan.output), ...(named === null ? [] : [named])];
  for (const candidate of candidates) {
    const path = candidate.startsWith("/") ? candidate : join(cwd, candidate);
    const size = await lstat(path).then(
      (entry) => (entry.isFile() ? entry.size : 0),
      () => 0,
    );
    if (size > 0) return { path, bytes: size };
  }
  return { path: null, bytes: 0 };
}

/** True where the file system of a folder has less space; false also where it cannot be asked. */
export async function diskBelow(folder: string, floor: number): Promise<boolean> {
  const space = await statfs(folder).catch(() => null);
  return space !== null && space.bavail * space.bsize < floor;
}
