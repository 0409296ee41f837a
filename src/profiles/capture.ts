import type { Connection } from "../db/database.ts";
import { changeColumns, changeState, type ProfileRow, profileById } from "../db/profiles.ts";
import { workerById } from "../db/workers.ts";
import { CAPTURE_STATES, type CaptureEvent, type CaptureOrder } from "../model/capture.ts";
import type { Failure, ProfileState, Progress } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { ProfilePorts } from "./ports.ts";

/** States in which a worker may have a profile in hand. */
export const IN_CAPTURE: readonly ProfileState[] = CAPTURE_STATES;

/** A profile at which its worker was lost this often is not tried again. */
const MAX_CAPTURE_ATTEMPTS = 3;

/** Texts of a worker's progress are cut to this length. */
const MAX_PROGRESS_TEXT = 1_024;

/**
 * What a worker tells about a profile that it works on, or begins to work on.
 * @throws RefusedError `superseded` where the profile has ended or another attempt has it: the worker stops then;
 * `not_found`; `validation_failed` for a worker that is not registered or is of another pool.
 */
export async function tellCapture(ports: ProfilePorts, id: string, event: CaptureEvent): Promise<CaptureOrder> {
  if (event.type === "begin") return begin(ports, id, event.worker_id);
  const row = await holding(ports, id, event);
  const state = event.type === "state" ? event.state : row.state;
  const progress = event.progress === null ? null : JSON.stringify(bounded(event.progress));
  const changed =
    state === row.state
      ? await changeColumns(ports.database.kysely, {
          id,
          state,
          attempt: event.attempt,
          now_ms: ports.now(),
          columns: { progress },
        })
      : await ports.database.kysely.transaction().execute((transaction) =>
          changeState(transaction, {
            id,
            from: IN_CAPTURE,
            to: state,
            attempt: event.attempt,
            now_ms: ports.now(),
            columns: { progress },
          }),
        );
  // It ended, or was begun again, between the two looks.
  if (!changed) return orderOf(await holding(ports, id, event));
  if (state !== row.state) ports.wakeUps.publish(id);
  return orderOf(changed);
}

async function begin(ports: ProfilePorts, id: string, workerId: string): Promise<CaptureOrder> {
  const now = ports.now();
  const begun = await ports.database.kysely.transaction().execute(async (transaction) => {
    const found = await profileById(transaction, id);
    if (!found) throw new RefusedError("not_found", `There is no profile ${id}.`);
    const worker = await workerById(transaction, workerId);
    if (worker?.pool !== found.pool) throw notItsWorker(workerId, worker?.pool ?? null, found);
    if (found.state !== "queued" && !IN_CAPTURE.includes(found.state)) throw superseded(found);
    const { attempt, capture_attempts } = found;
    if (capture_attempts >= MAX_CAPTURE_ATTEMPTS) {
      await failCapture(transaction, found, lostTooOften(found), now);
      return null;
    }
    const columns = {
      attempt: attempt + 1,
      capture_attempts: capture_attempts + 1,
      worker_id: workerId,
      started_at_ms: found.started_at_ms ?? now,
      progress: null,
    };
    return found.state === "waiting_for_gpu"
      ? changeColumns(transaction, { id, state: found.state, attempt, now_ms: now, columns })
      : changeState(transaction, { id, from: [found.state], to: "waiting_for_gpu", attempt, now_ms: now, columns });
  });
  ports.wakeUps.publish(id);
  if (begun) return orderOf(begun);
  const row = await profileById(ports.database.kysely, id);
  if (!row) throw new RefusedError("not_found", `There is no profile ${id}.`);
  throw superseded(row);
}

/**
 * The profile, where this attempt of this worker has it in hand.
 * @throws RefusedError `not_found`, `superseded`
 */
export async function holding(
  ports: ProfilePorts,
  id: string,
  { attempt, worker_id }: { readonly attempt: number; readonly worker_id: string },
): Promise<ProfileRow> {
  const row = await profileById(ports.database.kysely, id);
  if (!row) throw new RefusedError("not_found", `There is no profile ${id}.`);
  if (!IN_CAPTURE.includes(row.state) || row.attempt !== attempt || row.worker_id !== worker_id) throw superseded(row);
  return row;
}

/** Ends a profile that is waiting for its capture or in it. Call it inside a transaction. */
export const failCapture = (
  transaction: Connection,
  row: Pick<ProfileRow, "id"> & { readonly attempt?: number },
  failure: Failure,
  now_ms: number,
  columns: { readonly capture?: string } = {},
): Promise<ProfileRow | null> =>
  changeState(transaction, {
    id: row.id,
    from: ["queued", ...IN_CAPTURE],
    to: "failed",
    ...(row.attempt === undefined ? {} : { attempt: row.attempt }),
    now_ms,
    columns: { ...columns, progress: null, failure: JSON.stringify(failure), finished_at_ms: now_ms },
    data: { code: failure.code },
  });

const orderOf = (row: ProfileRow): CaptureOrder => ({
  attempt: row.attempt,
  request: JSON.parse(row.request),
  workload: row.workload,
  session_id: row.session,
});

/** Says why a worker's word about a profile does not count any more. */
export function superseded(row: ProfileRow): RefusedError {
  const why =
    row.state === "queued"
      ? "The profile is queued: nobody has begun it."
      : IN_CAPTURE.includes(row.state)
        ? `The profile is in the hands of attempt ${row.attempt}, of worker ${row.worker_id}.`
        : `The profile is ${row.state}; nothing more is captured for it.`;
  return new RefusedError("superseded", why, {
    hint: "Stop what runs for this profile and free its GPUs.",
  });
}

function notItsWorker(workerId: string, pool: string | null, row: ProfileRow): RefusedError {
  const detail =
    row.pool === null
      ? "the profile is about uploaded reports; there is nothing to capture"
      : pool === null
        ? "no worker of this id is registered; register it with PUT /workers/{id} first"
        : `this worker is of pool ${pool}, the profile of pool ${row.pool}`;
  return new RefusedError("validation_failed", `The worker cannot begin this profile: ${detail}.`, {
    errors: [
      { pointer: "/worker_id", code: "validation_failed", detail: `given: ${JSON.stringify(workerId)}; ${detail}` },
    ],
  });
}

const lostTooOften = ({ capture_attempts, worker_id, pool }: ProfileRow): Failure => ({
  code: "worker_lost",
  message: `The worker that ran this profile was lost ${capture_attempts} times before it was done.`,
  hint: "Look into the log of the worker and of its host (out of memory, a reset of the GPU, a restart), then submit the profile again.",
  retryable: true,
  evidence: { attempts: capture_attempts, last_worker: worker_id, pool },
});

const bounded = ({ phase, done, total, message }: Progress): Progress => ({
  phase: phase.slice(0, MAX_PROGRESS_TEXT),
  done,
  total,
  message: message?.slice(0, MAX_PROGRESS_TEXT) ?? null,
});
