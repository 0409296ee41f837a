import type { CreateTableBuilder, Kysely } from "kysely";
import { sql } from "kysely";
import type { Engine, Migration } from "../migration.ts";
import type { Tables } from "../tables.ts";

const required = <T extends { notNull(): T }>(column: T): T => column.notNull();

export const initial: Migration = {
  name: "0001-initial",
  async up(db: Kysely<Tables>, engine: Engine): Promise<void> {
    const id = sql.raw(engine === "postgres" ? "uuid" : "text");
    const serial = sql.raw(engine === "postgres" ? "bigint generated always as identity" : "integer");
    const table = (name: keyof Tables): CreateTableBuilder<string> => db.schema.createTable(name);
    const index = (name: string, on: keyof Tables, columns: string[]) =>
      db.schema.createIndex(name).on(on).columns(columns).execute();

    await table("profiles")
      .addColumn("id", id, (column) => column.primaryKey())
      .addColumn("schema_version", "integer", required)
      .addColumn("state", "text", required)
      .addColumn("last_event", "integer", required)
      .addColumn("source_kind", "text", required)
      .addColumn("target", "text", required)
      .addColumn("model", "text")
      .addColumn("model_key", "text")
      .addColumn("engine", "text")
      .addColumn("session", "text")
      .addColumn("revision", "text")
      .addColumn("fingerprint", "text", required)
      .addColumn("request", "text", required)
      .addColumn("labels", "text", required)
      .addColumn("progress", "text")
      .addColumn("failure", "text")
      .addColumn("attempt", "integer", (column) => column.notNull().defaultTo(0))
      .addColumn("owner_key_id", "text")
      .addColumn("created_at_ms", "bigint", required)
      .addColumn("updated_at_ms", "bigint", required)
      .addColumn("started_at_ms", "bigint")
      .addColumn("finished_at_ms", "bigint")
      .execute();
    await index("profiles_by_time", "profiles", ["created_at_ms", "id"]);
    await index("profiles_by_state", "profiles", ["state", "created_at_ms", "id"]);
    await index("profiles_by_session", "profiles", ["session", "created_at_ms", "id"]);
    await index("profiles_by_fingerprint", "profiles", ["fingerprint", "session"]);

    await table("events")
      .addColumn("profile_id", id, (column) => column.notNull().references("profiles.id").onDelete("cascade"))
      .addColumn("seq", "integer", required)
      .addColumn("type", "text", required)
      .addColumn("data", "text", required)
      .addColumn("created_at_ms", "bigint", required)
      .addPrimaryKeyConstraint("events_key", ["profile_id", "seq"])
      .execute();

    await table("outbox")
      .addColumn("id", serial, (column) => column.primaryKey())
      .addColumn("profile_id", id, required)
      .addColumn("seq", "integer", required)
      .addColumn("created_at_ms", "bigint", required)
      .addColumn("delivered_at_ms", "bigint")
      .addUniqueConstraint("outbox_event", ["profile_id", "seq"])
      .addForeignKeyConstraint("outbox_of_event", ["profile_id", "seq"], "events", ["profile_id", "seq"], (key) =>
        key.onDelete("cascade"),
      )
      .execute();
    await db.schema
      .createIndex("outbox_undelivered")
      .on("outbox")
      .column("id")
      .where(sql<boolean>`delivered_at_ms is null`)
      .execute();

    await table("results")
      .addColumn("profile_id", id, (column) => column.primaryKey().references("profiles.id").onDelete("cascade"))
      .addColumn("schema_version", "integer", required)
      .addColumn("body", "text", required)
      .addColumn("sha256", "text", required)
      .addColumn("created_at_ms", "bigint", required)
      .execute();

    await table("reports")
      .addColumn("id", id, (column) => column.primaryKey())
      .addColumn("sha256", "text", (column) => column.notNull().unique())
      .addColumn("bytes", "bigint", required)
      .addColumn("format", "text", required)
      .addColumn("compression", "text", required)
      .addColumn("storage_key", "text", required)
      .addColumn("owner_key_id", "text")
      .addColumn("created_at_ms", "bigint", required)
      .execute();

    await table("profile_reports")
      .addColumn("profile_id", id, (column) => column.notNull().references("profiles.id").onDelete("cascade"))
      .addColumn("position", "integer", required)
      .addColumn("report_id", id, (column) => column.notNull().references("reports.id"))
      .addPrimaryKeyConstraint("profile_reports_key", ["profile_id", "position"])
      .execute();
    await index("profile_reports_by_report", "profile_reports", ["report_id"]);

    await table("storage_usage")
      .addColumn("kind", "text", (column) => column.primaryKey())
      .addColumn("bytes", "bigint", required)
      .execute();
    await db.insertInto("storage_usage").values({ kind: "reports", bytes: 0 }).execute();

    await table("api_keys")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("secret_sha256", "text", required)
      .addColumn("name", "text", required)
      .addColumn("roles", "text", required)
      .addColumn("raw_artifacts", "integer", required)
      .addColumn("created_at_ms", "bigint", required)
      .addColumn("expires_at_ms", "bigint")
      .addColumn("revoked_at_ms", "bigint")
      .addColumn("last_used_at_ms", "bigint")
      .execute();
  },
};
