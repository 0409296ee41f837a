import { join } from "node:path";
import type { PipelinePlan } from "../model/pipeline-plan.ts";
import type { Failure } from "../model/profile.ts";
import type { BenchmarkWorkload } from "../model/workload.ts";
import { benchmarkProgram, benchmarkWarmUp } from "./benchmark-program.ts";
import { budgetLeft, commonPlan, nothing, programConcurrency, runLimits } from "./capture-parts.ts";
import { untilEnough } from "./measure.ts";
import type { NcuPlan } from "./ncu-arguments.ts";
import { judgeRun, type RunVerdict } from "./ncu-outcome.ts";
import { type NcuRun, runNcu, stopReason } from "./ncu-run.ts";
import { nsysMissing, stoppedFailure } from "./nsys-outcome.ts";
import { kernelOfLine } from "./pipeline-hang.ts";
import { FAILED, type PipelineSelection, type RankedKernel, selectLaunches } from "./pipeline-selection.ts";
import { type ProgramCapture, type Recorded, TimelineRecorder } from "./pipeline-timeline.ts";
import { budgetSpent, endedTheRun, PipelineLog } from "./pipeline-yield.ts";
import type { CaptureYield } from "./yield.ts";

/** A pipeline of 18 clusters takes 33 launches (H200, DeepSeek-V3 shaped engine): room for twice that. */
const MAX_LAUNCHES = 64;
/**
 * Seconds for a launch of the declared counters, beside the plain run: 12 launches with 28 passes took 36.2 s where the
 * plain run takes 17.5 (measured, ncu 2025.3.1, H200, some 20 GB of memory in use).
 */
const SECONDS_PER_LAUNCH = 1.6;
const MAX_LEFT_OUT = 500;

