import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Kysely, PostgresDialect } from "kysely";
import Libsql from "libsql";
import pg from "pg";
import { migrate } from "./migrate.ts";
import type { Engine } from "./migration.ts";
import { sqliteDialect } from "./sqlite-dialect.ts";
import type { Tables } from "./tables.ts";

/** The open database with the schema of this version. */
export interface Database {
  readonly engine: Engine;
  readonly kysely: Kysely<Tables>;
  close(): Promise<void>;
}

/** What queries run on: the database, or a transaction of it. */
export type Connection = Kysely<Tables>;

/** The database cannot be opened; the message is a sentence for the person who starts the service. */
export class DatabaseUnavailableError extends Error {
  override readonly name = "DatabaseUnavailableError";
}

/** Node tries every address of a name and reports them in one error that has no message of its own. */
function reason(error: unknown): string {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return first instanceof Error ? first.message : String(first);
}

/** Type number of Postgres's `bigint` (pg_type.dat): times and byte counts, all below 2^53. */
const INT8_OID = 20;

/** How long one process waits for another that writes. */
const BUSY_LIMIT_MS = 10_000;
const BUSY_RETRY_MS = 10;

/**
 * Tries again while the file is locked. Where two processes could wait for each other SQLite does not wait at all
 * (sqlite3_busy_handler), and switching a new file to WAL is such a place.
 */
async function untilFree(step: () => void): Promise<void> {
  for (const deadline = performance.now() + BUSY_LIMIT_MS; ; ) {
    try {
      return step();
    } catch (error) {
      const isBusy = error instanceof Error && "code" in error && error.code === "SQLITE_BUSY";
      if (!isBusy || performance.now() > deadline) throw error;
      await sleep(BUSY_RETRY_MS);
    }
  }
}

/**
 * Opens SQLite under `dataDir`, creating and migrating it. WAL with `synchronous=FULL`: a commit is on the disk when it
 * returns.
 */
export async function openSqlite(dataDir: string): Promise<Database> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const libsql = new Libsql(join(dataDir, "profile-kernel.sqlite"));
  // First, so that a second process that migrates at the same moment waits here too.
  libsql.exec(`pragma busy_timeout = ${BUSY_LIMIT_MS}`);
  for (const pragma of ["journal_mode = wal", "synchronous = full", "foreign_keys = on", "trusted_schema = off"]) {
    await untilFree(() => libsql.exec(`pragma ${pragma}`));
  }
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(libsql) });
  return opened("sqlite", kysely);
}

/**
 * Connects to Postgres and migrates it.
 * @param onIdleError is told when the server drops an idle connection; the pool replaces it by itself.
 */
export async function openPostgres(url: string, onIdleError: (error: Error) => void): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    // Counts the time in the queue for a connection too, which is long under load.
    connectionTimeoutMillis: 30_000,
    application_name: "profile-kernel",
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format as "text"),
    },
  });
  pool.on("error", onIdleError);
  // A connection that breaks while it is in use fails its query, and tells of it as an event as well: unheard, that
  // event would end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    (await pool.connect()).release();
  } catch (error) {
    await pool.end();
    throw new DatabaseUnavailableError(
      `Postgres at ${new URL(url).host} cannot be used: ${reason(error)}. Check DATABASE_URL.`,
      { cause: error },
    );
  }
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return opened("postgres", kysely);
}

async function opened(engine: Engine, kysely: Kysely<Tables>): Promise<Database> {
  try {
    await migrate(kysely, engine);
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
  return { engine, kysely, close: () => kysely.destroy() };
}
