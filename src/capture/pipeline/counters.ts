import { join } from "node:path";
import type { PipelinePlan } from "../../model/pipeline-plan.ts";
import type { Failure } from "../../model/profile.ts";
import type { BenchmarkWorkload } from "../../model/workload.ts";
import { budgetLeft, commonPlan, runLimits } from "../capture-parts.ts";
import { untilEnough } from "../measure.ts";
import type { NcuPlan } from "../ncu/arguments.ts";
import { judgeRun, type RunVerdict } from "../ncu/outcome.ts";
import { type NcuRun, type NcuRunOptions, runNcu, stopReason } from "../ncu/run.ts";
import { stoppedFailure } from "../nsys/outcome.ts";
import { kernelOfLine } from "./hang.ts";
import { HELD_GRACE_MS, type HeldProgram } from "./held-program.ts";
import { budgetSpent, endedTheRun, type PipelineLog } from "./log.ts";
import { FAILED, listed, type PipelineSelection, type RankedKernel, selectLaunches, unmeasured } from "./selection.ts";
import type { ProgramCapture, Recorded } from "./timeline.ts";

/** 20 clusters of the ten kernels of most time took 49 launches (H200, DeepSeek-V3 shaped engine): room for some more. */
const MAX_LAUNCHES = 64;
/** Whatever the program's own time: so many of them told nine of these clusters, the heaviest of eight kernels among them. */
const MIN_LAUNCHES = 12;
/** A launch of the declared counters with 29 passes: 0.65 to 0.8 s, mostly the same for all kernels (ncu 2025.3.1, H200). */
const SECONDS_PER_LAUNCH = 0.8;
/** A full pipeline is to take so many times what the program takes. */
const TIMES_THE_PROGRAM = 3;
/** What nsys takes beside the program: 10.6 to 13.7 s where the program takes 8.4 to 11.2 (H200). */
const NSYS_OWN_S = 2;
/** Of a program that was held, from the attachment on: 3.2 of 9.6 s, 6.3 of 17.5 s (engine.py bench, H200). */
const REST_OF_A_HELD_START = 0.4;
/** To write, hand in, read and judge what was measured: 2 s, mostly. */
const END_S = 2.5;
/** The program that is held began when the recording did, so it has had about as long. */
const HELD_LIMIT_MS = 10_000;

type Plan = Omit<PipelinePlan, "steps">;

export interface CounterOptions extends ProgramCapture {
  readonly workload: BenchmarkWorkload;
  readonly program: readonly string[];
  readonly recorded: Recorded;
  readonly log: PipelineLog;
  /** The program, started beside the recording; null: it is started for each run. */
  readonly held: HeldProgram | null;
  /** `performance.now()` at the start of the recording. */
  readonly startedAt: number;
}

interface CounterRun {
  readonly run: NcuRun;
  readonly verdict: RunVerdict;
  /** The program that was held gave nothing, where one that is started anew may. */
  readonly isOfNoUse: boolean;
}

const START_ANEW: ReadonlySet<Failure["code"]> = new Set([
  "ncu_failed",
  "no_kernels_profiled",
  "no_matching_kernel",
  "application_failed",
  "application_crashed",
]);

/** The counters of a recorded pipeline: which launches, and the runs of ncu for them. */
export class CounterRuns {
  readonly #options: CounterOptions;
  readonly #recorded: Recorded;
  readonly #log: PipelineLog;
  /** Null: none, or it has served its run. */
  #held: HeldProgram | null;
  /** Where it can be attached to. */
  #port: number | null = null;
  #plan: Plan;
  /** Report of ncu; null: no launch got counters. */
  report: string | null = null;

