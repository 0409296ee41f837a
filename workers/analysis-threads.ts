import { Worker } from "node:worker_threads";
import { type AnalysisAnswer, type AnalysisTask, analysisAnswerSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";

export type ThreadOutcome = AnalysisAnswer | { readonly kind: "aborted" };

export interface ThreadLimits {
  readonly timeoutMs: number;
  /** JavaScript heap. */
  readonly memoryMb: number;
}

/** The built file: beside the bundle, or in dist/ when this runs from source, since a thread starts without a compiler. */
const THREAD = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/analysis-thread.js" : "./analysis-thread.js",
  import.meta.url,
);

/** A thread is replaced after this many tasks, so that nothing grows in it without end. */
const TASKS_PER_THREAD = 100;

interface Thread {
  readonly worker: Worker;
  tasks: number;
}

/**
 * Threads that analyse, one task at a time each. One that finished its task waits for the next, since starting costs
 * more than most analyses; one that was too slow, too large, broken or no longer wanted is ended.
 */
export class AnalysisThreads {
  readonly #limits: ThreadLimits;
  readonly #idle: Thread[] = [];

  constructor(limits: ThreadLimits) {
    this.#limits = limits;
  }

  /** Whatever the thread does, this resolves. `signal` ends the thread at once. */
  async run(task: AnalysisTask, signal: AbortSignal): Promise<ThreadOutcome> {
    if (signal.aborted) return { kind: "aborted" };
    const thread = this.#idle.pop() ?? this.#start();
    thread.tasks += 1;
    thread.worker.ref();
    const { outcome, healthy } = await ask(thread.worker, task, this.#limits, signal);
    if (healthy && thread.tasks < TASKS_PER_THREAD) {
      thread.worker.unref();
      this.#idle.push(thread);
    } else await thread.worker.terminate();
    return outcome;
  }

  /** Ends the threads that wait. */
  async close(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(({ worker }) => worker.terminate()));
  }

  #start(): Thread {
    const resourceLimits = { maxOldGenerationSizeMb: this.#limits.memoryMb };
    const thread: Thread = { worker: new Worker(THREAD, { env: {}, execArgv: [], resourceLimits }), tasks: 0 };
    // Out of memory while it waits, say: then it waits no longer.
    thread.worker.on("error", () => this.#forget(thread)).on("exit", () => this.#forget(thread));
    return thread;
  }

  #forget(thread: Thread): void {
    const position = this.#idle.indexOf(thread);
    if (position >= 0) this.#idle.splice(position, 1);
  }
}

function ask(
  worker: Worker,
  task: AnalysisTask,
  { timeoutMs, memoryMb }: ThreadLimits,
  signal: AbortSignal,
): Promise<{ outcome: ThreadOutcome; healthy: boolean }> {
  return new Promise((resolve) => {
    const end = (outcome: ThreadOutcome, healthy = false): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      resolve({ outcome, healthy });
    };
    const fail = (failure: Failure): void => end({ kind: "failure", failure });
    const onMessage = (message: unknown): void => {
      const answer = analysisAnswerSchema.safeParse(message);
      if (answer.success) end(answer.data, true);
      else fail(crashed("it gave an answer of an unknown form"));
    };
    const onError = (error: Error): void => fail(isOutOfMemory(error) ? outOfMemory(memoryMb) : crashed(error.message));
    const onExit = (code: number): void => fail(crashed(`it ended with code ${code} and without an answer`));
    const abort = (): void => end({ kind: "aborted" });
    const timer = setTimeout(() => fail(timedOut(timeoutMs)), timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    worker.postMessage(task);
  });
}

const isOutOfMemory = (error: Error): boolean => "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";

const timedOut = (timeoutMs: number): Failure => ({
  code: "analysis_timeout",
  message: `The analysis took longer than ${timeoutMs / 1000} s.`,
  hint: "Raise ANALYSIS_TIMEOUT_S, or profile fewer launches.",
  retryable: true,
  evidence: { limit_s: timeoutMs / 1000 },
});

const outOfMemory = (memoryMb: number): Failure => ({
  code: "analysis_crashed",
  message: `The analysis needed more than ${memoryMb} MB of memory.`,
  hint: "Raise ANALYSIS_MEMORY_MB, or profile fewer launches.",
  retryable: true,
  evidence: { limit_mb: memoryMb },
});

const crashed = (reason: string): Failure => ({
  code: "analysis_crashed",
  message: `The analysis broke down: ${reason.slice(0, 500)}`,
  hint: "This is a fault of the service: report it, with the file if you may.",
  retryable: false,
  evidence: { reason: reason.slice(0, 500) },
});
