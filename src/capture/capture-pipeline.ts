import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../base/result.ts";
import type { Finding } from "../model/finding.ts";
import type { BenchmarkWorkload } from "../model/workload.ts";
import { budgetLeft, type Capture, commonPlan, DISK_FLOOR_BYTES, nothing, runLimits } from "./capture-parts.ts";
import { watchLog } from "./log-patterns.ts";
import { untilEnough } from "./measure.ts";
import type { NcuPlan } from "./ncu-arguments.ts";
import { judgeRun, type RunVerdict } from "./ncu-outcome.ts";
import { type NcuRun, runNcu, stopReason } from "./ncu-run.ts";
import { nsysFailure, type PipelineFailure, stoppedFailure } from "./nsys-outcome.ts";
import { type NsysRun, type NsysRunOptions, runNsysExport, runNsysProfile } from "./nsys-run.ts";
import { kernelOfLine } from "./pipeline-hang.ts";
import { FAILED, type PipelineSelection, type RankedKernel, selectLaunches } from "./pipeline-selection.ts";
import {
  budgetSpent,
  endedTheRun,
  type PipelinePlan,
  type PipelineStep,
  type PipelineYield,
  recordedAgain,
} from "./pipeline-yield.ts";
import { fillIn } from "./placeholders.ts";
import type { CaptureYield } from "./yield.ts";

/** A pipeline capture of a program that ends, with everything that it may touch. */
export interface PipelineCapture
  extends Pick<
    Capture,
    | "request"
    | "ncu"
    | "env"
    | "cwd"
    | "folder"
    | "secrets"
    | "recordFolder"
    | "clockControl"
    | "summarize"
    | "stop"
    | "deadline"
    | "tell"
    | "onToolStart"
  > {
  readonly workload: BenchmarkWorkload;
  /** Path of nsys. */
  readonly nsys: string;
  /** Counters that the analyses declare (`metricsToAsk`). Handed in: this folder knows no analysis. */
  readonly ask: { readonly sections: readonly string[]; readonly metrics: readonly string[] };
  /**
   * Reads an export of nsys, judges whether it can be trusted, and ranks its kernels, most time first. Handed in, as
   * `summarize`. The error's code `timeline_no_kernels` has the recording made once more.
   */
  rank(timelinePath: string): Promise<Result<readonly RankedKernel[], PipelineFailure>>;
}

const SEED = 1;
/** A pipeline of 18 clusters takes 33 launches (H200, DeepSeek-V3 shaped engine): room for twice that. */
const MAX_LAUNCHES = 64;
/**
 * Seconds for a launch of the declared counters, beside the plain run: 12 launches with 28 passes took 36.2 s where the
 * plain run takes 17.5 (measured, ncu 2025.3.1, H200, some 20 GB of memory in use).
 */
const SECONDS_PER_LAUNCH = 1.6;
/** Writing 3,892 kernels took 0.1 s; reports of hours take minutes. */
const EXPORT_MS = 10 * 60_000;
const MAX_LEFT_OUT = 500;

type Window = BenchmarkWorkload["window"];

/**
 * Timeline, ranking, selection, counters. End-to-end times are nsys' alone; ncu runs the same program again, so launches
 * are the same by name and ordinal. What of the plan could not be measured is said and leaves the rest standing; without
 * counters the timeline still is a result (`partial`).
 */
export async function captureBenchmarkPipeline(options: Capture, workload: BenchmarkWorkload): Promise<CaptureYield> {
  return nothing(
    {
      code: "internal",
      message: `The full pipeline of workload ${workload.name} cannot be captured yet.`,
      hint: "Profile a kernel by its name.",
      retryable: false,
      evidence: {},
    },
    options,
  );
}

export async function capturePipeline(options: PipelineCapture): Promise<PipelineYield> {
  const run = new PipelineRun(options);
  const recorded = await run.timeline();
  if (!recorded.ok) return run.finish("failed", recorded.error);
  return run.counters(recorded.value);
}

interface Recorded {
  readonly kernels: readonly RankedKernel[];
  readonly window: Window;
  /** Milliseconds of one run of the program under nsys. */
  readonly programMs: number;
}

class PipelineRun {
  readonly #options: PipelineCapture;
  readonly #program: readonly string[];
  readonly #steps: PipelineStep[] = [];
  readonly #findings: Finding[] = [];
  #warmLine: string | null = null;
  #timeline: string | null = null;
  #report: string | null = null;
  #plan: PipelinePlan | null = null;
  #toolStarted = false;

