import type { Database } from "../db/database.ts";
import { listWorkers, putWorker, removeWorkersBefore, type WorkerRow, workerById } from "../db/workers.ts";
import { RefusedError } from "../model/refusal.ts";
import { WORKER_LOST_AFTER_S, type Worker, type WorkerRegistration } from "../model/worker.ts";

/** What the fleet reaches the outside through. */
export interface FleetPorts {
  readonly database: Database;
  /** Unix milliseconds. */
  now(): number;
}

/** Workers that are listed: those heard last. */
const MAX_WORKERS = 1_000;
/** A worker that was not heard for so long is forgotten. */
const FORGOTTEN_AFTER_MS = 7 * 24 * 60 * 60 * 1000;

/** Registration and heartbeat in one. */
export async function heartbeat(ports: FleetPorts, id: string, registration: WorkerRegistration): Promise<Worker> {
  const now = ports.now();
  const row = await putWorker(
    ports.database.kysely,
    { id, pool: registration.pool, registration: JSON.stringify(registration) },
    now,
  );
  return workerView(row, now);
}

/** Workers by id, lost ones included until they are forgotten. */
export async function workersNow(ports: FleetPorts): Promise<Worker[]> {
  const rows = await listWorkers(ports.database.kysely, MAX_WORKERS);
  const now = ports.now();
  return rows.map((row) => workerView(row, now));
}

/** @throws RefusedError `not_found` */
export async function getWorker(ports: FleetPorts, id: string): Promise<Worker> {
  const row = await workerById(ports.database.kysely, id);
  if (row) return workerView(row, ports.now());
  throw new RefusedError("not_found", `There is no worker ${id}.`, {
    hint: "GET /workers lists those that are known.",
  });
}

/** Forgets workers that have been lost for a week. */
export async function forgetOldWorkers(ports: FleetPorts): Promise<void> {
  await removeWorkersBefore(ports.database.kysely, ports.now() - FORGOTTEN_AFTER_MS);
}

/** @param now Unix milliseconds; decides between live and lost. */
function workerView(row: WorkerRow, now: number): Worker {
  const registration = JSON.parse(row.registration) as WorkerRegistration;
  // The clocks of two API processes may differ a little.
  const ageS = Math.max(0, now - row.last_heartbeat_at_ms) / 1000;
  return {
    ...registration,
    id: row.id,
    state: ageS > WORKER_LOST_AFTER_S ? "lost" : registration.stopping ? "stopping" : "live",
    first_seen_at: new Date(row.first_seen_at_ms).toISOString(),
    last_heartbeat_at: new Date(row.last_heartbeat_at_ms).toISOString(),
    heartbeat_age_s: ageS,
  };
}