  constructor(options: CounterOptions) {
    const { recorded, log, held } = options;
    this.#options = options;
    this.#recorded = recorded;
    this.#log = log;
    this.#held = held;
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
    await this.#waitForHeld();
    for (let attempt = 0; attempt < 2; attempt++) {
      if (this.#options.stop.aborted) break;
      let selection = this.#select(failed);
      if (selection.launches === 0) break;
      let step = await this.#measure(selection, attempt);
      if (step.isOfNoUse) {
        // The program is started anew for it, which leaves time for other launches.
        selection = this.#select(failed);
        if (selection.launches > 0 && !this.#options.stop.aborted) step = await this.#measure(selection, attempt);
      }
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
    if (this.report === null && verdict !== null) this.#nothingMeasured(verdict.failure);
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
    const { request, workload } = this.#options;
    const { most, reason } = this.#most();
    const selection = selectLaunches(this.#recorded.kernels, {
      topN: request.top_n,
      maxLaunches: most,
      skip: workload.warm_up.skip_launches,
      failed,
    });
    const { chosen, left_out, launches, names, ordinals } = selection;
    this.#plan = {
      ...this.#plan,
      chosen: [...chosen],
      ...listed(left_out),
      launches,
      names: names.length,
      ordinals: [...ordinals],
      passes: null,
      reason,
    };
    return selection;
  }

  /** Launches that may get counters, and what bounds them. */
  #most(): { readonly most: number; readonly reason: string } {
    const { workload, request, startedAt } = this.#options;
    const programS = this.#recorded.programMs / 1000;
    const startS = this.#held === null ? programS : programS * REST_OF_A_HELD_START;
    const plainS = Math.max(0, programS - NSYS_OWN_S);
    const left = budgetLeft(this.#options);
    const paid = left === null ? Number.POSITIVE_INFINITY : launchesIn(left / 1000 - startS);
    const usedS = (performance.now() - startedAt) / 1000;
    const aimed = Math.max(MIN_LAUNCHES, launchesIn(TIMES_THE_PROGRAM * plainS - usedS - startS - END_S));
    // max_launches is of one kernel.
    const declared = (workload.ncu.max_launches ?? MAX_LAUNCHES) * request.top_n;
    const most = Math.min(MAX_LAUNCHES, declared, aimed);
    if (paid < most) {
      const each = `at ${SECONDS_PER_LAUNCH} s each beside the program's start`;
      return { most: paid, reason: `what is left of the budget pays for ${paid} launches ${each}` };
    }
    const why =
      most === MAX_LAUNCHES
        ? "the most that are taken"
        : most === declared
          ? "ncu.max_launches of the workload for each of the top kernels"
          : most === MIN_LAUNCHES
            ? "the least that is aimed at"
            : `for ${TIMES_THE_PROGRAM} times the program's time in all`;
    return { most, reason: `at most ${most} launches get counters: ${why}` };
  }

  /** What was chosen got no counters. */
  #nothingMeasured(failure: Failure | null): void {
    const { left_out } = unmeasured(this.#recorded.kernels, this.#options.request.top_n, failure);
    this.#plan = { ...this.#plan, chosen: [], ...listed(left_out) };
  }

  /** A kernel that ended the last run was not measured, though it was asked for. */
  #takeOut({ kernel, total_ns }: RankedKernel, reason: "hang" | "fault" | undefined): void {
    if (reason === undefined) return;
    const chosen = this.#plan.chosen.filter((cluster) => cluster.kernel !== kernel);
    if (chosen.length === this.#plan.chosen.length) return;
    const left_out = [{ kernel, cluster: null, total_ns, reason, because: FAILED[reason] }, ...this.#plan.left_out];
    this.#plan = { ...this.#plan, chosen, left_out };
  }

  /** Finds out whether the program that was started beside the recording can be attached to, while a fresh start is paid for. */
  async #waitForHeld(): Promise<void> {
    const held = this.#held;
    if (held === null) return;
    const left = budgetLeft(this.#options);
    // Half of what a fresh start would leave for launches.
    const spare = left === null ? Number.POSITIVE_INFINITY : (left - this.#recorded.programMs) / 2;
    const limitMs = Math.max(0, Math.min(HELD_LIMIT_MS, spare));
    const startedAt = performance.now();
    const waiting = await held.waiting(limitMs, this.#options.stop);
    this.#log.step("start", performance.now() - startedAt);
    if (!("reason" in waiting)) {
      this.#port = waiting.port;
      return;
    }
    this.#note(`The program that was started beside the timeline was of no use: ${waiting.reason}.`);
    this.#held = null;
    await held.end(HELD_GRACE_MS);
  }

  #note(text: string): void {
    this.#plan = { ...this.#plan, notes: [...this.#plan.notes, text] };
  }

  /** The program that is held serves one run; for another one ncu starts the program. */
  async #measure(selection: PipelineSelection, attempt: number): Promise<CounterRun> {
    const held = this.#held;
    this.#held = null;
    return held === null
      ? this.#take(selection, `counters-${attempt}`, { mode: "run", port: null })
      : this.#attach(held, selection, attempt);
  }

  async #attach(held: HeldProgram, selection: PipelineSelection, attempt: number): Promise<CounterRun> {
    const foreign = new AbortController();
    const measured = await this.#take(
      selection,
      `counters-${attempt}-held`,
      { mode: "attach", port: this.#port },
      foreign.signal,
      (event) => {
        if ((event.kind === "attaching" || event.kind === "connected") && !held.owns(event.pid)) foreign.abort();
      },
    );
    await held.end(HELD_GRACE_MS);
    const { failure } = measured.verdict;
    if (foreign.signal.aborted) {
      // Counters of somebody else's program.
      this.report = null;
      this.#note("Another program answered on the port of the one that was started beside the timeline.");
      return { ...measured, isOfNoUse: true };
    }
    const code = failure?.code ?? null;
    const stuck = code === "capture_stalled" && measured.run.observed.openLaunch === null;
    if (this.report === null && code !== null && (stuck || START_ANEW.has(code))) {
      this.#note(`The program that was started beside the timeline gave no counters: ${code}.`);
      return { ...measured, isOfNoUse: true };
    }
    this.#note(
      "The program was started beside the recording and held at its first CUDA call until the launches were chosen.",
    );
    return measured;
  }

