import type { CaptureRecord } from "../../model/capture.ts";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import type { LogPatterns } from "../process/log-patterns.ts";

export type WarmUpEvidence = NonNullable<CaptureRecord["warm_up"]>;

/** Fewer than this many completed requests prove nothing: "more than 10". */
export const LEAST_COMPLETED = 11;
/** Requests of the same shape that differ by more are not yet steady. */
export const STEADY_WITHIN = 0.2;
/** As many of the last requests are compared. */
export const STEADY_REQUESTS = 3;
/** Lines of the log that a failure shows. */
const LOG_TAIL_LINES = 40;

/** What has been seen of a warm-up so far. */
export interface WarmUpState {
  /** Null: passed. Else what came last. */
  health: string | null;
  /** Null: listed. */
  model: string | null;
  completed: number;
  /** Requests in the order in which they were completed. */
  readonly tookMs: number[];
  readonly loadProblems: string[];
  engine: EngineCount;
  /** Words for the evidence. */
  readonly notes: string[];
}

/** What the engine's own counter said. */
export interface EngineCount {
  readonly kind: "not_asked" | "none" | "counted";
  readonly metric: string | null;
  /** Finished since the warm-up began. */
  readonly completed: number | null;
  /** Why there is none. */
  readonly reason: string | null;
}

export const newState = (health: string): WarmUpState => ({
  health: `GET ${health} was not answered`,
  model: "GET /v1/models was not asked",
  completed: 0,
  tookMs: [],
  loadProblems: [],
  engine: { kind: "not_asked", metric: null, completed: null, reason: null },
  notes: [],
});

/** Spread of the last requests' times over the shortest of them; null: too few. */
export function spread(tookMs: readonly number[]): number | null {
  const last = tookMs.slice(-STEADY_REQUESTS);
  if (last.length < STEADY_REQUESTS) return null;
  const shortest = Math.min(...last);
  return shortest > 0 ? (Math.max(...last) - shortest) / shortest : null;
}

/** True once the engine's counter agrees, or there is none. */
export const agrees = ({ kind, completed }: EngineCount): boolean =>
  kind === "none" || (completed ?? 0) >= LEAST_COMPLETED;

/** What a warm-up lacks, each in words; in the order in which it is waited for. */
export function missing(state: WarmUpState, workload: ServerWorkload, output: LogPatterns): string[] {
  if (state.health !== null) return [`health: ${state.health}`];
  if (state.model !== null) return [`model: ${state.model}`];
  const { requests } = workload.warm_up;
  const { engine } = state;
  const counter = `the engine's counter ${engine.metric} ${engine.completed === null ? `was not read: ${engine.reason}` : `rose by ${engine.completed}, expected more than ${LEAST_COMPLETED - 1}`}`;
  return [
    ...(state.completed < requests
      ? [`requests: ${state.completed} of ${requests} completed${because(state.loadProblems)}`]
      : engine.kind === "not_asked" || agrees(engine)
        ? []
        : [counter]),
    ...output
      .seen()
      .filter(({ line }) => line === null)
      .map(({ pattern }) => `log: no line matched ${JSON.stringify(pattern)}`),
  ];
}

const because = (problems: readonly string[]): string => (problems.length === 0 ? "" : ` (${problems.join("; ")})`);

/** The evidence of a warm-up that is complete. */
export function evidenceOf(
  state: WarmUpState,
  workload: ServerWorkload,
  output: LogPatterns,
  tookMs: number,
): WarmUpEvidence {
  const { engine, completed, notes } = state;
  const seen = output.seen();
  const counted =
    engine.kind === "counted"
      ? `the engine's counter ${engine.metric} rose by ${engine.completed}`
      : `the engine's own counter was not compared: ${engine.reason}`;
  const lines =
    seen.length === 0
      ? `no log line was waited for (engine ${workload.engine}, no log_patterns)`
      : `${seen.length === 1 ? "the log pattern" : `each of ${seen.length} log patterns`} was seen`;
  const share = spread(state.tookMs);
  const steady =
    share === null
      ? "too few requests to compare their times"
      : `the last ${STEADY_REQUESTS} requests differ by ${Math.round(share * 100)} % in time (${share <= STEADY_WITHIN ? "steady" : "not steady"}: limit ${STEADY_WITHIN * 100} %)`;
  return {
    completed_by_load: completed,
    completed_by_engine: engine.completed,
    engine_metric: engine.metric,
    log_patterns: [...seen, ...output.noted()],
    skipped_launches: null,
    took_s: Math.round(tookMs) / 1000,
    evidence: [`health passed`, `${completed} requests completed`, counted, lines, steady, ...notes].join("; "),
  };
}

/** How an engine ended, as far as it is known. */
export interface EngineEnd {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
}

export function diedFailure(
  state: WarmUpState,
  workload: ServerWorkload,
  output: LogPatterns,
  end: EngineEnd,
): Failure {
  const how =
    typeof end.exitCode === "number" ? ` with exit code ${end.exitCode}` : end.signal ? ` by ${end.signal}` : "";
  return {
    code: "engine_died",
    message: `The engine of workload ${workload.name} ended${how} during its warm-up.`,
    hint: "Read the end of its log. Start it by hand with the same arguments; out of memory and a port in use are the usual causes.",
    retryable: false,
    evidence: {
      exit_code: end.exitCode ?? null,
      signal: end.signal ?? null,
      completed_requests: state.completed,
      log_end: output.tail(LOG_TAIL_LINES),
    },
  };
}

export function notWarmFailure(
  state: WarmUpState,
  workload: ServerWorkload,
  output: LogPatterns,
  limit: { readonly field: string; readonly seconds: number } | null,
): Failure {
  const lacks = missing(state, workload, output);
  const what = lacks.length > 0 ? lacks.join("; ") : "requests were not answered any more";
  return {
    code: "warmup_failed",
    message: `The engine of workload ${workload.name} did not get warm${limit ? ` within ${limit.seconds} s` : ""}: ${what}.`,
    hint: limit
      ? `Read the end of its log. If it only needs longer, raise ${limit.field}; fill its JIT caches in a run without the profiler. If a log pattern is wrong for this version, set warm_up.log_patterns.`
      : "The engine refuses the requests of the load. Check load.path, load.body, load.prompt_tokens and load.vocabulary of the workload.",
    retryable: false,
    evidence: {
      missing: lacks,
      limit_s: limit?.seconds ?? null,
      completed_requests: state.completed,
      needed_requests: workload.warm_up.requests,
      completed_by_engine: state.engine.completed,
      log_patterns: output.seen(),
      log_end: output.tail(LOG_TAIL_LINES),
    },
  };
}
