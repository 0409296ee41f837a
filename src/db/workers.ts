import type { Kysely, Selectable } from "kysely";
import type { Tables, WorkersTable } from "./tables.ts";

export type WorkerRow = Selectable<WorkersTable>;

/** Writes what a worker says of itself; one that is known keeps the time at which it was first seen. */
export async function putWorker(
  db: Kysely<Tables>,
  worker: Pick<WorkerRow, "id" | "pool" | "registration">,
  now_ms: number,
): Promise<WorkerRow> {
  const { pool, registration } = worker;
  return db
    .insertInto("workers")
    .values({ ...worker, first_seen_at_ms: now_ms, last_heartbeat_at_ms: now_ms })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ pool, registration, last_heartbeat_at_ms: now_ms }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function workerById(db: Kysely<Tables>, id: string): Promise<WorkerRow | null> {
  return (await db.selectFrom("workers").selectAll().where("id", "=", id).executeTakeFirst()) ?? null;
}

/** Workers by id, at most `limit`, the ones that were heard last. */
export async function listWorkers(db: Kysely<Tables>, limit: number): Promise<WorkerRow[]> {
  const rows = await db
    .selectFrom("workers")
    .selectAll()
    .orderBy("last_heartbeat_at_ms", "desc")
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

/** Removes workers that were last heard before then. */
export async function removeWorkersBefore(db: Kysely<Tables>, time_ms: number): Promise<void> {
  await db.deleteFrom("workers").where("last_heartbeat_at_ms", "<", time_ms).execute();
}
