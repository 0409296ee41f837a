import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { metricsToAsk } from "../../src/analysis/ask.ts";
import { measurableKernels } from "../../src/analysis/timeline/measurable.ts";
import { rankTimeline } from "../../src/analysis/timeline/rank.ts";
import { err, ok } from "../../src/base/result.ts";
import type { PipelinePorts } from "../../src/capture/capture-parts.ts";
import { isCollective } from "../../src/capture/ncu/kernel-filter.ts";
import { captureBenchmarkPipeline } from "../../src/capture/pipeline/benchmark.ts";
import type { ProgramCapture } from "../../src/capture/pipeline/timeline.ts";
import { resolvedRequestSchema } from "../../src/model/profile.ts";
import { DEFAULT_TIMELINE_LIMITS } from "../../src/model/timeline.ts";
import { benchmarkWorkloadSchema } from "../../src/model/workload.ts";
import { readNsysSqlite } from "../../src/timeline/nsys-sqlite/index.ts";
import { summarize } from "../../workers/capture-survey.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PROGRAM = [process.execPath, "-e", "console.log('warmup done')"];
const STAYS = [process.execPath, "-e", "console.log('pid ' + process.pid); setInterval(() => {}, 1000)"];
const COLLECTIVE = "tiny-collective.nsys.sqlite.gz";

