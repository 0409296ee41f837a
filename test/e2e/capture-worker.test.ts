import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Queue } from "bullmq";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANALYSIS_QUEUE } from "../../src/model/jobs.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { QUEUE_PREFIX } from "../../src/queue/settings.ts";
import {
  benchmark,
  type CaptureRig,
  expectNoLeaseLeft,
  expectNoProcessLeft,
  expectNothingLeft,
  GPU,
  leasesOf,
  processesOf,
  STAND_IN_NCU,
  STAND_IN_SMI,
  server,
  startCaptureRig,
  submitTo,
  untilFailure,
  untilProgress,
  untilState,
  untilVerdict,
  type WorkerProcess,
  workerBundle,
} from "../helpers/capture.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { startTestService } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

let rig: CaptureRig;
const call: CaptureRig["call"] = (...asked) => rig.call(...asked);
const submit = (workload: string, target = "stream_add", more: object = {}) => submitTo(call, workload, target, more);
const cancel = async (id: string): Promise<number> => {
  expect(await call("POST", `/profiles/${id}/cancel`)).toMatchObject({ status: 202, body: { state: "canceled" } });
  return performance.now();
};
const benchmarkLease = async (): Promise<string> => {
  const { body } = await call("POST", "/leases?wait=10", { json: { gpus: [GPU], holder: "a benchmark" } });
  expect(body.state).toBe("held");
  return body.id;
};
const endLease = async (id: string): Promise<void> => {
  expect((await call("DELETE", `/leases/${id}`)).status).toBe(204);
};
const isMeasuring = (launches: number) => (progress: { phase: string; done: number | null }) =>
  progress.phase === "counters" && (progress.done ?? 0) >= launches;

