import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { within } from "../../base/deadline.ts";
import type { Finding } from "../../model/finding.ts";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import type { Capture } from "../capture-parts.ts";
import { nsysSessionArguments } from "../nsys/arguments.ts";
import { nsysOptions } from "../nsys/options.ts";
import { nsysFailure } from "../nsys/outcome.ts";
import { type NsysRun, runNsysProfile } from "../nsys/run.ts";
import { runCommand } from "../process/command.ts";
import { type LogMark, type LogPatterns, watchLog } from "../process/log-patterns.ts";
import { engineDied } from "../server/engine.ts";
import { notedPatternsOf, warmPatternsOf } from "../server/engine-defaults.ts";
import { runLoad } from "../server/load.ts";
import { callEngine, engineCommand, loadFindings, pollutionFindings, WARM_UP_SEED } from "../server/parts.ts";
import { type WarmUpEvidence, warmUp } from "../server/warm-up.ts";

/** How the window of a recording is opened: by the engine's own calls, or by nsys' session. */
export type ServerWindow = "cuda_profiler_api" | "session";

export interface ServerRecording {
  readonly run: NsysRun;
  /** The recording to export, or why there is none. */
  readonly path: string | null;
  readonly failure: Failure | null;
  readonly warmUp: WarmUpEvidence | null;
  /** Requests completed in the window, and its length; null: it was not opened. */
  readonly window: { readonly requests: number; readonly seconds: number } | null;
  readonly findings: readonly Finding[];
}

/** Steady state: one round of the concurrency comes before the window, four are in it (facts of serving, section 7: at least five). */
const ROUNDS_IN_WINDOW = 4;
/** A round takes minutes with long answers: what comes in so many seconds shows the steady state too. */
const WINDOW_MS = 20_000;
/** After the window nsys ends the engine, and writes what it recorded. */
const WRITES_MS = 120_000;
/** An engine that refuses connections has ended by then, and nsys with it. */
const ENDS_MS = 10_000;
/** Prompts of their own: none of the warm-up is in the engine's prefix cache, none of the counters' later. */
const TIMELINE_SEED = 2_000_003;

/**
 * Records an engine at the requested concurrency: started under nsys, warmed up (more than 10 completed requests of the
 * load's own shape), loaded, and recorded once one round of requests has been answered. It ends with its window.
 * @throws nothing: a capture that is stopped has a failure
 */
export async function recordServer(
  options: Capture,
  workload: ServerWorkload,
  nsys: string,
  window: ServerWindow,
  attempt: number,
): Promise<ServerRecording> {
  const log = watchLog(warmPatternsOf(workload), notedPatternsOf(workload));
  const enough = new AbortController();
  const over = new AbortController();
  // Letters and digits are what all versions take.
  const session = `pk${randomUUID().replaceAll("-", "")}`;
  const common = nsysOptions(options, nsys, `timeline-${attempt}`);
  const program = await engineCommand(options, workload, workload.argv, options.folder);
  const running = runNsysProfile(
    { ...common, enough: enough.signal, onOutput: log.input() },
    { window, session, output: join(options.folder, `timeline-${attempt}.nsys-rep`), program },
  );
  const ended = running.finally(() => over.abort(new Error("the engine ended")));
  const driver = new Driver(options, workload, log, AbortSignal.any([options.stop, over.signal]), {
    ended: ended.then(({ exit }) => ({ exitCode: exit.code, signal: exit.signal })),
    open: (baseUrl, signal) => call("open", baseUrl, signal),
    close: (baseUrl, signal) => call("close", baseUrl, signal),
  });
  const call = async (which: "open" | "close", baseUrl: string, signal: AbortSignal): Promise<void> => {
    if (window === "cuda_profiler_api" && workload.window) return callEngine(baseUrl, workload.window[which], signal);
    const args = nsysSessionArguments(which === "open" ? "start" : "stop", session);
    const { env, cwd } = options;
    const { code, stderr, stdout } = await runCommand([nsys, ...args], { timeoutMs: WRITES_MS, env, cwd, signal });
    if (code !== 0) throw new Error(`nsys ${args[0]} ended with ${code}: ${`${stderr}${stdout}`.trim().slice(-300)}`);
  };
  const driven = await driver.drive().catch(async (error: unknown) => {
    enough.abort();
    await ended;
    throw error;
  });
  // nsys ends the engine with its window. An engine that does not go is ended, and so is one whose window never closed.
  if (driven.failure === null)
    await within(
      workload.stop.timeout_s * 1000 + WRITES_MS,
      ended.then(() => true),
      false,
    );
  enough.abort();
  const run = await ended;
  const failure = run.exit.startError !== null || run.endedBy !== "itself" ? nsysFailure(run, "timeline") : null;
  const why = failure ?? driven.failure ?? nsysFailure(run, "timeline");
  return { ...driven, run, path: why === null ? run.path : null, failure: why };
}

