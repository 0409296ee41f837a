import { expect, it } from "vitest";
import { chooseWorkload } from "../../src/fleet/choose.ts";
import type { ProfileRequest, ResolvedRequest } from "../../src/model/profile.ts";
import { RefusedError } from "../../src/model/refusal.ts";
import type { Worker } from "../../src/model/worker.ts";
import { GPU_UUID, registration, workload } from "../helpers/fake-worker.ts";

const T0 = "2026-01-01T00:00:00.000Z";

const worker = (id: string, more: Partial<Worker> = {}): Worker => ({
  ...registration(),
  id,
  state: "live",
  first_seen_at: T0,
  last_heartbeat_at: T0,
  heartbeat_age_s: 0,
  ...more,
});

const request = (more: Partial<ProfileRequest> = {}): ResolvedRequest => ({
  target: "k",
  model: "DeepSeek V3",
  engine: "vllm",
  concurrency: 1,
  top_n: 10,
  rank: 0,
  objective: "bottleneck",
  ...(more as object),
});
const named = (name: string, more: Partial<ProfileRequest> = {}): ResolvedRequest => ({
  ...request({ source: { kind: "workload", name }, ...more }),
  model: more.model ?? null,
  engine: null,
});
const command = (): ResolvedRequest => request({ source: { kind: "command", argv: ["./a.out"] } });

function refusal(of: ResolvedRequest, workers: readonly Worker[]) {
  try {
    chooseWorkload(of, workers);
  } catch (error) {
    if (error instanceof RefusedError) {
      const { code, message, details } = error;
      return { code, message, pointer: details.errors?.[0]?.pointer, detail: details.errors?.[0]?.detail };
    }
    throw error;
  }
  throw new Error("it was not refused");
}

const chosen = (of: ResolvedRequest, workers: readonly Worker[]): string => {
  const { pool, workload } = chooseWorkload(of, workers);
  return `${pool}/${workload?.name ?? "command"}`;
};

it("takes the workload that a live worker declares for model and engine, however the model is spelled", () => {
  const workers = [worker("w1", { workloads: [workload("other", { model: "Qwen3" }), workload("tiny")] })];
  expect(chosen(request(), workers)).toBe("default/tiny");
  expect(chosen(request({ model: "deepseek-ai/deepseek_v3" }), workers)).toBe("default/tiny");
  const alias = [worker("w1", { workloads: [workload("k2", { model: "x", aliases: ["Kimi K2.6", "DeepSeek-V3"] })] })];
  expect(chosen(request(), alias)).toBe("default/k2");
});

it("takes the first pool by name, then the first workload by name, whatever the order", () => {
  const workers = [
    worker("w1", { pool: "b" }),
    worker("w2", { pool: "a", workloads: [workload("z"), workload("m")] }),
    worker("w3", { pool: "a", workloads: [workload("n")] }),
  ];
  expect(chosen(request(), workers)).toBe("a/m");
  expect(chosen(request(), workers.toReversed())).toBe("a/m");
  expect(chosen(request({ pool: "b" }), workers)).toBe("b/tiny");
});

it("takes no work to workers that are stopping or lost", () => {
  const workers = [worker("w1", { pool: "a", state: "stopping" }), worker("w2", { pool: "b" })];
  expect(chosen(request(), workers)).toBe("b/tiny");
});

it("honours the GPU by a part of its name or by uuid, and how many the workload takes", () => {
  const b300 = registration().gpus.map((gpu) => ({ ...gpu, name: "NVIDIA B300", uuid: "GPU-b" }));
  const workers = [worker("w1", { pool: "a", gpus: b300 }), worker("w2", { pool: "b" })];
  expect(chosen(request({ gpu: "h200" }), workers)).toBe("b/tiny");
  expect(chosen(request({ gpu: GPU_UUID }), workers)).toBe("b/tiny");
  expect(refusal(request({ gpu: "L4" }), workers)).toEqual({
    code: "no_live_worker",
    message: "No live worker has enough such GPUs: w1 has NVIDIA B300 and needs 1, w2 has NVIDIA H200 and needs 1.",
    pointer: "/gpu",
    detail: expect.stringMatching(/^given: "L4"; /),
  });
  const large = [worker("w1", { workloads: [workload("large", { gpus: 8 })] })];
  expect(refusal(request(), large)).toMatchObject({ code: "no_live_worker", pointer: "/gpu" });
  expect(refusal(request({ pool: "c" }), workers).message).toBe(
    "No live worker of this pool can run it; pools that can: a, b.",
  );
});

