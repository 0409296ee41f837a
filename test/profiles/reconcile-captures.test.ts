import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { profileById } from "../../src/db/profiles.ts";
import { heartbeat } from "../../src/fleet/workers.ts";
import { captureQueueName } from "../../src/model/capture.ts";
import { tellCapture } from "../../src/profiles/capture.ts";
import type { ProfilePorts } from "../../src/profiles/ports.ts";
import { reconcile } from "../../src/profiles/reconcile.ts";
import { startQueueWorker } from "../../src/queue/queue-worker.ts";
import type { JobQueue } from "../../src/queue/queues.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { registration } from "../helpers/fake-worker.ts";
import { openTestPorts, type TestPorts } from "../helpers/ports.ts";
import { until } from "../helpers/until.ts";

const RUNNING = { workersAreDead: false, listeningSinceMs: 0 };

await onBothDatabases((database) => {
  let test: TestPorts;
  let queue: JobQueue;
  beforeAll(async () => {
    test = await openTestPorts(database);
    queue = test.queues.capture("default");
  });
  afterAll(() => test.close());
  beforeEach(async () => {
    await test.redis.producer.flushall();
    await test.database.kysely.deleteFrom("profiles").execute();
    await heartbeat(test.ports, "w1", registration());
  });

  const submit = () => test.submit({ source: { kind: "workload", name: "tiny" } });
  const begin = (id: string) => tellCapture(test.ports, id, { type: "begin", worker_id: "w1" });
  const after = (seconds: number): ProfilePorts => ({ ...test.ports, now: () => Date.now() + seconds * 1000 });

  it("queues a capture again that the queue has lost, in the queue of its pool", async () => {
    const [waiting, begun] = [await submit(), await submit()];
    await begin(begun.id);
    expect(await reconcile(test.ports, RUNNING)).toBe(0);
    await test.redis.producer.flushall();
    expect(await reconcile(test.ports, RUNNING)).toBe(2);
    for (const { id } of [waiting, begun]) {
      expect(await queue.presence(id)).toBe("waiting");
      expect(await test.queues.analysis.presence(id)).toBe("missing");
    }
  });

  it("leaves a profile to the worker that works on it, until that is lost", async () => {
    const { id } = await submit();
    await begin(id);
    await heartbeat(test.ports, "w1", registration({ profile_id: id }));
    await test.redis.producer.flushall();
    expect(await reconcile(test.ports, RUNNING)).toBe(0);
    expect(await reconcile(after(25), RUNNING)).toBe(1);
    expect(await queue.presence(id)).toBe("waiting");
  });

  it("queues a capture again that its worker gave back, and takes it from one that is known to be dead", async () => {
    const { id } = await submit();
    await begin(id);
    const name = captureQueueName("default");
    const failing = startQueueWorker(
      test.redis,
      name,
      1,
      async () => Promise.reject(new Error("the worker stops")),
      () => {},
    );
    await until(async () => (await queue.presence(id)) === "ended");
    await failing.close();
    expect(await reconcile(test.ports, RUNNING)).toBe(1);

    let release = (): void => {};
    const holding = startQueueWorker(
      test.redis,
      name,
      1,
      () => new Promise<void>((resolve) => (release = resolve)),
      () => {},
    );
    await until(async () => (await queue.presence(id)) === "active");
    expect(await reconcile(test.ports, RUNNING)).toBe(0);
    const closed = holding.close();
    expect(await reconcile(test.ports, { ...RUNNING, workersAreDead: true })).toBe(1);
    expect(await queue.presence(id)).toBe("waiting");
    release();
    await closed;
  });

  it("fails what waits for a pool that has had no worker for too long", async () => {
    const { id } = await submit();
    await reconcile(after(590), RUNNING);
    expect((await profileById(test.database.kysely, id))?.state).toBe("queued");
    // This process has listened for a minute only: who was not heard before may live.
    await reconcile(after(610), { ...RUNNING, listeningSinceMs: Date.now() + 550_000 });
    expect((await profileById(test.database.kysely, id))?.state).toBe("queued");
    await heartbeat(after(300), "w2", registration());
    await reconcile(after(610), RUNNING);
    expect((await profileById(test.database.kysely, id))?.state).toBe("queued");
    await reconcile(after(910), RUNNING);
    const row = await profileById(test.database.kysely, id);
    expect(row?.state).toBe("failed");
    expect(JSON.parse(row?.failure ?? "")).toMatchObject({
      code: "no_worker",
      message: "Pool default has had no worker for 600 s.",
      evidence: { pool: "default", last_worker: null, lost_workers: [{ id: "w1" }, { id: "w2" }] },
    });
    expect(await queue.presence(id)).toBe("missing");
    expect(await reconcile(after(920), RUNNING)).toBe(0);
  });
});
