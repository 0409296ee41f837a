import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { notedPatternsOf, warmPatternsOf } from "../../src/capture/server/engine-defaults.ts";
import { type WarmUpEvidence, type WarmUpOptions, warmUp } from "../../src/capture/server/warm-up.ts";
import { spread } from "../../src/capture/server/warm-up-state.ts";
import { captureRecordSchema } from "../../src/model/capture.ts";
import { type Failure, failureSchema } from "../../src/model/profile.ts";
import { type StandInEngine, serverWorkload, startStandInEngine } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

const NEVER = new AbortController().signal;
const clean: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of clean.splice(0)) await end();
});

const workloadOf = (fields: object = {}) => serverWorkload({ load: { prompt_tokens: 8, output_tokens: 2 }, ...fields });

async function start(workload: ReturnType<typeof workloadOf>, args: string[], env = {}): Promise<StandInEngine> {
  const engine = await startStandInEngine(args, {
    required: warmPatternsOf(workload),
    noted: notedPatternsOf(workload),
    env,
  });
  clean.push(() => engine.end());
  return engine;
}

interface Started {
  readonly engine: StandInEngine;
  warm(more?: Partial<WarmUpOptions>): ReturnType<typeof warmUp>;
}

async function prepare(args: string[], fields: object = {}): Promise<Started> {
  const workload = workloadOf(fields);
  const engine = await start(workload, args);
  return {
    engine,
    warm: (more = {}) =>
      warmUp({
        workload,
        baseUrl: engine.baseUrl,
        load: { inFlight: 1, batch: 4 },
        seed: 7,
        output: engine.output,
        signal: NEVER,
        ended: engine.ended,
        now: () => performance.now(),
        ...more,
      }),
  };
}

async function evidence(warming: ReturnType<typeof warmUp>): Promise<WarmUpEvidence> {
  const result = await warming;
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return captureRecordSchema.shape.warm_up.unwrap().parse(result.value);
}

async function failure(warming: ReturnType<typeof warmUp>): Promise<Failure> {
  const result = await warming;
  if (result.ok) throw new Error("it got warm");
  return failureSchema.parse(result.error);
}

describe("a warm-up", () => {
  it("shows what was seen of a vLLM", async () => {
    const { warm, engine } = await prepare([]);
    const told: string[] = [];
    const seen = await evidence(warm({ onProgress: (completed, needed) => told.push(`${completed}/${needed}`) }));
    expect(seen).toMatchObject({ engine_metric: "vllm:request_success_total", skipped_launches: null });
    expect(seen.completed_by_load).toBeGreaterThanOrEqual(12);
    // vLLM counts prompts.
    expect(seen.completed_by_engine).toBeGreaterThanOrEqual(48);
    expect(seen.took_s).toBeGreaterThan(0);
    expect(seen.log_patterns.map(({ line }) => line)).toEqual([
      expect.stringContaining("init engine (profile, create kv cache, warmup model) took 107.64 seconds"),
      expect.stringContaining("Application startup complete."),
      expect.stringContaining("Graph capturing finished in 8 secs"),
      expect.stringContaining("DeepGemm(fp8_gemm_nt) warmup"),
    ]);
    expect(seen.evidence).toMatch(
      /^health passed; \d+ requests completed; the engine's counter vllm:request_success_total rose by \d+; each of 2 log patterns was seen; the last 3 requests differ by \d+ % in time/,
    );
    expect(told.slice(0, 12)).toEqual(Array.from({ length: 12 }, (_, index) => `${index + 1}/12`));
    expect(engine.log()).toContain("completed request 12 of 4 prompts");
  });

  it("counts from where the engine's counter stood: a second warm-up needs its own requests", async () => {
    const { warm } = await prepare([]);
    const first = await evidence(warm());
    const second = await evidence(warm({ seed: 8 }));
    expect(second.completed_by_engine).toBe((second.completed_by_load ?? 0) * 4);
    expect(first.completed_by_engine).toBe((first.completed_by_load ?? 0) * 4);
  });

  it("shows what was seen of an SGLang, whose health is asked to generate once", async () => {
    const { warm } = await prepare(["--speaks", "sglang"], { engine: "sglang" });
    const seen = await evidence(warm());
    expect(seen).toMatchObject({ engine_metric: "sglang:num_requests_total" });
    expect(seen.completed_by_engine).toBe(seen.completed_by_load);
    expect(seen.log_patterns[0]).toEqual({
      pattern: "The server is fired up and ready to roll!",
      line: "[2026-05-15 08:40:32] The server is fired up and ready to roll!",
    });
  });

  it("goes by its own requests where an engine exposes no counter, and says so", async () => {
    const { warm } = await prepare(["--speaks", "sglang", "--no-metrics"], { engine: "sglang" });
    const seen = await evidence(warm());
    expect(seen).toMatchObject({ completed_by_engine: null, engine_metric: null });
    expect(seen.evidence).toContain("the engine's own counter was not compared: GET /metrics answered 404");
    const plain = await prepare(["--speaks", "none"], { engine: "none" });
    expect((await evidence(plain.warm())).evidence).toContain(
      "not compared: none is known of this engine and none is declared; no log line was waited for (engine none, no log_patterns)",
    );
  });

  it("waits for a log pattern that comes late, and for an engine that is busy first", async () => {
    const { warm } = await prepare(["--speaks", "none", "--ready-at-request", "5", "--busy-answers", "3"], {
      engine: "none",
      warm_up: { log_patterns: ["warmup done"] },
    });
    const { engine, ...late } = await prepare(["--speaks", "none", "--ready-at-request", "5"], {
      engine: "none",
      warm_up: { log_patterns: ["warmup done"] },
    });
    expect((await evidence(warm())).log_patterns).toEqual([{ pattern: "warmup done", line: "warmup done" }]);
    await evidence(late.warm());
    expect(engine.log().indexOf("completed request 4")).toBeLessThan(engine.log().indexOf("warmup done"));
  });

  it("begins when an engine that is held lets go", async () => {
    const folder = await mkdtemp(join(tmpdir(), "gate-"));
    clean.push(() => rm(folder, { recursive: true, force: true }));
    const gate = join(folder, "gate");
    const workload = workloadOf();
    const starting = start(workload, [], { STAND_IN_GATE: gate });
    await writeFile(gate, "");
    const engine = await starting;
    await until(() => engine.log().includes("Application startup complete"));
  });
});

