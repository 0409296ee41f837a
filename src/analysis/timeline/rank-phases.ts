import type { JudgedPhases } from "./judge.ts";
import { KERNEL } from "./lanes.ts";
import type { Source } from "./launches.ts";
import type { TimelineRanking } from "./ranking.ts";
import { PHASES, type Phase } from "./step-patterns.ts";

export interface PhaseTimes {
  readonly phases: TimelineRanking["phases"];
  readonly null_reason: string | null;
}

/** Kernel time by phase of the step that launched it. Null where steps or their phases are not known for all timelines. */
export function phaseTimes(sources: readonly (Source & JudgedPhases)[]): PhaseTimes {
  const withheld = (null_reason: string): PhaseTimes => ({ phases: null, null_reason });
  for (const { steps, judgement } of sources) {
    if (judgement.phase_reason !== null) return withheld(judgement.phase_reason);
    if (steps.null_reason !== null) return withheld(steps.null_reason);
    if (steps.steps.every(({ phase }) => phase === "unknown")) {
      const grammar = steps.steps[0]?.grammar ?? "";
      return withheld(`steps were recognised, but their marks (${grammar}) do not say which phase they are`);
    }
  }
  const found = new Map<Phase, { launches: number; ns: number; steps: number }>();
  const entryOf = (phase: Phase) => {
    const entry = found.get(phase) ?? { launches: 0, ns: 0, steps: 0 };
    found.set(phase, entry);
    return entry;
  };
  let total = 0;
  for (const { timeline, steps, lanes, selection } of sources) {
    const { rows } = timeline;
    const seen = new Uint8Array(steps.steps.length);
    for (let row = 0; row < rows.count; row += 1) {
      if (rows.kind[row] !== KERNEL || (selection.mask !== null && selection.mask[row] === 0)) continue;
      const step = steps.of(row);
      const entry = entryOf(steps.steps[step]?.phase ?? "unknown");
      entry.launches += 1;
      entry.ns += Number(lanes.exclusive_ns[row]);
      total += Number(lanes.exclusive_ns[row]);
      if (step < 0 || seen[step] === 1) continue;
      seen[step] = 1;
      entry.steps += 1;
    }
  }
  return {
    null_reason: null,
    phases: PHASES.flatMap((phase) => {
      const entry = found.get(phase);
      if (entry === undefined) return [];
      const { launches, ns, steps } = entry;
      return [{ phase, steps, launches, exclusive_us: ns / 1000, share_of_kernels: total > 0 ? ns / total : 0 }];
    }),
  };
}
