import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { type Database, openPostgres, openSqlite } from "../../src/db/database.ts";
import { startPostgres } from "./postgres.ts";

/** One of the databases that the same tests run on. */
export interface TestDatabase {
  readonly engine: "sqlite" | "postgres";
  /** Settings of a service on a database of its own. */
  settings(): Promise<{ DATA_DIR: string; DATABASE_URL?: string }>;
  /** Opens (again) what `settings` made. */
  open(settings: { DATA_DIR: string; DATABASE_URL?: string }): Promise<Database>;
}

const folders: string[] = [];
// Registered first, so it runs last.
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pk-test-"));
  folders.push(folder);
  return folder;
}

/** Declares the same tests on SQLite and on a real Postgres. Call it once per file. */
export async function onBothDatabases(tests: (database: TestDatabase) => void): Promise<void> {
  const postgres = await startPostgres();
  afterAll(() => postgres?.stop());
  const open: TestDatabase["open"] = ({ DATA_DIR, DATABASE_URL }) =>
    DATABASE_URL === undefined ? openSqlite(DATA_DIR) : openPostgres(DATABASE_URL, () => {});
  describe("on SQLite", () =>
    tests({ engine: "sqlite", settings: async () => ({ DATA_DIR: temporaryFolder() }), open }));
  if (!postgres) return;
  describe("on Postgres", () =>
    tests({
      engine: "postgres",
      settings: async () => ({ DATA_DIR: temporaryFolder(), DATABASE_URL: await postgres.createDatabase() }),
      open,
    }));
}
