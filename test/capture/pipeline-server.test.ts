import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { metricsToAsk } from "../../src/analysis/ask.ts";
import { measurableKernels } from "../../src/analysis/timeline/measurable.ts";
import { rankTimeline } from "../../src/analysis/timeline/rank.ts";
import { err, ok } from "../../src/base/result.ts";
import type { Capture, PipelinePorts } from "../../src/capture/capture-parts.ts";
import { isCollective } from "../../src/capture/ncu/kernel-filter.ts";
import { captureServerPipeline } from "../../src/capture/pipeline/server.ts";
import { EngineKeeper, type HeldLease } from "../../src/capture/server/warm-engine.ts";
import { pipelinePlanSchema } from "../../src/model/pipeline-plan.ts";
import { resolvedRequestSchema } from "../../src/model/profile.ts";
import { DEFAULT_TIMELINE_LIMITS } from "../../src/model/timeline.ts";
import { readNsysSqlite } from "../../src/timeline/nsys-sqlite/index.ts";
import { group, summarize } from "../../workers/capture-survey.ts";
import { server } from "../helpers/capture.ts";
import { serverWorkload } from "../helpers/stand-in-engine.ts";
import { until } from "../helpers/until.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const COLLECTIVE = "tiny-collective.nsys.sqlite.gz";
const WINDOW = { open: { path: "/start_profile" }, close: { path: "/stop_profile" } };

