import type { Insertable, Kysely, Selectable } from "kysely";
import type { ResultsTable, Tables } from "./tables.ts";

export type ResultRow = Selectable<ResultsTable>;

export async function insertResult(db: Kysely<Tables>, result: Insertable<ResultsTable>): Promise<void> {
  await db.insertInto("results").values(result).execute();
}

export async function resultOfProfile(db: Kysely<Tables>, profileId: string): Promise<ResultRow | null> {
  return (await db.selectFrom("results").selectAll().where("profile_id", "=", profileId).executeTakeFirst()) ?? null;
}
