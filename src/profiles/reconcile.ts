import { type UnfinishedProfile, unfinishedProfiles } from "../db/profiles.ts";
import { forgetOldWorkers, workersNow } from "../fleet/workers.ts";
import type { Failure } from "../model/profile.ts";
import type { Worker } from "../model/worker.ts";
import { failCapture, IN_CAPTURE } from "./capture.ts";
import { queueOf } from "./job-queue.ts";
import type { ProfilePorts } from "./ports.ts";

const PAGE = 200;

export interface ReconcileOptions {
  /**
   * True only at the start of a process that has queue and database for itself: then a job that is held is held by a
   * process that is gone.
   */
  readonly workersAreDead: boolean;
  /** Unix milliseconds. Before that nobody took heartbeats, so silence until then says nothing about workers. */
  readonly listeningSinceMs: number;
}

/**
 * Compares unfinished rows with the queues and queues again what has no job: a queue may lose, the rows may not. Fails
 * what waits for a pool that has had no worker for too long. Safe to run at any time and in several processes: a job is
 * named after its profile, and an attempt that was taken over cannot finish.
 * @returns how many jobs were queued.
 */
export async function reconcile(ports: ProfilePorts, options: ReconcileOptions): Promise<number> {
  await forgetOldWorkers(ports);
  const workers = await workersNow(ports);
  let queued = 0;
  let afterId: string | null = null;
  for (;;) {
    const rows: UnfinishedProfile[] = await unfinishedProfiles(ports.database.kysely, afterId, PAGE);
    const changes = await Promise.all(rows.map((row) => settle(ports, row, workers, options)));
    queued += changes.filter(Boolean).length;
    if (rows.length < PAGE) return queued;
    afterId = rows.at(-1)?.id ?? null;
  }
}

/** Returns whether a job was queued. */
async function settle(
  ports: ProfilePorts,
  row: UnfinishedProfile,
  workers: readonly Worker[],
  options: ReconcileOptions,
): Promise<boolean> {
  if (row.pool !== null && row.state !== "analyzing" && (await failWithoutWorkers(ports, row, workers, options))) {
    return false;
  }
  const queue = queueOf(ports, row);
  const presence = await queue.presence(row.id);
  if (presence === "active" && options.workersAreDead) await queue.takeFromDeadWorker(row.id);
  else if (presence === "waiting" || presence === "active") return false;
  // Redis lost the job, not the worker: it goes on, and the queue must not give its profile to another one.
  else if (!options.workersAreDead && isAtWork(row, workers)) return false;
  else if (presence === "missing") await queue.add(row.id);
  else await queue.addAgain(row.id);
  return true;
}

/** The worker that began the newest attempt lives, and says that it works on it. */
const isAtWork = ({ id, state, worker_id }: UnfinishedProfile, workers: readonly Worker[]): boolean =>
  IN_CAPTURE.includes(state) &&
  workers.some((worker) => worker.id === worker_id && worker.state !== "lost" && worker.profile_id === id);

async function failWithoutWorkers(
  ports: ProfilePorts,
  row: UnfinishedProfile,
  workers: readonly Worker[],
  { listeningSinceMs }: ReconcileOptions,
): Promise<boolean> {
  const now = ports.now();
  const ofPool = workers.filter(({ pool }) => pool === row.pool);
  const heard = ofPool.map(({ last_heartbeat_at }) => Date.parse(last_heartbeat_at));
  const aloneSince = Math.max(row.created_at_ms, listeningSinceMs, ...heard);
  if (now - aloneSince <= ports.limits.noWorkerTimeoutMs) return false;
  const failure = noWorker(row, ofPool, ports.limits.noWorkerTimeoutMs);
  const failed = await ports.database.kysely
    .transaction()
    .execute((transaction) => failCapture(transaction, { id: row.id }, failure, now));
  if (!failed) return false;
  ports.wakeUps.publish(row.id);
  await Promise.allSettled([queueOf(ports, failed).remove(row.id)]);
  return true;
}

/** Workers that a failure names. */
const NAMED = 20;

const noWorker = ({ pool, worker_id }: UnfinishedProfile, ofPool: readonly Worker[], timeoutMs: number): Failure => ({
  code: "no_worker",
  message: `Pool ${pool} has had no worker for ${timeoutMs / 1000} s.`,
  hint: "Start a worker of this pool (GET /workers shows what became of the others), then submit the profile again.",
  retryable: true,
  evidence: {
    pool,
    last_worker: worker_id,
    lost_workers: ofPool.slice(0, NAMED).map(({ id, last_heartbeat_at }) => ({ id, last_heartbeat_at })),
  },
});

export interface Reconciler {
  /** Never rejects: what fails is tried again by the timer. */
  run(workersAreDead: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Runs the reconciler by a timer and on demand, never twice at a time. */
export function startReconciler(ports: ProfilePorts, intervalMs: number): Reconciler {
  const listeningSinceMs = ports.now();
  let running: Promise<void> | null = null;
  let closed = false;
  const run = (workersAreDead: boolean): Promise<void> => {
    if (closed) return Promise.resolve();
    running ??= reconcile(ports, { workersAreDead, listeningSinceMs })
      .then(
        () => undefined,
        (error) => ports.warn("the reconciler could not compare rows and queue; it tries again", error),
      )
      .finally(() => {
        running = null;
      });
    return running;
  };
  const timer = setInterval(() => void run(false), intervalMs);
  return {
    run,
    async close() {
      closed = true;
      clearInterval(timer);
      await running;
    },
  };
}
