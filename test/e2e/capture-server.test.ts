import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  benchmark,
  type CaptureRig,
  enginePid,
  expectNoFilesLeft,
  expectNoLeaseLeft,
  expectNoProcessLeft,
  expectNothingLeft,
  GPU,
  leasesOf,
  oldNcu,
  server,
  startCaptureRig,
  submitTo,
  untilFailure,
  untilProgress,
  untilVerdict,
  type WorkerProcess,
} from "../helpers/capture.ts";
import { until } from "../helpers/until.ts";

const STAND = { delayMs: 4 };
const NEVER_WARM = { warm_up: { timeout_s: 1.5 } };
const WINDOW = { open: { path: "/start_profile" }, close: { path: "/stop_profile" } };

let rig: CaptureRig;
let worker: WorkerProcess;
const call: CaptureRig["call"] = (...asked) => rig.call(...asked);
const submit = (workload: string, target = "stream_add", more: object = {}) => submitTo(call, workload, target, more);
const nothingLeft = () => expectNothingLeft(call, worker);
/** Waits until the engine is the worker's again: kept warm, for as long as nobody else wants its GPU. */
async function untilIdle(): Promise<number> {
  await until(async () => {
    const [lease] = await leasesOf(call);
    return lease?.preemptible === true;
  });
  const pid = enginePid(worker);
  if (pid === null) throw new Error(`no engine runs: ${worker.log()}`);
  return pid;
}

const WORKLOADS = [
  await server("engine", [], STAND),
  await server("slow-engine", [], { delayMs: 400 }),
  await server("sglang", ["--speaks", "sglang"], STAND, { engine: "sglang", idle_s: 0.3 }),
  await server("compiles", ["--jit-from-request", "13"], STAND),
  await server("never-ready", ["--never-ready"], STAND, NEVER_WARM),
  await server("stuck-counter", ["--stuck-counter"], STAND, NEVER_WARM),
  await server("refuses", ["--refuse-requests"], STAND, NEVER_WARM),
  await server("never-healthy", ["--never-healthy"], STAND, { limits: { start_s: 2 }, health: { timeout_s: 0.3 } }),
  await server("dies-at-start", ["--dies-at-start"], STAND),
  await server("dies-in-warm-up", ["--die-at-request", "5"], STAND),
  await server("per-tool", [], STAND, { warm_engine: "never", window: WINDOW }),
  benchmark("tiny", STAND),
];

beforeAll(async () => {
  rig = await startCaptureRig();
  worker = await rig.startWorker({ workloads: WORKLOADS });
});
afterAll(() => rig.close());

/** Several profiles in one test, on a machine that may do other things. */
const SEVERAL = { timeout: 120_000 };

describe("a warm engine", SEVERAL, () => {
  it("is started and warmed up once, and profiled again and again", async () => {
    const first = await untilVerdict(call, await submit("engine", "stream_add", { concurrency: 8 }));
    expect(first.result).toMatchObject({ roofline: "memory-bound", partial: false });
    expect(first.record).toMatchObject({
      workload_kind: "server",
      engine_session: "warm",
      engine_session_reason: null,
      engine_reused: false,
      concurrency: { requested: 8, in_flight: 1, batch: 8 },
      warm_up: { engine_metric: "vllm:request_success_total" },
      runs: [{ purpose: "shapes" }, { purpose: "survey" }, { purpose: "counters" }],
    });
    for (const { argv } of first.record.runs) expect(argv).toEqual(expect.arrayContaining(["--mode", "attach"]));
    const { warm_up } = first.record;
    expect(warm_up?.completed_by_load).toBeGreaterThan(10);
    // The engine counts prompts, of which each request carries 8.
    expect(warm_up?.completed_by_engine).toBeGreaterThanOrEqual(warm_up?.completed_by_load ?? Number.NaN);
    expect(warm_up?.log_patterns.filter(({ line }) => line !== null).length).toBeGreaterThanOrEqual(2);
    expect(warm_up?.took_s).toBeGreaterThan(0);
    const pid = await untilIdle();

    const second = await untilVerdict(call, await submit("engine", "smem_tile", { concurrency: 8 }));
    expect(second.record).toMatchObject({ engine_session: "warm", engine_reused: true, attempt: 1 });
    expect(second.record.warm_up?.evidence).toMatch(/^warmed up for an earlier profile/);
    expect(second.record.lease?.id).toBe(first.record.lease?.id);
    expect(await untilIdle()).toBe(pid);

    // A batch of another size is another shape: it is sent once before the window.
    const third = await untilVerdict(call, await submit("engine", "pointer_walk", { concurrency: 2 }));
    expect(third.record).toMatchObject({ engine_reused: true, concurrency: { requested: 2, in_flight: 1, batch: 2 } });
    expect(await untilIdle()).toBe(pid);
  });

  it("is left warm by a profile that is canceled, and serves the next one", async () => {
    await untilVerdict(call, await submit("slow-engine"));
    const pid = await untilIdle();
    const id = await submit("slow-engine", "smem_tile");
    await untilProgress(call, id, ({ phase, message }) => phase === "survey" && message !== null);
    const at = performance.now();
    await call("POST", `/profiles/${id}/cancel`);
    expect(await untilIdle()).toBe(pid);
    expect(performance.now() - at).toBeLessThan(5_000);
    await expectNoFilesLeft(worker);
    expect((await call("GET", `/profiles/${id}/log`)).body).toContain("Profiling");
    const { record } = await untilVerdict(call, await submit("slow-engine"));
    expect(record).toMatchObject({ engine_reused: true, engine_session: "warm" });
    expect(await untilIdle()).toBe(pid);
  });

  it("gives way to whoever wants its GPU", async () => {
    await untilVerdict(call, await submit("engine"));
    await untilIdle();
    const { body } = await call("POST", "/leases?wait=20", { json: { gpus: [GPU], holder: "a benchmark" } });
    expect(body.state).toBe("held");
    await expectNoProcessLeft(worker);
    await call("DELETE", `/leases/${body.id}`);
    await nothingLeft();

    await untilVerdict(call, await submit("engine"));
    await untilIdle();
    const { record } = await untilVerdict(call, await submit("tiny"));
    expect(record).toMatchObject({ workload: "tiny", preflight: [{ other_processes: 0 }] });
    await nothingLeft();
  });

  it("of SGLang is warm when it says so, and ends when nobody used it for a while", async () => {
    const { record } = await untilVerdict(call, await submit("sglang"));
    expect(record.warm_up).toMatchObject({ engine_metric: "sglang:num_requests_total" });
    expect(record.warm_up?.log_patterns).toContainEqual({
      pattern: "The server is fired up and ready to roll!",
      line: expect.stringContaining("fired up"),
    });
    await nothingLeft();
  });

  it("that compiles while it is profiled is told about", async () => {
    const { result } = await untilVerdict(call, await submit("compiles"));
    expect(result.findings).toContainEqual(
      expect.objectContaining({
        code: "jit_inside_window",
        severity: "warning",
        evidence: expect.objectContaining({ first: expect.stringContaining("DeepGemm") }),
      }),
    );
  });

  it("that dies while it is profiled ends the profile, and the next one starts another", async () => {
    const id = await submit("slow-engine");
    await untilProgress(call, id, ({ phase }) => phase === "counters");
    process.kill(enginePid(worker) ?? 0, "SIGKILL");
    const failure = await untilFailure(call, id, "engine_died");
    expect(failure.message).toBe("The engine ended while it was profiled.");
    expect(failure.evidence.log_end).toContainEqual(expect.stringContaining("completed request 12"));
    await nothingLeft();
    expect((await untilVerdict(call, await submit("slow-engine"))).record).toMatchObject({ engine_reused: false });
  });
});

