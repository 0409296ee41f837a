import { afterAll, beforeAll, expect, it } from "vitest";
import { profileById } from "../../src/db/profiles.ts";
import { resultOfProfile } from "../../src/db/results.ts";
import { beginAnalysis, failAnalysis, finishAnalysis, isWanted } from "../../src/profiles/analysis.ts";
import { cancelProfile } from "../../src/profiles/cancel.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { eventsOf, OPERATOR, openTestPorts, type TestPorts } from "../helpers/ports.ts";

const FAILURE = { code: "internal", message: "m", hint: "h", retryable: false, evidence: {} } as const;

await onBothDatabases((database) => {
  let test: TestPorts;
  beforeAll(async () => {
    test = await openTestPorts(database);
  });
  afterAll(() => test.close());

  const begin = async (id: string) => {
    const attempt = await beginAnalysis(test.ports, id);
    if (!attempt) throw new Error("nothing to begin");
    return attempt;
  };

  it("writes an event and an outbox row for each state", async () => {
    const { id } = await test.submit();
    const attempt = await begin(id);
    expect(attempt).toMatchObject({ attempt: 1, request: { target: "k" }, reports: [{ id: test.reportId }] });
    expect(await finishAnalysis(test.ports, attempt, "{}")).toBe(true);
    expect(await eventsOf(test, id)).toEqual(["profile.queued", "profile.analyzing", "profile.succeeded"]);
    expect(await resultOfProfile(test.database.kysely, id)).toMatchObject({ body: "{}" });
    expect(await beginAnalysis(test.ports, id)).toBeNull();
  });

  it("lets only the newest attempt finish", async () => {
    const { id } = await test.submit();
    const [first, second] = [await begin(id), await begin(id)];
    expect(second.attempt).toBe(2);
    expect(await isWanted(test.ports, first)).toBe(false);
    expect(await finishAnalysis(test.ports, first, '"first"')).toBe(false);
    expect(await failAnalysis(test.ports, first, FAILURE)).toBe(false);
    expect(await finishAnalysis(test.ports, second, '"second"')).toBe(true);
    expect((await resultOfProfile(test.database.kysely, id))?.body).toBe('"second"');
    expect(await eventsOf(test, id)).toEqual(["profile.queued", "profile.analyzing", "profile.succeeded"]);
  });

  it("stores nothing for a profile that was canceled meanwhile", async () => {
    const { id } = await test.submit();
    const attempt = await begin(id);
    expect((await cancelProfile(test.ports, OPERATOR, id)).state).toBe("canceled");
    expect(await finishAnalysis(test.ports, attempt, "{}")).toBe(false);
    expect(await resultOfProfile(test.database.kysely, id)).toBeNull();
    expect((await cancelProfile(test.ports, OPERATOR, id)).state).toBe("canceled");
    expect(await eventsOf(test, id)).toEqual(["profile.queued", "profile.analyzing", "profile.canceled"]);
  });

  it("refuses to cancel what has ended, and what belongs to another key", async () => {
    const { id } = await test.submit();
    await expect(cancelProfile(test.ports, { keyId: "other", isAdmin: false }, id)).rejects.toMatchObject({
      code: "role_missing",
    });
    await failAnalysis(test.ports, await begin(id), FAILURE);
    await expect(cancelProfile(test.ports, OPERATOR, id)).rejects.toMatchObject({ code: "not_cancelable" });
    expect(await profileById(test.database.kysely, id)).toMatchObject({
      state: "failed",
      failure: JSON.stringify(FAILURE),
    });
  });

  it("gives up a profile whose analysis never comes to an end", async () => {
    const { id } = await test.submit();
    for (let attempt = 1; attempt <= 5; attempt++)
      expect(await beginAnalysis(test.ports, id)).toMatchObject({ attempt });
    expect(await beginAnalysis(test.ports, id)).toBeNull();
    const row = await profileById(test.database.kysely, id);
    expect(row).toMatchObject({ state: "failed" });
    expect(JSON.parse(row?.failure ?? "")).toMatchObject({ code: "analysis_crashed", evidence: { attempts: 5 } });
  });

  it("ends each profile once, whoever races for it", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await test.submit()).id));
    await Promise.all(
      ids.flatMap((id) => [
        ...[1, 2, 3].map(async () => {
          const attempt = await beginAnalysis(test.ports, id);
          if (!attempt) return;
          await Promise.all([finishAnalysis(test.ports, attempt, "{}"), failAnalysis(test.ports, attempt, FAILURE)]);
        }),
        ...[1, 2].map(() => cancelProfile(test.ports, OPERATOR, id).catch(() => null)),
      ]),
    );
    for (const id of ids) {
      const events = await eventsOf(test, id);
      const final = events.filter((type) => /succeeded|failed|canceled/.test(type));
      expect(final).toHaveLength(1);
      expect(events.at(-1)).toBe(final[0]);
      const result = await resultOfProfile(test.database.kysely, id);
      expect(result !== null).toBe(final[0] === "profile.succeeded");
    }
  });
});
