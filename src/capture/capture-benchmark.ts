import { join } from "node:path";
import type { BenchmarkWorkload } from "../model/workload.ts";
import { benchmarkProgram, benchmarkWarmUp } from "./benchmark-program.ts";
import {
  budgetLeft,
  type Capture,
  commonPlan,
  measureLimits,
  programConcurrency,
  runLimits,
  wantedCounters,
} from "./capture-parts.ts";
import { measure, SURVEY_OF_A_PROGRAM, untilEnough } from "./measure.ts";
import type { KernelFilter } from "./ncu/kernel-filter.ts";
import { type NcuRun, runNcu } from "./ncu/run.ts";
import { watchLog } from "./process/log-patterns.ts";
import type { CaptureYield } from "./yield.ts";

/** A program that ends by itself: each run of ncu starts it once. */
export async function captureBenchmark(
  options: Capture,
  workload: BenchmarkWorkload,
  filter: KernelFilter,
): Promise<CaptureYield> {
  const { log_pattern, skip_launches } = workload.warm_up;
  const program = await benchmarkProgram(options, workload);
  let warmLine: string | null = null;
  let runs = 0;

  const measured = await measure({
    ...measureLimits(options),
    skip: skip_launches,
    counters: wantedCounters(options),
    surveyMetrics: SURVEY_OF_A_PROGRAM,
    sampled: false,
    msLeft: () => budgetLeft(options),
    tell: (progress) => options.tell("capturing", progress),
    async run(purpose, launches, counters, expected): Promise<NcuRun> {
      const name = `${purpose}-${runs++}`;
      const log = watchLog(log_pattern === undefined ? [] : [log_pattern]);
      options.onToolStart();
      const run = await runNcu({
        ncu: options.ncu,
        plan: {
          ...commonPlan(options, filter, name),
          mode: "run",
          launches,
          counters,
          profileFromStart: workload.window === "from_start",
          applyRules: purpose === "counters",
          port: null,
          program,
        },
        env: options.env,
        cwd: options.cwd,
        outputPath: join(options.folder, `${name}.out`),
        recordFolder: options.recordFolder,
        secrets: options.secrets,
        limits: runLimits(options),
        stop: options.stop,
        enough: untilEnough(purpose, expected),
        onOutput: log.input(),
        progress: ({ done, total, kernel }) =>
          options.tell("capturing", { phase: purpose, done, total: total ?? expected, message: kernel }),
      });
      warmLine = log.seen()[0]?.line ?? warmLine;
      return run;
    },
  });
  const { plan, runs: recorded, ...rest } = measured;
  return {
    ...rest,
    timeline: null,
    parts: {
      engine_session: "none",
      engine_session_reason: null,
      engine_reused: false,
      concurrency: programConcurrency(options),
      warm_up: benchmarkWarmUp(workload, warmLine),
      plan,
      pipeline: null,
      runs: recorded,
    },
  };
}