  async #take(
    { names, ordinals, launches }: PipelineSelection,
    name: string,
    how: Pick<NcuPlan, "mode" | "port">,
    alsoStop: AbortSignal | null = null,
    onEvent: NcuRunOptions["onEvent"] = () => {},
  ): Promise<CounterRun> {
    const { ncu, pipeline, env, cwd, folder, recordFolder, secrets, stop, summarize, program } = this.#options;
    const { sections, metrics } = pipeline.ask;
    this.#tell(launches);
    const plan: NcuPlan = {
      ...commonPlan(this.#options, null, name),
      ...how,
      launches: { kind: "ordinals", names, ordinals, base: "mangled" },
      counters: { kind: "set", set: "", sections, metrics },
      profileFromStart: this.#recorded.window === "from_start",
      applyRules: false,
      program: how.mode === "attach" ? [] : program,
    };
    const run = await runNcu({
      ncu,
      plan,
      env,
      cwd,
      outputPath: join(folder, `${name}.out`),
      recordFolder,
      secrets,
      limits: { ...runLimits(this.#options), idleMs: how.mode === "attach" ? this.#idleMs() : null },
      stop: alsoStop === null ? stop : AbortSignal.any([stop, alsoStop]),
      enough: untilEnough("counters", launches),
      onEvent,
      progress: ({ done, kernel }) => this.#tell(launches, done, kernel),
    });
    const read = run.reportPath === null ? null : await summarize(run.reportPath);
    const summary = read?.ok && read.value.launches > 0 ? read.value : null;
    const verdict = judgeRun(run, summary, { launches });
    this.#log.ncu(run, summary?.launches ?? null);
    // The second run measures all that the first was to, but for one kernel.
    if (summary !== null) this.report = run.reportPath;
    this.#plan = { ...this.#plan, passes: run.observed.passes ?? this.#plan.passes };
    return { run, verdict, isOfNoUse: false };
  }

  /** A child of a program that is held may wait at its own first CUDA call, where nobody attaches to it. */
  #idleMs(): number {
    return Math.max(60_000, TIMES_THE_PROGRAM * this.#recorded.programMs);
  }

  #tell(total: number, done = 0, message: string | null = null): void {
    this.#options.tell("capturing", { phase: "counters", done, total, message });
  }
}

const launchesIn = (seconds: number): number => Math.max(0, Math.floor(seconds / SECONDS_PER_LAUNCH));

/** The rest was measured. */
const kernelsEndedRuns = (kernels: readonly string[]): Failure => ({
  code: "capture_incomplete",
  message: `Counters of ${kernels.length === 1 ? "one kernel" : `${kernels.length} kernels`} could not be taken: ${kernels[0]?.slice(0, 200)} ended the run; the rest was measured without it.`,
  hint: "It keeps its time and gets no verdict. See the findings; profile it alone to see what it does under ncu.",
  retryable: false,
  evidence: { kernels: kernels.slice(0, 20).map((kernel) => kernel.slice(0, 200)) },
});