describe("one GPU", () => {
  let first: WorkerProcess;
  let second: WorkerProcess;
  let analyses: Queue;
  let redis: RedisConnections;
  beforeAll(async () => {
    rig = await startCaptureRig();
    const file = {
      workloads: [
        benchmark("tiny", { delayMs: 4 }),
        benchmark("slow", { delayMs: 300 }),
        await server("never-warm", ["--never-ready"], {}, { warm_up: { timeout_s: 60 } }),
      ],
    };
    first = await rig.startWorker({ id: "w1", ...file });
    second = await rig.startWorker({ id: "w2", ...file });
    redis = await connectRedis({ url: rig.redis.url }, () => {});
    analyses = new Queue(ANALYSIS_QUEUE, { connection: redis.producer, prefix: QUEUE_PREFIX });
  });
  afterAll(async () => {
    await analyses.close();
    redis.close();
    await rig.close();
  });
  const nothingLeft = () => expectNothingLeft(call, first, second);

  it("serves one profile after the other, whichever worker takes them", async () => {
    const ids = [await submit("slow"), await submit("slow", "smem_tile")];
    const waits = async (): Promise<boolean> => {
      const leases = await leasesOf(call);
      return leases.some(({ state }) => state === "held") && leases.some(({ state }) => state === "waiting");
    };
    await until(waits);
    const ended = await Promise.all(ids.map((id) => untilVerdict(call, id)));
    expect(ended.map(({ record }) => record.worker_id).sort()).toEqual(["w1", "w2"]);
    const waited = ended.map(({ record }) => record.lease?.waited_s ?? 0);
    const [before, after] = ended.map(({ record }) => record.lease?.token ?? 0);
    expect(before).not.toBe(after);
    // The second began only when the first had let go: it waited for both of its runs.
    const took = ended.map(({ record }) => record.runs.reduce((sum, run) => sum + run.took_s, 0));
    expect(Math.max(...waited)).toBeGreaterThan(Math.min(...took) / 2);
    await nothingLeft();
  });

  it("is left to a benchmark until that ends its lease", async () => {
    const lease = await benchmarkLease();
    const id = await submit("tiny");
    const { progress } = await untilProgress(call, id, ({ phase }) => phase === "lease");
    expect(progress?.message).toBe("waits for 1 lease of its GPUs");
    expect(await leasesOf(call)).toMatchObject([
      { id: lease, state: "held", kind: "benchmark" },
      { state: "waiting", kind: "profile", blocked_by: [lease] },
    ]);
    expect([...processesOf(first), ...processesOf(second)]).toEqual([]);
    await endLease(lease);
    const { record } = await untilVerdict(call, id);
    expect(record.lease?.waited_s).toBeGreaterThan(0);
    await nothingLeft();
  });

  it("is taken away from a capture when its lease is ended by somebody else", async () => {
    const id = await submit("slow");
    await untilProgress(call, id, isMeasuring(1));
    const [held] = await leasesOf(call);
    await endLease(held?.id ?? "");
    const next = await benchmarkLease();
    const { result } = await untilVerdict(call, id);
    expect({ partial: result.partial, first: result.findings[0]?.code }).toEqual({
      partial: true,
      first: "lease_lost",
    });
    await expectNoProcessLeft(first);
    await expectNoProcessLeft(second);
    await endLease(next);

    const early = await submit("slow");
    await untilProgress(call, early, ({ phase }) => phase === "survey");
    await endLease((await leasesOf(call))[0]?.id ?? "");
    expect(await untilFailure(call, early, "lease_lost")).toMatchObject({ retryable: true });
    await nothingLeft();
  });

  describe("when a profile is canceled", () => {
    const LIMIT_MS = 5_000;

    it("in the queue, nothing ever starts", async () => {
      const lease = await benchmarkLease();
      const busy = [await submit("tiny"), await submit("tiny", "smem_tile")];
      for (const id of busy) await untilState(call, id, "waiting_for_gpu");
      const id = await submit("tiny", "pointer_walk");
      expect((await call("GET", `/profiles/${id}`)).body.state).toBe("queued");
      await cancel(id);
      for (const other of busy) await cancel(other);
      await until(async () => (await leasesOf(call)).length === 1);
      await endLease(lease);
      expect((await call("GET", `/profiles/${id}`)).body).toMatchObject({
        state: "canceled",
        capture: { attempts: 0 },
      });
      await nothingLeft();
    });

    it("while it waits for the GPU, its place in the queue is given up", async () => {
      const lease = await benchmarkLease();
      const id = await submit("tiny");
      await untilProgress(call, id, ({ phase }) => phase === "lease");
      const at = await cancel(id);
      await until(async () => (await leasesOf(call)).length === 1);
      expect(performance.now() - at).toBeLessThan(LIMIT_MS);
      await endLease(lease);
      await nothingLeft();
    });

    it("while it warms up, its engine ends", async () => {
      const id = await submit("never-warm");
      await untilState(call, id, "warming_up");
      await until(() =>
        [...processesOf(first), ...processesOf(second)].some(({ command }) => command.includes("engine.mjs")),
      );
      const at = await cancel(id);
      await nothingLeft();
      expect(performance.now() - at).toBeLessThan(LIMIT_MS);
    });

    it("while it captures, what was complete is kept", async () => {
      const id = await submit("slow");
      await untilProgress(call, id, isMeasuring(1));
      const at = await cancel(id);
      await nothingLeft();
      expect(performance.now() - at).toBeLessThan(LIMIT_MS);
      const log = await call("GET", `/profiles/${id}/log`);
      expect(log.body).toContain('Profiling "stream_add"');
      const report = await call("GET", `/profiles/${id}/report`);
      expect(report.body.length).toBeGreaterThan(1000);
      expect((await call("GET", `/profiles/${id}`)).body).toMatchObject({ state: "canceled", failure: null });
    });

    it("while it is analysed, its report is kept", async () => {
      await analyses.pause();
      const id = await submit("tiny");
      await untilState(call, id, "analyzing");
      await cancel(id);
      await analyses.resume();
      expect((await call("GET", `/profiles/${id}/report`)).status).toBe(200);
      expect((await call("GET", `/profiles/${id}`)).body.state).toBe("canceled");
      await nothingLeft();
    });
  });

  // The queue notices after some 15 s that who held a job is gone.
  describe("when a worker goes", { timeout: 120_000 }, () => {
    it("by SIGTERM, what it has in hand is given back and done by another one", async () => {
      const id = await submit("slow");
      const { capture } = await untilProgress(call, id, isMeasuring(1));
      const [going, other] = capture?.worker_id === "w1" ? [first, second] : [second, first];
      expect(await going.end("SIGTERM")).toBe(0);
      await expectNoProcessLeft(going);
      const { record, profile } = await untilVerdict(call, id);
      expect(profile.capture).toMatchObject({ worker_id: other.id, attempts: 2 });
      expect(record).toMatchObject({ worker_id: other.id, attempt: 2 });
      await nothingLeft();
      const file = { workloads: [benchmark("tiny", { delayMs: 4 }), benchmark("slow", { delayMs: 300 })] };
      const again = await rig.startWorker({ id: going.id, ...file });
      [first, second] = [other, again];
    });

    it("by SIGKILL, nothing of it is left, and another one gives the one result", async () => {
      const id = await submit("slow");
      const { capture } = await untilProgress(call, id, isMeasuring(1));
      const [going, other] = capture?.worker_id === first.id ? [first, second] : [second, first];
      await going.end("SIGKILL");
      await expectNoProcessLeft(going);
      const { record, profile, result } = await untilVerdict(call, id);
      expect(profile.capture).toMatchObject({ worker_id: other.id, attempts: 2 });
      expect(record).toMatchObject({ worker_id: other.id, attempt: 2 });
      expect(result.partial).toBe(false);
      await expectNothingLeft(call, other);
      expect((await call("GET", `/profiles/${id}/report?index=1`)).status).toBe(404);
    });
  });
});

