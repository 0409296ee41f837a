import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AnalysisTask, analysisAnswerSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";
import { type AnalysisLimits, type AnalysisOutcome, crashed, outOfMemory, timedOut } from "./analysis-failures.ts";
import { ANALYSIS_ENTRY } from "./analysis-threads.ts";

/** Between two looks at the memory of a process. */
const MEMORY_LOOK_MS = 250;
/** Columns of a timeline and pages of a database lie outside of the heap. */
const RESIDENT_PER_HEAP = 2;
/** Of what the process prints: enough to tell a full heap from a crash. Nothing of it leaves this file. */
const KEPT_OUTPUT = 16_384;

/**
 * Analyses in a process of its own, since a damaged database can end the process that reads it. The process gets no
 * environment and a folder that is removed after it; it is killed when it is too slow, too large or no longer wanted.
 * Whatever the process does, this resolves.
 */
export async function analyseInProcess(
  task: AnalysisTask,
  limits: AnalysisLimits,
  signal: AbortSignal,
): Promise<AnalysisOutcome> {
  if (signal.aborted) return { kind: "aborted" };
  const folder = await mkdtemp(join(tmpdir(), "profile-kernel-analysis-"));
  try {
    const child = fork(ANALYSIS_ENTRY, [], {
      cwd: folder,
      env: {},
      execArgv: [`--max-old-space-size=${limits.memoryMb}`],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    return await ask(child, { ...task, folder }, limits, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves once the process is gone. */
function ask(
  child: ChildProcess,
  task: AnalysisTask,
  { timeoutMs, memoryMb }: AnalysisLimits,
  signal: AbortSignal,
): Promise<AnalysisOutcome> {
  return new Promise((resolve) => {
    let outcome: AnalysisOutcome | null = null;
    let printed = "";
    // What is known first counts; what the killed process does then says nothing.
    const end = (known: AnalysisOutcome): void => {
      outcome ??= known;
      child.kill("SIGKILL");
    };
    const fail = (failure: Failure): void => end({ kind: "failure", failure });
    const abort = (): void => end({ kind: "aborted" });
    const timer = setTimeout(() => fail(timedOut(timeoutMs)), timeoutMs);
    const look = setInterval(() => {
      residentMb(child.pid).then((mb) => {
        if (mb > memoryMb * RESIDENT_PER_HEAP) fail(outOfMemory(memoryMb));
      });
    }, MEMORY_LOOK_MS);
    const done = (last: AnalysisOutcome): void => {
      clearTimeout(timer);
      clearInterval(look);
      signal.removeEventListener("abort", abort);
      resolve(outcome ?? last);
    };

    signal.addEventListener("abort", abort, { once: true });
    // While the folder was made.
    if (signal.aborted) abort();
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-KEPT_OUTPUT);
    });
    child.on("message", (message) => {
      const answer = analysisAnswerSchema.safeParse(message);
      if (answer.success) end(answer.data);
      else fail(crashed("it gave an answer of an unknown form"));
    });
    // Not started, or it ended before it was asked: what `close` says is better where it comes.
    child.on("error", () => {
      if (child.pid === undefined) done({ kind: "failure", failure: crashed("its process could not be started") });
    });
    child.on("close", (code, killedBy) => {
      const failure = isHeapFull(printed) ? outOfMemory(memoryMb) : endedBy(code, killedBy, task);
      done({ kind: "failure", failure });
    });
    child.send(task, () => {});
  });
}

/** V8's last words (`FatalProcessOutOfMemory`). */
const isHeapFull = (printed: string): boolean => printed.includes("JavaScript heap out of memory");

/** From the operating system when memory runs out, mostly: no fault of the reader. */
const FROM_OUTSIDE: ReadonlySet<NodeJS.Signals | null> = new Set(["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"]);

function endedBy(code: number | null, killedBy: NodeJS.Signals | null, { timelines }: AnalysisTask): Failure {
  if (killedBy === null) return crashed(`its process ended with code ${code} and without an answer`);
  if (FROM_OUTSIDE.has(killedBy)) {
    return { ...crashed(`its process was ended by ${killedBy}`), hint: KILLED_HINT, retryable: true };
  }
  return {
    code: "timeline_unreadable",
    message: `Reading ended the process that read (${killedBy}): a database that is damaged so that SQLite cannot refuse it.`,
    hint: "Check it with `sqlite3 FILE 'PRAGMA integrity_check'`, export it again and upload that.",
    retryable: false,
    evidence: { reason: "reader_crashed", signal: killedBy, timeline_ids: timelines.map(({ id }) => id) },
  };
}

const KILLED_HINT =
  "Look into the system's log: mostly its memory ran out. Lower ANALYSIS_CONCURRENCY, then submit again.";

/** Resident memory as Linux tells it (proc(5), VmRSS); 0 where it does not: then only the heap is limited. */
async function residentMb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}
