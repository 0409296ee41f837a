import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkReport, good } from "../../src/capture/check/check.ts";
import { checkHost, type HostCheckOptions } from "../../src/capture/check/check-host.ts";
import { compatibility } from "../../src/capture/check/compatibility.ts";
import { checkNode } from "../../src/capture/check/host-checks.ts";
import { judge, PROBE_METRICS, type ProbeLaunch } from "../../src/capture/check/probe.ts";
import { PROBE_DONE, PROBE_KERNEL, PROBE_PROGRAM } from "../../src/capture/check/probe-program.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { IDLE_H200, NCU_2025_3, type Said, writeProc, writeProgram } from "./programs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "check-test-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LAUNCH: ProbeLaunch = {
  name: PROBE_KERNEL,
  metrics: { "gpu__time_duration.sum": 7_300, "dram__bytes_read.sum": 4_194_304, "sm__cycles_active.avg": 9_000 },
};
const WORKLOADS = `version: 1
workloads:
  - name: tiny
    kind: benchmark
    model: tiny
    engine: none
    argv: [./tiny]
`;
/** A run of ncu that ends well; what it wrote is not read here. */
const profiles = (more: Partial<Said> = {}): Said => ({
  args: /-o /,
  report: fixturePath("ncu/2025.3.1/list-sets.txt"),
  log: "",
  ...more,
});

interface Host {
  readonly smi?: readonly Said[];
  readonly ncu?: readonly Said[];
  readonly proc?: Parameters<typeof writeProc>[1];
  readonly workloads?: string | null;
  readonly options?: Partial<HostCheckOptions>;
}

/** A host on which all is well, but for what a test says. */
async function check({ smi = [], ncu = [], proc = {}, workloads = WORKLOADS, options = {} }: Host = {}) {
  writeProc(join(folder, "proc"), { adminOnly: 0, processes: [[1, 0, "systemd"]], ...proc });
  if (workloads !== null) writeFileSync(join(folder, "workloads.yaml"), workloads);
  writeProgram(folder, "nsys", [{ args: /./, stdout: "NVIDIA Nsight Systems version 2025.3.2.474\n" }]);
  const told: string[] = [];
  const report = await checkHost({
    nodeVersion: "v20.20.2",
    settings: good("pool default"),
    ncu: writeProgram(folder, "ncu", [...ncu, ...NCU_2025_3, profiles()]),
    nsys: join(folder, "nsys"),
    nvidiaSmi: writeProgram(folder, "nvidia-smi", [...smi, ...IDLE_H200]),
    workloadsFile: join(folder, "workloads.yaml"),
    workFolder: join(folder, "work"),
    tmpDir: join(folder, "work/tmp"),
    homeDir: join(folder, "work/home"),
    diskFloorBytes: 1,
    env: { PATH: process.env.PATH },
    probeProgram: [writeProgram(folder, "tiny", [{ args: /^$/ }])],
    api: async () => good("takes the key"),
    redis: async () => good("answers"),
    readReport: async () => ({ ok: true, value: [LAUNCH] }),
    onCheck: ({ id }) => told.push(id),
    proc: join(folder, "proc"),
    installed: [],
    ...options,
  });
  expect(told).toEqual(report.checks.map(({ id }) => id));
  return { report, by: (id: string) => report.checks.find((found) => found.id === id) };
}

