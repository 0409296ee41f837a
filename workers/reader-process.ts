import { type ChildProcess, fork, type Serializable } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { z } from "zod";
import type { Failure } from "../src/model/profile.ts";
import { type AnalysisLimits, crashed, outOfMemory, timedOut } from "./analysis-failures.ts";

/** Between two looks at the memory of a process. */
const MEMORY_LOOK_MS = 250;
/** Columns of a timeline and pages of a database lie outside of the heap. */
const RESIDENT_PER_HEAP = 2;
/** Of what the process prints: enough to tell a full heap from a crash. Nothing of it leaves this file. */
const KEPT_OUTPUT = 16_384;

/** One question to a process of its own. */
export interface Question<Answer> {
  /** What it runs. */
  readonly entry: URL;
  /** @param folder Empty, and removed with the process. */
  readonly task: (folder: string) => Serializable;
  readonly answer: z.ZodType<Answer>;
  readonly limits: AnalysisLimits;
  /** What a crash means that came from reading a file. */
  readonly readerCrashed: (signal: NodeJS.Signals) => Failure;
}

/** How it ended; `answer` is what the process said. */
export type Reply<Answer> =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "aborted" };

/**
 * Reads files of others in a process of its own, since a damaged database can end the process that reads it. The process
 * gets no environment and a folder that is removed after it; it is killed when it is too slow, too large or no longer
 * wanted, and ends by itself when this one is gone. Whatever the process does, this resolves.
 */
export async function askProcess<Answer>(question: Question<Answer>, signal: AbortSignal): Promise<Reply<Answer>> {
  if (signal.aborted) return { kind: "aborted" };
  const folder = await mkdtemp(join(tmpdir(), "profile-kernel-analysis-"));
  try {
    const child = fork(question.entry, [], {
      cwd: folder,
      env: {},
      execArgv: [`--max-old-space-size=${question.limits.memoryMb}`],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    return await ask(child, question.task(folder), question, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves once the process is gone. */
function ask<Answer>(
  child: ChildProcess,
  task: Serializable,
  { answer: schema, limits, readerCrashed }: Question<Answer>,
  signal: AbortSignal,
): Promise<Reply<Answer>> {
  const { timeoutMs, memoryMb } = limits;
  return new Promise((resolve) => {
    let reply: Reply<Answer> | null = null;
    let printed = "";
    // What is known first counts; what the killed process does then says nothing.
    const end = (known: Reply<Answer>): void => {
      reply ??= known;
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
    const done = (last: Reply<Answer>): void => {
      clearTimeout(timer);
      clearInterval(look);
      signal.removeEventListener("abort", abort);
      resolve(reply ?? last);
    };

    signal.addEventListener("abort", abort, { once: true });
    // While the folder was made.
    if (signal.aborted) abort();
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-KEPT_OUTPUT);
    });
    child.on("message", (message) => {
      const answer = schema.safeParse(message);
      if (answer.success) end({ kind: "answer", answer: answer.data });
      else fail(crashed("it gave an answer of an unknown form"));
    });
    // Not started, or it ended before it was asked: what `close` says is better where it comes.
    child.on("error", () => {
      if (child.pid === undefined) done({ kind: "failure", failure: crashed("its process could not be started") });
    });
    child.on("close", (code, killedBy) => {
      const failure = isHeapFull(printed) ? outOfMemory(memoryMb) : endedBy(code, killedBy, readerCrashed);
      done({ kind: "failure", failure });
    });
    child.send(task, () => {});
  });
}

/** V8's last words (`FatalProcessOutOfMemory`). */
const isHeapFull = (printed: string): boolean => printed.includes("JavaScript heap out of memory");

/** From the operating system when memory runs out, mostly: no fault of the reader. */
const FROM_OUTSIDE: ReadonlySet<NodeJS.Signals | null> = new Set(["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"]);

function endedBy(
  code: number | null,
  killedBy: NodeJS.Signals | null,
  readerCrashed: (signal: NodeJS.Signals) => Failure,
): Failure {
  if (killedBy === null) return crashed(`its process ended with code ${code} and without an answer`);
  if (!FROM_OUTSIDE.has(killedBy)) return readerCrashed(killedBy);
  return { ...crashed(`its process was ended by ${killedBy}`), hint: KILLED_HINT, retryable: true };
}

const KILLED_HINT =
  "Look into the system's log: mostly its memory ran out. Lower ANALYSIS_CONCURRENCY, then submit again.";

/** Resident memory as Linux tells it (proc(5), VmRSS); 0 where it does not: then only the heap is limited. */
async function residentMb(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

/**
 * The side of the process: answers the one task that is sent to it. Does nothing where no process asks.
 * @param run What fails unexpectedly ends the process, and who asked sees that.
 */
export function answerParent(run: (task: unknown) => Promise<Serializable>): void {
  // Signals that a terminal or service manager sends to all processes: the parent decides what becomes of this one.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  // The parent is gone, and nobody wants the answer.
  process.once("disconnect", () => process.exit());
  process.once("message", async (task) => {
    process.send?.(await run(task));
  });
}
