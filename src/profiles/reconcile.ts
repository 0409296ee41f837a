import { unfinishedProfiles } from "../db/profiles.ts";
import type { ProfilePorts } from "./ports.ts";

const PAGE = 200;

/**
 * Compares unfinished rows with the queue and queues again what has no job: the queue may lose, the rows may not. Safe
 * to run at any time and in several processes: a job is named after its profile, and an attempt that was taken over
 * cannot finish.
 * @param workersAreDead true only at the start of a process that has queue and database for itself: then a job that is
 * held is held by a process that is gone.
 * @returns how many jobs were queued.
 */
export async function reconcile(ports: ProfilePorts, workersAreDead: boolean): Promise<number> {
  let queued = 0;
  let afterId: string | null = null;
  for (;;) {
    const rows: { id: string }[] = await unfinishedProfiles(ports.database.kysely, afterId, PAGE);
    const changes = await Promise.all(rows.map(({ id }) => ensureJob(ports, id, workersAreDead)));
    queued += changes.filter(Boolean).length;
    if (rows.length < PAGE) return queued;
    afterId = rows.at(-1)?.id ?? null;
  }
}

async function ensureJob({ queue }: ProfilePorts, id: string, workersAreDead: boolean): Promise<boolean> {
  const presence = await queue.presence(id);
  if (presence === "missing") await queue.add(id);
  else if (presence === "ended") await queue.addAgain(id);
  else if (presence === "active" && workersAreDead) await queue.takeFromDeadWorker(id);
  else return false;
  return true;
}

export interface Reconciler {
  /** Never rejects: what fails is tried again by the timer. */
  run(workersAreDead: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Runs the reconciler by a timer and on demand, never twice at a time. */
export function startReconciler(ports: ProfilePorts, intervalMs: number): Reconciler {
  let running: Promise<void> | null = null;
  let closed = false;
  const run = (workersAreDead: boolean): Promise<void> => {
    if (closed) return Promise.resolve();
    running ??= reconcile(ports, workersAreDead)
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