describe("a warm-up that fails", () => {
  const quick = { health: { timeout_s: 0.6 }, warm_up: { timeout_s: 0.8 } };

  it("names a health check that never passes", async () => {
    const { warm } = await prepare(["--never-healthy"], quick);
    const { code, message, evidence, hint } = await failure(warm());
    expect(code).toBe("warmup_failed");
    expect(message).toBe(
      "The engine of workload stand-in did not get warm within 0.6 s: health: GET /health answered 503.",
    );
    expect(hint).toContain("health.timeout_s");
    expect(evidence.log_end).toContainEqual(expect.stringContaining("Application startup complete."));
  });

  it("names the pattern that was not seen", async () => {
    const { warm } = await prepare(["--never-ready"], quick);
    const { code, message, evidence } = await failure(warm());
    expect(code).toBe("warmup_failed");
    expect(message).toBe(
      'The engine of workload stand-in did not get warm within 0.8 s: log: no line matched "Application startup complete\\\\.".',
    );
    expect(evidence).toMatchObject({ completed_requests: 12, needed_requests: 12 });
    expect((evidence.log_end as string[]).length).toBeLessThanOrEqual(40);
  });

  it("names the requests that were not completed", async () => {
    const { warm } = await prepare(["--hang-at-request", "4"], quick);
    expect((await failure(warm())).message).toContain("within 0.8 s: requests: 3 of 12 completed.");
  });

  it("names the counter that did not follow", async () => {
    const { warm } = await prepare(["--stuck-counter"], quick);
    expect((await failure(warm())).message).toContain(
      "the engine's counter vllm:request_success_total rose by 0, expected more than 10",
    );
  });

  it("names a declared counter that is not there", async () => {
    const { warm } = await prepare(["--no-metrics"], {
      ...quick,
      warm_up: { timeout_s: 0.8, completed_metric: ["my_requests_total"] },
    });
    expect((await failure(warm())).message).toContain(
      "the engine's counter my_requests_total was not read: GET /metrics answered 404",
    );
  });

  it("does not wait where the engine refuses the requests themselves", async () => {
    const { warm } = await prepare(["--refuse-requests"]);
    const { code, message, hint } = await failure(warm());
    expect(code).toBe("warmup_failed");
    expect(message).toContain("requests: 0 of 12 completed (10 failed with http_400: ");
    expect(message).toContain("out of vocabulary");
    expect(hint).toContain("load.path");
  });

  it("does not wait where the prompts are longer than the model takes", async () => {
    const { warm } = await prepare(["--max-model-len", "9"]);
    expect((await failure(warm())).message).toContain("more than the model takes (max_model_len 9)");
  });

  it("tells of an engine that died, with the end of its log", async () => {
    const { warm } = await prepare(["--die-at-request", "5"]);
    expect(await failure(warm())).toMatchObject({
      code: "engine_died",
      message: "The engine of workload stand-in ended with exit code 7 during its warm-up.",
      evidence: {
        exit_code: 7,
        completed_requests: 4,
        log_end: expect.arrayContaining([expect.stringContaining("illegal memory access")]),
      },
    });
  });

  it("ends at once when it is canceled", async () => {
    const { warm } = await prepare(["--hang-at-request", "1"]);
    const stop = new AbortController();
    const warming = warm({ signal: stop.signal });
    stop.abort(new Error("canceled"));
    await expect(warming).rejects.toThrow("canceled");
    await expect(warm({ signal: stop.signal })).rejects.toThrow("canceled");
  });
});

describe("the times of the last requests", () => {
  it("are compared over three of them", () => {
    expect(spread([900, 100, 110, 105])).toBeCloseTo(0.1);
    expect(spread([100, 100])).toBeNull();
    expect(spread([100, 300, 100])).toBe(2);
  });
});
