import { join } from "node:path";
import type { BenchmarkWorkload } from "../../model/workload.ts";
import { benchmarkProgram, benchmarkWarmUp } from "../benchmark-program.ts";
import { nothing, programConcurrency } from "../capture-parts.ts";
import { nsysMissing } from "../nsys/outcome.ts";
import type { CaptureYield } from "../yield.ts";
import { CounterRuns } from "./counters.ts";
import { HELD_GRACE_MS, type HeldProgram, holdProgram } from "./held-program.ts";
import { PipelineLog } from "./log.ts";
import { type ProgramCapture, type Recorded, TimelineRecorder } from "./timeline.ts";

/**
 * Timeline, ranking, selection, counters. End-to-end times are nsys' alone; ncu runs the same program again, so launches
 * are the same by name and ordinal. What of the plan could not be measured is said and leaves the rest standing; without
 * counters the timeline still is a result (`partial`).
 */
export async function captureBenchmarkPipeline(
  options: ProgramCapture,
  workload: BenchmarkWorkload,
): Promise<CaptureYield> {
  const { nsys } = options.pipeline;
  if (nsys === null) return nothing(nsysMissing(), options);
  const program = await benchmarkProgram(options, workload);
  const log = new PipelineLog();
  const recorder = new TimelineRecorder(options, workload, nsys, program, log);
  const startedAt = performance.now();
  const held = workload.start_beside_timeline && options.canAttach ? await holdBeside(options, workload) : null;
  try {
    const recorded = await recorder.record();
    const warm_up = benchmarkWarmUp(workload, recorder.warmLine);
    if (!recorded.ok) return nothing(recorded.error, options, { warm_up, runs: log.runs }, log.findings);
    const run = new CounterRuns({ ...options, workload, program, recorded: recorded.value, log, held, startedAt });
    return pipelineYield(options, recorded.value, log, warm_up, run, await run.measure());
  } finally {
    await held?.end(options.stop.aborted ? 0 : HELD_GRACE_MS);
  }
}

/** The program of the counters, in a folder of its own. */
const holdBeside = async (options: ProgramCapture, workload: BenchmarkWorkload): Promise<HeldProgram> =>
  holdProgram({
    ncu: options.ncu,
    program: await benchmarkProgram(options, workload, "output-counters"),
    env: options.env,
    cwd: options.cwd,
    outputPath: join(options.folder, "held.out"),
    outputLimitBytes: workload.limits.output_bytes,
    recordFolder: options.recordFolder,
  });

function pipelineYield(
  options: ProgramCapture,
  recorded: Recorded,
  log: PipelineLog,
  warm_up: CaptureYield["parts"]["warm_up"],
  run: CounterRuns,
  measured: Awaited<ReturnType<CounterRuns["measure"]>>,
): CaptureYield {
  const failure = measured.failure ?? recorded.programFailure;
  const ended = failure === null ? measured.ended : "partial";
  return {
    ended,
    failure,
    findings: log.findings,
    report: run.report,
    survey: null,
    timeline: recorded.timeline,
    parts: {
      engine_session: "none",
      engine_session_reason: null,
      engine_reused: false,
      concurrency: programConcurrency(options),
      warm_up,
      plan: null,
      pipeline: run.plan,
      runs: log.runs,
    },
  };
}
