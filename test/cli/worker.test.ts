import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IDLE_H200, NCU_2025_3, writeProgram } from "../capture/programs.ts";
import { cli } from "../helpers/cli.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { type ServiceProcess, startServiceProcess } from "../helpers/process.ts";
import { type TestRedis, testRedis } from "../helpers/redis.ts";

const KEY = `pk_checkworker_${"a".repeat(32)}`;

let folder: string;
let redis: TestRedis;
let service: ServiceProcess;
let env: Record<string, string>;

/** A GPU host as far as programs tell of one, beside a real service and a real Redis. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "worker-test-"));
  redis = testRedis(folder);
  await redis.start();
  service = await startServiceProcess({ DATA_DIR: join(folder, "service"), REDIS_URL: redis.url, API_KEY: KEY });
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const report = join(folder, "tiny.ncu-rep");
  writeFileSync(report, fixture(`${H200}tiny-full.ncu-rep.gz`));
  writeProgram(bin, "nvidia-smi", IDLE_H200);
  writeProgram(bin, "ncu", [...NCU_2025_3, { args: /-o /, report, log: "==PROF== Report: probe.ncu-rep\n" }]);
  writeProgram(bin, "nsys", [{ args: /./, stdout: "NVIDIA Nsight Systems version 2025.3.2.474\n" }]);
  writeProgram(bin, "tiny", [{ args: /^fma$/ }]);
  writeFileSync(
    join(folder, "workloads.yaml"),
    "version: 1\nworkloads:\n  - { name: tiny, kind: benchmark, model: tiny, engine: none, argv: [./tiny] }\n",
  );
  env = {
    NCU: join(bin, "ncu"),
    NSYS: join(bin, "nsys"),
    NVIDIA_SMI: join(bin, "nvidia-smi"),
    DATA_DIR: join(folder, "data"),
    WORKLOADS_FILE: join(folder, "workloads.yaml"),
    REDIS_URL: redis.url,
    API_URL: service.url,
    API_KEY: KEY,
    ROLE: "",
    DATABASE_URL: "",
  };
});
afterAll(async () => {
  await service?.end("SIGTERM");
  await redis?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const check = async (more: Record<string, string> = {}) => {
  const run = await cli(["worker", "check", "--json", "--", join(folder, "bin/tiny"), "fma"], {
    env: { ...env, ...more },
  });
  const report = JSON.parse(run.stdout);
  const of = (id: string) => report.checks.find((found: { id: string }) => found.id === id);
  return { code: run.code, report, of };
};

describe("worker check", () => {
  it("finds a host usable by a real report, the service and Redis", async () => {
    const { report, of } = await check();
    expect(of("trial_profile")).toMatchObject({ status: "ok", message: expect.stringMatching(/us, \d+ bytes read/) });
    expect(of("api")).toMatchObject({ status: "ok", message: `${service.url} takes the key for a worker's` });
    expect(of("redis")).toMatchObject({
      status: "ok",
      message: expect.stringContaining("profile-kernel:capture-default"),
    });
    expect(of("settings").status).toBe("ok");
    // Whether counters are permitted is the test machine's own word.
    expect(report.checks.filter((found: { status: string }) => found.status === "failed")).toEqual([]);
  });

  it("names what to fix first, with exit code 8", async () => {
    const { code, report, of } = await check({
      API_KEY: `pk_checkworker_${"b".repeat(32)}`,
      REDIS_URL: `unix:${folder}/nothing.sock`,
    });
    expect(code).toBe(8);
    expect(of("api")).toMatchObject({ status: "failed", fix: expect.stringContaining("role worker") });
    expect(of("redis")).toMatchObject({ status: "failed", message: expect.stringContaining("ENOENT") });
    expect(report.fix_first).toMatchObject({ check: "api" });
  });

  it("goes on with wrong settings, and names each", async () => {
    const { code, of } = await check({ NVIDIA_SMI: "", WORKER_POOL: "a:b".repeat(30), API_URL: "", PATH: "/nowhere" });
    expect(code).toBe(8);
    expect(of("settings")).toMatchObject({ status: "failed", message: expect.stringContaining("WORKER_POOL") });
    expect(of("gpus")).toMatchObject({ status: "failed", message: "nvidia-smi was not found or may not be executed" });
    expect(of("api")).toMatchObject({ status: "skipped", message: "API_URL is not set" });
    expect(of("trial_profile")).toMatchObject({ status: "skipped" });
  });

  it("prints a line a check, and the fix at the end", async () => {
    const { code, stdout } = await cli(["worker", "check", "--", join(folder, "bin/tiny"), "wrong"], {
      env: { ...env, API_URL: `${service.url}/docs` },
    });
    expect(code).toBe(8);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^ok {7}Node {17}v/);
    expect(stdout).toMatch(/^ok {7}GPUs {17}0: NVIDIA H200/m);
    expect(stdout).toMatch(/^failed {3}trial profile {8}the program of the trial fails without ncu/m);
    expect(stdout).toContain("This host cannot be used: 2 check(s) failed. Fix this first:\n");
    expect(lines.slice(-3)).toEqual([
      expect.stringContaining("this is not profile-kernel"),
      expect.stringContaining("Set API_URL"),
      "",
    ]);
  });
});

describe("worker start", () => {
  it("refuses settings that are not a worker's", async () => {
    const { code, stderr } = await cli(["worker", "start"], { env: { ...env, WORKLOADS_FILE: "" } });
    expect(code).toBe(2);
    expect(stderr).toMatch(/WORKLOADS_FILE[\s\S]*worker check/);
  });

  it("refuses a host without GPUs", async () => {
    const { code, stderr } = await cli(["worker", "start"], { env: { ...env, NVIDIA_SMI: "/nowhere/nvidia-smi" } });
    expect(code).toBe(2);
    expect(stderr).toContain("/nowhere/nvidia-smi was not found");
  });
});
