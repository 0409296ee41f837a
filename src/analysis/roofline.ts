import type { RooflineClass } from "../model/result.ts";
import { durationProblem } from "./duration.ts";
import { roundHalfUp } from "./format.ts";
import type { Compute, Memory } from "./utilization.ts";

/** Strictly above this a roof is reached, % of peak over elapsed cycles. */
const ROOF_PCT = 80;
/** Above this a percentage cannot carry a verdict: numerator and denominator are from different passes or clocks. */
const OVER_BOUND_PCT = 105;

export interface Roofline {
  readonly roofline: RooflineClass | null;
  /** Why there is no verdict, or what was missing beside one. */
  readonly reason: string | null;
}

interface Side {
  /** Null where the number cannot be compared with the roof. */
  readonly pct: number | null;
  readonly problem: string | null;
}

function side(word: "compute" | "memory", { pct, basis }: Compute | Memory): Side {
  const name = `${word} utilisation`;
  if (pct === null || Number.isNaN(pct)) return { pct: null, problem: `${name} missing` };
  if (pct < 0) return { pct: null, problem: `${name} is negative` };
  // Operations over a published peak are a lower bound as well: the SM may be busy with something else.
  const lowerBound = basis === "lower_bound" || (word === "compute" && basis === "estimated");
  const atLeast = `${name} is known only to be at least ${roundHalfUp(pct, 1)} %`;
  if (lowerBound) return { pct: pct > ROOF_PCT ? pct : null, problem: atLeast };
  return { pct, problem: null };
}

const none = (reason: string): Roofline => ({ roofline: null, reason });

/**
 * The class of a launch: compute above 80 % is compute-bound, memory above 80 % memory-bound, both the larger (equal:
 * compute-bound), neither latency-bound. Compared strictly and unrounded. Without a class where the numbers cannot
 * carry one: `impediment` (failed launch, no duration), a value over 105 %, or a missing side while the other is not
 * above 80 %.
 */
export function classify(compute: Compute, memory: Memory, impediment: string | null): Roofline {
  if (impediment !== null) return none(impediment);
  for (const [word, { pct }] of [
    ["compute", compute],
    ["memory", memory],
  ] as const) {
    if (pct !== null && pct > OVER_BOUND_PCT)
      return none(`${word} utilisation ${roundHalfUp(pct, 1)} % is over its bound`);
  }
  const [c, m] = [side("compute", compute), side("memory", memory)];
  const problems = [c.problem, m.problem].filter((problem) => problem !== null);
  const reason = problems.length === 0 ? null : problems.join("; ");

  const high = [c.pct, m.pct].map((pct) => (pct !== null && pct > ROOF_PCT ? pct : Number.NEGATIVE_INFINITY));
  const [highCompute = 0, highMemory = 0] = high;
  if (Math.max(...high) > ROOF_PCT) {
    return { roofline: highCompute >= highMemory ? "compute-bound" : "memory-bound", reason };
  }
  return reason === null ? { roofline: "latency-bound", reason } : none(reason);
}

/** Why a launch cannot have a verdict whatever its counters say; null where nothing stands against one. */
export function impedimentOf(
  failure: string | null,
  durationNs: number | null,
  elapsedCycles: number | null,
): string | null {
  if (failure !== null) return failure;
  if (durationNs === null) return "the launch has no duration";
  const problem = durationProblem(durationNs);
  if (problem !== null) return problem;
  if (elapsedCycles === 0) return "no cycles elapsed";
  return null;
}
