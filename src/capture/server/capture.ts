import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../base/deadline.ts";
import type { CaptureRecord } from "../../model/capture.ts";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import {
  budgetLeft,
  type Capture,
  commonPlan,
  measureLimits,
  nothing,
  runLimits,
  wantedCounters,
} from "../capture-parts.ts";
import { measure, NEEDS_REPLAY, SURVEY_OF_A_PROGRAM, untilEnough } from "../measure.ts";
import type { NcuPlan } from "../ncu/arguments.ts";
import type { KernelFilter } from "../ncu/kernel-filter.ts";
import { runNcu } from "../ncu/run.ts";
import type { Pollution } from "../process/log-patterns.ts";
import type { CaptureYield } from "../yield.ts";
import { type Engine, engineDied, launchEngine, releaseAll, STOPPED_GRACE_MS } from "./engine.ts";
import { foreignProcess, notReachable, startFailed } from "./failures.ts";
import { portTaken } from "./listening-ports.ts";
import { runLoad } from "./load.ts";
import { type CounterConcurrency, counterConcurrency } from "./load-concurrency.ts";
import {
  concurrencyRecord,
  endEngine,
  engineStart,
  loadFindings,
  pollutionFindings,
  type ServerJob,
  WARM_UP_SEED,
  windowLoad,
} from "./parts.ts";
import { captureServerPerTool } from "./per-tool.ts";
import type { WarmEngine } from "./warm-engine.ts";
import { warmUp } from "./warm-up.ts";

/**
 * An engine that serves requests: started once under `ncu --mode launch`, warmed up, attached to for each run, and kept
 * warm for the next profile. Where this ncu or this engine does not allow that, the engine is started for each tool.
 */
export async function captureServer(
  options: Capture,
  workload: ServerWorkload,
  filter: KernelFilter,
): Promise<CaptureYield> {
  return captureServerJob(options, workload, { filter, measure });
}

/** The same for any job that an engine is kept warm for. */
export async function captureServerJob(
  options: Capture,
  workload: ServerWorkload,
  job: ServerJob,
): Promise<CaptureYield> {
  const concurrency = counterConcurrency(options.request.concurrency, workload);
  const why =
    workload.warm_engine === "never"
      ? "the workload says warm_engine: never"
      : options.canAttach
        ? null
        : "this ncu has no --mode attach";
  if (why !== null) return captureServerPerTool(options, workload, job, concurrency, why);

  if (options.warm !== null) {
    const { engine } = options.warm;
    if (await answers(engine.baseUrl, workload.health.path))
      return attached(options, workload, job, concurrency, options.warm, true);
    // It hangs: another one takes its place, on the same GPUs.
    await endEngine(engine, options.stop);
    await rm(engine.folder, { recursive: true, force: true });
    options.stop.throwIfAborted();
  }
  const taken = await portTaken(workload.port);
  if (taken !== null) return failed(taken, options, concurrency);
  const started = await startWarm(options, workload, concurrency);
  if (started.kind === "cannot_attach") return captureServerPerTool(options, workload, job, concurrency, started.why);
  if (started.kind === "failed") return failed(started.failure, options, concurrency);
  return attached(options, workload, job, concurrency, started.warm, false);
}

type Started =
  | { readonly kind: "warm"; readonly warm: WarmEngine }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "cannot_attach"; readonly why: string };

async function startWarm(
  options: Capture,
  workload: ServerWorkload,
  concurrency: CounterConcurrency,
): Promise<Started> {
  options.tell("warming_up", { phase: "engine_start", done: null, total: null, message: null });
  const start = await engineStart(options, workload);
  const engine = await launchEngine(start);
  let ready = false;
  try {
    const why = await releaseAll(engine, start, {
      limitMs: workload.limits.start_s * 1000,
      signal: options.stop,
      isUp: () => answers(engine.baseUrl, workload.health.path),
    });
    options.stop.throwIfAborted();
    if (why !== null) {
      if (engine.over) return { kind: "failed", failure: startFailed(engine, await engine.group.ended) };
      return { kind: "cannot_attach", why };
    }
    const evidence = await warmUp({
      workload,
      baseUrl: engine.baseUrl,
      load: concurrency,
      seed: workload.load.seed + WARM_UP_SEED,
      output: engine.log,
      signal: options.stop,
      ended: engine.group.ended.then(({ code, signal }) => ({ exitCode: code, signal })),
      now: () => performance.now(),
    });
    options.stop.throwIfAborted();
    if (!evidence.ok) return { kind: "failed", failure: evidence.error };
    ready = true;
    const { lease, engineKey } = options;
    const warm: WarmEngine = {
      engine,
      start,
      lease,
      key: engineKey,
      warmUp: evidence.value,
      shapes: new Set([shapeOf(concurrency)]),
    };
    return { kind: "warm", warm };
  } finally {
    if (!ready) {
      await engine.stop(options.stop.aborted ? STOPPED_GRACE_MS : undefined);
      await keepLog(engine, options);
    }
  }
}