interface Ports {
  readonly ended: Promise<unknown>;
  open(baseUrl: string, signal: AbortSignal): Promise<void>;
  close(baseUrl: string, signal: AbortSignal): Promise<void>;
}

type Driven = Pick<ServerRecording, "failure" | "warmUp" | "window" | "findings">;

/** What is done with the engine from its start to the end of the window. */
class Driver {
  readonly #options: Capture;
  readonly #workload: ServerWorkload;
  readonly #log: LogPatterns;
  /** Fires when the capture is stopped or the engine has ended. */
  readonly #signal: AbortSignal;
  readonly #ports: Ports;
  #completed = 0;
  #completedAt = 0;
  #wake = (): void => {};

  constructor(options: Capture, workload: ServerWorkload, log: LogPatterns, signal: AbortSignal, ports: Ports) {
    this.#options = options;
    this.#workload = workload;
    this.#log = log;
    this.#signal = signal;
    this.#ports = ports;
  }

  async drive(): Promise<Driven> {
    const nothing = { warmUp: null, window: null, findings: [] };
    const { stop, request, tell } = this.#options;
    const workload = this.#workload;
    const baseUrl = `http://127.0.0.1:${workload.port}`;
    const { concurrency } = request;
    const requests = Math.max(workload.warm_up.requests, concurrency);
    tell("warming_up", { phase: "timeline", done: 0, total: requests, message: null });
    try {
      const warmed = await warmUp({
        // Fewer requests than are in flight later would never make a batch of that size.
        workload: { ...workload, warm_up: { ...workload.warm_up, requests } },
        baseUrl,
        load: { inFlight: concurrency, batch: null },
        seed: workload.load.seed + WARM_UP_SEED,
        output: this.#log,
        signal: stop,
        ended: this.#ports.ended,
        now: () => performance.now(),
        onProgress: (done, total) => tell("warming_up", { phase: "timeline", done, total, message: null }),
      });
      if (!warmed.ok) return { ...nothing, failure: warmed.error };
      return { ...(await this.#record(baseUrl, concurrency)), warmUp: warmed.value };
    } catch (error) {
      if (!stop.aborted) throw error;
      // How the run was ended says why.
      return { ...nothing, failure: null };
    }
  }

  async #record(baseUrl: string, concurrency: number): Promise<Omit<Driven, "warmUp">> {
    const { tell } = this.#options;
    const rounds = ROUNDS_IN_WINDOW * concurrency;
    tell("capturing", { phase: "timeline", done: 0, total: concurrency + rounds, message: null });
    const loadEnd = new AbortController();
    const ending = new AbortController();
    this.#completedAt = performance.now();
    let isOver = false;
    const load = runLoad({
      baseUrl,
      workload: this.#workload,
      batch: 1,
      inFlight: concurrency,
      seed: this.#workload.load.seed + TIMELINE_SEED,
      requests: null,
      signal: AbortSignal.any([this.#signal, loadEnd.signal]),
      ending: ending.signal,
      onCompleted: (completed) => {
        this.#completed = completed;
        this.#completedAt = performance.now();
        this.#wake();
        tell("capturing", { phase: "timeline", done: completed, total: concurrency + rounds, message: null });
      },
    }).finally(() => {
      isOver = true;
      this.#wake();
    });
    let mark: LogMark | null = null;
    let seconds: number | null = null;
    let requests = 0;
    let problem: Failure | null = null;
    try {
      problem = await this.#until(
        () => this.#completed >= concurrency,
        Number.POSITIVE_INFINITY,
        () => isOver,
      );
      if (problem === null) {
        mark = this.#log.mark();
        await this.#ports.open(baseUrl, this.#signal);
        const [from, before] = [performance.now(), this.#completed];
        problem = await this.#until(
          () => this.#completed - before >= rounds,
          WINDOW_MS,
          () => isOver,
        );
        requests = this.#completed - before;
        seconds = (performance.now() - from) / 1000;
        // With its window the engine ends: requests fail then, and the call itself may not be answered.
        ending.abort();
        if (problem === null) await this.#ports.close(baseUrl, this.#signal).catch(() => {});
      }
    } catch (error) {
      problem = notOpened(error, this.#log);
    }
    loadEnd.abort();
    const { problems } = await load;
    const pollution = mark?.pollution() ?? { total: 0, lines: [] };
    mark?.close();
    return {
      failure: this.#options.stop.aborted ? null : problem,
      window: seconds === null ? null : { requests, seconds },
      findings: [...pollutionFindings(pollution), ...loadFindings(problems)],
    };
  }

  /** Null where it came so far, or time was over; else what stands in the way. */
  async #until(reached: () => boolean, limitMs: number, isOver: () => boolean): Promise<Failure | null> {
    const until = performance.now() + limitMs;
    const stallMs = this.#workload.limits.stall_s * 1000;
    const wakeUp = (): void => this.#wake();
    this.#signal.addEventListener("abort", wakeUp);
    try {
      for (;;) {
        if (this.#signal.aborted) return engineDied({ log: this.#log }, "while its timeline was recorded");
        if (reached()) return null;
        if (isOver()) {
          // Nobody answers any more: that the engine ended is seen a moment later, when nsys has ended too.
          await within(ENDS_MS, this.#ports.ended, undefined);
          return this.#signal.aborted
            ? engineDied({ log: this.#log }, "while its timeline was recorded")
            : notLoaded(this.#log);
        }
        const now = performance.now();
        if (now >= until) return null;
        if (now - this.#completedAt >= stallMs) return hung(stallMs, this.#log);
        const woken = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if (reached() || isOver()) continue;
        await within(Math.min(until, this.#completedAt + stallMs) - now, woken, undefined);
      }
    } finally {
      this.#signal.removeEventListener("abort", wakeUp);
    }
  }
}

const hung = (stallMs: number, log: LogPatterns): Failure => ({
  code: "capture_stalled",
  message: `The engine answered none of its requests for ${stallMs / 1000} s while its timeline was recorded.`,
  hint: "See the end of its log. Where nsys hangs with CUDA graphs, start the engine without them; raise limits.stall_s where a request takes longer.",
  retryable: false,
  evidence: { log_end: log.tail(40) },
});

const notLoaded = (log: LogPatterns): Failure => ({
  code: "warmup_failed",
  message: "The engine was warm, and then refused the requests of the load.",
  hint: "The end of its log says why; a lower concurrency may be within what it takes.",
  retryable: false,
  evidence: { log_end: log.tail(40) },
});

/** As a recording without kernels: it is made once more, with a window of another kind. */
const notOpened = (error: unknown, log: LogPatterns): Failure => ({
  code: "timeline_no_kernels",
  message: `The window of the recording could not be opened: ${error instanceof Error ? error.message : String(error)}`,
  hint: "The calls of `window` have to reach cudaProfilerStart in the engine: vLLM needs its profiler configured as `cuda`, SGLang the activity CUDA_PROFILER. Without `window` nsys opens it itself.",
  retryable: false,
  evidence: { log_end: log.tail(40) },
});