let folder: string;
let deadline: number | null;
let engines: EngineKeeper;
let released: number;
beforeEach(async () => {
  deadline = null;
  released = 0;
  engines = new EngineKeeper(() => {});
  folder = await mkdtemp(join(tmpdir(), "pk-server-"));
  for (const name of ["attempt", "engine"]) await mkdir(join(folder, name));
});
afterEach(async () => {
  await engines.stop("the test ends");
  // Nothing runs, whatever became of the capture.
  expect(existsSync(join(folder, "groups")) ? readdirSync(join(folder, "groups")) : []).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

/** As the worker ranks: the reader, then the analysis. */
const rank: PipelinePorts["rank"] = async (path) => {
  const read = await readNsysSqlite(path, "none", DEFAULT_TIMELINE_LIMITS);
  if (!read.ok) return err({ ...noKernels, message: read.error.message });
  const ranking = rankTimeline([read.value], { isCollective: ({ display }) => isCollective(display) });
  if (!ranking.ok) return err({ ...noKernels, code: ranking.error.code, message: ranking.error.message });
  return ok(measurableKernels(read.value, ranking.value.kernels));
};
const noKernels = {
  code: "timeline_no_kernels",
  message: "no kernels",
  hint: "",
  retryable: false,
  evidence: {},
} as const;

const lease = (): HeldLease => ({
  id: "a",
  token: 1,
  gpus: ["GPU-1"],
  waitedS: 0,
  lost: new AbortController().signal,
  wanted: new AbortController().signal,
  async setPreemptible() {},
  async release() {
    released++;
  },
});

interface Given {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly workload?: object;
  readonly request?: object;
  readonly more?: Partial<Capture>;
  readonly ports?: Partial<PipelinePorts>;
}

async function start({ args = [], env = {}, workload: fields = {}, request = {}, more = {}, ports = {} }: Given = {}) {
  const declared = await server("engine", args, { delayMs: 2 });
  const workload = serverWorkload({ ...declared, window: WINDOW, ...fields });
  const options: Capture = {
    request: resolvedRequestSchema.parse({
      target: "full pipeline",
      model: "Tiny",
      engine: "vllm",
      concurrency: 8,
      top_n: 10,
      rank: 0,
      objective: "bottleneck",
      ...request,
    }),
    workload,
    engineKey: "engine",
    lease: lease(),
    warm: null,
    ncu: here("../stand-in/ncu.mjs"),
    canAttach: true,
    env: {
      PATH: process.env.PATH ?? "",
      TMPDIR: folder,
      STAND_IN_TIMELINES: COLLECTIVE,
      ...workload.env,
      ...env,
    },
    cwd: folder,
    folder: join(folder, "attempt"),
    engineFolder: join(folder, "engine"),
    recordFolder: join(folder, "groups"),
    secrets: [],
    clockControl: null,
    engines,
    summarize: (path) => summarize(path, "full pipeline"),
    group,
    pipeline: { nsys: here("../stand-in/nsys.mjs"), ask: { ...metricsToAsk(null), notes: ["a note"] }, rank, ...ports },
    stop: new AbortController().signal,
    memoryFindings: async () => [],
    tell: () => {},
    onToolStart: () => {},
    ...more,
    get deadline() {
      return deadline;
    },
  };
  return captureServerPipeline(options, workload);
}

type Result = Awaited<ReturnType<typeof start>>;
const purposes = ({ parts }: Result): string[] => parts.runs.map(({ tool, purpose }) => `${tool} ${purpose}`);
const codes = ({ findings }: Result): string[] => findings.map(({ code }) => code);

describe("the full pipeline of an engine", () => {
  it("is recorded under load, and its kernels are measured on a warm engine that stays", async () => {
    const said: string[] = [];
    const result = await start({ more: { tell: (state, progress) => said.push(`${state} ${progress?.phase}`) } });
    expect(result.failure).toBeNull();
    expect(result).toMatchObject({ ended: "completed" });
    expect(purposes(result)).toEqual(["nsys timeline", "nsys export", "ncu shapes", "ncu counters"]);
    const [recording, , , counters] = result.parts.runs;
    expect(recording?.argv).toContain("--capture-range=cudaProfilerApi");
    expect(recording?.ended_by).toBe("itself");
    expect(counters?.argv).toEqual(expect.arrayContaining(["--mode", "attach", "--kernel-name-base", "mangled"]));
    expect(counters?.argv.join(" ")).not.toContain("nccl");
    expect([...new Set(said)].slice(0, 4)).toEqual([
      "warming_up timeline",
      "capturing timeline",
      "capturing export",
      "capturing rank",
    ]);
    const plan = pipelinePlanSchema.parse(result.parts.pipeline);
    expect(plan).toMatchObject({
      timeline: { window: "cuda_profiler_api" },
      kernels: 5,
      launches: 4,
      ordinals: null,
      left_out: [{ reason: "collective" }],
    });
    expect(plan.chosen).toHaveLength(4);
    expect(plan.steps.map(({ step }) => step)).toEqual(["timeline", "export", "rank", "start", "shapes", "counters"]);
    expect(plan.notes.join("\n")).toMatch(/timeline: 8 requests[\s\S]*list of 8 prompts[\s\S]*a note/);
    expect(result.parts).toMatchObject({
      engine_session: "warm",
      concurrency: { requested: 8, in_flight: 1, batch: 8 },
      warm_up: { engine_metric: "vllm:request_success_total" },
    });
    expect(await summarize(result.report ?? "", "full pipeline")).toMatchObject({ ok: true, value: { launches: 4 } });
    expect(result.timeline).not.toBeNull();
    expect(readdirSync(join(folder, "attempt")).some((name) => name.endsWith(".nsys-rep"))).toBe(false);
    // The engine is left to the next profile.
    expect(released).toBe(0);
    const warm = await engines.take("engine", () => true);
    expect(warm?.engine.over).toBe(false);
    if (warm !== null) await engines.keep(warm);
  });

  it("ends the engine that an earlier profile left, and keeps its lease", async () => {
    await start();
    const warm = await engines.take("engine", () => true);
    if (warm === null) throw new Error("no engine is warm");
    const { pid } = warm.engine.group;
    await mkdir(join(folder, "engine-2"));
    const again = await start({ more: { warm, lease: warm.lease, engineFolder: join(folder, "engine-2") } });
    expect(again).toMatchObject({ ended: "completed", failure: null });
    expect(warm.engine.over).toBe(true);
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(released).toBe(0);
    expect(engines.holds(warm.lease)).toBe(true);
  });

  it("without a window of its own is recorded in a session of nsys", async () => {
    const result = await start({ workload: { window: undefined } });
    expect(result).toMatchObject({ ended: "completed", failure: null });
    expect(result.parts.pipeline?.timeline.window).toBe("session");
    expect(result.parts.runs[0]?.argv).toContain("--start-later=true");
  });

  it("is recorded once more, in a session, where the first holds no kernels or no window opened", {
    timeout: 120_000,
  }, async () => {
    const again = await start({ env: { STAND_IN_TIMELINES: `empty,${COLLECTIVE}` } });
    expect(again).toMatchObject({ ended: "completed", failure: null });
    expect(codes(again)).toContain("timeline_recorded_again");
    expect(again.parts.pipeline?.timeline.window).toBe("session");
    await rm(join(folder, "stand-in-nsys-turn"));
    await engines.stop("the next one");
    const opened = await start({ workload: { window: { ...WINDOW, open: { path: "/no-such-route" } } } });
    expect(opened).toMatchObject({ ended: "completed", failure: null });
    expect(opened.findings.find(({ code }) => code === "timeline_recorded_again")?.message).toContain("404");
    await engines.stop("the next one");
    await rm(join(folder, "stand-in-nsys-turn"));
    const never = await start({ env: { STAND_IN_TIMELINES: "empty" } });
    expect(never).toMatchObject({ ended: "failed", failure: { code: "timeline_no_kernels" }, timeline: null });
    expect(purposes(never)).toHaveLength(4);
  });

  it("is measured by starts of its own where the engine cannot be attached to", async () => {
    const result = await start({ workload: { warm_engine: "never" } });
    expect(result).toMatchObject({ ended: "completed", failure: null });
    expect(purposes(result)).toEqual(["nsys timeline", "nsys export", "ncu survey", "ncu counters"]);
    expect(result.parts.engine_session).toBe("per_tool");
    expect(result.parts.pipeline?.chosen).toHaveLength(4);
    expect(await summarize(result.report ?? "", "full pipeline")).toMatchObject({ ok: true, value: { launches: 4 } });
  });

  it("keeps the timeline where the counters fail", async () => {
    const result = await start({ env: { STAND_IN_SCENARIO: "not-permitted" } });
    expect(result).toMatchObject({ ended: "partial", report: null });
    expect(result.failure).not.toBeNull();
    expect(result.timeline).not.toBeNull();
    expect(result.parts.pipeline?.left_out.length).toBe(5);
  });

  it("goes on without a kernel that hangs, and names it", { timeout: 180_000 }, async () => {
    // As a request does whose kernel hangs, the one of the counters gets no answer: it comes after 12 of the warm-up and one.
    const hangs = { counter_args: ["--hang-at-request", "14"], load: { timeout_s: 4 }, limits: { stall_s: 2 } };
    const result = await start({ env: { STAND_IN_STOPS: "pointer_walk" }, workload: hangs });
    expect(result.ended).toBe("partial");
    expect(codes(result)).toContain("kernel_hung");
    expect(result.parts.pipeline?.left_out).toContainEqual(
      expect.objectContaining({ reason: "hang", kernel: expect.stringContaining("pointer_walk") }),
    );
    expect(result.parts.pipeline?.chosen).toHaveLength(3);
    expect(await summarize(result.report ?? "", "full pipeline")).toMatchObject({ ok: true, value: { launches: 3 } });
  });

  for (const [what, args, code] of [
    ["is never warm", ["--never-ready"], "warmup_failed"],
    ["dies in its warm-up", ["--die-at-request", "5"], "engine_died"],
    ["dies under load", ["--die-at-request", "20"], "engine_died"],
    ["answers nothing under load", ["--hang-at-request", "20"], "capture_stalled"],
  ] as const) {
    it(`fails where the engine ${what}, and leaves nothing`, async () => {
      const result = await start({ args, workload: { warm_up: { timeout_s: 3 }, limits: { stall_s: 2 } } });
      expect(result).toMatchObject({ ended: "failed", failure: { code }, timeline: null, report: null });
      expect(result.parts.runs).toHaveLength(1);
    });
  }

  it("says why there is no timeline", async () => {
    expect(await start({ ports: { nsys: null } })).toMatchObject({ failure: { code: "tool_missing" } });
    expect(await start({ ports: { nsys: join(folder, "no-nsys") } })).toMatchObject({
      failure: { code: "tool_missing" },
    });
    const nothing = await start({ env: { STAND_IN_TIMELINES: "none" } });
    expect(nothing).toMatchObject({ ended: "failed", failure: { code: "nsys_failed" } });
    const late = await start({ args: ["--never-healthy"], workload: { limits: { total_s: 1 } } });
    expect(late).toMatchObject({ ended: "failed", failure: { code: "capture_timeout" } });
  });

  it("keeps the timeline where the budget is spent, or it is stopped, after it", async () => {
    const spent = await start({
      ports: {
        async rank(path) {
          const ranked = await rank(path);
          deadline = performance.now() + 100;
          return ranked;
        },
      },
    });
    expect(spent).toMatchObject({ ended: "partial", failure: { code: "capture_timeout" }, report: null });
    expect(spent.timeline).not.toBeNull();
    expect(spent.parts.pipeline?.chosen).toEqual([]);
    deadline = null;
    const stop = new AbortController();
    const lost = await start({
      more: { stop: stop.signal },
      ports: {
        async rank(path) {
          const ranked = await rank(path);
          stop.abort("lease_lost");
          return ranked;
        },
      },
    });
    expect(lost).toMatchObject({ ended: "partial", failure: { code: "lease_lost" } });
    expect(lost.timeline).not.toBeNull();
  });

  for (const phase of ["warming_up timeline", "capturing timeline", "capturing shapes", "capturing counters"]) {
    it(`is gone within 5 s when it is stopped in ${phase}`, async () => {
      const stop = new AbortController();
      let at = 0;
      const running = start({
        // A warm engine is the worker's, and ends as its workload says.
        args: ["--request-ms", "50", ...(phase.endsWith("timeline") ? ["--ignore-sigterm"] : [])],
        more: {
          stop: stop.signal,
          tell(state, progress) {
            if (stop.signal.aborted || `${state} ${progress?.phase}` !== phase) return;
            at = performance.now();
            setImmediate(() => stop.abort("canceled"));
          },
        },
      }).catch((error: unknown) => error);
      await running;
      expect(at).toBeGreaterThan(0);
      expect(performance.now() - at).toBeLessThan(5_000);
      // A warm engine is left to the worker; everything else is gone.
      await engines.stop("canceled");
      await until(() => readdirSync(join(folder, "groups")).length === 0);
    });
  }
});
