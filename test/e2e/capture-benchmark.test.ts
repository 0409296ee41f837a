import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  benchmark,
  type CaptureRig,
  ENDLESS,
  expectNothingLeft,
  GPU,
  leasesOf,
  startCaptureRig,
  submitTo,
  untilFailure,
  untilProgress,
  untilState,
  untilVerdict,
  type WorkerProcess,
} from "../helpers/capture.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { until } from "../helpers/until.ts";

const FAST = { delayMs: 4 };
/** Programs that ncu ends with themselves where they would run on. */
const endless = { argv: ENDLESS };

const WORKLOADS = [
  benchmark("tiny", FAST),
  benchmark("tiny-skips", FAST, {
    warm_up: { skip_launches: 1, log_pattern: "^warmup done$" },
    ncu: { max_launches: 1 },
  }),
  benchmark("clusters", { ...FAST, scenario: "pytorch" }),
  benchmark("fails", { ...FAST, scenario: "fail" }),
  benchmark("faults", { ...FAST, scenario: "fault" }, endless),
  benchmark("hangs", { ...FAST, scenario: "collective-hang" }, { ...endless, limits: { stall_s: 1 } }),
  benchmark("not-permitted", { scenario: "not-permitted" }),
  benchmark("counters-in-use", { scenario: "counters-in-use" }, endless),
  benchmark("unsupported", { scenario: "gpu-unsupported" }),
  benchmark("hangs-at-once", { scenario: "hangs-at-once" }, { ...endless, limits: { stall_s: 1 } }),
  benchmark("removed", FAST),
  benchmark("killed", { ...FAST, scenario: "killed" }, endless),
  benchmark("disk-full", { ...FAST, scenario: "disk-full" }),
  benchmark("missing", FAST, { argv: ["/nonexistent/program"] }),
  benchmark("slow", { delayMs: 400 }),
  benchmark("never-connects", { scenario: "never-connects" }, { ...endless, limits: { start_s: 0.3 } }),
  benchmark("limited", { delayMs: 400 }, { limits: { total_s: 0.7 } }),
  benchmark(
    "talks",
    { delayMs: 100 },
    {
      argv: [process.execPath, "-e", "setInterval(() => console.log('x'.repeat(1000)), 5)"],
      limits: { output_bytes: 4096 },
    },
  ),
  benchmark("slot-taken", { env: { CUDA_INJECTION64_PATH: "/opt/vendor/libtracer.so" } }),
];

let rig: CaptureRig;
let worker: WorkerProcess;
const call: CaptureRig["call"] = (...asked) => rig.call(...asked);
const submit = (workload: string, target = "stream_add", more: object = {}) => submitTo(call, workload, target, more);

beforeAll(async () => {
  rig = await startCaptureRig();
  worker = await rig.startWorker({ workloads: WORKLOADS });
});
afterAll(() => rig.close());

