import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Database, openSqlite } from "../../src/db/database.ts";
import { temporaryFolder } from "../helpers/databases.ts";

let database: Database;
beforeAll(async () => {
  database = await openSqlite(temporaryFolder());
});
afterAll(() => database.close());

it("refuses a value that would end the process in the driver", async () => {
  await expect(sql`select ${true}`.execute(database.kysely)).rejects.toThrow("cannot bind a value of type boolean");
  await expect(sql`select ${undefined}`.execute(database.kysely)).rejects.toThrow(
    "cannot bind a value of type undefined",
  );
});

it("makes a commit durable: write-ahead log, synchronous", async () => {
  const pragma = async (name: string) =>
    Object.values((await sql.raw(`pragma ${name}`).execute(database.kysely)).rows[0] as object)[0];
  expect(await pragma("journal_mode")).toBe("wal");
  // 2 is FULL (sqlite.org/pragma.html#pragma_synchronous).
  expect(await pragma("synchronous")).toBe(2);
  expect(await pragma("foreign_keys")).toBe(1);
});

it("serves whoever waits for the connection in order", async () => {
  const order: number[] = [];
  const first = database.kysely.transaction().execute(async (db) => {
    await sql`select 1`.execute(db);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(0);
  });
  const rest = [1, 2, 3, 4].map(async (number) => {
    await sql`select ${number}`.execute(database.kysely);
    order.push(number);
  });
  await Promise.all([first, ...rest]);
  expect(order).toEqual([0, 1, 2, 3, 4]);
});
