import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { anyKey, keyById, putKey } from "../../src/db/keys.ts";
import { changeState, countByState, insertProfile } from "../../src/db/profiles.ts";
import { addStoredReportBytes, insertReport, storedReportBytes } from "../../src/db/reports.ts";
import { onBothDatabases } from "../helpers/databases.ts";

const ID = "01a23007-a5e8-7481-a240-6068bf8be8a2";

const profile = (id: string) => ({
  id,
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
  request: '{"b":1,"a":2}',
  labels: "{}",
  owner_key_id: null,
  created_at_ms: 1_800_000_000_123,
});

await onBothDatabases((test) => {
  let database: Database;
  beforeAll(async () => {
    database = await test.open(await test.settings());
  });
  afterAll(() => database.close());

  it("keeps a row as it was written: order of keys, milliseconds", async () => {
    const { kysely } = database;
    await kysely.transaction().execute((db) => insertProfile(db, profile(ID), []));
    const row = await kysely.selectFrom("profiles").selectAll().where("id", "=", ID).executeTakeFirstOrThrow();
    expect(row).toMatchObject({
      ...profile(ID),
      state: "queued",
      last_event: 1,
      attempt: 0,
      updated_at_ms: 1_800_000_000_123,
    });
    expect(await countByState(kysely)).toEqual([{ state: "queued", count: 1 }]);
  });

  it("numbers events without gaps when many change a profile at once", async () => {
    const { kysely } = database;
    const change = (fail: boolean) =>
      kysely.transaction().execute(async (db) => {
        await changeState(db, { id: ID, from: ["queued", "analyzing"], to: "analyzing", now_ms: 1 });
        // A transaction that fails takes its number back.
        if (fail) throw new Error("rolled back");
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 60 }, (_, index) => change(index % 3 === 0)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(40);
    for (const table of ["events", "outbox"] as const) {
      const rows = await kysely.selectFrom(table).select("seq").where("profile_id", "=", ID).orderBy("seq").execute();
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
    }
  });

  it("never leaves a final state", async () => {
    const { kysely } = database;
    const to = async (state: "canceled" | "analyzing" | "succeeded") =>
      kysely
        .transaction()
        .execute((db) =>
          changeState(db, { id: ID, from: ["queued", "analyzing", "canceled", "succeeded"], to: state, now_ms: 2 }),
        );
    expect(await to("canceled")).toMatchObject({ state: "canceled", last_event: 42 });
    expect(await to("analyzing")).toBeNull();
    expect(await to("succeeded")).toBeNull();
  });

  it("lets transactions follow one another, whole", async () => {
    const { kysely } = database;
    await Promise.all(
      Array.from({ length: 30 }, () =>
        kysely.transaction().execute(async (db) => {
          const before = await addStoredReportBytes(db, 1);
          // What another transaction did in between would show here.
          expect(await addStoredReportBytes(db, 0)).toBe(before);
        }),
      ),
    );
    expect(await storedReportBytes(kysely)).toBe(30);
  });

  it("refuses a second report with the same hash, and references to nothing", async () => {
    const { kysely } = database;
    const report = {
      id: ID,
      sha256: "a".repeat(64),
      bytes: 2 ** 40,
      format: "ncu-rep",
      compression: "none",
      storage_key: "k",
      owner_key_id: null,
      created_at_ms: 1,
    };
    await insertReport(kysely, report);
    await expect(insertReport(kysely, { ...report, id: "01a23007-a5e8-7481-a240-6068bf8be8a3" })).rejects.toThrow();
    expect((await kysely.selectFrom("reports").selectAll().executeTakeFirstOrThrow()).bytes).toBe(2 ** 40);
    await expect(
      kysely
        .insertInto("profile_reports")
        .values({ profile_id: ID, position: 0, report_id: "01a23007-a5e8-7481-a240-6068bf8be8a4" })
        .execute(),
    ).rejects.toThrow();
  });

  it("replaces a key with the same id", async () => {
    const { kysely } = database;
    expect(await anyKey(kysely)).toBe(false);
    const key = {
      id: "k1",
      secret_sha256: "a",
      name: "n",
      roles: "[]",
      raw_artifacts: 0,
      created_at_ms: 1,
      expires_at_ms: null,
      revoked_at_ms: null,
      last_used_at_ms: null,
    };
    await putKey(kysely, key);
    await putKey(kysely, { ...key, secret_sha256: "b", created_at_ms: 5 });
    expect(await keyById(kysely, "k1")).toEqual({ ...key, secret_sha256: "b" });
    expect(await anyKey(kysely)).toBe(true);
  });

  it("answers again after a failed statement and a failed transaction", async () => {
    const { kysely } = database;
    await expect(sql`select * from no_such_table`.execute(kysely)).rejects.toThrow();
    await expect(
      kysely.transaction().execute(async (db) => sql`select * from no_such_table`.execute(db)),
    ).rejects.toThrow();
    expect((await sql<{ one: number }>`select 1 as one`.execute(kysely)).rows).toEqual([{ one: 1 }]);
  });
});
