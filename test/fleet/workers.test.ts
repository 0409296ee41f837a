import { afterAll, beforeAll, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { forgetOldWorkers, getWorker, heartbeat, workersNow } from "../../src/fleet/workers.ts";
import { workloadsOf } from "../../src/fleet/workloads.ts";
import { WORKER_LOST_AFTER_S } from "../../src/model/worker.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { registration, workload } from "../helpers/fake-worker.ts";

const START = 1_800_000_000_000;

await onBothDatabases((test) => {
  let database: Database;
  let now = START;
  const ports = () => ({ database, now: () => now });
  beforeAll(async () => {
    database = await test.open(await test.settings());
  });
  afterAll(() => database.close());

  it("keeps what a worker said last, and when it was first seen", async () => {
    await heartbeat(ports(), "w1", registration());
    now += 5_000;
    const again = await heartbeat(ports(), "w1", registration({ pool: "other", workloads: [] }));
    expect(again).toEqual({
      ...registration({ pool: "other", workloads: [] }),
      id: "w1",
      state: "live",
      first_seen_at: new Date(START).toISOString(),
      last_heartbeat_at: new Date(START + 5_000).toISOString(),
      heartbeat_age_s: 0,
    });
    now += 3_000;
    expect(await getWorker(ports(), "w1")).toEqual({ ...again, heartbeat_age_s: 3 });
    await expect(getWorker(ports(), "w2")).rejects.toMatchObject({ code: "not_found" });
  });

  it("shows a worker that stops beating as lost, and forgets it after a week", async () => {
    await heartbeat(ports(), "w0", registration({ stopping: true }));
    now += WORKER_LOST_AFTER_S * 1000;
    await heartbeat(ports(), "w2", registration());
    expect((await workersNow(ports())).map(({ id, state }) => [id, state])).toEqual([
      ["w0", "stopping"],
      ["w1", "lost"],
      ["w2", "live"],
    ]);
    now += 1;
    expect((await getWorker(ports(), "w0")).state).toBe("lost");
    now += 7 * 24 * 3600 * 1000 - 1;
    await forgetOldWorkers(ports());
    expect((await workersNow(ports())).map(({ id }) => id)).toEqual(["w2"]);
  });

  it("lists each workload with those that declare it", async () => {
    await heartbeat(ports(), "w2", registration({ workloads: [workload("b"), workload("a")] }));
    await heartbeat(ports(), "w3", registration({ pool: "p", workloads: [workload("b", { sha256: "b".repeat(64) })] }));
    await heartbeat(ports(), "w4", registration({ workloads: [workload("b")] }));
    const known = workloadsOf(await workersNow(ports()));
    expect(known.map(({ name, sha256, workers }) => [name, sha256.slice(0, 1), workers.map(({ id }) => id)])).toEqual([
      ["a", "a", ["w2"]],
      ["b", "a", ["w2", "w4"]],
      ["b", "b", ["w3"]],
    ]);
    expect(known[2]?.workers).toEqual([{ id: "w3", pool: "p", state: "live", heartbeat_age_s: 0 }]);
  });
});
