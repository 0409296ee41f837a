import { createHash } from "node:crypto";
import type { CaptureEvent, CaptureOrder, CaptureRecord, Outcome } from "../../src/model/capture.ts";
import type { Failure } from "../../src/model/profile.ts";
import type { DeclaredWorkload, WorkerRegistration } from "../../src/model/worker.ts";
import type { Answer, Client } from "./service.ts";

export const GPU_UUID = "GPU-11111111-2222-3333-4444-555555555555";

export function workload(name: string, more: Partial<DeclaredWorkload> = {}): DeclaredWorkload {
  return {
    name,
    kind: "benchmark",
    description: null,
    model: "deepseek-ai/DeepSeek-V3",
    aliases: [],
    engine: "vllm",
    gpus: 1,
    sha256: "a".repeat(64),
    ...more,
  };
}

export function registration(more: Partial<WorkerRegistration> = {}): WorkerRegistration {
  return {
    version: "test",
    pool: "default",
    gpus: [
      {
        index: 0,
        uuid: GPU_UUID,
        name: "NVIDIA H200",
        driver_version: "580.95.05",
        memory_total_bytes: 150_754_820_096,
        compute_capability: "9.0",
        mig_mode: "disabled",
      },
    ],
    tools: { ncu: { path: "/opt/ncu", version: "2025.3.1" }, nsys: null, ncu_sets: ["basic", "full"] },
    workloads: [workload("tiny")],
    allow_commands: false,
    profile_id: null,
    stopping: false,
    ...more,
  };
}

/** What a capture of the workload `tiny` on one GPU says of itself. */
export function captureRecord(workerId: string, attempt: number): CaptureRecord {
  return {
    worker_id: workerId,
    attempt,
    workload: "tiny",
    workload_kind: "benchmark",
    workload_sha256: "a".repeat(64),
    engine_session: "none",
    engine_session_reason: null,
    engine_reused: false,
    lease: null,
    gpus: [{ uuid: GPU_UUID, name: "NVIDIA H200", driver_version: "580.95.05" }],
    tools: { ncu: "2025.3.1", nsys: null },
    concurrency: { requested: 1, in_flight: null, batch: null, rule: "a benchmark program keeps its own" },
    preflight: [],
    warm_up: null,
    plan: null,
    pipeline: null,
    runs: [],
    own_time_s: 0.2,
  };
}

export const FAILURE: Failure = {
  code: "application_crashed",
  message: "The program ended by signal 11.",
  hint: "Run it without the profiler first.",
  retryable: false,
  evidence: { signal: "SIGSEGV", log: ["first", "last"] },
};

export function outcome(workerId: string, attempt: number, more: Partial<Outcome> = {}): Outcome {
  return {
    worker_id: workerId,
    attempt,
    lease_token: null,
    ended: "completed",
    failure: null,
    findings: [],
    reports: ["report-1"],
    timelines: [],
    record: captureRecord(workerId, attempt),
    ...more,
  };
}

export const digestOf = (bytes: Uint8Array): string =>
  `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

/** A worker as the API sees it: only its HTTP calls, and nothing that runs. */
export interface FakeWorker {
  readonly id: string;
  heartbeat(more?: Partial<WorkerRegistration>): Promise<Answer>;
  tell(profileId: string, event: CaptureEvent): Promise<Answer>;
  /** @throws where it is refused. */
  begin(profileId: string): Promise<CaptureOrder>;
  /** Puts the profile into a state of the capture. */
  state(profileId: string, attempt: number, state: "waiting_for_gpu" | "warming_up" | "capturing"): Promise<Answer>;
  put(profileId: string, attempt: number, name: string, bytes: Uint8Array | string, digest?: string): Promise<Answer>;
  finish(profileId: string, attempt: number, more?: Partial<Outcome>): Promise<Answer>;
  /** From begin to a completed outcome with these reports. */
  capture(profileId: string, reports: readonly Uint8Array[]): Promise<Answer>;
}

export function fakeWorker(call: Client, id: string, always: Partial<WorkerRegistration> = {}): FakeWorker {
  const worker: FakeWorker = {
    id,
    heartbeat: (more = {}) => call("PUT", `/workers/${id}`, { json: registration({ ...always, ...more }) }),
    tell: (profileId, event) => call("POST", `/profiles/${profileId}/events`, { json: event }),
    async begin(profileId) {
      const { status, body } = await worker.tell(profileId, { type: "begin", worker_id: id });
      if (status !== 200) throw new Error(`begin: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    state: (profileId, attempt, state) =>
      worker.tell(profileId, {
        type: "state",
        worker_id: id,
        attempt,
        lease_token: null,
        state,
        progress: { phase: state, done: 1, total: 2, message: null },
      }),
    put: (profileId, attempt, name, bytes, digest) =>
      call("PUT", `/profiles/${profileId}/artifacts/${name}?attempt=${attempt}&worker_id=${id}`, {
        body: bytes,
        headers: {
          "content-type": "application/octet-stream",
          ...(digest === undefined ? {} : { "content-digest": digest }),
        },
      }),
    finish: (profileId, attempt, more = {}) =>
      call("POST", `/profiles/${profileId}/outcome`, { json: outcome(id, attempt, more) }),
    async capture(profileId, reports) {
      const { attempt } = await worker.begin(profileId);
      for (const state of ["warming_up", "capturing"] as const) await worker.state(profileId, attempt, state);
      const names = reports.map((_, index) => `report-${index + 1}`);
      for (const [index, bytes] of reports.entries()) {
        await worker.put(profileId, attempt, names[index] ?? "", bytes, digestOf(bytes));
      }
      await worker.put(profileId, attempt, "log", "==PROF== Profiling\n");
      return worker.finish(profileId, attempt, { reports: names });
    },
  };
  return worker;
}
