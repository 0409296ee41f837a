import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { processStartTime } from "../../src/base/process-identity.ts";
import { type NcuPlan, ncuArguments } from "../../src/capture/ncu/arguments.ts";
import { kernelFilter } from "../../src/capture/ncu/kernel-filter.ts";
import { judgeRun } from "../../src/capture/ncu/outcome.ts";
import { type NcuRun, type NcuRunOptions, runNcu } from "../../src/capture/ncu/run.ts";
import { type Group, startGroup } from "../../src/capture/process/group.ts";
import { endAtExit } from "../helpers/end-at-exit.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { until } from "../helpers/until.ts";

const NCU = fileURLToPath(new URL("../stand-in/ncu.mjs", import.meta.url));

let folder: string;
const groups: Group[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pk-ncu-"));
});
afterEach(async () => {
  for (const group of groups.splice(0)) await group.end({ signal: "SIGTERM", graceMs: 0 });
  await rm(folder, { recursive: true, force: true });
});

const ENDS = "";
const PRINTS_PID = 'console.log("pid " + process.pid);';
const STAYS = `${PRINTS_PID} setInterval(() => {}, 1000);`;
const IGNORES = `process.on("SIGTERM", () => console.log("asked to end")); ${STAYS}`;

const plan = (more: Partial<NcuPlan> = {}): NcuPlan => ({
  mode: "run",
  filter: null,
  launches: { kind: "all" },
  counters: { kind: "set", set: "full", sections: [], metrics: [] },
  profileFromStart: true,
  cacheControl: "all",
  clockControl: "none",
  applyRules: true,
  process: null,
  port: null,
  output: join(folder, "report"),
  logFile: join(folder, "ncu.log"),
  program: [process.execPath, "-e", ENDS],
  ...more,
});

const program = (script: string): string[] => [process.execPath, "-e", script];

interface Given extends Partial<Omit<NcuRunOptions, "plan" | "limits">> {
  readonly scenario?: string;
  readonly plan?: Partial<NcuPlan>;
  readonly limits?: Partial<NcuRunOptions["limits"]>;
  readonly id?: string;
  readonly env?: Record<string, string>;
}

const start = ({ scenario = "tiny-full", plan: planned = {}, limits = {}, env = {}, ...more }: Given = {}) =>
  runNcu({
    ncu: NCU,
    plan: plan(planned),
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", TMPDIR: folder, STAND_IN_SCENARIO: scenario, ...env },
    outputPath: join(folder, "output.txt"),
    recordFolder: join(folder, "groups"),
    stop: new AbortController().signal,
    ...more,
    limits: {
      startMs: 30_000,
      stallMs: 30_000,
      hangMs: 30_000,
      idleMs: null,
      totalMs: 60_000,
      outputBytes: 1_000_000,
      reportBytes: 1_000_000_000,
      diskFloorBytes: 0,
      graceMs: 10_000,
      shortGraceMs: 3_000,
      ...limits,
    },
  });

