import type { Finding } from "../../model/finding.ts";
import type { KernelNames } from "../../model/launch.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type LaneTimes, laneTimes } from "./exclusive.ts";
import { judgeEvents } from "./judge-events.ts";
import { type Judged, RECORDING_CHECKS } from "./judge-recording.ts";
import type { TimelineRefusal } from "./refusal.ts";
import type { StepPattern } from "./step-patterns.ts";
import { type Steps, stepsOf } from "./steps.ts";
import { type TimelineTimes, timesOf } from "./times.ts";

/** Whether a timeline can be trusted, and with what. */
export interface TimelineJudgement {
  readonly findings: readonly Finding[];
  /** Why the timeline must not be ranked; null where it may. */
  readonly refusal: TimelineRefusal | null;
  /** Why nothing can be said about idle time though times are there; null where it can. */
  readonly idle_reason: string | null;
  /** Why nothing can be said about phases though steps may be there; null where it can. */
  readonly phase_reason: string | null;
}

/** Something with its judgement. */
export interface JudgedPhases {
  readonly judgement: Pick<TimelineJudgement, "phase_reason">;
}

export interface JudgeOptions {
  /** Which kernels are collectives: they may wait for peers as long as it takes. */
  readonly isCollective?: ((names: KernelNames) => boolean) | undefined;
  readonly stepPatterns?: readonly StepPattern[] | undefined;
}

/** What was computed of a timeline already, so that it is not done twice. */
export interface TimelineFacts {
  readonly times: TimelineTimes;
  readonly lanes: LaneTimes;
  readonly steps: Steps;
  readonly mask: Uint8Array | null;
}

/**
 * Judges how far a timeline can be trusted: every sign of docs/timelines.md as a finding, and a refusal where it would
 * break a ranking. Several refusals: the first in the order of that page. Linear in rows and ranges.
 */
export function judgeTimeline(timeline: Timeline, options: JudgeOptions = {}): TimelineJudgement {
  const steps = stepsOf(timeline, options.stepPatterns);
  const facts = { times: timesOf(timeline), lanes: laneTimes(timeline), steps, mask: null };
  return judgeFacts(timeline, facts, options);
}

/** As `judgeTimeline`; events outside of the mask are not looked at. */
export function judgeFacts(timeline: Timeline, facts: TimelineFacts, options: JudgeOptions): TimelineJudgement {
  const { times, lanes, steps, mask } = facts;
  const isCollective = options.isCollective ?? null;
  const all: Judged[] = [
    ...RECORDING_CHECKS.map((check) => check(timeline, times)),
    ...judgeEvents({ timeline, mask, lanes, steps, isCollective }),
  ];
  return {
    findings: all.flatMap(({ findings }) => findings ?? []),
    refusal: all.find(({ refusal }) => refusal !== undefined)?.refusal ?? null,
    idle_reason: all.find(({ idle_reason }) => idle_reason !== undefined)?.idle_reason ?? null,
    phase_reason: all.find(({ phase_reason }) => phase_reason !== undefined)?.phase_reason ?? null,
  };
}
