import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Finding } from "../../model/finding.ts";
import type { WorkloadsFile } from "../../model/workload.ts";
import { describeFailure, runCommand } from "../process/command.ts";

/** Commands that free and take back the counters, from workloads.yaml. */
export type DcgmCommands = NonNullable<WorkloadsFile["dcgm"]>;

export interface CounterHolderOptions {
  /** Null: nobody is to be paused. */
  readonly commands: DcgmCommands | null;
  /** Folder of this worker alone, in which a pause is recorded until it is over. */
  readonly recordFolder: string;
  /** Told at once: a monitoring that stays paused is somebody's outage. */
  readonly onProblem: (finding: Finding) => void;
}

const TIME_LIMIT_MS = 30_000;
const RESUME_ATTEMPTS = 3;
const PREFIX = "dcgm-pause-";
const MAX_RECORD_BYTES = 64 * 1024;

/** What is written before a pause. */
interface PauseRecord {
  readonly version: 1;
  /** What ends the pause. */
  readonly resume: readonly string[];
  readonly paused_at: string;
}

/** Captures of this process that want the counters free, by record folder: pausing is for the whole host. */
const holders = new Map<string, { count: number; turn: Promise<unknown> }>();

/**
 * Pauses DCGM's profiling, runs, and resumes it whatever happens. DCGM's profiling fields and ncu exclude each other on
 * the same driver resource (NVIDIA/DCGM#56); `dcgmi profile --pause` is for the whole host engine, so of captures that
 * overlap the first pauses and the last resumes. A pause that fails is a finding and the run goes on: ncu itself says
 * whether the counters are taken.
 */
export async function withCountersFree<T>(options: CounterHolderOptions, run: () => Promise<T>): Promise<T> {
  const { commands, recordFolder, onProblem } = options;
  if (commands === null) return run();
  const holder = holders.get(recordFolder) ?? { count: 0, turn: Promise.resolve() };
  holders.set(recordFolder, holder);
  /** One after the other: a resume must not overtake the pause of the next. */
  const inTurn = async (step: () => Promise<void>): Promise<void> => {
    const turn = holder.turn.then(step);
    holder.turn = turn.catch(() => {});
    await turn;
  };
  const record = join(recordFolder, `${PREFIX}${process.pid}.json`);
  await inTurn(async () => {
    if (holder.count++ > 0) return;
    try {
      await writeRecord(recordFolder, record, commands.resume);
    } catch (error) {
      holder.count--;
      throw error;
    }
    const result = await runCommand(commands.pause, { timeoutMs: TIME_LIMIT_MS });
    if (result.code !== 0) onProblem(pauseFailed(describeFailure(commands.pause, result)));
  });
  try {
    return await run();
  } finally {
    await inTurn(async () => {
      if (--holder.count > 0) return;
      const reason = await resume(commands.resume);
      if (reason === null) await rm(record, { force: true });
      else onProblem(resumeFailed(reason, commands.resume));
    });
  }
}

/**
 * Resumes what a worker that died left paused on this folder; called at the start, before the first capture. A record
 * stays where resuming fails, so that the next start tries again.
 */
export async function resumeLeftovers({
  recordFolder,
  onProblem,
}: Pick<CounterHolderOptions, "recordFolder" | "onProblem">): Promise<{ readonly resumed: number }> {
  const names = (await readdir(recordFolder).catch(() => []))
    .filter((name) => name.startsWith(PREFIX) && name.endsWith(".json"))
    .sort();
  let resumed = 0;
  for (const name of names) {
    const path = join(recordFolder, name);
    const commands = await readRecord(path);
    if (commands === null) {
      onProblem(recordUnreadable(path));
      continue;
    }
    const reason = await resume(commands);
    if (reason === null) {
      await rm(path, { force: true });
      resumed++;
    } else onProblem(resumeFailed(reason, commands));
  }
  return { resumed };
}

/** null, or why DCGM is still paused. */
async function resume(argv: readonly string[]): Promise<string | null> {
  let reason = "";
  for (let attempt = 0; attempt < RESUME_ATTEMPTS; attempt++) {
    const result = await runCommand(argv, { timeoutMs: TIME_LIMIT_MS });
    if (result.code === 0) return null;
    reason = describeFailure(argv, result);
    if (result.missing) break;
  }
  return reason;
}

async function writeRecord(folder: string, path: string, argv: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const record: PauseRecord = { version: 1, resume: argv, paused_at: new Date().toISOString() };
  // Renamed, so that a record is whole or not there.
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** The command of a record, or null: it is run, so it must be ours. */
async function readRecord(path: string): Promise<string[] | null> {
  try {
    const { uid, size, mode } = await stat(path);
    if (uid !== process.getuid?.() || size > MAX_RECORD_BYTES || (mode & 0o022) !== 0) return null;
    const { version, resume }: Partial<Record<keyof PauseRecord, unknown>> = JSON.parse(await readFile(path, "utf8"));
    const isCommand =
      version === 1 && Array.isArray(resume) && resume.length > 0 && resume.every((part) => typeof part === "string");
    return isCommand ? resume : null;
  } catch {
    return null;
  }
}

const pauseFailed = (reason: string): Finding => ({
  code: "counters_not_freed",
  severity: "warning",
  message: `DCGM's profiling was not paused: ${reason}. Where it collects profiling fields, ncu finds the counters taken.`,
  launch: null,
  evidence: { reason },
});

const resumeFailed = (reason: string, argv: readonly string[]): Finding => ({
  code: "counters_not_given_back",
  severity: "error",
  message: `DCGM's profiling is still paused on this host: ${reason}. Run it by hand: ${argv.join(" ")}. The next start of the worker tries again.`,
  launch: null,
  evidence: { reason, command: argv.join(" ") },
});

const recordUnreadable = (path: string): Finding => ({
  code: "counters_not_given_back",
  severity: "error",
  message: `${path} records that DCGM's profiling was paused, but it is damaged or belongs to somebody else, so nothing was run. Run dcgmi profile --resume by hand, then remove the file.`,
  launch: null,
  evidence: { path },
});