/** Launches that are whole in what was written: by the blocks of the recording, each launch one. */
const report = (run: NcuRun): Buffer => readFileSync(run.reportPath as string);
const none = async (): Promise<void> => {
  for (const pid of pids()) expect(await processStartTime(pid)).toBeNull();
  expect(readdirSync(join(folder, "groups"))).toEqual([]);
};
const output = (): string => {
  try {
    return readFileSync(join(folder, "output.txt"), "utf8");
  } catch {
    return "";
  }
};
const pids = (): number[] => [...output().matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
const judged = (run: NcuRun, launches: number | null) =>
  judgeRun(run, launches === null ? null : { launches, failedLaunches: 0, kernels: [], allCountersNaN: false }, {
    launches: null,
  });

describe("a run of ncu", () => {
  it("gives the report, what was seen, and progress as it comes", async () => {
    const progress: { done: number; kernel: string | null }[] = [];
    const run = await start({
      plan: { program: program(`${PRINTS_PID} console.log("warmup done");`) },
      progress: ({ done, kernel }) => progress.push({ done, kernel }),
    });
    expect(run).toMatchObject({ endedBy: "itself", exit: { code: 0, signal: null }, processesLeft: false });
    expect(run.observed).toMatchObject({ launchesFinished: 12, passes: 38, connections: 1, disconnections: 1 });
    expect(run.reportPath).toBe(join(folder, "report.ncu-rep"));
    expect(report(run).equals(fixture(`${H200}tiny-full.ncu-rep.gz`))).toBe(true);
    expect(run.reportBytes).toBe(14_754_349);
    expect(run.firstLaunchAfterMs).toBeGreaterThan(0);
    expect(run.firstLaunchAfterMs).toBeLessThan(run.tookMs);
    expect(progress).toHaveLength(24);
    expect(progress.at(-1)).toEqual({ done: 12, kernel: "smem_tile" });
    expect(run.argv.slice(-2)).toEqual(["node", "…"]);
    expect(output()).toContain("warmup done");
    await none();
    expect(judged(run, 12)).toMatchObject({ ended: "completed", failure: null });
  });

  it("takes only the launches of the plan", async () => {
    const filter = kernelFilter("fma_chain");
    if (!filter.ok) throw new Error("fma_chain is a name");
    const run = await start({
      scenario: "tiny-verdict",
      plan: { filter: filter.value, launches: { kind: "first", skip: 1, count: 1 } },
    });
    expect(run.observed).toMatchObject({ launchesFinished: 1, lastKernel: "fma_chain(float *, int)" });
    const chosen = await start({
      scenario: "tiny-verdict",
      plan: { launches: { kind: "ordinals", names: ["fma_chain", "smem_tile"], ordinals: [1, 3] } },
    });
    expect(chosen.observed.launchesFinished).toBe(4);
    const nothing = await start({ plan: { launches: { kind: "none" }, output: join(folder, "nothing") } });
    expect(nothing).toMatchObject({ reportPath: null, exit: { code: 0 } });
    expect(judged(nothing, null).failure).toMatchObject({ code: "no_matching_kernel" });
    expect(nothing.observed.availableKernels).toEqual(["fma_chain", "pointer_walk", "smem_tile", "stream_add"]);
  });

  it.each([
    ["fail", 3, null, "completed", null, 12],
    ["fault", 9, null, "partial", "kernel_fault", 8],
    ["disk-full", 1, null, "partial", "disk_full", 1],
    ["killed", null, "SIGKILL", "partial", "capture_killed", 5],
    ["not-permitted", 0, null, "failed", "counters_not_permitted", null],
    ["counters-in-use", 9, null, "failed", "counters_in_use", null],
    ["no-cuda", 0, null, "failed", "no_kernels_profiled", null],
  ] as const)("%s ends with %s, %s: %s, %s", async (scenario, code, signal, ended, failure, launches) => {
    const stays = scenario === "fault" || scenario === "killed" || scenario === "counters-in-use";
    const run = await start({ scenario, plan: { program: program(stays ? STAYS : ENDS) } });
    expect(run).toMatchObject({ endedBy: "itself", exit: { code, signal } });
    const verdict = judged(run, launches);
    expect([verdict.ended, verdict.failure?.code ?? null]).toEqual([ended, failure]);
    await none();
  });

  it.each([
    [
      "an unknown section",
      { counters: { kind: "set", set: "", sections: ["NoSuch"], metrics: [] } },
      "unknown_section",
    ],
    ["a missing program", { program: ["/no/such/program"] }, "program_missing"],
    ["an option that does not fit", { mode: "attach", program: [], process: null, port: 1 }, "engine_start_failed"],
  ] as [string, Partial<NcuPlan>, string][])("%s is told apart", async (_, planned, code) => {
    const run = await start({ plan: planned });
    expect(run.exit.code).toBe(1);
    expect(judged(run, null).failure).toMatchObject({ code });
  });

  it("says when ncu itself is missing", async () => {
    const run = await start({ ncu: join(folder, "no-ncu") });
    expect(run).toMatchObject({ exit: { startError: "ENOENT" }, reportPath: null });
    expect(judged(run, null).failure).toMatchObject({ code: "tool_missing" });
  });

  it("notices a collective that hangs, ends it and names it; the launches before it stay", async () => {
    const run = await start({
      scenario: "collective-hang",
      limits: { hangMs: 300 },
      plan: { program: program(IGNORES) },
    });
    expect(run).toMatchObject({ endedBy: "stall", exit: { code: null, signal: "SIGTERM" } });
    expect(run.observed).toMatchObject({
      launchesFinished: 8,
      launchesAbandoned: 1,
      lastKernel: "ncclDevKernel_AllReduce_Sum_f...",
    });
    expect(run.reportBytes).toBeGreaterThan(4_000_000);
    const { ended, failure } = judged(run, 8);
    expect([ended, failure?.code, failure?.evidence.kernel]).toEqual([
      "partial",
      "capture_stalled",
      "ncclDevKernel_AllReduce_Sum_f...",
    ]);
    await none();
  });

  it("kills what does not listen to SIGTERM", async () => {
    const run = await start({
      scenario: "ignores-sigterm",
      limits: { stallMs: 300, graceMs: 300 },
      plan: { program: program(IGNORES) },
    });
    expect(run.endedBy).toBe("stall");
    expect(run.observed).toMatchObject({ launchesFinished: 4, openLaunch: "stream_add", report: null });
    expect(run.reportPath).not.toBeNull();
    await none();
  });

  it.each([
    ["canceled", "capture_killed"],
    ["lease_lost", "lease_lost"],
    ["worker_stopping", "worker_stopped"],
  ] as const)("%s ends everything within 5 s and keeps what is finished", async (reason, code) => {
    const stop = new AbortController();
    const running = start({
      scenario: "tiny-slow",
      stop: stop.signal,
      plan: { program: program(IGNORES) },
      env: { STAND_IN_DELAY_MS: "100" },
      progress: ({ done }) => {
        if (done === 3) stop.abort(reason);
      },
    });
    let abortedAt = 0;
    stop.signal.addEventListener("abort", () => {
      abortedAt = performance.now();
    });
    const run = await running;
    expect(performance.now() - abortedAt).toBeLessThan(5000);
    expect(run).toMatchObject({ endedBy: reason, observed: { report: join(folder, "report.ncu-rep") } });
    expect(run.observed.launchesFinished).toBeGreaterThanOrEqual(3);
    expect(judged(run, run.observed.launchesFinished)).toMatchObject({ ended: "partial", failure: { code } });
    await none();
  });

  it("is hurried by a cancel while it closes its report after a limit", async () => {
    const stop = new AbortController();
    const running = start({
      scenario: "ignores-sigterm",
      stop: stop.signal,
      limits: { stallMs: 200, graceMs: 600_000, shortGraceMs: 100 },
      plan: { program: program(IGNORES) },
    });
    await until(() => output().includes("asked to end"));
    stop.abort("canceled");
    expect(await running).toMatchObject({ endedBy: "stall" });
    await none();
  });

  it.each([
    ["start_limit", { scenario: "never-connects", limits: { startMs: 300 } }, "capture_timeout"],
    ["time_limit", { scenario: "tiny-slow", limits: { totalMs: 700 } }, "capture_timeout"],
    [
      "report_limit",
      { scenario: "tiny-slow", env: { STAND_IN_DELAY_MS: "60" }, limits: { reportBytes: 1_500_000 } },
      "report_too_large",
    ],
    ["disk_full", { scenario: "tiny-slow", limits: { diskFloorBytes: Number.MAX_SAFE_INTEGER } }, "disk_full"],
  ] as [string, Given, string][])("ends at its %s", async (endedBy, given, code) => {
    const run = await start({ ...given, plan: { program: program(STAYS) } });
    expect(run.endedBy).toBe(endedBy);
    expect(judged(run, null).failure).toMatchObject({ code });
    await none();
  });

  it("ends when the program prints without end", async () => {
    const run = await start({
      scenario: "tiny-slow",
      limits: { outputBytes: 100_000 },
      plan: { program: program(`const say = () => process.stdout.write("x".repeat(1000) + "\\n", say); say();`) },
    });
    expect(run).toMatchObject({ endedBy: "output_limit", exit: { outputTruncated: true } });
    expect(output().length).toBe(100_000);
    expect(judged(run, null).failure).toMatchObject({ code: "output_too_large" });
  });

  it("keeps secrets out of the last lines", async () => {
    const run = await start({
      secrets: ["geheim-wort"],
      plan: { program: program('console.log("with geheim-wort and HF_TOKEN=hf_abcdefghijklmnopqrst")') },
    });
    const text = run.outputTail.join("\n");
    expect(text).toContain("with [redacted] and HF_TOKEN=[redacted]");
    expect(text).toContain("==PROF== Report:");
  });

  it("goes on while a script that was ended leaves ncu behind", async () => {
    const running = start({
      scenario: "tiny-slow",
      env: { STAND_IN_DELAY_MS: "100" },
      plan: { program: program(STAYS.replace("setInterval(() => {}, 1000)", "setTimeout(() => {}, 2500)")) },
    });
    await until(() => pids().length > 0);
    const [pid = 0] = pids();
    const parent = (of: number): number =>
      Number(readFileSync(`/proc/${of}/stat`, "utf8").replace(/.*\) /, "").split(" ")[1]);
    // program -> ncu -> script
    process.kill(parent(parent(pid)), "SIGTERM");
    const run = await running;
    expect(run).toMatchObject({ endedBy: "itself", exit: { signal: "SIGTERM" }, observed: { launchesFinished: 12 } });
    expect(run.observed.report).not.toBeNull();
    await none();
  });
});