describe("while a capture runs", () => {
  let worker: WorkerProcess;
  beforeAll(async () => {
    rig = await startCaptureRig();
    worker = await rig.startWorker({ workloads: [benchmark("slow", { delayMs: 200 })] });
  });
  afterAll(() => rig.close());

  it("the API may be away: what was captured waits for it", async () => {
    const id = await submit("slow");
    await untilProgress(call, id, ({ phase }) => phase === "survey");
    await rig.stopService();
    await until(() => processesOf(worker).length === 0);
    await rig.startService();
    const { record, result, profile } = await untilVerdict(call, id);
    expect(profile.capture?.attempts).toBe(1);
    expect(record.runs.map(({ purpose }) => purpose)).toEqual(["survey", "counters"]);
    expect(result.partial).toBe(false);
    await expectNothingLeft(call, worker);
  });

  it("Redis may be restarted: queue and lease go on", async () => {
    const id = await submit("slow");
    await untilProgress(call, id, ({ phase }) => phase === "survey");
    await rig.redis.kill();
    await rig.redis.start();
    const { result, profile } = await untilVerdict(call, id);
    expect(profile.capture?.attempts).toBe(1);
    expect(result.partial).toBe(false);
    await expectNothingLeft(call, worker);
    await untilVerdict(call, await submit("slow", "smem_tile"));
  });
});

describe("without workers of their own", () => {
  it("one process with everything in it captures too", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "workloads.yaml");
    writeFileSync(file, JSON.stringify({ version: 1, workloads: [benchmark("tiny", { delayMs: 4 })] }));
    const service = await startTestService({
      DATA_DIR: folder,
      WORKLOADS_FILE: file,
      NCU: STAND_IN_NCU,
      NVIDIA_SMI: STAND_IN_SMI,
    });
    try {
      const { body } = await service.call("POST", "/profiles", {
        json: { target: "stream_add", model: "tiny", engine: "none", concurrency: 1 },
      });
      const { result, record } = await untilVerdict(service.call, body.id);
      expect(result.roofline).toBe("memory-bound");
      expect(record).toMatchObject({
        workload: "tiny",
        attempt: 1,
        runs: [{ purpose: "survey" }, { purpose: "counters" }],
      });
      await expectNoLeaseLeft(service.call);
    } finally {
      await service.close();
    }
  });

  it("the folder for a GPU host holds nothing of the service's database, and reads timelines by itself", () => {
    const folder = dirname(workerBundle());
    const texts = readdirSync(folder)
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(folder, name), "utf8"));
    expect(texts.length).toBeGreaterThan(1);
    for (const word of ['"kysely";', "insertInto", "createTable"]) {
      expect(texts.filter((text) => text.includes(word)).length, word).toBe(0);
    }
    const timeline = fixturePath("timelines/tiny-collective.nsys.sqlite.gz");
    const stdout = execFileSync(process.execPath, [workerBundle(), "analyze", timeline, "--json"], {
      encoding: "utf8",
    });
    expect(JSON.parse(stdout)).toMatchObject({ kind: "pipeline", launches: 22 });
  });
});
