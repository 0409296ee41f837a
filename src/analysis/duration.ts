import { ROLES } from "../hardware/roles.ts";
import type { Launch } from "../model/launch.ts";

/** The duration that a launch reports, ns, as it stands there; null where it has none. */
export function reportedDuration({ metrics }: Pick<Launch, "metrics">): { metric: string; ns: number } | null {
  for (const metric of ROLES.duration_ns) {
    const ns = metrics.number(metric);
    if (ns !== null) return { metric, ns };
  }
  return null;
}

/** Why a duration is no measurement; null where it is one. Every launch takes time: what is not above 0 was not timed. */
export const durationProblem = (ns: number): string | null => (ns > 0 ? null : `the duration is ${ns} ns`);

/** Duration of a launch in microseconds; null where the launch failed, was not timed, or reports one not above 0. */
export function durationUs({ launch }: { launch: Launch }): number | null {
  const reported = launch.failure === null ? reportedDuration(launch) : null;
  return reported === null || durationProblem(reported.ns) !== null ? null : reported.ns / 1000;
}

/** Why a launch has no duration; null where it has one. */
export function untimedReason({ launch }: { launch: Launch }): string | null {
  if (launch.failure !== null) return launch.failure;
  const reported = reportedDuration(launch);
  return reported === null ? "the launch has no duration" : durationProblem(reported.ns);
}