describe("a warm session", () => {
  async function launch(script: string, port: number): Promise<Group> {
    const group = await startGroup({
      argv: [NCU, ...ncuArguments(plan({ mode: "launch", port, program: program(script) }))],
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", STAND_IN_SCENARIO: "tiny-verdict" },
      outputPath: join(folder, "output.txt"),
      outputLimitBytes: 1_000_000,
      recordFolder: join(folder, "engine"),
    });
    groups.push(group);
    return group;
  }
  const attach = (port: number, given: Given = {}): Promise<NcuRun> =>
    start({
      scenario: "tiny-verdict",
      ...given,
      plan: { mode: "attach", port, program: [], ...given.plan },
      outputPath: join(folder, "attach.txt"),
    });
  /** Attaches until the program is there: before its first CUDA call it is not. */
  async function attachWhenThere(port: number, given: Given): Promise<NcuRun> {
    for (;;) {
      const run = await attach(port, given);
      if (!run.observed.lines.has("no_attachable")) return run;
    }
  }

  it("lets the program go, takes counters again and again, and never ends it", async () => {
    const engine = await launch(STAYS, 49_901);
    const released = await attachWhenThere(49_901, {
      plan: { launches: { kind: "none" } },
      enough: ({ connections }) => connections > 0,
    });
    expect(released).toMatchObject({ endedBy: "count_reached", reportPath: null });
    await until(() => pids().length === 1);
    const [pid = 0] = pids();
    const startTime = await processStartTime(pid);
    for (const count of [2, 3]) {
      const run = await attach(49_901, {
        plan: { launches: { kind: "first", skip: 0, count }, output: join(folder, `report-${count}`) },
        enough: ({ launchesFinished }) => launchesFinished >= count,
      });
      // The script ends at once by the signal, ncu itself a moment later, with its report closed.
      expect(run).toMatchObject({ endedBy: "count_reached", exit: { code: null, signal: "SIGTERM" } });
      expect(run.observed).toMatchObject({ launchesFinished: count, attached: { pid, port: 49_901 } });
      expect(run.observed.report).toBe(join(folder, `report-${count}.ncu-rep`));
      expect(
        judgeRun(run, { launches: count, failedLaunches: 0, kernels: [], allCountersNaN: false }, { launches: count }),
      ).toMatchObject({ ended: "completed", failure: null });
    }
    expect(await processStartTime(pid)).toBe(startTime);

    // Canceled in a launch: it is finished first, and the program goes on.
    const stop = new AbortController();
    const canceled = await attach(49_901, {
      stop: stop.signal,
      env: { STAND_IN_DELAY_MS: "200" },
      plan: { output: join(folder, "canceled") },
      onEvent: (event) => {
        if (event.kind === "launch_started") stop.abort("canceled");
      },
    });
    expect(canceled).toMatchObject({ endedBy: "canceled", observed: { launchesFinished: 1, launchesAbandoned: 0 } });
    expect(await processStartTime(pid)).toBe(startTime);
    await engine.end({ signal: "SIGTERM", graceMs: 3000 });
    expect(await processStartTime(pid)).toBeNull();
  });

  it("ends with the program", async () => {
    await launch(`${PRINTS_PID} process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1000);`, 49_921);
    const run = await attachWhenThere(49_921, {
      plan: { launches: { kind: "first", skip: 0, count: 2 } },
      onEvent: (event) => {
        if (event.kind === "launch_finished")
          void until(() => pids().length > 0).then(() => process.kill(pids()[0] as number, "SIGTERM"));
      },
    });
    expect(run).toMatchObject({
      endedBy: "itself",
      exit: { code: 0 },
      observed: { disconnections: 1, launchesFinished: 2 },
    });
  });

  it("refuses where nobody is", async () => {
    const run = await attach(49_941);
    expect(run.exit.code).toBe(1);
    expect(judged(run, null).failure).toMatchObject({ code: "engine_start_failed", retryable: true });
  });
});