describe("a program under ncu", () => {
  const recorded: { function_name: string; roofline: string; limiter: string; memory_bw_utilization: number }[] =
    JSON.parse(readFileSync(fixturePath("verdicts/verdicts-tiny.json"), "utf8")).kernels;

  for (const target of ["stream_add", "fma_chain", "pointer_walk", "smem_tile"]) {
    it(`gets the known verdict of ${target}`, async () => {
      const { profile, result, record, findings } = await untilVerdict(call, await submit("tiny", target));
      const known = recorded.filter(({ function_name }) => function_name === target);
      expect(known).toHaveLength(3);
      const same = known.find(
        ({ memory_bw_utilization }) => memory_bw_utilization === 100 * result.memory_bw_utilization,
      );
      expect({ roofline: result.roofline, limiter: result.detail.limiter }).toEqual({
        roofline: same?.roofline,
        limiter: same?.limiter,
      });
      expect(result).toMatchObject({ kind: "kernel", target, partial: false });
      expect(findings).not.toContain("capture_incomplete");
      expect(profile.capture).toEqual({ pool: "default", workload: "tiny", worker_id: "w1", attempts: 1 });

      expect(record).toMatchObject({
        worker_id: "w1",
        attempt: 1,
        workload: "tiny",
        workload_kind: "benchmark",
        engine_session: "none",
        lease: { gpus: [GPU] },
        gpus: [{ uuid: GPU, name: "NVIDIA H200" }],
        tools: { ncu: "2025.3.1.0" },
        concurrency: { requested: 1, in_flight: null, batch: null },
        preflight: [{ gpu: GPU, other_processes: 0 }],
        warm_up: { skipped_launches: 0, log_patterns: [] },
        plan: { survey_launches: 3, launches: 3, passes: 38 },
        runs: [
          { purpose: "survey", launches: 3, ended_by: "itself", exit_code: 0 },
          { purpose: "counters", launches: 3 },
        ],
      });
      expect(record.runs[1]?.argv).toEqual(expect.arrayContaining(["--set", "full", "--replay-mode", "kernel"]));
      expect(record.own_time_s).toBeGreaterThan(0);
      await expectNothingLeft(call, worker);
    });
  }

  it("leaves the first launches out, and says which line told that it was warm", async () => {
    const { record } = await untilVerdict(call, await submit("tiny-skips"));
    expect(record.plan).toMatchObject({ survey_launches: 3, launches: 1, clusters: [{ launches: 3 }] });
    expect(record.plan?.clusters?.[0]?.chosen).not.toContain(1);
    expect(record.warm_up).toMatchObject({
      skipped_launches: 1,
      log_patterns: [{ pattern: "^warmup done$", line: "warmup done" }],
    });
  });

  it("measures each duration cluster that matters", async () => {
    const { record, result } = await untilVerdict(call, await submit("clusters", "/.*/"));
    const clusters = record.plan?.clusters ?? [];
    expect(clusters.length).toBeGreaterThan(1);
    const chosen = clusters.filter((cluster) => cluster.chosen.length > 0);
    expect(chosen.length).toBeGreaterThan(1);
    expect(record.runs.map(({ purpose }) => purpose)).toEqual(["survey", "counters"]);
    expect(record.runs[1]?.launches).toBe(record.plan?.launches);
    const answered = [result.target, ...result.others.map(({ target }: { target: string }) => target)];
    for (const { kernel } of chosen)
      expect(answered).toEqual(expect.arrayContaining([expect.stringContaining(kernel.split("<")[0] ?? "")]));
  });

  it("names the kernels that ran where none matched", async () => {
    const failure = await untilFailure(call, await submit("tiny", "no_such_kernel"), "no_matching_kernel");
    expect(failure.evidence.available_kernels).toEqual(["fma_chain", "pointer_walk", "smem_tile", "stream_add"]);
    await expectNothingLeft(call, worker);
  });

  it("gives the verdict of a program that ended with 3, and says so", async () => {
    const { result } = await untilVerdict(call, await submit("fails"));
    expect(result.roofline).toBe("memory-bound");
    expect(result.findings).toContainEqual(
      expect.objectContaining({ code: "application_failed", evidence: expect.objectContaining({ exit_code: 3 }) }),
    );
    await expectNothingLeft(call, worker);
  });
});

