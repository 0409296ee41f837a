import { Worker } from "node:worker_threads";
import { type AnalysisAnswer, type AnalysisTask, analysisAnswerSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";

export type ThreadOutcome = AnalysisAnswer | { readonly kind: "aborted" };

export interface ThreadLimits {
  readonly timeoutMs: number;
  readonly memoryMb: number;
  /** Ends the thread at once. */
  readonly signal: AbortSignal;
}

/** The built file: beside the bundle, or in dist/ when this runs from source, since a thread starts without a compiler. */
const THREAD = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/analysis-thread.js" : "./analysis-thread.js",
  import.meta.url,
);

/** Runs one task in a thread of its own. Whatever the thread does, this resolves, and the thread is gone by then. */
export async function runAnalysisThread(
  task: AnalysisTask,
  { timeoutMs, memoryMb, signal }: ThreadLimits,
): Promise<ThreadOutcome> {
  if (signal.aborted) return { kind: "aborted" };
  const thread = new Worker(THREAD, {
    workerData: task,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  let stop = (): void => {};
  try {
    return await new Promise<ThreadOutcome>((resolve) => {
      const timer = setTimeout(() => resolve({ kind: "failure", failure: timedOut(timeoutMs) }), timeoutMs);
      const abort = (): void => resolve({ kind: "aborted" });
      signal.addEventListener("abort", abort, { once: true });
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      thread.once("message", (message: unknown) => {
        const answer = analysisAnswerSchema.safeParse(message);
        resolve(
          answer.success ? answer.data : { kind: "failure", failure: crashed("it gave an answer of an unknown form") },
        );
      });
      thread.once("error", (error) => resolve({ kind: "failure", failure: crashed(error.message, memoryMb, error) }));
      thread.once("exit", (code) =>
        resolve({ kind: "failure", failure: crashed(`it ended with code ${code} and without an answer`) }),
      );
    });
  } finally {
    stop();
    await thread.terminate();
  }
}

const timedOut = (timeoutMs: number): Failure => ({
  code: "analysis_timeout",
  message: `The analysis took longer than ${timeoutMs / 1000} s.`,
  hint: "Raise ANALYSIS_TIMEOUT_S, or profile fewer launches.",
  retryable: true,
  evidence: { limit_s: timeoutMs / 1000 },
});

function crashed(reason: string, memoryMb?: number, error?: Error): Failure {
  const outOfMemory = error !== undefined && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return {
    code: "analysis_crashed",
    message: outOfMemory
      ? `The analysis needed more than ${memoryMb} MB of memory.`
      : `The analysis broke down: ${reason}`,
    hint: outOfMemory
      ? "Raise ANALYSIS_MEMORY_MB, or profile fewer launches."
      : "This is a fault of the service: report it, with the file if you may.",
    retryable: outOfMemory,
    evidence: outOfMemory ? { limit_mb: memoryMb } : { reason: reason.slice(0, 500) },
  };
}
