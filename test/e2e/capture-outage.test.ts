import { afterAll, beforeAll, expect, it } from "vitest";
import { onBothDatabases, temporaryFolder } from "../helpers/databases.ts";
import { fakeWorker, workload } from "../helpers/fake-worker.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { startServiceProcess } from "../helpers/process.ts";
import { type TestRedis, testRedis } from "../helpers/redis.ts";
import { type Client, clientOf, startTestService, untilFinal } from "../helpers/service.ts";

const TINY = fixture(`${H200}tiny-verdict.ncu-rep.gz`);

await onBothDatabases((database) => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = testRedis(temporaryFolder());
    await redis.start();
  });
  afterAll(() => redis.kill());

  const submit = async (call: Client): Promise<string> => {
    const { status, body } = await call("POST", "/profiles", {
      json: { target: "stream_add", source: { kind: "workload", name: "tiny" } },
    });
    if (status !== 202) throw new Error(`submit: ${status} ${JSON.stringify(body)}`);
    return body.id;
  };
  const workerOf = (call: Client) => fakeWorker(call, "w1", { workloads: [workload("tiny")] });

  it("goes on with a capture when the API was killed in the middle of it", async () => {
    const settings = { ...(await database.settings()), REDIS_URL: redis.url, RECONCILE_INTERVAL_S: "1" };
    const first = await startServiceProcess(settings);
    const before = workerOf(clientOf(first.url));
    await before.heartbeat();
    const id = await submit(clientOf(first.url));
    const { attempt } = await before.begin(id);
    await before.heartbeat({ profile_id: id });
    await before.state(id, attempt, "capturing");
    await before.put(id, attempt, "report-1", TINY);
    await first.end("SIGKILL");

    const second = await startServiceProcess(settings);
    const call = clientOf(second.url);
    const after = workerOf(call);
    // It was not asked to begin again, since nothing says that it is lost.
    expect((await after.state(id, attempt, "capturing")).status).toBe(200);
    await after.put(id, attempt, "log", "the log");
    expect((await after.finish(id, attempt)).body.state).toBe("analyzing");
    expect(await untilFinal(call, id)).toMatchObject({ state: "succeeded", capture: { attempts: 1 } });
    expect(await second.end("SIGTERM")).toBe(0);
  }, 120_000);

  it("takes captures in and their outcome while Redis is away, and analyses them when it is back", async () => {
    const service = await startTestService({ ...(await database.settings()), REDIS_URL: redis.url });
    const { call } = service;
    const worker = workerOf(call);
    await worker.heartbeat();
    await redis.kill();
    const id = await submit(call);
    const { attempt } = await worker.begin(id);
    await worker.put(id, attempt, "report-1", TINY);
    expect(await worker.finish(id, attempt)).toMatchObject({ status: 200, body: { state: "analyzing" } });
    await redis.start();
    expect(await untilFinal(call, id)).toMatchObject({ state: "succeeded" });
    await service.close();
  });
});
