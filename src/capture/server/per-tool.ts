import { join } from "node:path";
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
import { SURVEY_OF_A_PROGRAM } from "../measure.ts";
import { runNcu } from "../ncu/run.ts";
import { type Pollution, watchLog } from "../process/log-patterns.ts";
import type { CaptureYield } from "../yield.ts";
import { notedPatternsOf, warmPatternsOf } from "./engine-defaults.ts";
import { portTaken } from "./listening-ports.ts";
import { runLoad } from "./load.ts";
import type { CounterConcurrency } from "./load-concurrency.ts";
import {
  callEngine,
  concurrencyRecord,
  engineStart,
  loadFindings,
  pollutionFindings,
  type ServerJob,
  WARM_UP_SEED,
  windowLoad,
} from "./parts.ts";
import { warmUp } from "./warm-up.ts";

/**
 * An engine that cannot be attached to: started under ncu for each run with `--profile-from-start off`, warmed up, and
 * profiled between the calls that open and close its window. Launches before the window are not looked at.
 */
export async function captureServerPerTool(
  options: Capture,
  workload: ServerWorkload,
  { filter, requestsEach, measure }: ServerJob,
  concurrency: CounterConcurrency,
  why: string,
): Promise<CaptureYield> {
  const taken = await portTaken(workload.port);
  if (taken !== null)
    return nothing(taken, options, {
      engine_session: "per_tool",
      concurrency: concurrencyRecord(options, concurrency),
    });
  const { argv, env, cwd } = await engineStart(options, workload);
  const baseUrl = `http://127.0.0.1:${workload.port}`;
  const { window } = workload;
  let warm: CaptureRecord["warm_up"] = null;
  let failure: Failure | null = null;
  let pollution: Pollution = { total: 0, lines: [] };
  const problems: string[] = [];
  let runs = 0;

  const measured = await measure({
    ...measureLimits(options),
    skip: 0,
    counters: wantedCounters(options),
    surveyMetrics: SURVEY_OF_A_PROGRAM,
    sampled: false,
    msLeft: () => budgetLeft(options),
    tell: (progress) => options.tell("capturing", progress),
    async run(purpose, launches, counters, expected) {
      const name = `${purpose}-${runs++}`;
      const log = watchLog(warmPatternsOf(workload), notedPatternsOf(workload));
      const over = new AbortController();
      const windowEnd = new AbortController();
      let isDone = false;
      const drive = async (): Promise<void> => {
        options.tell("warming_up", { phase: "warm_up", done: null, total: null, message: null });
        const signal = AbortSignal.any([options.stop, over.signal]);
        const warmed = await warmUp({
          workload,
          baseUrl,
          load: concurrency,
          seed: workload.load.seed + WARM_UP_SEED,
          output: log,
          signal,
          ended: new Promise((resolve) => over.signal.addEventListener("abort", resolve, { once: true })),
          now: () => performance.now(),
        });
        if (!warmed.ok) {
          failure = warmed.error;
          isDone = true;
          return;
        }
        warm = warmed.value;
        options.tell("capturing", { phase: purpose, done: 0, total: expected, message: null });
        const mark = log.mark();
        if (window) await callEngine(baseUrl, window.open, signal);
        const load = await runLoad({
          ...windowLoad(workload, baseUrl, concurrency, requestsEach),
          signal: AbortSignal.any([signal, windowEnd.signal]),
        });
        if (!windowEnd.signal.aborted) problems.push(...load.problems);
        if (window) await callEngine(baseUrl, window.close, signal).catch(() => {});
        const seen = mark.pollution();
        if (seen.total > pollution.total) pollution = seen;
        mark.close();
        isDone = true;
      };
      options.onToolStart();
      let driving: Promise<void> | null = null;
      const run = await runNcu({
        ncu: options.ncu,
        plan: {
          ...commonPlan(options, filter, name),
          mode: "run",
          launches,
          counters,
          profileFromStart: window === undefined,
          applyRules: purpose === "counters",
          port: null,
          program: argv,
        },
        env,
        cwd,
        outputPath: join(options.folder, `${name}.out`),
        recordFolder: options.recordFolder,
        secrets: options.secrets,
        limits: runLimits(options),
        stop: options.stop,
        enough({ launchesFinished }) {
          if (expected !== null && launchesFinished >= expected) windowEnd.abort();
          return isDone;
        },
        onEvent(event) {
          if (event.kind !== "connected" || driving !== null) return;
          driving = drive().catch((error: unknown) => {
            problems.push(error instanceof Error ? error.message : String(error));
            isDone = true;
          });
        },
        onOutput: log.input(),
        progress: ({ done, total, kernel }) =>
          options.tell("capturing", { phase: purpose, done, total: total ?? expected, message: kernel }),
      });
      over.abort();
      await driving;
      return run;
    },
  });
  const { plan, runs: recorded, findings, ...rest } = measured;
  const warmUpFailed = failure as Failure | null;
  return {
    ...rest,
    ...(warmUpFailed === null || options.stop.aborted
      ? {}
      : { ended: "failed" as const, failure: warmUpFailed, report: null }),
    findings: [...findings, ...pollutionFindings(pollution), ...loadFindings(problems)],
    timeline: null,
    parts: {
      engine_session: "per_tool",
      engine_session_reason: why,
      engine_reused: false,
      concurrency: concurrencyRecord(options, concurrency),
      warm_up: warm,
      plan,
      pipeline: null,
      runs: recorded,
    },
  };
}
