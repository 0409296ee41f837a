import { Queue } from "bullmq";
import { within } from "../base/deadline.ts";
import { type CaptureJob, captureQueueName } from "../model/capture.ts";
import { ANALYSIS_QUEUE, type AnalysisJob } from "../model/jobs.ts";
import type { RedisConnections } from "./connections.ts";
import { CLOSE_LIMIT_MS, KEEP_ENDED, QUEUE_PREFIX } from "./settings.ts";

/** `ended`: kept after it completed or failed. */
export type JobPresence = "missing" | "waiting" | "active" | "ended";

/** The producer's side of a queue. A job's id is its profile's id, so adding twice is adding once. */
export interface JobQueue {
  /** Rejects at once where Redis is away. */
  add(profileId: string): Promise<void>;
  presence(profileId: string): Promise<JobPresence>;
  /** Queues a job that ended once more. */
  addAgain(profileId: string): Promise<void>;
  /** Queues a job once more that a worker holds which is known to be dead. */
  takeFromDeadWorker(profileId: string): Promise<void>;
  /** Takes a job out that nobody works on; one that a worker holds stays. */
  remove(profileId: string): Promise<void>;
  /** Jobs by BullMQ's states. */
  counts(): Promise<Record<string, number>>;
}

/** The queue of analyses, and one of captures for each pool. */
export interface Queues {
  readonly analysis: JobQueue;
  /** Opened when it is first asked for. */
  capture(pool: string): JobQueue;
  close(): Promise<void>;
}

type Payload = AnalysisJob | CaptureJob;

/** Resolves once Redis answers. `onError` is told what goes wrong in the background. */
export async function openQueues(redis: RedisConnections, onError: (error: Error) => void): Promise<Queues> {
  const open: Queue<Payload, void, string>[] = [];
  const captures = new Map<string, JobQueue>();
  const openQueue = (name: string): Queue<Payload, void, string> => {
    const queue = new Queue<Payload, void, string>(name, {
      connection: redis.producer,
      prefix: QUEUE_PREFIX,
      skipWaitingForReady: true,
      defaultJobOptions: { attempts: 1, sizeLimit: 1024, ...KEEP_ENDED },
    });
    queue.on("error", onError);
    open.push(queue);
    return queue;
  };
  const analysis = openQueue(ANALYSIS_QUEUE);
  await analysis.waitUntilReady();
  return {
    analysis: jobQueue(redis, analysis, "analyze"),
    capture(pool) {
      const known = captures.get(pool);
      if (known) return known;
      const opened = jobQueue(redis, openQueue(captureQueueName(pool)), "capture");
      captures.set(pool, opened);
      return opened;
    },
    async close() {
      await Promise.all(open.map((queue) => within(CLOSE_LIMIT_MS, queue.close(), undefined)));
    },
  };
}

function jobQueue(redis: RedisConnections, queue: Queue<Payload, void, string>, jobName: string): JobQueue {
  const add = async (profile_id: string): Promise<void> => {
    await queue.add(jobName, { version: 1, profile_id }, { jobId: profile_id });
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
    async remove(profileId) {
      await queue.remove(profileId);
    },
    counts: () => queue.getJobCounts("waiting", "active", "delayed", "completed", "failed"),
  };
}
