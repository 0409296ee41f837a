import { type Kysely, sql, type Transaction } from "kysely";
import type { Engine, Migration } from "./migration.ts";
import { initial } from "./migrations/0001-initial.ts";
import { capture } from "./migrations/0002-capture.ts";
import type { Tables } from "./tables.ts";

const MIGRATIONS: readonly Migration[] = [initial, capture];

/** Any constant does, as long as every process of this project takes the same (`pg_advisory_xact_lock`). */
const MIGRATION_LOCK = 7_305_808_873;

interface MigrationTables {
  schema_migrations: { name: string; applied_at_ms: number };
}

/**
 * Brings the schema to this version, all steps in one transaction. Two processes that start at once take turns: on
 * Postgres by an advisory lock, on SQLite because the transaction begins `immediate`.
 * @throws when the database was written by a newer version: an older one must not write into it.
 */
export async function migrate(db: Kysely<Tables>, engine: Engine): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (engine === "postgres") await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(transaction);
    const log = transaction as unknown as Transaction<MigrationTables>;
    await log.schema
      .createTable("schema_migrations")
      .ifNotExists()
      .addColumn("name", "text", (column) => column.primaryKey())
      .addColumn("applied_at_ms", "bigint", (column) => column.notNull())
      .execute();
    const applied = new Set(
      (await log.selectFrom("schema_migrations").select("name").execute()).map(({ name }) => name),
    );
    const unknown = [...applied].filter((name) => !MIGRATIONS.some((migration) => migration.name === name)).sort();
    if (unknown.length > 0) {
      throw new Error(
        `The database was written by a newer version of profile-kernel (it has ${unknown.join(", ")}). Start that version, or a newer one.`,
      );
    }
    for (const migration of MIGRATIONS) {
      if (applied.has(migration.name)) continue;
      await migration.up(transaction, engine);
      await log.insertInto("schema_migrations").values({ name: migration.name, applied_at_ms: Date.now() }).execute();
    }
  });
}