type Plan = Omit<PipelinePlan, "steps">;

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
  const recorded = await recorder.record();
  const warm_up = benchmarkWarmUp(workload, recorder.warmLine);
  if (!recorded.ok) return nothing(recorded.error, options, { warm_up, runs: log.runs }, log.findings);
  const run = new CounterRuns(options, workload, program, recorded.value, log);
  const { ended, failure } = await run.measure();
  return {
    ended,
    failure,
    findings: log.findings,
    report: run.report,
    survey: null,
    timeline: recorded.value.timeline,
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

/** The counters of a recorded pipeline: which launches, and the runs of ncu for them. */
class CounterRuns {
  readonly #options: ProgramCapture;
  readonly #workload: BenchmarkWorkload;
  readonly #program: readonly string[];
  readonly #recorded: Recorded;
  readonly #log: PipelineLog;
  #plan: Plan;
  /** Report of ncu; null: no launch got counters. */
  report: string | null = null;

  constructor(
    options: ProgramCapture,
    workload: BenchmarkWorkload,
    program: readonly string[],
    recorded: Recorded,
    log: PipelineLog,
  ) {
    this.#options = options;
    this.#workload = workload;
    this.#program = program;
    this.#recorded = recorded;
    this.#log = log;
    const { window, programMs, kernels } = recorded;
    const { ask } = options.pipeline;
    this.#plan = {
      timeline: { tool: "nsys", window, program_s: programMs / 1000 },
      kernels: kernels.length,
      chosen: [],
      left_out: [],
      left_out_more: 0,
      launches: 0,
      names: 0,
      ordinals: [],
      passes: null,
      metrics: ask.metrics.length,
      reason: "nothing was chosen: the capture was stopped before",
      notes: [...ask.notes],
    };
  }

  get plan(): PipelinePlan {
    return { ...this.#plan, steps: this.#log.steps };
  }

  /** Takes the counters; once more, without it, where a kernel ended the run. */
  async measure(): Promise<{ readonly ended: "completed" | "partial"; readonly failure: Failure | null }> {
    const { kernels } = this.#recorded;
    const failed = new Map<string, "hang" | "fault">();
    let verdict: RunVerdict | null = null;
    for (let attempt = 0; attempt < 2; attempt++) {
      if (this.#options.stop.aborted) break;
      const selection = this.#select(failed);
      if (selection.launches === 0) break;
      const step = await this.#measure(selection, attempt);
      verdict = step.verdict;
      const { failure } = step.verdict;
      const how = failure?.code === "capture_stalled" ? "hang" : failure?.code === "kernel_fault" ? "fault" : null;
      const printed = step.run.observed.openLaunch ?? step.run.observed.lastKernel;
      const culprit = how === null || printed === null ? null : kernelOfLine(printed, kernels);
      if (how === null || culprit === null) break;
      failed.set(culprit.kernel, how);
      this.#log.findings.push(endedTheRun(culprit, how, attempt));
    }
    for (const kernel of kernels) this.#takeOut(kernel, failed.get(kernel.kernel));
    return this.#judge(verdict, [...failed.keys()]);
  }

  #judge(verdict: RunVerdict | null, ended: readonly string[]) {
    const { stop } = this.#options;
    const partial = (failure: Failure) => ({ ended: "partial", failure }) as const;
    if (verdict === null && stop.aborted) return partial(stoppedFailure(stopReason(stop.reason)));
    if (verdict === null) {
      // Nothing that may be replayed (collectives alone, say) is no failure; a budget that is spent is one.
      const spent = this.#plan.left_out.some(({ reason }) => reason === "launch_limit");
      return spent ? partial(budgetSpent()) : ({ ended: "completed", failure: null } as const);
    }
    this.#log.findings.push(...verdict.findings);
    if (verdict.failure !== null) return partial(verdict.failure);
    return ended.length > 0 ? partial(kernelsEndedRuns(ended)) : ({ ended: "completed", failure: null } as const);
  }

  #select(failed: ReadonlyMap<string, "hang" | "fault">): PipelineSelection {
    const { request } = this.#options;
    const { kernels } = this.#recorded;
    const limit = this.#workload.ncu.max_launches ?? MAX_LAUNCHES;
    const affordable = this.#affordable();
    const selection = selectLaunches(kernels, {
      topN: request.top_n,
      maxLaunches: Math.min(limit, affordable),
      skip: this.#workload.warm_up.skip_launches,
      failed,
    });
    const { chosen, left_out, launches, names, ordinals } = selection;
    this.#plan = {
      ...this.#plan,
      chosen: [...chosen],
      left_out: left_out.slice(0, MAX_LEFT_OUT),
      left_out_more: Math.max(0, left_out.length - MAX_LEFT_OUT),
      launches,
      names: names.length,
      ordinals: [...ordinals],
      passes: null,
      reason:
        affordable < limit
          ? `what is left of the budget pays for ${affordable} launches at ${SECONDS_PER_LAUNCH} s each beside one more run of the program`
          : `at most ${limit} launches get counters`,
    };
    return selection;
  }

  /** A kernel that ended the last run was not measured, though it was asked for. */
  #takeOut({ kernel, total_ns }: RankedKernel, reason: "hang" | "fault" | undefined): void {
    if (reason === undefined) return;
    const chosen = this.#plan.chosen.filter((cluster) => cluster.kernel !== kernel);
    if (chosen.length === this.#plan.chosen.length) return;
    const left_out = [{ kernel, cluster: null, total_ns, reason, because: FAILED[reason] }, ...this.#plan.left_out];
    this.#plan = { ...this.#plan, chosen, left_out };
  }

  /** Launches that the rest of the budget pays for. */
  #affordable(): number {
    const left = budgetLeft(this.#options);
    if (left === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor((left - this.#recorded.programMs) / (SECONDS_PER_LAUNCH * 1000)));
  }

  async #measure(
    { names, ordinals, launches }: PipelineSelection,
    attempt: number,
  ): Promise<{ readonly run: NcuRun; readonly verdict: RunVerdict }> {
    const { ncu, pipeline, env, cwd, folder, recordFolder, secrets, stop, summarize } = this.#options;
    const { sections, metrics } = pipeline.ask;
    const name = `counters-${attempt}`;
    this.#tell(launches);
    const plan: NcuPlan = {
      ...commonPlan(this.#options, null, name),
      mode: "run",
      launches: { kind: "ordinals", names, ordinals, base: "mangled" },
      counters: { kind: "set", set: "", sections, metrics },
      profileFromStart: this.#recorded.window === "from_start",
      applyRules: false,
      port: null,
      program: this.#program,
    };
    const run = await runNcu({
      ncu,
      plan,
      env,
      cwd,
      outputPath: join(folder, `${name}.out`),
      recordFolder,
      secrets,
      limits: runLimits(this.#options),
      stop,
      enough: untilEnough("counters", launches),
      progress: ({ done, kernel }) => this.#tell(launches, done, kernel),
    });
    const read = run.reportPath === null ? null : await summarize(run.reportPath);
    const summary = read?.ok && read.value.launches > 0 ? read.value : null;
    const verdict = judgeRun(run, summary, { launches });
    this.#log.ncu(run, summary?.launches ?? null);
    // The second run measures all that the first was to, but for one kernel.
    if (summary !== null) this.report = run.reportPath;
    this.#plan = { ...this.#plan, passes: run.observed.passes ?? this.#plan.passes };
    return { run, verdict };
  }

  #tell(total: number, done = 0, message: string | null = null): void {
    this.#options.tell("capturing", { phase: "counters", done, total, message });
  }
}

/** The rest was measured. */
const kernelsEndedRuns = (kernels: readonly string[]): Failure => ({
  code: "capture_incomplete",
  message: `Counters of ${kernels.length === 1 ? "one kernel" : `${kernels.length} kernels`} could not be taken: ${kernels[0]?.slice(0, 200)} ended the run; the rest was measured without it.`,
  hint: "It keeps its time and gets no verdict. See the findings; profile it alone to see what it does under ncu.",
  retryable: false,
  evidence: { kernels: kernels.slice(0, 20).map((kernel) => kernel.slice(0, 200)) },
});
