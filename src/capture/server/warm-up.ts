import { setTimeout as sleep } from "node:timers/promises";
import { err, ok, type Result } from "../../base/result.ts";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import type { LogPatterns } from "../process/log-patterns.ts";
import { ENGINE_DEFAULTS } from "./engine-defaults.ts";
import { runLoad } from "./load.ts";
import { getPage, type HttpClient, HttpFailure, openHttp } from "./load-http.ts";
import { askModel, type ServedModel } from "./load-model.ts";
import { engineCount, type Scrape, scrapeCompleted } from "./warm-up-counter.ts";
import {
  agrees,
  diedFailure,
  type EngineEnd,
  evidenceOf,
  newState,
  notWarmFailure,
  STEADY_REQUESTS,
  STEADY_WITHIN,
  spread,
  type WarmUpEvidence,
  type WarmUpState,
} from "./warm-up-state.ts";

export type { WarmUpEvidence } from "./warm-up-state.ts";

export interface WarmUpOptions {
  readonly workload: ServerWorkload;
  /** `http://127.0.0.1:8000` */
  readonly baseUrl: string;
  /** Shape of the load that comes after: kernels are compiled for the shapes that were sent. */
  readonly load: { readonly inFlight: number; readonly batch: number | null };
  /** Another one than that of the load. */
  readonly seed: number;
  /** The engine's output, watched since its start for `warmPatternsOf(workload)`. */
  readonly output: LogPatterns;
  readonly signal: AbortSignal;
  /** Settles when the engine has ended. */
  readonly ended: Promise<unknown>;
  /** Milliseconds. */
  now(): number;
  onProgress?(completed: number, needed: number): void;
}

const POLL_MS = 200;
/** SGLang's health probe runs a token and waits up to 20 s for it (SGLANG_HEALTH_CHECK_TIMEOUT). */
const PAGE_TIMEOUT_MS = 30_000;
/** An engine shows its counter of finished requests within this; one that does not has no such counter. */
const COUNTER_GRACE_MS = 15_000;
/** Rounds of a few more requests while times are not steady. */
const STEADY_ROUNDS = 2;
/** Answers that do not change when the same request is sent again. */
const REFUSALS: ReadonlySet<string> = new Set(["http_400", "http_401", "http_403", "http_404", "http_405", "http_422"]);

type Why = "ended" | "late" | "refused";

/** Ends the wait from inside: the engine ended, time is over, or it refuses what it is asked. */
class Stopped extends Error {
  override readonly name = "Stopped";
  readonly why: Why;

  constructor(why: Why) {
    super(why);
    this.why = why;
  }
}

/**
 * Waits until an engine is warm: its health check passes, it lists its model, more than 10 requests of the load's own shape
 * were completed, as counted by what was sent and by the engine's own counter where it has one, and each log pattern was
 * seen. Times of the last requests are compared and told, not judged. `engine_died` or `warmup_failed` otherwise.
 * @throws the signal's reason where that is aborted
 */
export async function warmUp(options: WarmUpOptions): Promise<Result<WarmUpEvidence, Failure>> {
  const { workload, output, signal, now } = options;
  signal.throwIfAborted();
  const state = newState(workload.health.path);
  const began = now();
  const stop = new AbortController();
  const cancel = () => stop.abort(signal.reason);
  signal.addEventListener("abort", cancel);
  let end: EngineEnd = {};
  const ended = (how: unknown) => {
    end = typeof how === "object" && how !== null ? how : {};
    stop.abort(new Stopped("ended"));
  };
  options.ended.then(ended, ended);

  let limit = { field: "health.timeout_s", seconds: workload.health.timeout_s };
  const startTimer = () => setTimeout(() => stop.abort(new Stopped("late")), limit.seconds * 1000);
  let timer = startTimer();
  const client = openHttp(options.baseUrl);
  try {
    await passHealth(client, workload, state, stop.signal);
    clearTimeout(timer);
    limit = { field: "warm_up.timeout_s", seconds: workload.warm_up.timeout_s };
    timer = startTimer();

    const model = await findModel(client, state, stop.signal);
    const before = await scrapeCompleted(client, workload, stop.signal);
    await completeRequests(options, model, state, stop.signal);
    await output.waitFor(stop.signal);
    await compareCounters(client, workload, before, state, stop.signal, now);
    await steady(options, model, state, stop.signal, () =>
      compareCounters(client, workload, before, state, stop.signal, now),
    );
    return ok(evidenceOf(state, workload, output, now() - began));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof Stopped)) throw error;
    if (error.why === "ended") return err(diedFailure(state, workload, output, end));
    return err(notWarmFailure(state, workload, output, error.why === "late" ? limit : null));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    client.close();
  }
}