it("takes a workload by name, which says what it runs", () => {
  const workers = [worker("w1", { workloads: [workload("a"), workload("b", { engine: "sglang" })] })];
  expect(chosen(named("b"), workers)).toBe("default/b");
  expect(chosen(named("b", { model: "DeepSeek V3" }), workers)).toBe("default/b");
  expect(refusal(named("b", { model: "Kimi" }), workers)).toMatchObject({
    code: "validation_failed",
    pointer: "/model",
    message: 'The workload b runs "deepseek-ai/DeepSeek-V3".',
  });
});

it("takes a command to a worker that allows it, and to no other", () => {
  const workers = [worker("w1", { pool: "a" }), worker("w2", { pool: "b", allow_commands: true })];
  expect(chosen(command(), workers)).toBe("b/command");
  expect(refusal(command(), [worker("w1")])).toMatchObject({
    code: "no_live_worker",
    message: "No worker takes commands of requests.",
    pointer: "/source/kind",
  });
});

it("names the workloads that exist where there is no such one", () => {
  const workers = [
    worker("w1", { workloads: [workload("a"), workload("b", { model: "Kimi K2.6", engine: "sglang" })] }),
    worker("w2", { state: "lost", workloads: [workload("gone")] }),
  ];
  const known =
    "There is no such workload; known workloads: a (model deepseek-ai/DeepSeek-V3, engine vllm, pool default), b (model Kimi K2.6, engine sglang, pool default).";
  expect(refusal(request({ model: "Llama" }), workers)).toEqual({
    code: "no_such_workload",
    message: known,
    pointer: "/model",
    detail: `given: "Llama" with engine vllm; ${known}`,
  });
  expect(refusal(named("c"), workers)).toMatchObject({ code: "no_such_workload", pointer: "/source/name" });
  const many = Array.from({ length: 30 }, (_, index) => workload(`w${index + 10}`));
  expect(refusal(named("c"), [worker("w1", { workloads: many })]).message).toMatch(/ and 10 more\.$/);
});

it("says who is lost, and since when, where nobody lives that could run it", () => {
  const lost = worker("w1", { state: "lost", heartbeat_age_s: 90 });
  expect(refusal(request(), [lost, worker("w2", { workloads: [] })]).message).toBe(
    `Every worker that could run it is gone: w1 (pool default) is lost since ${T0}.`,
  );
  expect(refusal(named("unknown"), [lost])).toMatchObject({
    code: "no_live_worker",
    message: `No worker with a GPU is connected: w1 (pool default) is lost since ${T0}.`,
  });
  expect(refusal(named("unknown"), [])).toMatchObject({
    code: "no_live_worker",
    message: "No worker with a GPU is connected.",
  });
  expect(refusal(request(), [worker("w1", { state: "stopping" })]).message).toContain("w1 (pool default) is stopping");
});

it("refuses a set of metrics that the pool's ncu does not know", () => {
  const workers = [worker("w1")];
  expect(chosen(request({ ncu: { set: "full" } }), workers)).toBe("default/tiny");
  expect(refusal(request({ ncu: { set: "fulll" } }), workers)).toMatchObject({
    code: "validation_failed",
    pointer: "/ncu/set",
    message: "The ncu of this pool knows no such set; expected one of basic, full.",
  });
  // A worker that could not ask its ncu lists none; then it is ncu that decides.
  const tools = { ...registration().tools, ncu_sets: [] };
  expect(chosen(request({ ncu: { set: "own" } }), [worker("w1", { tools })])).toBe("default/tiny");
});