async function attached(
  options: Capture,
  workload: ServerWorkload,
  { filter, requestsEach, measure, end }: ServerJob,
  concurrency: CounterConcurrency,
  warm: WarmEngine,
  reused: boolean,
): Promise<CaptureYield> {
  const { engine, start } = warm;
  let runs = 0;
  let pollution: Pollution = { total: 0, lines: [] };
  const problems: string[] = [];
  let isBroken = false;
  let isStuck = false;
  let foreignPid: number | null = null;
  const foreign = new AbortController();
  try {
    // Kernels are compiled for the shapes that were sent: a new one is sent once before the window.
    if (!warm.shapes.has(shapeOf(concurrency))) {
      options.tell("warming_up", { phase: "warm_up", done: null, total: null, message: "a batch of another size" });
      await runLoad({ ...loadOf(warm, concurrency), seed: workload.load.seed + WARM_UP_SEED, signal: options.stop });
      warm.shapes.add(shapeOf(concurrency));
    }
    const memory = await options.memoryFindings();
    const [process] = await engine.ports();
    // Without a port ncu takes the first program that it finds, whosever it is.
    if (process === undefined) {
      isBroken = true;
      return failed(notReachable(engine), options, concurrency);
    }
    const measured = await measure({
      ...measureLimits(options),
      skip: 0,
      counters: withReplay(wantedCounters(options)),
      surveyMetrics: [...SURVEY_OF_A_PROGRAM, NEEDS_REPLAY],
      sampled: true,
      msLeft: () => budgetLeft(options),
      tell: (progress) => options.tell("capturing", progress),
      async run(purpose, launches, counters, expected) {
        const name = `${purpose}-${runs++}`;
        const windowEnd = new AbortController();
        const isEnough = untilEnough(purpose, expected);
        let loadIsOver = false;
        const own = new Set(await engine.pids());
        const mark = engine.log.mark();
        let load: Promise<void> | null = null;
        options.onToolStart();
        const run = await runNcu({
          ncu: start.ncu,
          plan: {
            ...commonPlan(options, filter, name),
            mode: "attach",
            launches,
            counters,
            profileFromStart: true,
            applyRules: purpose === "counters",
            port: process.port,
            program: [],
          },
          env: start.env,
          cwd: start.cwd,
          outputPath: join(options.folder, `${name}.out`),
          recordFolder: options.recordFolder,
          secrets: options.secrets,
          limits: runLimits(options),
          stop: AbortSignal.any([options.stop, whenOver(engine), foreign.signal]),
          enough: (seen) => loadIsOver || isEnough(seen),
          onEvent(event) {
            if ((event.kind === "attaching" || event.kind === "connected") && !own.has(event.pid)) {
              foreignPid = event.pid;
              foreign.abort(new Error(`process ${event.pid} is not of the engine`));
              return;
            }
            if (event.kind !== "connected" || load !== null) return;
            // The same requests in every window, so that launches come again in the same order.
            load = settled(windowEnd.signal)
              .then(() => runLoad({ ...loadOf(warm, concurrency, requestsEach), signal: windowEnd.signal }))
              .then((result) => {
                if (!windowEnd.signal.aborted) problems.push(...result.problems);
                loadIsOver = true;
              });
          },
          progress: ({ done, total, kernel }) =>
            options.tell("capturing", { phase: purpose, done, total: total ?? expected, message: kernel }),
        });
        // Without the profiler the rest takes a moment; cut off, it could run on into the next window.
        const isDone = (load ?? Promise.resolve()).then(() => true);
        const rest = await Promise.race([within(REST_OF_LOAD_MS, isDone, false), aborted(options.stop)]);
        if (rest === false) isStuck = true;
        windowEnd.abort();
        await load;
        const seen = mark.pollution();
        if (seen.total > pollution.total) pollution = seen;
        mark.close();
        return run;
      },
    });
    const { plan, runs: recorded, findings, ...rest } = measured;
    isBroken = rest.failure?.code === "ncu_failed";
    const died = engine.over
      ? engineDied(engine, "while it was profiled")
      : foreignPid !== null
        ? foreignProcess(foreignPid, process)
        : null;
    const report = foreignPid === null ? rest.report : null;
    return {
      ...rest,
      report,
      ended: died === null ? rest.ended : report === null ? "failed" : "partial",
      failure: died ?? rest.failure,
      findings: [...memory, ...findings, ...pollutionFindings(pollution), ...loadFindings(problems)],
      timeline: null,
      parts: {
        engine_session: "warm",
        engine_session_reason: null,
        engine_reused: reused,
        concurrency: concurrencyRecord(options, concurrency),
        warm_up: reused ? stillWarm(warm) : warm.warmUp,
        plan,
        pipeline: null,
        runs: recorded,
      },
    };
  } finally {
    // Canceling a profile leaves the engine to the worker; a lost lease or a stopping worker ends it there.
    await keepLog(engine, options);
    const why = engine.over
      ? "it ended"
      : warm.lease.lost.aborted
        ? "its lease was lost"
        : isBroken
          ? "ncu could no longer profile it"
          : isStuck
            ? "it did not answer its requests"
            : null;
    if (why !== null) await (end === undefined ? options.engines.end(warm, why) : end(warm));
    else await options.engines.keep(warm);
  }
}