describe("checkHost", () => {
  it("finds nothing wrong with a good host, and leaves nothing of the trial", async () => {
    const { report, by } = await check();
    expect(report.checks.filter(({ status }) => status !== "ok")).toEqual([]);
    expect(report).toMatchObject({ ok: true, fix_first: null });
    expect(report.checks.map(({ id }) => id)).toEqual([
      "node",
      "settings",
      "gpus",
      "gpu_state",
      "driver",
      "ncu",
      "nsys",
      "compatibility",
      "injection_slot",
      "counters",
      "counter_holders",
      "work_folder",
      "lock_file",
      "workloads",
      "api",
      "redis",
      "trial_profile",
    ]);
    expect(by("trial_profile")?.message).toBe(
      `${PROBE_KERNEL}: 7.3 us, 4194304 bytes read from device memory, 9000 active cycles an SM`,
    );
    expect(readdirSync(join(folder, "work")).sort()).toEqual(["home", "tmp"]);
    const run = readFileSync(join(folder, "ncu.calls"), "utf8").trim().split("\n").at(-1) ?? "";
    expect(JSON.parse(run)).toEqual(
      expect.arrayContaining(["--metrics", PROBE_METRICS.join(","), join(folder, "tiny")]),
    );
  });

  it.each<[string, Host, string, RegExp, RegExp]>([
    ["an old Node", { options: { nodeVersion: "v18.20.0" } }, "node", /v18\.20\.0/, /Install Node 20\.19/],
    [
      "libraries of another driver",
      { smi: [{ args: /./, stdout: "Failed to initialize NVML: Driver/library version mismatch\n", code: 18 }] },
      "gpus",
      /mismatch/,
      /reboot/,
    ],
    ["an ncu of npm", { ncu: [{ args: /--version/, stdout: "17.1.3\n" }] }, "ncu", /is not Nsight Compute/, /set NCU/],
    [
      "a driver too old for ncu",
      {
        smi: [
          { args: /^$/, stdout: "CUDA Version: 12.4\n" },
          { args: /--query-gpu=index/, stdout: "0, GPU-1, 550.54.15, 143771, 9.0, Disabled, NVIDIA H200\n" },
        ],
      },
      "compatibility",
      /550\.54\.15 \(CUDA 12\.4\), ncu 2025\.3\.1\.0 \(of CUDA 13\.0\)/,
      /Install driver 580/,
    ],
    [
      "a taken injection slot",
      { options: { env: { PATH: process.env.PATH, CUDA_INJECTION64_PATH: "/opt/x/libprofiler.so" } } },
      "injection_slot",
      /CUDA_INJECTION64_PATH to libprofiler\.so/,
      /CUDA_INJECTION64_PATH/,
    ],
    [
      "a slot that a workload takes",
      { workloads: `${WORKLOADS}    env: { LD_PRELOAD: /opt/libcupti_trace.so }\n` },
      "injection_slot",
      /tiny: .*LD_PRELOAD/,
      /LD_PRELOAD/,
    ],
    [
      "counters for others",
      { proc: { adminOnly: 1 } },
      "counters",
      /CAP_SYS_ADMIN/,
      /NVreg_RestrictProfilingToAdminUsers=0/,
    ],
    ["a small disk", { options: { diskFloorBytes: 1e18 } }, "work_folder", /GiB free/, /Free space/],
    ["no workloads file", { workloads: null }, "workloads", /ENOENT/, /WORKLOADS_FILE/],
    ["a wrong workloads file", { workloads: "version: 2\n" }, "workloads", /workloads\.yaml/, /docs\/workloads\.md/],
    [
      "a workload for more GPUs than there are",
      { workloads: `${WORKLOADS}    gpus: 8\n` },
      "workloads",
      /tiny take more GPUs than the 1/,
      /another host/,
    ],
    [
      "an ncu that may not",
      { ncu: [...NCU_2025_3, profiles({ log: PERMISSION_LOG })] },
      "trial_profile",
      /ERR_NVGPUCTRPERM/,
      /CAP_SYS_ADMIN/,
    ],
    [
      "counters that another tool holds",
      { ncu: [...NCU_2025_3, profiles({ log: DCGM_LOG, code: 1 })] },
      "trial_profile",
      /another tool holds the counters/,
      /dcgmi profile --pause/,
    ],
    [
      "a GPU that ncu does not know",
      { ncu: [...NCU_2025_3, profiles({ log: UNSUPPORTED_LOG })] },
      "trial_profile",
      /does not know this GPU/,
      /--list-chips/,
    ],
    [
      "counters that are no numbers",
      {
        options: {
          readReport: async () => ({
            ok: true,
            value: [{ ...LAUNCH, metrics: { ...LAUNCH.metrics, "dram__bytes_read.sum": null } }],
          }),
        },
      },
      "trial_profile",
      /no numbers: dram__bytes_read\.sum/,
      /another version/,
    ],
    [
      "nothing profiled",
      { options: { readReport: async () => ({ ok: true, value: [] }) } },
      "trial_profile",
      /profiled nothing/,
      /injection slot/,
    ],
    [
      "a program that fails by itself",
      { options: { probeProgram: [process.execPath, "-e", "console.log('no libcuda'); process.exitCode = 3"] } },
      "trial_profile",
      /fails without ncu: no libcuda/,
      /does not run here/,
    ],
    [
      "no report",
      { ncu: [...NCU_2025_3, { args: /-o /, stderr: "==ERROR== boom\n", code: 1 }] },
      "trial_profile",
      /wrote no report: .*boom/,
      /by hand/,
    ],
    ["an API that refuses", { options: { api: () => Promise.reject(new Error("odd")) } }, "api", /odd/, /fault/],
  ])("names %s", async (_name, host, id, message, fix) => {
    const { report, by } = await check(host);
    expect(by(id)).toMatchObject({
      status: "failed",
      message: expect.stringMatching(message),
      fix: expect.stringMatching(fix),
    });
    expect(report.ok).toBe(false);
    expect(report.fix_first?.check).toBe(id);
  });

  it("warns of what may disturb, and stays usable", async () => {
    const { report, by } = await check({
      smi: [
        { args: /--query-gpu=uuid/, stdout: "GPU-1, 0, 143771, 900, 1980, 0x20, Disabled, Disabled\n" },
        { args: /--query-compute-apps/, stdout: "612, GPU-1, 1352, ./tiny\n" },
      ],
      proc: { processes: [[5, 1, "nv-hostengine"]] },
      options: { nsys: "nothing-of-that-name" },
    });
    expect(report.ok).toBe(true);
    expect(by("gpu_state")).toMatchObject({
      status: "warning",
      message: expect.stringMatching(/sw_thermal.*off.*tiny \(612\)/),
    });
    expect(by("counter_holders")).toMatchObject({
      status: "warning",
      message: expect.stringContaining("nv-hostengine (5)"),
    });
    expect(by("nsys")).toMatchObject({ status: "warning" });
  });

  it("takes DCGM that is paused for each capture for no trouble", async () => {
    const dcgm = "dcgm: { pause: [dcgmi, profile, --pause], resume: [dcgmi, profile, --resume] }\n";
    const { by } = await check({ proc: { processes: [[5, 1, "nv-hostengine"]] }, workloads: WORKLOADS + dcgm });
    expect(by("counter_holders")).toMatchObject({ status: "ok" });
  });

  it("warns of another profiler", async () => {
    const { by } = await check({ proc: { processes: [[9, 1, "nsys"]] } });
    expect(by("counter_holders")).toMatchObject({ status: "warning", message: "another profiler runs: nsys (9)" });
  });

  it("skips the trial where it has no program, and says so", async () => {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const { report, by } = await check({ options: { probeProgram: null, env: { PATH: bin } } });
    expect(by("trial_profile")).toMatchObject({ status: "skipped", message: expect.stringContaining("python3") });
    expect(report.ok).toBe(true);
  });

  it("fails the lock file that belongs to somebody else, and still makes the other checks", async () => {
    mkdirSync(join(folder, "work/tmp/nsight-compute-lock"), { recursive: true });
    const { by, report } = await check();
    expect(by("lock_file")).toMatchObject({ status: "failed", fix: expect.stringContaining("DATA_DIR") });
    expect(report.checks.at(-1)?.id).toBe("trial_profile");
  });
});

