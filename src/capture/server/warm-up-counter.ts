import type { ServerWorkload } from "../../model/workload.ts";
import { ENGINE_DEFAULTS } from "./engine-defaults.ts";
import { completedBetween, hasSeries, readCompleted } from "./engine-metrics.ts";
import { getPage, type HttpClient, HttpFailure } from "./load-http.ts";
import type { EngineCount } from "./warm-up-state.ts";

/** One look at an engine's counter of finished requests. */
export interface Scrape {
  readonly value: number | null;
  readonly metric: string | null;
  /** Why there is no value. */
  readonly reason: string | null;
  /** False: no later look will find one either. */
  readonly mayAppear: boolean;
}

const PAGE_TIMEOUT_MS = 30_000;

/** Counters that the workload names, else those of its engine. */
const namesOf = ({ warm_up, engine }: ServerWorkload): readonly string[] =>
  warm_up.completed_metric ?? ENGINE_DEFAULTS[engine].completedMetrics;

/** @throws the signal's reason */
export async function scrapeCompleted(
  client: HttpClient,
  workload: ServerWorkload,
  signal: AbortSignal,
): Promise<Scrape> {
  const names = namesOf(workload);
  const none = (reason: string, mayAppear: boolean): Scrape => ({ value: null, metric: null, reason, mayAppear });
  if (names.length === 0) return none("none is known of this engine and none is declared", false);
  try {
    const { status, text } = await getPage(client, "/metrics", PAGE_TIMEOUT_MS, signal);
    // SGLang without --enable-metrics has no such route.
    if (status !== 200) return none(`GET /metrics answered ${status}`, status !== 404);
    const { value, metric } = readCompleted(text, names);
    if (value !== null) return { value, metric, reason: null, mayAppear: true };
    const { metricPrefix } = ENGINE_DEFAULTS[workload.engine];
    // vLLM with --disable-log-stats shows no series of its own at all.
    const others = metricPrefix !== null && !hasSeries(text, metricPrefix);
    return none(`GET /metrics has no ${names.join(", ")}${others ? `, nor any ${metricPrefix} series` : ""}`, !others);
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    return none(`GET /metrics: ${error.message}`, true);
  }
}

/**
 * What an engine counted between two looks. A counter that the workload declares, or that was there before, has to be
 * there; one that an engine merely has by default may be switched off, and is given up at once where it cannot appear
 * any more, or when `patient` ends. A counter that appears with its first request counts from 0.
 */
export function engineCount(workload: ServerWorkload, before: Scrape, after: Scrape, patient: boolean): EngineCount {
  const { metric, reason } = after;
  const required = (workload.warm_up.completed_metric?.length ?? 0) > 0 || before.metric !== null;
  const completed = completedBetween(before.value, after.value);
  if (completed === null && !required && !(after.mayAppear && patient))
    return { kind: "none", metric: null, completed: null, reason };
  return { kind: "counted", metric: metric ?? before.metric ?? namesOf(workload)[0] ?? null, completed, reason };
}
