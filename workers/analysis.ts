import { ArtifactMissingError } from "../src/artifacts/store.ts";
import type { Config } from "../src/config.ts";
import { ANALYSIS_QUEUE, type AnalysisTask, analysisJobSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";
import { nowAndThen } from "../src/observe/logger.ts";
import type { Metrics } from "../src/observe/metrics.ts";
import {
  type AnalysisAttempt,
  beginAnalysis,
  failAnalysis,
  finishAnalysis,
  isWanted,
  onProfileChange,
} from "../src/profiles/analysis.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import type { RedisConnections } from "../src/queue/connections.ts";
import { startQueueWorker } from "../src/queue/queue-worker.ts";
import type { AnalysisOutcome } from "./analysis-failures.ts";
import { analyseInProcess } from "./analysis-process.ts";
import { AnalysisThreads } from "./analysis-threads.ts";

export interface AnalysisWorker {
  /** Takes no more jobs; running ones go on until they are done or `giveUp` fires, and are then given back. */
  close(giveUp: AbortSignal): Promise<void>;
}

type Limits = Pick<
  Config,
  "ANALYSIS_CONCURRENCY" | "ANALYSIS_TIMEOUT_S" | "ANALYSIS_MEMORY_MB" | "MAX_DECOMPRESSED_BYTES"
>;

/** Takes jobs of queue `analysis`: each profile is read and judged in a thread of its own, with limits; in a process
 * where a timeline is read. */
export function startAnalysisWorker(
  ports: ProfilePorts,
  redis: RedisConnections,
  limits: Limits,
  metrics: Metrics,
): AnalysisWorker {
  const stopping = new AbortController();
  const warn = (error: Error): void => ports.warn("queue analysis", error);
  const perAnalysis = { timeoutMs: limits.ANALYSIS_TIMEOUT_S * 1000, memoryMb: limits.ANALYSIS_MEMORY_MB };
  const threads = new AnalysisThreads(perAnalysis);

  const process = async (data: unknown): Promise<void> => {
    const { profile_id } = analysisJobSchema.parse(data);
    const attempt = await beginAnalysis(ports, profile_id);
    if (!attempt) return;
    const outcome = await analyse(attempt);
    if (outcome.kind === "aborted") {
      if (!stopping.signal.aborted) return;
      throw new Error(`the service stops; the analysis of profile ${profile_id} is given back`);
    }
    if (outcome.kind === "result") {
      if (await finishAnalysis(ports, attempt, outcome.body))
        metrics.profilesEnded.inc({ state: "succeeded", code: "" });
    } else if (await failAnalysis(ports, attempt, outcome.failure)) {
      metrics.profilesEnded.inc({ state: "failed", code: outcome.failure.code });
    }
  };

  const analyse = async (attempt: AnalysisAttempt): Promise<AnalysisOutcome> => {
    const unwanted = new AbortController();
    const stop = onProfileChange(ports, attempt.profileId, () => {
      isWanted(ports, attempt).then((wanted) => wanted || unwanted.abort(), warn);
    });
    const timer = metrics.analysisDuration.startTimer();
    try {
      const task = await taskOf(ports, attempt, limits.MAX_DECOMPRESSED_BYTES);
      const signal = AbortSignal.any([unwanted.signal, stopping.signal]);
      return await (task.timelines.length === 0
        ? threads.run(task, signal)
        : analyseInProcess(task, perAnalysis, signal));
    } catch (error) {
      if (error instanceof ArtifactMissingError) return { kind: "failure", failure: reportMissing(attempt) };
      throw error;
    } finally {
      timer();
      stop();
    }
  };

  const worker = startQueueWorker(redis, ANALYSIS_QUEUE, limits.ANALYSIS_CONCURRENCY, process, nowAndThen(warn));
  return {
    async close(giveUp) {
      const abort = (): void => stopping.abort();
      if (giveUp.aborted) abort();
      else giveUp.addEventListener("abort", abort, { once: true });
      await worker.close();
      await threads.close();
    },
  };
}

async function taskOf(
  { artifacts }: ProfilePorts,
  { request, reports, timelines, capture }: AnalysisAttempt,
  max_decompressed_bytes: number,
): Promise<AnalysisTask> {
  const located = (files: AnalysisAttempt["reports"]) =>
    Promise.all(
      files.map(async ({ id, sha256, storage_key }) => ({ id, sha256, path: await artifacts.localPath(storage_key) })),
    );
  const { target, top_n, window, model } = request;
  return {
    target,
    top_n,
    window: window === undefined ? null : "step" in window ? { step: Number(window.step) } : window,
    max_decompressed_bytes,
    reports: await located(reports),
    timelines: await located(timelines),
    folder: null,
    model,
    capture,
  };
}

const reportMissing = ({ reports, timelines }: AnalysisAttempt): Failure => ({
  code: "report_missing",
  message: "A report or timeline of this profile is no longer in the storage.",
  hint: "Upload it again and submit a new profile.",
  retryable: false,
  evidence: { reports: [...reports, ...timelines].map(({ id, sha256 }) => ({ id, sha256 })) },
});
