import { afterAll, beforeAll, expect, it } from "vitest";
import { openKeys } from "../../src/access/keys.ts";
import { ANYONE, hasRole, type Principal, ROLES, type Role } from "../../src/access/roles.ts";
import type { Database } from "../../src/db/database.ts";
import { keyById } from "../../src/db/keys.ts";
import { onBothDatabases } from "../helpers/databases.ts";

const KEY = { name: "ci", roles: ["submitter"] as Role[], raw_artifacts: false, expires_at_ms: null };

await onBothDatabases((test) => {
  let database: Database;
  let now = 1_800_000_000_000;
  const clock = () => now;
  beforeAll(async () => {
    database = await test.open(await test.settings());
  });
  afterAll(() => database.close());

  it("is open until the first key, also for those who looked before", async () => {
    const keys = openKeys(database, clock);
    const other = openKeys(database, clock);
    expect(await keys.isOpen()).toBe(true);
    expect(await other.isOpen()).toBe(true);
    await keys.create(KEY);
    expect(await keys.isOpen()).toBe(false);
    now += 1_001;
    expect(await other.isOpen()).toBe(false);
  });

  it("knows a key by its secret, of which only the hash is kept", async () => {
    const keys = openKeys(database, clock);
    const token = await keys.create(KEY);
    expect(token).toMatch(/^pk_[0-9a-f]{12}_[\w-]{43}$/);
    const [, id = "", secret = ""] = /^pk_([^_]+)_(.+)$/.exec(token) ?? [];
    expect(await keys.authenticate(`Bearer ${token}`)).toEqual({
      keyId: id,
      roles: new Set(["submitter"]),
      rawArtifacts: false,
    });
    expect(await keys.authenticate(`bearer ${token}`)).not.toBeNull();
    const row = await keyById(database.kysely, id);
    expect(JSON.stringify(row)).not.toContain(secret);
    expect(row?.last_used_at_ms).toBe(now);
  });

  it("refuses what is not a live key", async () => {
    const keys = openKeys(database, clock);
    const token = await keys.create(KEY);
    const id = token.split("_")[1] ?? "";
    const wrong = [
      undefined,
      "",
      token,
      `Basic ${token}`,
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer pk_${id}_${"a".repeat(43)}`,
      `Bearer pk_000000000000_${"a".repeat(43)}`,
      `Bearer pk_${id}_`,
      `Bearer ${"x".repeat(5000)}`,
    ];
    for (const header of wrong) expect(await keys.authenticate(header)).toBeNull();
    await database.kysely.updateTable("api_keys").set({ revoked_at_ms: now }).where("id", "=", id).execute();
    expect(await keys.authenticate(`Bearer ${token}`)).toBeNull();

    const short = await keys.create({ ...KEY, expires_at_ms: now + 10 });
    expect(await keys.authenticate(`Bearer ${short}`)).not.toBeNull();
    now += 11;
    expect(await keys.authenticate(`Bearer ${short}`)).toBeNull();
    expect(await keys.isOpen()).toBe(false);
  });

  it("takes in a key that was made elsewhere, in the place of the one before, and only in its form", async () => {
    const keys = openKeys(database, clock);
    const key = { ...KEY, name: "deployment", roles: ["admin"] as Role[], raw_artifacts: true };
    const [first, second] = [`pk_deployment1_${"s".repeat(40)}`, `pk_deployment2_${"t".repeat(40)}`];
    const other = await keys.create(KEY);
    await keys.replace(first, key);
    await keys.replace(first, key);
    expect(await keys.authenticate(`Bearer ${first}`)).toMatchObject({ keyId: "deployment1", rawArtifacts: true });
    await keys.replace(second, key);
    expect(await keys.authenticate(`Bearer ${first}`)).toBeNull();
    expect(await keys.authenticate(`Bearer ${second}`)).not.toBeNull();
    expect(await keys.authenticate(`Bearer ${other}`)).not.toBeNull();
    await expect(keys.replace("secret", KEY)).rejects.toThrow("pk_<id>_<secret>");
  });
});

it("gives each role what it includes", () => {
  const may = (...roles: Role[]): string[] => {
    const principal: Principal = { keyId: "k", roles: new Set(roles), rawArtifacts: false };
    return ROLES.filter((role) => hasRole(principal, role));
  };
  expect(may("reader")).toEqual(["reader"]);
  expect(may("submitter")).toEqual(["reader", "submitter"]);
  expect(may("worker")).toEqual(["worker"]);
  expect(may("admin")).toEqual(["reader", "submitter", "admin"]);
  expect(may("worker", "reader")).toEqual(["reader", "worker"]);
  expect(may()).toEqual([]);
  expect(ROLES.every((role) => hasRole(ANYONE, role))).toBe(true);
});
