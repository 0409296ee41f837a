import { afterAll, beforeAll, expect, it } from "vitest";
import { ANALYSIS_QUEUE } from "../../src/model/jobs.ts";
import { beginAnalysis, finishAnalysis } from "../../src/profiles/analysis.ts";
import { reconcile } from "../../src/profiles/reconcile.ts";
import { startQueueWorker } from "../../src/queue/queue-worker.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { openTestPorts, type TestPorts } from "../helpers/ports.ts";
import { until } from "../helpers/until.ts";

const RUNNING = { workersAreDead: false, listeningSinceMs: 0 };

await onBothDatabases((database) => {
  let test: TestPorts;
  beforeAll(async () => {
    test = await openTestPorts(database);
  });
  afterAll(() => test.close());

  it("queues again what the queue has lost, and only that", async () => {
    const [queued, analyzing, ended] = [await test.submit(), await test.submit(), await test.submit()];
    await beginAnalysis(test.ports, analyzing.id);
    const attempt = await beginAnalysis(test.ports, ended.id);
    if (attempt) await finishAnalysis(test.ports, attempt, "{}");
    expect(await reconcile(test.ports, RUNNING)).toBe(0);

    await test.redis.producer.flushall();
    expect(await reconcile(test.ports, RUNNING)).toBe(2);
    expect(await test.queues.analysis.presence(queued.id)).toBe("waiting");
    expect(await test.queues.analysis.presence(analyzing.id)).toBe("waiting");
    expect(await test.queues.analysis.presence(ended.id)).toBe("missing");
    expect(await reconcile(test.ports, RUNNING)).toBe(0);
  });

  it("queues again a job that ended without its profile", async () => {
    await test.redis.producer.flushall();
    const { id } = await test.submit();
    const worker = startQueueWorker(
      test.redis,
      ANALYSIS_QUEUE,
      1,
      async () => Promise.reject(new Error("the database was away")),
      () => {},
    );
    await until(async () => (await test.queues.analysis.presence(id)) === "ended");
    await worker.close();
    await reconcile(test.ports, RUNNING);
    expect(await test.queues.analysis.presence(id)).toBe("waiting");
  });

  it("takes a job from a worker that is known to be dead, and from no other", async () => {
    await test.redis.producer.flushall();
    const { id } = await test.submit();
    let release = (): void => {};
    const worker = startQueueWorker(
      test.redis,
      ANALYSIS_QUEUE,
      1,
      () => new Promise<void>((resolve) => (release = resolve)),
      () => {},
    );
    await until(async () => (await test.queues.analysis.presence(id)) === "active");
    await reconcile(test.ports, RUNNING);
    expect(await test.queues.analysis.presence(id)).toBe("active");

    const closed = worker.close();
    await reconcile(test.ports, { ...RUNNING, workersAreDead: true });
    expect(await test.queues.analysis.presence(id)).toBe("waiting");
    release();
    await closed;
  });
});
