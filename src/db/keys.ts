import type { Insertable, Kysely, Selectable } from "kysely";
import type { ApiKeysTable, Tables } from "./tables.ts";

export type ApiKeyRow = Selectable<ApiKeysTable>;

export async function keyById(db: Kysely<Tables>, id: string): Promise<ApiKeyRow | null> {
  return (await db.selectFrom("api_keys").selectAll().where("id", "=", id).executeTakeFirst()) ?? null;
}

/** True as soon as there is any key, also one that has expired or was revoked: losing the last key opens nothing. */
export async function anyKey(db: Kysely<Tables>): Promise<boolean> {
  return (await db.selectFrom("api_keys").select("id").limit(1).executeTakeFirst()) !== undefined;
}

/** Adds a key; one with the same id is replaced. */
export async function putKey(db: Kysely<Tables>, key: Insertable<ApiKeysTable>): Promise<void> {
  const { secret_sha256, name, roles, raw_artifacts, expires_at_ms, revoked_at_ms } = key;
  await db
    .insertInto("api_keys")
    .values(key)
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet({ secret_sha256, name, roles, raw_artifacts, expires_at_ms, revoked_at_ms }),
    )
    .execute();
}

export async function touchKey(db: Kysely<Tables>, id: string, now_ms: number): Promise<void> {
  await db.updateTable("api_keys").set({ last_used_at_ms: now_ms }).where("id", "=", id).execute();
}

/** Revokes the live keys of a name, all but one. */
export async function revokeOthers(db: Kysely<Tables>, name: string, exceptId: string, now_ms: number): Promise<void> {
  await db
    .updateTable("api_keys")
    .set({ revoked_at_ms: now_ms })
    .where("name", "=", name)
    .where("id", "!=", exceptId)
    .where("revoked_at_ms", "is", null)
    .execute();
}
