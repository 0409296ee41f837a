import { Worker } from "node:worker_threads";
import { type AnalysisTask, analysisAnswerSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";
import { type AnalysisLimits, type AnalysisOutcome, crashed, outOfMemory, timedOut } from "./analysis-failures.ts";

/** The built file: beside the bundle, or in dist/ when this runs from source, since threads and processes start without a compiler. */
export const ANALYSIS_ENTRY = new URL(
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
  readonly #limits: AnalysisLimits;
  readonly #idle: Thread[] = [];

  constructor(limits: AnalysisLimits) {
    this.#limits = limits;
  }

  /** Whatever the thread does, this resolves. `signal` ends the thread at once. */
  async run(task: AnalysisTask, signal: AbortSignal): Promise<AnalysisOutcome> {
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
    const thread: Thread = { worker: new Worker(ANALYSIS_ENTRY, { env: {}, execArgv: [], resourceLimits }), tasks: 0 };
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
  { timeoutMs, memoryMb }: AnalysisLimits,
  signal: AbortSignal,
): Promise<{ outcome: AnalysisOutcome; healthy: boolean }> {
  return new Promise((resolve) => {
    const end = (outcome: AnalysisOutcome, healthy = false): void => {
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