async function passHealth(
  client: HttpClient,
  { health, engine }: ServerWorkload,
  state: WarmUpState,
  signal: AbortSignal,
): Promise<void> {
  await pass(client, health.path, false, state, signal);
  const { generatingHealthPath } = ENGINE_DEFAULTS[engine];
  if (generatingHealthPath !== null) await pass(client, generatingHealthPath, true, state, signal);
  state.health = null;
}

/** Asks until the path answers 200. `optional`: a version without the route passes. */
async function pass(
  client: HttpClient,
  path: string,
  optional: boolean,
  state: WarmUpState,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      const { status } = await getPage(client, path, PAGE_TIMEOUT_MS, signal);
      if (status === 200) return;
      if (status === 404 && optional) {
        state.notes.push(`GET ${path} does not exist`);
        return;
      }
      state.health = `GET ${path} answered ${status}`;
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      state.health = `GET ${path}: ${error.message}`;
    }
    await pause(signal);
  }
}

async function findModel(client: HttpClient, state: WarmUpState, signal: AbortSignal): Promise<ServedModel> {
  for (;;) {
    const model = await askModel(client, PAGE_TIMEOUT_MS, signal);
    if (model.ok) {
      state.model = null;
      return model.value;
    }
    state.model = model.error;
    await pause(signal);
  }
}

const pause = (signal: AbortSignal): Promise<void> =>
  sleep(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());

async function completeRequests(
  options: WarmUpOptions,
  model: ServedModel,
  state: WarmUpState,
  signal: AbortSignal,
): Promise<void> {
  const { requests } = options.workload.warm_up;
  for (let round = 0; state.completed < requests; round++) {
    await sendRequests(options, model, state, requests - state.completed, round, signal);
    if (state.completed < requests) await pause(signal);
  }
}

/** Sends so many requests once. Outside a window it may be done again where some fail. */
async function sendRequests(
  options: WarmUpOptions,
  model: ServedModel,
  state: WarmUpState,
  requests: number,
  round: number,
  signal: AbortSignal,
): Promise<void> {
  const { workload, baseUrl, seed, load } = options;
  const result = await runLoad({
    baseUrl,
    workload,
    batch: load.batch ?? 1,
    inFlight: load.inFlight,
    // Each round its own prompts.
    seed: (seed + Math.imul(round, 0x2545f491)) >>> 0,
    requests,
    signal,
    model,
    onCompleted: (_count, tookMs) => {
      state.completed++;
      state.tookMs.push(tookMs);
      options.onProgress?.(state.completed, workload.warm_up.requests);
    },
  });
  state.loadProblems.splice(0, Number.POSITIVE_INFINITY, ...result.problems);
  signal.throwIfAborted();
  const kinds = Object.keys(result.errors);
  const refused = kinds.length > 0 && kinds.every((kind) => REFUSALS.has(kind));
  const notSent = result.completed === 0 && result.failed === 0;
  if (result.completed === 0 && (refused || notSent)) throw new Stopped("refused");
}

async function compareCounters(
  client: HttpClient,
  workload: ServerWorkload,
  before: Scrape,
  state: WarmUpState,
  signal: AbortSignal,
  now: () => number,
): Promise<void> {
  const giveUp = now() + COUNTER_GRACE_MS;
  for (;;) {
    const after = await scrapeCompleted(client, workload, signal);
    state.engine = engineCount(workload, before, after, now() < giveUp);
    if (agrees(state.engine)) return;
    await pause(signal);
  }
}

/** Sends a few requests more where times differ. That they stay different is told and fails nothing. */
async function steady(
  options: WarmUpOptions,
  model: ServedModel,
  state: WarmUpState,
  signal: AbortSignal,
  countAgain: () => Promise<void>,
): Promise<void> {
  const isSteady = () => (spread(state.tookMs) ?? Number.POSITIVE_INFINITY) <= STEADY_WITHIN;
  if (isSteady()) return;
  try {
    for (let round = 1; round <= STEADY_ROUNDS && !isSteady(); round++)
      await sendRequests(options, model, state, STEADY_REQUESTS, -round, signal);
    // So that both counts are of the same requests.
    await countAgain();
  } catch (error) {
    if (!(error instanceof Stopped) || error.why !== "late") throw error;
    state.notes.push("the time limit came before their times were steady");
  }
}
