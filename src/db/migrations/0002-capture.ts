import { type Kysely, sql } from "kysely";
import type { Engine, Migration } from "../migration.ts";
import type { Tables } from "../tables.ts";

/** Workers and what they capture: who they are, which profile is where, and the files that they hand in. */
export const capture: Migration = {
  name: "0002-capture",
  async up(db: Kysely<Tables>, engine: Engine): Promise<void> {
    const id = sql.raw(engine === "postgres" ? "uuid" : "text");

    await db.schema
      .createTable("workers")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("pool", "text", (column) => column.notNull())
      .addColumn("registration", "text", (column) => column.notNull())
      .addColumn("first_seen_at_ms", "bigint", (column) => column.notNull())
      .addColumn("last_heartbeat_at_ms", "bigint", (column) => column.notNull())
      .execute();

    await db.schema
      .createTable("profile_artifacts")
      .addColumn("profile_id", id, (column) => column.notNull().references("profiles.id").onDelete("cascade"))
      .addColumn("name", "text", (column) => column.notNull())
      .addColumn("sha256", "text", (column) => column.notNull())
      .addColumn("bytes", "bigint", (column) => column.notNull())
      .addColumn("storage_key", "text", (column) => column.notNull())
      .addColumn("created_at_ms", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("profile_artifacts_key", ["profile_id", "name"])
      .execute();
    await db.schema.createIndex("profile_artifacts_by_hash").on("profile_artifacts").column("sha256").execute();

    // One column a statement: SQLite adds no more at a time.
    for (const name of ["pool", "workload", "worker_id", "capture"]) {
      await db.schema.alterTable("profiles").addColumn(name, "text").execute();
    }
    await db.schema
      .alterTable("profiles")
      .addColumn("capture_attempts", "integer", (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
