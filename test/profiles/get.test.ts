import { afterAll, beforeAll, expect, it } from "vitest";
import { changeState } from "../../src/db/profiles.ts";
import { beginAnalysis } from "../../src/profiles/analysis.ts";
import { cancelProfile } from "../../src/profiles/cancel.ts";
import { waitForProfile } from "../../src/profiles/get.ts";
import { openWakeUps } from "../../src/queue/wake-ups.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { OPERATOR, openTestPorts, type TestPorts } from "../helpers/ports.ts";

/** Longer than any test may take: who returns was woken. */
const LONG_S = 600;
const never = (): AbortSignal => new AbortController().signal;

await onBothDatabases((database) => {
  let test: TestPorts;
  beforeAll(async () => {
    test = await openTestPorts(database);
  });
  afterAll(() => test.close());

  it("returns when the state changes, and at once when it is final", async () => {
    const { id } = await test.submit();
    const waiting = waitForProfile(test.ports, id, LONG_S, never());
    await cancelProfile(test.ports, OPERATOR, id);
    expect(await waiting).toMatchObject({ state: "canceled" });
    expect(await waitForProfile(test.ports, id, LONG_S, never())).toMatchObject({ state: "canceled" });
  });

  it("is told of changes that another process made", async () => {
    const { id } = await test.submit();
    const other = await openWakeUps(test.redis);
    const told = new Promise<void>((resolve) => other.listen(id, resolve));
    await beginAnalysis(test.ports, id);
    await told;
    other.close();
  });

  it("sees a change whose wake-up was lost", async () => {
    const { id } = await test.submit();
    const waiting = waitForProfile(test.ports, id, LONG_S, never());
    await test.database.kysely
      .transaction()
      // A final state, so that it does not matter whether the first look comes before the change or after it.
      .execute((db) => changeState(db, { id, from: ["queued"], to: "canceled", now_ms: Date.now() }));
    expect(await waiting).toMatchObject({ state: "canceled" });
  });

  it("returns after its time, when the client goes and when the service closes", async () => {
    const { id } = await test.submit();
    expect(await waitForProfile(test.ports, id, 0.01, never())).toMatchObject({ state: "queued" });
    const gone = new AbortController();
    const abandoned = waitForProfile(test.ports, id, LONG_S, gone.signal);
    gone.abort();
    expect(await abandoned).toMatchObject({ state: "queued" });
    const closing = { ...test.ports, wakeUps: await openWakeUps(test.redis) };
    const answered = waitForProfile(closing, id, LONG_S, never());
    closing.wakeUps.close();
    expect(await answered).toMatchObject({ state: "queued" });
  });

  it("serves a thousand who wait for the same profile", async () => {
    const { id } = await test.submit();
    const waiting = Array.from({ length: 1000 }, () => waitForProfile(test.ports, id, LONG_S, never()));
    await cancelProfile(test.ports, OPERATOR, id);
    const states = (await Promise.all(waiting)).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(["canceled"]));
  });
});