let folder: string;
/** As the request's budget has it: a test may set it while the capture runs. */
let deadline: number | null;
beforeEach(async () => {
  deadline = null;
  folder = await mkdtemp(join(tmpdir(), "pk-pipeline-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As the worker will rank: the reader, then the analysis. */
const rank: PipelinePorts["rank"] = async (path) => {
  const read = await readNsysSqlite(path, "none", DEFAULT_TIMELINE_LIMITS);
  if (!read.ok) return err({ ...none(), message: read.error.message });
  const ranking = rankTimeline([read.value], { isCollective: ({ display }) => isCollective(display) });
  if (!ranking.ok) return err({ ...none(), code: ranking.error.code, message: ranking.error.message });
  return ok(measurableKernels(read.value, ranking.value.kernels));
};
const none = () =>
  ({ code: "timeline_no_kernels", message: "no kernels", hint: "", retryable: false, evidence: {} }) as const;

interface Given {
  readonly env?: Record<string, string>;
  readonly workload?: object;
  readonly request?: object;
  readonly more?: Partial<ProgramCapture>;
  readonly ports?: Partial<PipelinePorts>;
}

const start = ({ env = {}, workload: fields = {}, request = {}, more = {}, ports = {} }: Given = {}) => {
  const workload = benchmarkWorkloadSchema.parse({
    kind: "benchmark",
    name: "tiny",
    model: "Tiny",
    engine: "none",
    argv: PROGRAM,
    warm_up: { log_pattern: "warmup done" },
    ...fields,
  });
  const options: ProgramCapture = {
    request: resolvedRequestSchema.parse({
      target: "full pipeline",
      model: "Tiny",
      engine: "none",
      concurrency: 1,
      top_n: 10,
      rank: 0,
      objective: "bottleneck",
      ...request,
    }),
    workload,
    ncu: here("../stand-in/ncu.mjs"),
    canAttach: true,
    env: {
      PATH: process.env.PATH ?? "",
      TMPDIR: folder,
      STAND_IN_TIMELINES: COLLECTIVE,
      STAND_IN_SCENARIO: "tiny-full",
      ...env,
    },
    cwd: folder,
    folder,
    secrets: [],
    recordFolder: join(folder, "groups"),
    clockControl: null,
    summarize: (path) => summarize(path, "full pipeline"),
    pipeline: { nsys: here("../stand-in/nsys.mjs"), ask: { ...metricsToAsk(null), notes: ["a note"] }, rank, ...ports },
    stop: new AbortController().signal,
    tell: () => {},
    onToolStart: () => {},
    ...more,
    get deadline() {
      return deadline;
    },
  };
  return captureBenchmarkPipeline(options, workload);
};

/** The stand-in for ncu, behind some lines of its own. */
function wrapped(lines: string): string {
  const path = join(folder, "ncu.mjs");
  const real = pathToFileURL(here("../stand-in/ncu.mjs")).href;
  writeFileSync(path, `#!/usr/bin/env node\n${lines}\nawait import(${JSON.stringify(real)});\n`, { mode: 0o755 });
  return path;
}

type Result = Awaited<ReturnType<typeof start>>;
const steps = ({ parts }: Result): string[] => parts.runs.map(({ purpose }) => purpose);
const leftNothing = (): void => expect(readdirSync(join(folder, "groups"))).toEqual([]);

describe("a pipeline of a benchmark program", () => {
  it("is recorded, ranked and measured; the collective has its time and is never replayed", async () => {
    const said: string[] = [];
    let started = 0;
    const result = await start({
      more: {
        tell: (_, progress) => said.push(progress?.phase ?? ""),
        onToolStart: () => {
          started++;
        },
      },
    });
    expect(result).toMatchObject({
      ended: "completed",
      failure: null,
      parts: { warm_up: { evidence: expect.stringContaining("was seen") } },
    });
    expect(steps(result)).toEqual(["timeline", "export", "counters"]);
    expect(result.parts.pipeline?.steps.map(({ step }) => step)).toEqual(["timeline", "export", "rank", "counters"]);
    expect([...new Set(said)]).toEqual(["timeline", "export", "rank", "counters"]);
    expect(started).toBe(1);
    expect(result.parts.pipeline).toMatchObject({
      kernels: 5,
      names: 4,
      launches: 4,
      ordinals: [1],
      left_out_more: 0,
      passes: 38,
    });
    expect(result.parts.pipeline?.left_out).toEqual([
      expect.objectContaining({ reason: "collective", kernel: expect.stringMatching(/^ncclDevKernel/) }),
    ]);
    const counters = result.parts.runs.at(-1);
    expect(counters).toMatchObject({ tool: "ncu", launches: 4 });
    expect(counters?.argv).toContain("mangled");
    expect(counters?.argv.join(" ")).not.toContain("nccl");
    expect(result.parts.runs.every(({ took_s }) => took_s >= 0)).toBe(true);
    expect(result.timeline).toBe(join(folder, "timeline-0.sqlite"));
    expect(existsSync(join(folder, "timeline-0.nsys-rep"))).toBe(false);
    const report = await summarize(result.report ?? "", "full pipeline");
    expect(report).toMatchObject({ ok: true, value: { launches: 4 } });
    leftNothing();
  });

  it("goes on without a kernel that hangs, and names it", async () => {
    const result = await start({
      env: { STAND_IN_STOPS: "pointer_walk" },
      workload: { argv: PROGRAM, limits: { stall_s: 2 } },
    });
    expect(result).toMatchObject({ ended: "partial", failure: { code: "capture_incomplete" } });
    expect(steps(result)).toEqual(["timeline", "export", "counters", "counters"]);
    expect(result.findings.map(({ code }) => code)).toContain("kernel_hung");
    expect(result.parts.pipeline?.left_out).toContainEqual(
      expect.objectContaining({ reason: "hang", kernel: expect.stringContaining("pointer_walk") }),
    );
    expect(result.parts.pipeline?.chosen).toHaveLength(3);
    const report = await summarize(result.report ?? "", "full pipeline");
    expect(report).toMatchObject({ ok: true, value: { launches: 3 } });
    leftNothing();
  });

  it("is recorded once more where the timeline holds no kernels, and not twice", async () => {
    const again = await start({
      env: { STAND_IN_TIMELINES: `empty,${COLLECTIVE}` },
      workload: { window: "cuda_profiler_api" },
    });
    expect(again.ended).toBe("completed");
    expect(steps(again)).toEqual(["timeline", "export", "timeline", "export", "counters"]);
    expect(again.findings.map(({ code }) => code)).toContain("timeline_recorded_again");
    const [first, second] = again.parts.runs.filter(({ purpose }) => purpose === "timeline");
    // Recorded: the regular end of a capture range.
    expect(first).toMatchObject({ exit_code: 143, ended_by: "itself" });
    expect(first?.argv).toContain("--capture-range=cudaProfilerApi");
    expect(second?.argv).not.toContain("--capture-range=cudaProfilerApi");
    expect(again.parts.runs.at(-1)?.argv).not.toContain("--profile-from-start");
    await rm(join(folder, "stand-in-nsys-turn"));
    const never = await start({ env: { STAND_IN_TIMELINES: "empty" } });
    expect(never).toMatchObject({
      ended: "failed",
      failure: { code: "timeline_no_kernels" },
      report: null,
      timeline: null,
      parts: { pipeline: null },
    });
    expect(steps(never)).toEqual(["timeline", "export", "timeline", "export"]);
  });

  it("says why there is no timeline", async () => {
    const missing = await start({ ports: { nsys: join(folder, "no-nsys") } });
    expect(missing).toMatchObject({ ended: "failed", failure: { code: "tool_missing" } });
    const nothing = await start({ env: { STAND_IN_TIMELINES: "none" } });
    expect(nothing).toMatchObject({ ended: "failed", failure: { code: "nsys_failed" }, timeline: null });
    expect(nothing.failure?.message).toContain("exit code 0");
    const late = await start({
      env: { STAND_IN_TIMELINES: "hangs" },
      workload: { argv: STAYS, limits: { total_s: 1 } },
    });
    expect(late).toMatchObject({ ended: "failed", failure: { code: "capture_timeout" } });
    leftNothing();
  });

  it("measures what the budget pays for, and keeps the timeline where it pays for nothing", async () => {
    let [from, to] = [0, 0];
    /** The budget is what is left once the timeline is ranked: the time of the program, and so much. */
    const leaves = (ms: number): Given => ({
      ports: {
        async rank(path) {
          const ranked = await rank(path);
          deadline = performance.now() + (to - from) + ms;
          return ranked;
        },
      },
      more: {
        tell: (_, progress) => {
          if (progress?.phase === "timeline") from = performance.now();
          if (progress?.phase === "export") to = performance.now();
        },
      },
    });
    // Four launches take 2.8 s beside the program.
    const some = await start(leaves(2_000));
    expect(some.parts.pipeline?.launches).toBeGreaterThan(0);
    expect(some.parts.pipeline?.launches).toBeLessThan(4);
    expect(some.parts.pipeline?.reason).toContain("budget");
    expect(some.parts.pipeline?.left_out.filter(({ reason }) => reason === "launch_limit").length).toBeGreaterThan(0);
    expect(some.report).not.toBeNull();
    deadline = null;
    const nothing = await start(leaves(-1));
    expect(nothing).toMatchObject({ ended: "partial", failure: { code: "capture_timeout" }, report: null });
    expect(nothing.timeline).not.toBeNull();
    expect(nothing.parts.pipeline).toMatchObject({ launches: 0, chosen: [] });
  });

  it("tries once to go on, and names the second kernel that hangs too", async () => {
    const result = await start({
      env: { STAND_IN_STOPS: "pointer_walk,smem_tile" },
      workload: { limits: { stall_s: 2 } },
    });
    expect(result).toMatchObject({ ended: "partial", failure: { code: "capture_stalled" } });
    expect(steps(result).filter((step) => step === "counters")).toHaveLength(2);
    expect(result.parts.pipeline?.left_out.map(({ reason }) => reason).sort()).toEqual(["collective", "hang", "hang"]);
    expect(result.parts.pipeline?.chosen).toHaveLength(2);
    expect(result.report).not.toBeNull();
    leftNothing();
  });

  it("keeps the timeline where it is stopped before the counters", async () => {
    const stop = new AbortController();
    const result = await start({
      more: {
        stop: stop.signal,
      },
      ports: {
        async rank(path) {
          const ranked = await rank(path);
          stop.abort("lease_lost");
          return ranked;
        },
      },
    });
    expect(result).toMatchObject({ ended: "partial", failure: { code: "lease_lost" }, report: null });
    expect(result.timeline).not.toBeNull();
  });

  it("keeps the timeline where the counters fail", async () => {
    const result = await start({ env: { STAND_IN_SCENARIO: "not-permitted" } });
    expect(result).toMatchObject({ ended: "partial", failure: { code: "counters_not_permitted" }, report: null });
    expect(result.parts.pipeline?.chosen).toEqual([]);
    expect(result.parts.pipeline?.left_out.map(({ because }) => because)).toContain(
      "no counters were taken: counters_not_permitted",
    );
    expect(result.timeline).not.toBeNull();
  });

  it("ends when it is stopped", async () => {
    const stop = new AbortController();
    const running = start({
      env: { STAND_IN_TIMELINES: "hangs" },
      workload: { argv: STAYS },
      more: { stop: stop.signal, onToolStart: () => setImmediate(() => stop.abort("canceled")) },
    });
    expect(await running).toMatchObject({ ended: "failed", failure: { code: "capture_killed" } });
    leftNothing();
  });

  it("measures the program that was started beside the recording, which is gone afterwards", async () => {
    const result = await start({ workload: { start_beside_timeline: true } });
    expect(result).toMatchObject({ ended: "completed", failure: null });
    const { pipeline, runs } = result.parts;
    expect(pipeline?.steps.map(({ step }) => step)).toEqual(["timeline", "export", "rank", "start", "counters"]);
    expect(runs.at(-1)?.argv).toContain("attach");
    expect(pipeline?.notes.join(" ")).toContain("held at its first CUDA call");
    expect(result.report).not.toBeNull();
    leftNothing();
  });

  it("starts the program under ncu where the one beside the recording cannot be used, and says so", async () => {
    const result = await start({
      workload: { start_beside_timeline: true },
      env: { STAND_IN_HELD: "ends" },
    });
    expect(result).toMatchObject({ ended: "completed" });
    expect(result.parts.runs.at(-1)?.argv).not.toContain("attach");
    expect(result.parts.pipeline?.notes.join(" ")).toContain("was of no use");
    leftNothing();
  });

  it.each([
    ["fails", "==ERROR== Failed to connect to the process", 1],
    ["finds nothing", "==PROF== No kernels were profiled.", 0],
  ])("starts the program under ncu where the attachment %s", async (_, line, code) => {
    const ncu = wrapped(
      `if (process.argv.includes("attach")) { console.log(${JSON.stringify(line)}); process.exit(${code}); }`,
    );
    const result = await start({ workload: { start_beside_timeline: true }, more: { ncu } });
    expect(result).toMatchObject({ ended: "completed", failure: null });
    expect(result.report).not.toBeNull();
    expect(result.parts.runs.filter(({ purpose }) => purpose === "counters")).toHaveLength(2);
    expect(result.parts.pipeline?.notes.join(" ")).toContain("gave no counters");
    expect(result.parts.pipeline?.notes.join(" ")).not.toContain("until the launches were chosen");
    leftNothing();
  });

  it("does not wait longer for a program that is held than the budget leaves beside a fresh start", async () => {
    const ncu = wrapped(
      `if (process.argv.includes("launch")) { setInterval(() => {}, 1000); await new Promise(() => {}); }`,
    );
    let over = 0;
    const result = await start({
      workload: { start_beside_timeline: true },
      ports: {
        async rank(path) {
          const ranked = await rank(path);
          deadline = performance.now() + 5_000;
          return ranked;
        },
      },
      more: {
        ncu,
        summarize: async (path) => {
          over = performance.now() - (deadline ?? 0);
          return summarize(path, "full pipeline");
        },
      },
    });
    expect(over).toBeLessThan(0);
    expect(result.report).not.toBeNull();
    expect(result.parts.pipeline?.notes.join(" ")).toContain("made no CUDA call");
    leftNothing();
  });

  it("says that the program ended badly while it was recorded, and is partial where a signal cut it off", async () => {
    const failing = await start({ env: { STAND_IN_NSYS_EXIT: "1" } });
    expect(failing).toMatchObject({ ended: "completed", failure: null });
    expect(failing.findings).toContainEqual(
      expect.objectContaining({ code: "application_failed", evidence: { exit_code: 1 } }),
    );
    await rm(join(folder, "stand-in-nsys-turn"), { force: true });
    const crashed = await start({ env: { STAND_IN_NSYS_EXIT: "139" } });
    expect(crashed).toMatchObject({ ended: "partial", failure: { code: "application_crashed" } });
    expect(crashed.report).not.toBeNull();
  });
});
