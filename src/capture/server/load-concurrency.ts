import type { ServerWorkload } from "../../model/workload.ts";

/** How much load the counters see, and the rule behind it. */
export interface CounterConcurrency {
  /** Requests at a time. */
  readonly inFlight: number;
  /** Prompts in each request; null: one, since the engine's requests carry no lists. */
  readonly batch: number | null;
  readonly rule: string;
}

/** From this many requested on, 4 requests are in flight. */
const FOUR_FROM = 4;

/**
 * Load under ncu for a requested concurrency: at most 1 or 4 requests in flight, because ncu slows a launch 10 to 100
 * times. So that kernels still have the shapes of the requested batch, it goes inside one request where the engine takes
 * a list of prompts, and then one request is in flight.
 */
export function counterConcurrency(requested: number, { load }: ServerWorkload): CounterConcurrency {
  if (load.batch === "prompts") {
    return {
      inFlight: 1,
      batch: requested,
      rule: `under ncu 1 request is in flight; it carries a list of ${requested} ${requested === 1 ? "prompt" : "prompts"}, as many as the requested concurrency`,
    };
  }
  const inFlight = requested < FOUR_FROM ? 1 : 4;
  return {
    inFlight,
    batch: null,
    rule: `under ncu ${inFlight} of the requested ${requested} ${requested === 1 ? "request is" : "requests are"} in flight (requested 1 to 3: 1, more: 4), one prompt each: the workload takes no list of prompts${inFlight === requested ? "" : ", so kernels have the shapes of a smaller batch"}`,
  };
}
