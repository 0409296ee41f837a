import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureRecord } from "../model/capture.ts";
import type { BenchmarkWorkload } from "../model/workload.ts";
import {
  budgetLeft,
  type Capture,
  commonPlan,
  measureLimits,
  programConcurrency,
  runLimits,
  wantedCounters,
} from "./capture-parts.ts";
import type { KernelFilter } from "./kernel-filter.ts";
import { watchLog } from "./log-patterns.ts";
import { measure, SURVEY_OF_A_PROGRAM, untilEnough } from "./measure.ts";
import { type NcuRun, runNcu } from "./ncu-run.ts";
import { fillIn } from "./placeholders.ts";
import type { CaptureYield } from "./yield.ts";

/** For `{seed}`: the same in every run, so that launches come again. */
const SEED = 1;

/** A program that ends by itself: each run of ncu starts it once. */
export async function captureBenchmark(
  options: Capture,
  workload: BenchmarkWorkload,
  filter: KernelFilter,
): Promise<CaptureYield> {
  const { log_pattern, skip_launches } = workload.warm_up;
  // Its own: what it writes there is neither a log nor a report of the capture.
  const outputFolder = join(options.folder, "output");
  await mkdir(outputFolder, { recursive: true, mode: 0o700 });
  const program = fillIn(workload.argv, {
    model: workload.model,
    concurrency: options.request.concurrency,
    seed: SEED,
    gpus: workload.gpus,
    rank: options.request.rank,
    output_dir: outputFolder,
  });
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
      warm_up: warmUpOf(workload, warmLine),
      plan,
      pipeline: null,
      runs: recorded,
    },
  };
}

function warmUpOf({ warm_up }: BenchmarkWorkload, line: string | null): CaptureRecord["warm_up"] {
  const { log_pattern, skip_launches } = warm_up;
  const words = [
    log_pattern === undefined
      ? "the workload declares no line that says that it is warm"
      : line === null
        ? "the line that says that it is warm was not seen"
        : "the line that says that it is warm was seen",
    skip_launches === 0
      ? "no launch was skipped"
      : `the first ${skip_launches} launches of each kernel were left out where there were others`,
  ];
  return {
    completed_by_load: null,
    completed_by_engine: null,
    engine_metric: null,
    log_patterns: log_pattern === undefined ? [] : [{ pattern: log_pattern, line }],
    skipped_launches: skip_launches,
    took_s: null,
    evidence: words.join("; "),
  };
}