describe("when the worker is killed in a run", () => {
  it("no process of the run is left, and the report holds what was finished", async () => {
    const file = join(folder, "worker.mts");
    const given: Omit<NcuRunOptions, "stop"> = {
      ncu: NCU,
      plan: plan({ program: program(IGNORES) }),
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", STAND_IN_SCENARIO: "tiny-slow", STAND_IN_DELAY_MS: "100" },
      outputPath: join(folder, "output.txt"),
      recordFolder: join(folder, "groups"),
      limits: {
        startMs: 1e6,
        stallMs: 1e6,
        hangMs: 1e6,
        idleMs: null,
        totalMs: 1e6,
        outputBytes: 1e6,
        reportBytes: 1e9,
        diskFloorBytes: 0,
        graceMs: 1e4,
        shortGraceMs: 3e3,
      },
    };
    const module = new URL("../../src/capture/ncu/run.ts", import.meta.url).href;
    await writeFile(
      file,
      `import { runNcu } from ${JSON.stringify(module)};
       await runNcu({ ...${JSON.stringify(given)}, stop: new AbortController().signal, progress: ({ done }) => console.log(done) });`,
    );
    const worker = endAtExit(
      spawn(process.execPath, ["--import", import.meta.resolve("tsx"), file], { stdio: ["ignore", "pipe", "inherit"] }),
    );
    let told = "";
    worker.stdout.on("data", (text) => {
      told += text;
    });
    await until(() => told.includes("2\n") && pids().length === 1);
    worker.kill("SIGKILL");
    const from = Date.now();
    for (const pid of pids()) await until(async () => (await processStartTime(pid)) === null);
    await until(() => readdirSync(join(folder, "groups")).length === 0);
    expect(Date.now() - from).toBeLessThan(5000);
    expect(readFileSync(join(folder, "ncu.log"), "utf8")).toContain("==PROF== Report:");
    expect(readFileSync(join(folder, "report.ncu-rep")).length).toBeGreaterThan(1_200_000);
  });
});