describe("an engine that does not become warm", () => {
  afterEach(nothingLeft);
  for (const [workload, code, missing] of [
    ["never-ready", "warmup_failed", /Application startup complete/],
    ["stuck-counter", "warmup_failed", /vllm:request_success_total/],
    ["refuses", "warmup_failed", /out of vocabulary/],
    ["never-healthy", "warmup_failed", /health/],
    ["dies-at-start", "engine_start_failed", /exit code 1/],
    ["dies-in-warm-up", "engine_died", /ended with exit code 7 during its warm-up/],
  ] as const) {
    it(`is told as ${code}: ${workload}`, async () => {
      const failure = await untilFailure(call, await submit(workload), code);
      expect(`${failure.message} ${JSON.stringify(failure.evidence)}`).toMatch(missing);
    });
  }
});

describe("an engine that is started for each tool", () => {
  const expectPerTool = async (id: string, why: string): Promise<void> => {
    const { record, result } = await untilVerdict(call, id);
    expect(record).toMatchObject({ engine_session: "per_tool", engine_session_reason: why, engine_reused: false });
    expect(record.warm_up?.completed_by_load).toBeGreaterThan(10);
    expect(record.runs.map(({ purpose }) => purpose)).toEqual(["survey", "counters"]);
    expect(result.partial).toBe(false);
    await expectNoLeaseLeft(call);
  };

  it("is so because its workload says so", async () => {
    const id = await submit("per-tool");
    await expectPerTool(id, "the workload says warm_engine: never");
    expect((await call("GET", `/profiles/${id}/log`)).body).toContain("profile stopped");
    await nothingLeft();
  });

  it("is so because ncu cannot attach", async () => {
    const workloads = [await server("engine", [], STAND)];
    const old = await rig.startWorker({ id: "old", workloads, env: { WORKER_POOL: "old", NCU: oldNcu() } });
    await expectPerTool(await submit("engine", "stream_add", { pool: "old" }), "this ncu has no --mode attach");
    await expectNothingLeft(call, old);
    expect(await old.end("SIGTERM")).toBe(0);
  });
});

describe("when the worker goes, its warm engine ends", () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`by ${signal}`, async () => {
      const pool = signal.toLowerCase();
      const going = await rig.startWorker({
        id: pool,
        workloads: [await server("engine", [], STAND)],
        env: { WORKER_POOL: pool },
      });
      await untilVerdict(call, await submit("engine", "stream_add", { pool }));
      await until(() => enginePid(going) !== null);
      expect(await going.end(signal)).toBe(signal === "SIGTERM" ? 0 : null);
      await expectNoProcessLeft(going);
      // The lease of one that was killed expires.
      if (signal === "SIGTERM") await expectNoLeaseLeft(call);
    });
  }
});
