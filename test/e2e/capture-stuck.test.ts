import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  benchmark,
  type CaptureRig,
  ENDLESS,
  enginePid,
  expectNothingLeft,
  GPU,
  leasesOf,
  STAND_IN_NCU,
  server,
  startCaptureRig,
  submitTo,
  untilFailure,
  untilProgress,
  untilVerdict,
  type WorkerProcess,
} from "../helpers/capture.ts";
import { STAND_IN_ENGINE } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

const STAND = { delayMs: 4 };
/** Programs with it see each other, as all programs of one machine do. */
const SHARED = { STAND_IN_ID: `shared-${process.pid}` };

let rig: CaptureRig;
let worker: WorkerProcess;
const call: CaptureRig["call"] = (...asked) => rig.call(...asked);

/** Somebody else's server, where the workload `port-taken` wants its engine. */
const asked: string[] = [];
const stranger = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.end();
});
const taken = await server("port-taken", [], STAND);

const WORKLOADS = [
  await server("mine", [], { ...STAND, env: SHARED }),
  await server("freezes", [], { delayMs: 100 }, { stop: { timeout_s: 1 } }),
  taken,
  { ...taken, name: "port-taken-per-tool", model: "port-taken-per-tool", warm_engine: "never", argv: ENDLESS },
  benchmark("pipes", STAND, {
    argv: [
      "/bin/sh",
      "-c",
      'mkfifo "$0/a.log" "$0/../b.log"; ln -s /etc/passwd "$0/../c.log"; echo printed by the program',
      "{output_dir}",
    ],
  }),
  benchmark("tiny", STAND),
];

beforeAll(async () => {
  stranger.listen(Number(taken.port), "127.0.0.1");
  await once(stranger, "listening");
  rig = await startCaptureRig();
  worker = await rig.startWorker({ workloads: WORKLOADS });
});
afterAll(async () => {
  stranger.close();
  await rig.close();
});

describe("what is not the capture's own", { timeout: 120_000 }, () => {
  it("a program of somebody else that ncu holds is not attached to", async () => {
    const foreign: ChildProcess = spawn(
      process.execPath,
      [
        ...[STAND_IN_NCU, "--mode", "launch", "--config-file", "off", "--target-processes", "all"],
        ...[process.execPath, STAND_IN_ENGINE, "--port", "0", "--unhealthy-answers", "0"],
      ],
      { env: { ...process.env, ...SHARED }, stdio: ["ignore", "pipe", "inherit"], detached: true },
    );
    let said = "";
    foreign.stdout?.on("data", (chunk) => {
      said += chunk;
    });
    try {
      await until(() => said.includes("Waiting for profiler to attach"));
      const { record, result } = await untilVerdict(call, await submitTo(call, "mine", "stream_add"));
      expect(result).toMatchObject({ roofline: "memory-bound" });
      for (const { argv } of record.runs) expect(argv).toContain("--port");
      // Still held at its first CUDA call.
      expect(said).not.toContain("warmup done");
    } finally {
      if (foreign.pid !== undefined) process.kill(-foreign.pid, "SIGKILL");
    }
  });

  it.each(["port-taken", "port-taken-per-tool"])("%s: a server of somebody else gets no request", async (workload) => {
    const failure = await untilFailure(call, await submitTo(call, workload, "stream_add"), "engine_start_failed");
    expect(failure).toMatchObject({ retryable: true, evidence: { port: taken.port } });
    expect(failure.message).toMatch(/Another program listens on port \d+/);
    expect(asked).toEqual([]);
  });

  it("pipes and links that a program leaves are neither waited for nor followed", async () => {
    const id = await submitTo(call, "pipes", "stream_add");
    await untilVerdict(call, id);
    const { body } = await call("GET", `/profiles/${id}/log`);
    expect(String(body)).not.toContain("root:");
    await untilVerdict(call, await submitTo(call, "tiny", "stream_add"));
  });
});

describe("an engine that answers no more", { timeout: 120_000 }, () => {
  it("is let go within 5 s of a cancel, and another one takes its place", async () => {
    const id = await submitTo(call, "freezes", "stream_add");
    await untilProgress(call, id, ({ phase, done }) => phase === "survey" && done !== null && done > 0);
    process.kill(enginePid(worker) ?? Number.NaN, "SIGSTOP");
    // All its launches are there, and the rest of its load is waited for.
    await untilProgress(call, id, ({ phase, done, total }) => phase === "survey" && total !== null && done === total);
    await call("POST", `/profiles/${id}/cancel`);
    const at = performance.now();
    await until(async () => (await leasesOf(call)).every(({ preemptible }) => preemptible === true), 30_000);
    expect(performance.now() - at).toBeLessThan(5_000);
    const { body } = await call("POST", "/leases?wait=30", { json: { gpus: [GPU], holder: "a benchmark" } });
    expect(body.state).toBe("held");
    await call("DELETE", `/leases/${body.id}`);
    await expectNothingLeft(call, worker);
  });
});
