import type { Kysely, Selectable } from "kysely";
import type { ProfileArtifactsTable, Tables } from "./tables.ts";

export type ProfileArtifactRow = Selectable<ProfileArtifactsTable>;

/** Writes an artifact of a profile; of two with the same name the newest stays. */
export async function putArtifactRow(db: Kysely<Tables>, artifact: ProfileArtifactRow): Promise<void> {
  const { sha256, bytes, storage_key, created_at_ms } = artifact;
  await db
    .insertInto("profile_artifacts")
    .values(artifact)
    .onConflict((conflict) =>
      conflict.columns(["profile_id", "name"]).doUpdateSet({ sha256, bytes, storage_key, created_at_ms }),
    )
    .execute();
}

export async function artifactOfProfile(
  db: Kysely<Tables>,
  profileId: string,
  name: string,
): Promise<ProfileArtifactRow | null> {
  const row = await db
    .selectFrom("profile_artifacts")
    .selectAll()
    .where("profile_id", "=", profileId)
    .where("name", "=", name)
    .executeTakeFirst();
  return row ?? null;
}

export async function artifactsOfProfile(db: Kysely<Tables>, profileId: string): Promise<ProfileArtifactRow[]> {
  return db.selectFrom("profile_artifacts").selectAll().where("profile_id", "=", profileId).orderBy("name").execute();
}

/** True where these bytes are stored already, as a report or as an artifact: they take no further space. */
export async function isStored(db: Kysely<Tables>, sha256: string): Promise<boolean> {
  for (const table of ["reports", "profile_artifacts"] as const) {
    const found = await db.selectFrom(table).select("sha256").where("sha256", "=", sha256).executeTakeFirst();
    if (found) return true;
  }
  return false;
}
