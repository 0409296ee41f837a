import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { insertProfile, profileById } from "../../src/db/profiles.ts";
import { onBothDatabases } from "../helpers/databases.ts";

const OPENER = fileURLToPath(new URL("../helpers/open-database.ts", import.meta.url));
const PROCESSES = 4;
const PROFILE = {
  id: "01a23007-a5e8-7481-a240-6068bf8be8a2",
  schema_version: 1,
  source_kind: "report",
  pool: null,
  workload: null,
  target: "k",
  model: null,
  model_key: null,
  engine: null,
  session: null,
  revision: null,
  fingerprint: "f",
  request: "{}",
  labels: "{}",
  owner_key_id: null,
  created_at_ms: 1_800_000_000_123,
};

await onBothDatabases((database) => {
  it("lets processes that start at once take turns", async () => {
    const settings = await database.settings();
    const children = Array.from({ length: PROCESSES }, () =>
      spawn(process.execPath, ["--import", "tsx", OPENER, JSON.stringify(settings)], {
        stdio: ["pipe", "pipe", "pipe"],
      }),
    );
    // All are loaded before the first one opens.
    await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
    const outputs = children.map(async (child) => {
      let errors = "";
      child.stderr.on("data", (chunk) => {
        errors += chunk;
      });
      child.stdin.end("go\n");
      const [code] = await once(child, "exit");
      return { code, errors };
    });
    expect(await Promise.all(outputs)).toEqual(Array.from({ length: PROCESSES }, () => ({ code: 0, errors: "" })));

    const opened = await database.open(settings);
    const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name`.execute(
      opened.kysely,
    );
    expect(rows.map(({ name }) => name)).toEqual(["0001-initial", "0002-capture"]);
    expect(await opened.kysely.selectFrom("storage_usage").selectAll().execute()).toEqual([
      { kind: "reports", bytes: 0 },
    ]);
    await opened.close();
  });

  it("brings the data of the version before along", async () => {
    const settings = await database.settings();
    const before = await database.open(settings);
    const { kysely } = before;
    await kysely.transaction().execute((db) => insertProfile(db, PROFILE, []));
    // As 0001-initial left it.
    for (const column of ["pool", "workload", "worker_id", "capture", "capture_attempts"])
      await kysely.schema.alterTable("profiles").dropColumn(column).execute();
    for (const table of ["workers", "profile_artifacts"]) await kysely.schema.dropTable(table).execute();
    await sql`delete from schema_migrations where name <> '0001-initial'`.execute(kysely);
    await before.close();

    const after = await database.open(settings);
    expect(await profileById(after.kysely, PROFILE.id)).toMatchObject({
      ...PROFILE,
      state: "queued",
      worker_id: null,
      capture: null,
      capture_attempts: 0,
    });
    await after.close();
  });

  it("keeps an older version away from the data of a newer one", async () => {
    const settings = await database.settings();
    const opened = await database.open(settings);
    await sql`insert into schema_migrations (name, applied_at_ms) values ('9999-later', 1)`.execute(opened.kysely);
    await opened.close();
    await expect(database.open(settings)).rejects.toThrow(
      "written by a newer version of profile-kernel (it has 9999-later)",
    );
  });
});