const loadOf = ({ engine }: WarmEngine, concurrency: CounterConcurrency, requestsEach?: number) =>
  windowLoad(engine.workload, engine.baseUrl, concurrency, requestsEach);

/** The engine's log goes with the profile's; its own folder goes with the engine. */
const keepLog = (engine: Engine, { folder }: Capture): Promise<void> =>
  copyFile(join(engine.folder, "engine.log"), join(folder, "engine.log")).catch(() => {});

const REST_OF_LOAD_MS = 60_000;

/**
 * Of two windows with the same requests, sent as soon as ncu said that it was connected, one began with a launch that the
 * other had not seen (H200, 2025.3.1): it seems to say so a moment before it looks at launches. A second attachment showed
 * its first launch 1.0 s after its start, of which attaching takes 0.6 to 0.9 s.
 */
const ATTACH_SETTLES_MS = 500;

const settled = (signal: AbortSignal): Promise<void> => sleep(ATTACH_SETTLES_MS, undefined, { signal }).catch(() => {});

/** Resolves to null when the signal fires. */
const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener("abort", () => resolve(null), { once: true });
  });

/** See NEEDS_REPLAY. */
const withReplay = (counters: NcuPlan["counters"]): NcuPlan["counters"] =>
  counters.metrics.includes(NEEDS_REPLAY) ? counters : { ...counters, metrics: [...counters.metrics, NEEDS_REPLAY] };

/** Fires when the engine ends while it is attached to. */
function whenOver(engine: Engine): AbortSignal {
  const over = new AbortController();
  void engine.group.ended.then(() => over.abort(new Error("the engine ended")));
  return over.signal;
}

/** Warmed up for an earlier profile. */
const stillWarm = ({ warmUp: earlier }: WarmEngine): CaptureRecord["warm_up"] => ({
  ...earlier,
  evidence: `warmed up for an earlier profile, and has run on since: ${earlier.evidence}`,
});

const shapeOf = ({ inFlight, batch }: CounterConcurrency): string => `${inFlight} x ${batch ?? 1}`;

const failed = (failure: Failure, options: Capture, concurrency: CounterConcurrency): CaptureYield =>
  nothing(failure, options, { engine_session: "warm", concurrency: concurrencyRecord(options, concurrency) });

export async function answers(baseUrl: string, path: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}${path}`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
