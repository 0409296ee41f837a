import { type Job, Worker } from "bullmq";
import { within } from "../base/deadline.ts";
import type { RedisConnections } from "./connections.ts";
import { CLOSE_LIMIT_MS, KEEP_ENDED, QUEUE_PREFIX } from "./settings.ts";

export interface QueueWorker {
  /** Takes no more jobs; resolves when those running have ended. */
  close(): Promise<void>;
}

/**
 * Takes jobs of a queue, `concurrency` at a time. Locks are short, so that the work of a process that died is taken up
 * by another one within seconds; BullMQ renews them in the background for as long as the event loop turns.
 * @param process gets the payload as it came; where it rejects the job has failed, and the reconciler queues it again if
 * its profile has not ended.
 */
export function startQueueWorker(
  redis: RedisConnections,
  queueName: string,
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
  const worker = new Worker<unknown, void, string>(queueName, take, {
    connection: redis.consumer(),
    prefix: QUEUE_PREFIX,
    concurrency,
    lockDuration: 10_000,
    stalledInterval: 5_000,
    // How often a profile may be taken up again is counted in its row, which outlives the queue.
    maxStalledCount: 1_000,
    runRetryDelay: 1_000,
    ...KEEP_ENDED,
  });
  worker.on("error", onError);
  worker.on("failed", (_job, error) => onError(error));
  return {
    async close() {
      // Forced where Redis is away: BullMQ would wait for it, and no job is lost by that, rows are the truth.
      const closing = worker.close(!redis.isUp()).catch(onError);
      await Promise.allSettled(running);
      await within(CLOSE_LIMIT_MS, closing, undefined);
      // One that Redis had handed out while this began to close.
      await Promise.allSettled(running);
    },
  };
}