  constructor(options: PipelineCapture) {
    this.#options = options;
    const { workload, request, folder } = options;
    this.#program = fillIn(workload.argv, {
      model: workload.model,
      concurrency: request.concurrency,
      seed: SEED,
      gpus: workload.gpus,
      rank: request.rank,
      output_dir: join(folder, "output"),
    });
  }

  finish(ended: PipelineYield["ended"], failure: PipelineFailure | null): PipelineYield {
    return {
      ended,
      failure,
      findings: this.#findings,
      timeline: this.#timeline,
      report: this.#report,
      plan: this.#plan,
      steps: this.#steps,
      warm_line: this.#warmLine,
    };
  }

  /** Records and ranks; a timeline without kernels is recorded once more. */
  async timeline(): Promise<Result<Recorded, PipelineFailure>> {
    const { window } = this.#options.workload;
    await mkdir(join(this.#options.folder, "output"), { recursive: true, mode: 0o700 });
    const first = await this.#record(window, 0);
    if (first.ok || first.error.code !== "timeline_no_kernels" || this.#mustStop()) return first;
    // A window that holds no kernel may never have been opened; without one there is nothing to do but to try again.
    const again = await this.#record("from_start", 1);
    if (again.ok) this.#findings.push(recordedAgain(window));
    return again;
  }

  #mustStop(): boolean {
    const left = budgetLeft(this.#options);
    return this.#options.stop.aborted || (left !== null && left <= 0);
  }

  async #record(window: Window, attempt: number): Promise<Result<Recorded, PipelineFailure>> {
    const { folder, workload, rank } = this.#options;
    const output = join(folder, `timeline-${attempt}.nsys-rep`);
    const sqlite = join(folder, `timeline-${attempt}.sqlite`);
    const log = watchLog(workload.warm_up.log_pattern === undefined ? [] : [workload.warm_up.log_pattern]);
    this.#tell("timeline");
    const recording = await runNsysProfile(
      { ...this.#nsysOptions(`timeline-${attempt}`), onOutput: log.input() },
      { window, output, program: this.#program },
    );
    this.#warmLine = log.seen()[0]?.line ?? this.#warmLine;
    this.#push("timeline", recording, null);
    const failed = nsysFailure(recording, "timeline");
    if (failed !== null || recording.path === null) return lost(failed);

    this.#tell("export");
    const exporting = this.#nsysOptions(`export-${attempt}`, EXPORT_MS);
    const exported = await runNsysExport(exporting, recording.path, sqlite);
    this.#push("export", exported, null);
    // It holds what the export holds, and the environment of the program with it.
    await rm(output, { force: true });
    const notExported = nsysFailure(exported, "export");
    if (notExported !== null) return lost(notExported);
    this.#timeline = exported.path;

    this.#tell("rank");
    const startedAt = performance.now();
    const ranked = await rank(sqlite);
    this.#steps.push({ step: "rank", took_s: (performance.now() - startedAt) / 1000, run: null });
    return ranked.ok ? { ok: true, value: { kernels: ranked.value, window, programMs: recording.tookMs } } : ranked;
  }

  #nsysOptions(name: string, limitMs = Number.POSITIVE_INFINITY): NsysRunOptions {
    const { nsys, cwd, env, folder, recordFolder, stop, secrets } = this.#options;
    const { totalMs, outputBytes, reportBytes, graceMs, shortGraceMs } = runLimits(this.#options);
    if (!this.#toolStarted) this.#options.onToolStart();
    this.#toolStarted = true;
    return {
      nsys,
      cwd,
      env,
      recordFolder,
      stop,
      secrets,
      outputPath: join(folder, `${name}.out`),
      limits: {
        totalMs: Math.min(totalMs, limitMs),
        outputBytes,
        reportBytes,
        diskFloorBytes: DISK_FLOOR_BYTES,
        graceMs,
        shortGraceMs,
      },
    };
  }

  /** Takes the counters; once more, without it, where a kernel ended the run. */
  async counters(recorded: Recorded): Promise<PipelineYield> {
    const { kernels } = recorded;
    const failed = new Map<string, "hang" | "fault">();
    let verdict: RunVerdict | null = null;
    for (let attempt = 0; attempt < 2; attempt++) {
      if (this.#options.stop.aborted) break;
      const selection = this.#select(recorded, failed);
      if (selection.launches === 0) break;
      const step = await this.#measure(recorded, selection, attempt);
      verdict = step.verdict;
      const { failure } = step.verdict;
      const how = failure?.code === "capture_stalled" ? "hang" : failure?.code === "kernel_fault" ? "fault" : null;
      const printed = step.run.observed.openLaunch ?? step.run.observed.lastKernel;
      const culprit = how === null || printed === null ? null : kernelOfLine(printed, kernels);
      if (how === null || culprit === null) break;
      failed.set(culprit.kernel, how);
      this.#findings.push(endedTheRun(culprit, how, attempt));
    }
    for (const kernel of kernels) this.#takeOut(kernel, failed.get(kernel.kernel));
    return this.#judge(verdict, failed.size > 0);
  }

  #judge(verdict: RunVerdict | null, endedOnce: boolean): PipelineYield {
    const { stop } = this.#options;
    if (verdict === null && stop.aborted) return this.finish("partial", stoppedFailure(stopReason(stop.reason)));
    if (verdict === null) {
      // Nothing that may be replayed (collectives alone, say) is no failure; a budget that is spent is one.
      const spent = this.#plan?.left_out.some(({ reason }) => reason === "launch_limit") ?? false;
      return this.finish(spent ? "partial" : "completed", spent ? budgetSpent() : null);
    }
    this.#findings.push(...verdict.findings);
    if (verdict.failure !== null) return this.finish("partial", verdict.failure);
    return this.finish(endedOnce ? "partial" : "completed", null);
  }

  #select(recorded: Recorded, failed: ReadonlyMap<string, "hang" | "fault">) {
    const { request, workload } = this.#options;
    const limit = workload.ncu.max_launches ?? MAX_LAUNCHES;
    const affordable = this.#affordable(recorded.programMs);
    const maxLaunches = Math.min(limit, affordable);
    const selection = selectLaunches(recorded.kernels, {
      topN: request.top_n,
      maxLaunches,
      skip: workload.warm_up.skip_launches,
      failed,
    });
    const why =
      affordable < limit
        ? `what is left of the budget pays for ${affordable} launches at ${SECONDS_PER_LAUNCH} s each beside one more run of the program`
        : `at most ${limit} launches get counters`;
    this.#plan = {
      kernels: recorded.kernels.length,
      chosen: selection.chosen,
      left_out: selection.left_out.slice(0, MAX_LEFT_OUT),
      left_out_more: Math.max(0, selection.left_out.length - MAX_LEFT_OUT),
      launches: selection.launches,
      names: selection.names.length,
      ordinals: selection.ordinals,
      passes: null,
      reason: why,
    };
    return selection;
  }

  /** A kernel that ended the last run was not measured, though it was asked for. */
  #takeOut({ kernel, total_ns }: RankedKernel, reason: "hang" | "fault" | undefined): void {
    if (this.#plan === null || reason === undefined) return;
    const chosen = this.#plan.chosen.filter((cluster) => cluster.kernel !== kernel);
    if (chosen.length === this.#plan.chosen.length) return;
    const left_out = [{ kernel, cluster: null, total_ns, reason, because: FAILED[reason] }, ...this.#plan.left_out];
    this.#plan = { ...this.#plan, chosen, left_out };
  }

  /** Launches that the rest of the budget pays for. */
  #affordable(programMs: number): number {
    const left = budgetLeft(this.#options);
    if (left === null) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor((left - programMs) / (SECONDS_PER_LAUNCH * 1000)));
  }

  async #measure(
    { window }: Recorded,
    { names, ordinals, launches }: PipelineSelection,
    attempt: number,
  ): Promise<{ readonly run: NcuRun; readonly verdict: RunVerdict }> {
    const { ncu, ask, env, cwd, folder, recordFolder, secrets, stop, summarize } = this.#options;
    const name = `counters-${attempt}`;
    this.#tell("counters", launches);
    const plan: NcuPlan = {
      ...commonPlan(this.#options, null, name),
      mode: "run",
      launches: { kind: "ordinals", names, ordinals, base: "mangled" },
      counters: { kind: "set", set: "", sections: ask.sections, metrics: ask.metrics },
      profileFromStart: window === "from_start",
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
      progress: ({ done, kernel }) => this.#tell("counters", launches, done, kernel),
    });
    const read = run.reportPath === null ? null : await summarize(run.reportPath);
    const summary = read?.ok && read.value.launches > 0 ? read.value : null;
    const verdict = judgeRun(run, summary, { launches });
    this.#push("counters", run, summary?.launches ?? null);
    // The second run measures all that the first was to, but for one kernel.
    if (summary !== null) this.#report = run.reportPath;
    if (this.#plan !== null) this.#plan = { ...this.#plan, passes: run.observed.passes ?? this.#plan.passes };
    return { run, verdict };
  }

  #push(step: PipelineStep["step"], run: NsysRun | NcuRun, launches: number | null): void {
    this.#steps.push({
      step,
      took_s: run.tookMs / 1000,
      run: {
        tool: step === "counters" ? "ncu" : "nsys",
        argv: run.argv,
        exit_code: run.exit.code,
        signal: run.exit.signal,
        ended_by: run.endedBy,
        launches,
      },
    });
  }

  #tell(phase: string, total: number | null = null, done = 0, message: string | null = null): void {
    this.#options.tell("capturing", { phase, done, total, message });
  }
}

const lost = (failure: PipelineFailure | null): Result<never, PipelineFailure> => {
  if (failure === null) throw new Error("a run without a file has a failure");
  return { ok: false, error: failure };
};
