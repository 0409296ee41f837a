import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { captureJobSchema, captureQueueName } from "../../src/model/capture.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { type QueueWorker, startQueueWorker } from "../../src/queue/queue-worker.ts";
import { onBothDatabases, temporaryFolder } from "../helpers/databases.ts";
import {
  captureRecord,
  digestOf,
  FAILURE,
  type FakeWorker,
  fakeWorker,
  GPU_UUID,
  registration,
  workload,
} from "../helpers/fake-worker.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { type TestRedis, testRedis } from "../helpers/redis.ts";
import { type Client, startTestService, type TestService, untilFinal } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const TINY = fixture(`${H200}tiny-verdict.ncu-rep.gz`);
const SMALL = fixture(`${H200}ranges-kernels.ncu-rep.gz`);
const KILLED = fixture(`${H200}tiny-killed.ncu-rep.gz`);
const UNKNOWN_ID = "01a23007-a5e8-7481-a240-6068bf8be8a2";

await onBothDatabases((database) => {
  let redis: TestRedis;
  let service: TestService;
  let call: Client;
  let worker: FakeWorker;
  let queues: RedisConnections;
  beforeAll(async () => {
    redis = testRedis(temporaryFolder());
    await redis.start();
    service = await startTestService({ ...(await database.settings()), REDIS_URL: redis.url });
    call = service.call;
    queues = await connectRedis({ url: redis.url }, () => {});
    worker = fakeWorker(call, "w1", { workloads: [workload("tiny"), workload("sim", { engine: "sglang" })] });
    expect((await worker.heartbeat()).status).toBe(200);
  });
  afterAll(async () => {
    queues.close();
    await service.close();
    await redis.kill();
  });

  const submit = async (more: object = {}) =>
    call("POST", "/profiles", { json: { target: "stream_add", model: "DeepSeek V3", engine: "vLLM", ...more } });
  /** Takes captures of a pool as a GPU host does: the queue says which, the API says what. */
  const consume = (process: (profileId: string) => Promise<unknown>, pool = "default"): QueueWorker =>
    startQueueWorker(
      queues,
      captureQueueName(pool),
      1,
      async (data) => {
        await process(captureJobSchema.parse(data).profile_id);
      },
      () => {},
    );

  it("takes model and engine to a verdict, through a worker of the pool that declares them", async () => {
    const consumer = consume((id) => worker.capture(id, [TINY]));
    const submitted = await submit({ session: "s1" });
    expect(submitted).toMatchObject({
      status: 202,
      body: { state: "queued", capture: { pool: "default", workload: "tiny", worker_id: null, attempts: 0 } },
    });
    const { id } = submitted.body;
    const profile = await untilFinal(call, id);
    expect(profile).toMatchObject({
      state: "succeeded",
      failure: null,
      last_event: 6,
      capture: { worker_id: "w1", attempts: 1 },
    });
    const { body } = await call("GET", `/profiles/${id}/result`);
    expect(body).toMatchObject({ kind: "kernel", target: "stream_add", roofline: "memory-bound", partial: false });
    expect(body.provenance.capture).toEqual(captureRecord("w1", 1));
    expect(body.provenance.gpus).toEqual([expect.objectContaining({ name: "NVIDIA H200", uuid: GPU_UUID })]);
    const raw = await call("GET", `/profiles/${id}/report`);
    expect(Buffer.from(raw.body).equals(TINY)).toBe(true);
    const log = await call("GET", profile.links.log ?? "");
    expect(log.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(log.body).toBe("==PROF== Profiling\n");
    const tag = log.headers.get("etag") ?? "";
    expect((await call("GET", `/profiles/${id}/log`, { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await call("HEAD", `/profiles/${id}/log`)).headers.get("content-length")).toBe("19");
    await consumer.close();
  });

  it("says what a workload that is named does not run, and takes its own words where none are given", async () => {
    const other = await submit({ source: { kind: "workload", name: "sim" } });
    expect(other).toMatchObject({
      status: 422,
      body: { code: "validation_failed", errors: [{ pointer: "/engine" }] },
    });
    const { status, body } = await call("POST", "/profiles", {
      json: { target: "k", source: { kind: "workload", name: "sim" } },
    });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      request: { model: "deepseek-ai/DeepSeek-V3", engine: "sglang" },
      capture: { workload: "sim" },
    });
    expect((await call("GET", "/profiles?model=deepseek-v3&engine=sglang")).body.items).toHaveLength(1);
    await call("POST", `/profiles/${body.id}/cancel`);
  });

  it("names the workloads that exist where none fits, and what a capture cannot do yet", async () => {
    const unknown = await submit({ model: "Llama 4" });
    expect(unknown).toMatchObject({ status: 422, body: { code: "no_such_workload", errors: [{ pointer: "/model" }] } });
    expect(unknown.body.detail).toBe(
      "There is no such workload; known workloads: sim (model deepseek-ai/DeepSeek-V3, engine sglang, pool default), tiny (model deepseek-ai/DeepSeek-V3, engine vllm, pool default).",
    );
    const pointers = async (more: object): Promise<string[]> =>
      (await submit(more)).body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(await pointers({ source: { kind: "workload", name: "w" } })).toEqual(["/source/name"]);
    expect(await pointers({ source: { kind: "command", argv: ["ls"] } })).toEqual(["/source/kind"]);
    expect(await pointers({ target: "full pipeline", rank: 1 })).toEqual(["/rank"]);
    expect(await pointers({ pool: "nowhere" })).toEqual(["/pool"]);
    expect(await pointers({ gpu: "B300" })).toEqual(["/gpu"]);
    expect(
      await pointers({
        ncu: { set: "--export", sections: ["SpeedOfLight", "-o"], metrics: ["group:memory", "sm__cycles.avg", "a,b"] },
      }),
    ).toEqual(["/ncu/set", "/ncu/sections/1", "/ncu/metrics/2"]);
    expect(await pointers({ ncu: { set: "huge" } })).toEqual(["/ncu/set"]);
    expect(await pointers({ ncu: { metrics: Array.from({ length: 257 }, (_, index) => `m${index}`) } })).toEqual([
      "/ncu/metrics",
    ]);
  });

  it("gives what a run that ended early has, and says so", async () => {
    const { body: submitted } = await submit();
    const { attempt } = await worker.begin(submitted.id);
    await worker.put(submitted.id, attempt, "report-1", KILLED, digestOf(KILLED));
    const finding = {
      code: "other_process_on_gpu",
      severity: "warning",
      message: "m",
      launch: null,
      evidence: {},
    } as const;
    await worker.finish(submitted.id, attempt, { ended: "partial", failure: FAILURE, findings: [finding] });
    expect(await untilFinal(call, submitted.id)).toMatchObject({ state: "succeeded" });
    const { body } = await call("GET", `/profiles/${submitted.id}/result`);
    expect(body.partial).toBe(true);
    expect(body.findings.slice(0, 2)).toEqual([
      {
        code: "application_crashed",
        severity: "error",
        message: `The capture ended early, so launches may be missing: ${FAILURE.message}`,
        launch: null,
        evidence: { signal: "SIGSEGV", log: '["first","last"]' },
      },
      finding,
    ]);

    // Where the launch that was asked for is among those that are missing, the crash is the reason.
    const { body: missing } = await submit({ target: "never_reached" });
    const begun = await worker.begin(missing.id);
    await worker.put(missing.id, begun.attempt, "report-1", KILLED);
    await worker.finish(missing.id, begun.attempt, { ended: "partial", failure: FAILURE });
    expect(await untilFinal(call, missing.id)).toMatchObject({
      state: "failed",
      failure: { code: "application_crashed", evidence: { signal: "SIGSEGV", analysis: "no_matching_kernel" } },
    });
  });

  it("fails as its worker says, once, and keeps the log", async () => {
    const { body: submitted } = await submit();
    const { id } = submitted;
    const { attempt } = await worker.begin(id);
    const waiting = call("GET", `/profiles/${id}?wait=60`);
    const failure = { ...FAILURE, evidence: { log: "x".repeat(100_000) } };
    for (let time = 0; time < 2; time++) {
      const answer = await worker.finish(id, attempt, { ended: "failed", failure, reports: [] });
      expect(answer).toMatchObject({ status: 200, body: { state: "failed", last_event: 3 } });
      expect(JSON.stringify(answer.body.failure.evidence).length).toBeLessThanOrEqual(16 * 1024);
    }
    expect((await waiting).body.state).toBe("failed");
    expect(await call("GET", `/profiles/${id}/log`)).toMatchObject({ status: 404, body: { code: "not_found" } });
    await worker.put(id, attempt, "log", "Segmentation fault");
    expect((await call("GET", `/profiles/${id}/log`)).body).toBe("Segmentation fault");
    const late = await worker.put(id, attempt, "report-1", SMALL);
    expect(late).toMatchObject({ status: 409, body: { code: "superseded" } });
  });

  it("is canceled while a worker has it in hand, which is told at its next word", async () => {
    const { body: submitted } = await submit();
    const { id } = submitted;
    expect(await call("GET", `/profiles/${id}/log`)).toMatchObject({ status: 409, body: { code: "not_ready" } });
    const { attempt } = await worker.begin(id);
    expect((await worker.state(id, attempt, "capturing")).status).toBe(200);
    expect((await call("POST", `/profiles/${id}/cancel`)).body.state).toBe("canceled");
    const told = await worker.tell(id, {
      type: "progress",
      worker_id: "w1",
      attempt,
      lease_token: null,
      progress: { phase: "capturing", done: 1, total: 2, message: null },
    });
    expect(told).toMatchObject({
      status: 409,
      body: { code: "superseded", detail: "The profile is canceled; nothing more is captured for it." },
    });
    expect((await worker.put(id, attempt, "report-1", SMALL)).status).toBe(200);
    expect((await worker.put(id, attempt, "log", "stopped")).status).toBe(200);
    expect((await worker.finish(id, attempt)).status).toBe(409);
    expect((await call("GET", `/profiles/${id}/log`)).body).toBe("stopped");
    expect(Buffer.from((await call("GET", `/profiles/${id}/report`)).body).equals(SMALL)).toBe(true);
    expect((await call("GET", `/profiles/${id}/report?index=1`)).status).toBe(404);
    expect((await call("GET", `/profiles/${id}`)).body.state).toBe("canceled");
  });

  it("is harmless to cancel while its job waits, and the next one is captured", async () => {
    const [first, second] = [(await submit()).body, (await submit()).body];
    await call("POST", `/profiles/${first.id}/cancel`);
    const seen: string[] = [];
    const consumer = consume((id) => {
      seen.push(id);
      return worker.capture(id, [SMALL]);
    });
    await untilFinal(call, second.id);
    expect(seen).not.toContain(first.id);
    await consumer.close();
  });

  it("takes only the bytes that were announced", async () => {
    const { body: submitted } = await submit();
    const { id } = submitted;
    const { attempt } = await worker.begin(id);
    const wrong = await worker.put(id, attempt, "report-1", SMALL, digestOf(TINY));
    expect(wrong).toMatchObject({ status: 400, body: { code: "bad_request" } });
    expect(wrong.body.detail).toContain(createHash("sha256").update(SMALL).digest("hex"));
    expect((await worker.put(id, attempt, "report-1", SMALL, "md5=:AAAA:")).status).toBe(400);
    expect((await worker.put(id, attempt, "report.ncu-rep", SMALL)).status).toBe(404);
    const url = `/profiles/${id}/artifacts/report-1?attempt=${attempt}`;
    expect(await call("PUT", url, { body: SMALL })).toMatchObject({ status: 400, body: { code: "invalid_query" } });
    expect((await worker.finish(id, attempt)).body.errors).toEqual([
      expect.objectContaining({ pointer: "/reports/0", detail: expect.stringContaining("no such file was handed in") }),
    ]);
    for (let time = 0; time < 2; time++) {
      const right = await worker.put(id, attempt, "report-1", SMALL, digestOf(SMALL));
      expect(right).toMatchObject({ status: 200, body: { name: "report-1", bytes: SMALL.length } });
    }
    await call("POST", `/profiles/${id}/cancel`);
  });

  it("shows workers and workloads with their age", async () => {
    await fakeWorker(call, "w2", { pool: "other", workloads: [workload("tiny")] }).heartbeat({ stopping: true });
    const { body } = await call("GET", "/workers");
    expect(body.items.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      ["w1", "live"],
      ["w2", "stopping"],
    ]);
    expect(body.items[1]).toMatchObject({ ...registration({ pool: "other", stopping: true }), id: "w2" });
    expect((await call("GET", "/workers/w2")).body.heartbeat_age_s).toBeLessThan(20);
    expect(await call("GET", "/workers/nobody")).toMatchObject({ status: 404, body: { code: "not_found" } });
    const { body: workloads } = await call("GET", "/workloads");
    expect(
      workloads.items.map(({ name, workers }: { name: string; workers: object[] }) => [name, workers.length]),
    ).toEqual([
      ["sim", 1],
      ["tiny", 2],
    ]);
    const wrong = await call("PUT", "/workers/w3", { json: registration({ pool: "a:b" }) });
    expect(wrong).toMatchObject({ status: 422, body: { errors: [{ pointer: "/pool" }] } });
    expect((await call("PUT", "/workers/a%2Fb", { json: registration() })).status).toBe(404);
  });

  it("answers 404 for profiles that are unknown", async () => {
    expect((await worker.tell(UNKNOWN_ID, { type: "begin", worker_id: "w1" })).status).toBe(404);
    expect((await worker.finish(UNKNOWN_ID, 1)).status).toBe(404);
    expect((await worker.put(UNKNOWN_ID, 1, "log", "x")).status).toBe(404);
    expect((await call("GET", `/profiles/${UNKNOWN_ID}/log`)).status).toBe(404);
  });

  describe("a worker that is lost", () => {
    it("has its profile taken up by another one, and is not listened to when it comes back", async () => {
      const second = fakeWorker(call, "w9", { workloads: [workload("tiny")] });
      await second.heartbeat();
      // It takes the job and falls silent: its connections to Redis are cut, so that nobody renews its lock.
      const dying = await connectRedis({ url: redis.url }, () => {});
      let attempt = 0;
      let release = (): void => {};
      const gone = startQueueWorker(
        dying,
        captureQueueName("default"),
        1,
        async (data) => {
          const { profile_id } = captureJobSchema.parse(data);
          ({ attempt } = await worker.begin(profile_id));
          await worker.state(profile_id, attempt, "capturing");
          await new Promise<void>((resolve) => (release = resolve));
        },
        () => {},
      );
      const { body: submitted } = await submit();
      const { id } = submitted;
      await until(async () => (await call("GET", `/profiles/${id}`)).body.state === "capturing");
      dying.close();
      const consumer = consume((id) => second.capture(id, [TINY]));
      expect(await untilFinal(call, id)).toMatchObject({
        state: "succeeded",
        capture: { worker_id: "w9", attempts: 2 },
      });
      expect(await worker.state(id, attempt, "capturing")).toMatchObject({ status: 409, body: { code: "superseded" } });
      expect((await call("GET", `/profiles/${id}/result`)).body.provenance.capture.worker_id).toBe("w9");
      release();
      await Promise.all([gone.close(), consumer.close()]);
    }, 60_000);
  });
});