describe("judge", () => {
  it("takes NaN and a time of 0 for no measurement", () => {
    const nan = { ...LAUNCH, metrics: { ...LAUNCH.metrics, "sm__cycles_active.avg": Number.NaN } };
    expect(judge([nan]).status).toBe("failed");
    const none = { ...LAUNCH, metrics: { ...LAUNCH.metrics, "gpu__time_duration.sum": 0 } };
    expect(judge([none])).toMatchObject({ status: "failed", message: expect.stringContaining("no time") });
  });
});

describe("compatibility", () => {
  it.each([
    ["580.159.04", "13.0", "2025.3.1.0", "ok"],
    ["590.10", "13.1", "2022.4.1.0", "ok"],
    ["550.54.15", "12.4", "2024.3.0", "warning"],
    ["570.86", null, "2025.3.0", "failed"],
    ["470.82", "11.4", "2023.1.0", "failed"],
    ["580.1", "13.0", "2030.1.0", "ok"],
    [null, null, "2025.3.0", "skipped"],
  ])("driver %s, CUDA %s, ncu %s: %s", (driver, cuda, ncu, status) => {
    expect(compatibility(driver, cuda, ncu).status).toBe(status);
  });
});

it("reads versions of Node as numbers", () => {
  expect(["v20.19.0", "v22.0.0", "v20.9.0", "v18.99.0"].map((version) => checkNode(version).status)).toEqual([
    "ok",
    "ok",
    "failed",
    "failed",
  ]);
});

it("names the first failure, not the first remark", () => {
  const checks = [
    { id: "a", title: "a", status: "warning", message: "w", fix: "f" },
    { id: "b", title: "b", status: "failed", message: "m", fix: "x" },
    { id: "c", title: "c", status: "failed", message: "n", fix: "y" },
  ] as const;
  expect(checkReport(checks)).toMatchObject({ ok: false, fix_first: { check: "b", message: "m", fix: "x" } });
});

describe("the program of the trial", () => {
  it("is Python, launches the kernel that it declares, and asks for no more than a driver", () => {
    execFileSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], { input: PROBE_PROGRAM });
    expect(PROBE_PROGRAM).toContain(`.visible .entry ${PROBE_KERNEL}(`);
    expect(PROBE_PROGRAM).toContain(`b"${PROBE_KERNEL}"`);
    expect(PROBE_PROGRAM).toContain(PROBE_DONE);
    expect(PROBE_PROGRAM.match(/^import .*$/gm)).toEqual(["import ctypes, sys"]);
  });
});

// Lines as recorded (DCGM) and as NVIDIA documents them.
const PERMISSION_LOG =
  "==PROF== Connected to process 7 (/opt/w/tiny)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n==WARNING== No kernels were profiled.\n";
const DCGM_LOG =
  "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data. See https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more details.\n==ERROR== An error occurred while trying to profile.\n==WARNING== No kernels were profiled.\n";
const UNSUPPORTED_LOG =
  "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n==WARNING== No kernels were profiled.\n";
