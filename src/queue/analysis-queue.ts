import { type Job, Queue, Worker } from "bullmq";
import { within } from "../base/deadline.ts";
import { ANALYSIS_QUEUE, type AnalysisJob } from "../model/jobs.ts";
import type { RedisConnections } from "./connections.ts";

/** `ended`: kept after it completed or failed. */
export type JobPresence = "missing" | "waiting" | "active" | "ended";

/** The producer's side of queue `analysis`. A job's id is its profile's id, so adding twice is adding once. */
export interface AnalysisQueue {
  /** Rejects at once where Redis is away. */
  add(profileId: string): Promise<void>;
  presence(profileId: string): Promise<JobPresence>;
  /** Queues a job that ended once more. */
  addAgain(profileId: string): Promise<void>;
  /** Queues a job once more that a worker holds which is known to be dead. */
  takeFromDeadWorker(profileId: string): Promise<void>;
  /** Jobs by BullMQ's states. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

const PREFIX = "profile-kernel";
const HOUR_S = 3600;
/** Ended jobs say nothing that the database does not: a few are kept for people who look at the queue. */
const KEEP = { removeOnComplete: { age: HOUR_S, count: 1000 }, removeOnFail: { age: 24 * HOUR_S, count: 1000 } };

export async function openAnalysisQueue(
  redis: RedisConnections,
  onError: (error: Error) => void,
): Promise<AnalysisQueue> {
  const queue = new Queue<AnalysisJob, void, string>(ANALYSIS_QUEUE, {
    connection: redis.producer,
    prefix: PREFIX,
    skipWaitingForReady: true,
    defaultJobOptions: { attempts: 1, sizeLimit: 1024, ...KEEP },
  });
  queue.on("error", onError);
  await queue.waitUntilReady();

  const add = async (profile_id: string): Promise<void> => {
    await queue.add("analyze", { version: 1, profile_id }, { jobId: profile_id });
  };
  return {
    add,
    async presence(profileId) {
      const state = await queue.getJobState(profileId);
      if (state === "unknown") return "missing";
      if (state === "completed" || state === "failed") return "ended";
      return state === "active" ? "active" : "waiting";
    },
    async addAgain(profileId) {
      await queue.remove(profileId);
      await add(profileId);
    },
    async takeFromDeadWorker(profileId) {
      await redis.producer.del(queue.toKey(`${profileId}:lock`));
      await queue.remove(profileId);
      await add(profileId);
    },
    counts: () => queue.getJobCounts("waiting", "active", "delayed", "completed", "failed"),
    close: () => within(CLOSE_LIMIT_MS, queue.close(), undefined),
  };
}

export interface QueueWorker {
  /** Takes no more jobs; resolves when those running have ended. */
  close(): Promise<void>;
}

/** BullMQ waits without end for a Redis that goes away while it closes; by then only Redis has yet to be told. */
const CLOSE_LIMIT_MS = 2_000;

/**
 * Takes jobs of queue `analysis`. Locks are short, so that the work of a process that died is taken up by another one
 * within seconds; BullMQ renews them in the background, and nothing here blocks the event loop.
 */
export function startQueueWorker(
  redis: RedisConnections,
  concurrency: number,
  process: (data: unknown) => Promise<void>,
  onError: (error: Error) => void,
): QueueWorker {
  const running = new Set<Promise<void>>();
  const take = async ({ data }: Job<unknown>): Promise<void> => {
    const work = process(data);
    running.add(work);
    await work.finally(() => running.delete(work));
  };
  const worker = new Worker<unknown, void, string>(ANALYSIS_QUEUE, take, {
    connection: redis.consumer(),
    prefix: PREFIX,
    concurrency,
    lockDuration: 10_000,
    stalledInterval: 5_000,
    // How often a profile may be taken up again is counted in its row, which outlives the queue.
    maxStalledCount: 1_000,
    runRetryDelay: 1_000,
    ...KEEP,
  });
  worker.on("error", onError);
  worker.on("failed", (_job, error) => onError(error));
  return {
    async close() {
      // Forced where Redis is away: BullMQ would wait for it, and no job is lost by that, rows are the truth.
      const closing = worker.close(!redis.isUp()).catch(onError);
      await Promise.allSettled(running);
      await within(CLOSE_LIMIT_MS, closing, undefined);
    },
  };
}