describe("a capture that goes wrong", () => {
  /** Ends early with launches: they carry a verdict, and the first finding says why there may be more. */
  const expectPartial = async (id: string, code: string): Promise<void> => {
    const { result } = await untilVerdict(call, id);
    expect(result.roofline).not.toBeNull();
    expect({ partial: result.partial, first: result.findings[0]?.code }).toEqual({ partial: true, first: code });
    expect(result.findings[0].message).toMatch(/^The capture ended early, so launches may be missing: /);
    await expectNothingLeft(call, worker);
  };

  it("gives the launches before a fault, and fails for the kernel that faults", async () => {
    await expectPartial(await submit("faults", "/.*/"), "kernel_fault");
    const failure = await untilFailure(call, await submit("faults", "out_of_bounds"), "kernel_fault");
    expect(failure).toMatchObject({
      evidence: { lines: ["==ERROR== LaunchFailed"], kernel: "out_of_bounds(float *)" },
    });
    await expectNothingLeft(call, worker);
  });

  it("gives the launches before ncu was killed", async () => {
    await expectPartial(await submit("killed"), "capture_killed");
  });

  it("gives the launches that were written before the disk was full", async () => {
    await expectPartial(await submit("disk-full"), "disk_full");
  });

  it("ends a launch that never ends, and gives those before it", async () => {
    await expectPartial(await submit("hangs"), "capture_stalled");
    const failure = await untilFailure(call, await submit("hangs-at-once"), "capture_stalled");
    expect(failure.message).toMatch(
      /^Nsight Compute made no progress at "ncclDevKernel_AllReduce_Sum_f..." and was ended after \d\.\d s/,
    );
    await expectNothingLeft(call, worker);
  });

  it("starts nothing for a collective", async () => {
    const id = await submit("tiny", "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    await untilFailure(call, id, "replay_impossible");
    expect(await call("GET", `/profiles/${id}/log`)).toMatchObject({ status: 404 });
    await expectNothingLeft(call, worker);
  });

  const refused = (workload: string, code: string, evidence: object, more: object = {}) =>
    it(`is told as ${code}: ${workload}`, async () => {
      const failure = await untilFailure(call, await submit(workload, "stream_add", more), code);
      expect(failure.evidence).toMatchObject(evidence);
      await expectNothingLeft(call, worker);
    });
  const line = (text: string) => ({ lines: [expect.stringContaining(text)] });
  refused("not-permitted", "counters_not_permitted", line("ERR_NVGPUCTRPERM"));
  refused("counters-in-use", "counters_in_use", line("driver resource was unavailable"));
  refused("unsupported", "gpu_not_supported", line("not supported on device 0"));
  refused("missing", "program_missing", line("/nonexistent/program"));
  refused("slot-taken", "injection_slot_taken", { variable: "CUDA_INJECTION64_PATH", library: "libtracer.so" });
  refused("never-connects", "capture_timeout", { ended_by: "start_limit" });
  refused("limited", "capture_timeout", { ended_by: "time_limit", launches_finished: 0 });
  refused("talks", "output_too_large", { ended_by: "output_limit" });
  refused("slow", "capture_timeout", { ended_by: "time_limit" }, { max_duration_s: 0.8 });
  refused(
    "tiny",
    "unknown_section",
    { lines: expect.arrayContaining([expect.stringContaining("NoSuchSection")]) },
    { ncu: { sections: ["NoSuchSection"] } },
  );

  it("is told where its workload was taken out of the file meanwhile", async () => {
    const held = await call("POST", "/leases?wait=10", { json: { gpus: [GPU], holder: "test" } });
    const first = await submit("tiny");
    await untilState(call, first, "waiting_for_gpu");
    const id = await submit("removed");
    worker.writeWorkloads({ workloads: WORKLOADS.filter(({ name }) => name !== "removed") });
    await until(async () => {
      const { body } = await call("GET", "/workloads");
      return !body.items.some(({ name }: { name: string }) => name === "removed");
    });
    await call("DELETE", `/leases/${held.body.id}`);
    expect((await untilFailure(call, id, "workload_changed")).message).toContain("removed");
    await untilVerdict(call, first);
    worker.writeWorkloads({ workloads: WORKLOADS });
    await expectNothingLeft(call, worker);
  });
});

describe("a GPU that somebody uses without a lease", () => {
  const SOMEBODY = `process:${process.pid}`;

  it("is waited for", async () => {
    worker.sayOfGpus(SOMEBODY);
    const id = await submit("tiny");
    const { state } = await untilProgress(
      call,
      id,
      ({ phase, message }) => phase === "preflight" && (message ?? "").includes(`tiny (${process.pid})`),
    );
    expect(state).toBe("waiting_for_gpu");
    expect(await leasesOf(call)).toMatchObject([{ state: "held", kind: "profile", gpus: [GPU] }]);
    worker.sayOfGpus("");
    const { record } = await untilVerdict(call, id);
    expect(record.preflight).toMatchObject([{ other_processes: 0 }]);
  });

  it("is refused where the host says so", async () => {
    const strict = await rig.startWorker({
      id: "strict",
      workloads: [benchmark("tiny", FAST)],
      other_process_on_gpu: "fail",
      env: { WORKER_POOL: "strict" },
    });
    strict.sayOfGpus(SOMEBODY);
    const id = await submit("tiny", "stream_add", { pool: "strict" });
    const failure = await untilFailure(call, id, "gpu_busy");
    expect(failure).toMatchObject({ retryable: true, evidence: { processes: [{ pid: process.pid, name: "tiny" }] } });
    await expectNothingLeft(call, strict);
    expect(await strict.end("SIGTERM")).toBe(0);
  });

  it("is shared where the host says so, and a request may bring a command of its own there", async () => {
    const open = await rig.startWorker({
      id: "open",
      workloads: [],
      other_process_on_gpu: "continue",
      allow_commands: true,
      env: { WORKER_POOL: "open" },
    });
    open.sayOfGpus(SOMEBODY);
    const source = {
      kind: "command",
      argv: [process.execPath, "-e", "console.log('mine')"],
      env: { STAND_IN_DELAY_MS: "4" },
    };
    const { body } = await call("POST", "/profiles", { json: { target: "stream_add", source, pool: "open" } });
    const { record, findings } = await untilVerdict(call, body.id);
    expect(record).toMatchObject({ workload: null, workload_kind: "command", worker_id: "open" });
    expect(findings).toContain("gpu_shared");
    expect((await call("GET", `/profiles/${body.id}/log`)).body).toContain("mine");
    const elsewhere = await call("POST", "/profiles", { json: { target: "stream_add", source, pool: "default" } });
    expect(elsewhere).toMatchObject({ status: 422, body: { errors: [{ pointer: "/pool" }] } });
    await expectNothingLeft(call, open);
    expect(await open.end("SIGTERM")).toBe(0);
    const nowhere = await call("POST", "/profiles", { json: { target: "stream_add", source } });
    expect(nowhere).toMatchObject({ status: 422, body: { code: "no_live_worker" } });
  });
});
