import type { Finding } from "../../model/finding.ts";
import type { Failure } from "../../model/profile.ts";
import {
  type Measured,
  type MeasureOptions,
  mustStop,
  NEEDS_REPLAY,
  ranToItsEnd,
  SHAPE,
  type Step,
  step,
  withLimit,
} from "../measure.ts";
import type { NcuPlan } from "../ncu/arguments.ts";
import { budgetSpent } from "./log.ts";
import { type PipelineSelection, type RankedKernel, type SelectionLimits, selectLaunches } from "./selection.ts";
import { byMangledName, replayable, SeenLaunches } from "./server-launches.ts";

export interface ClusterJob extends Pick<SelectionLimits, "topN" | "maxLaunches" | "failed"> {
  /** Of the timeline, ranked. */
  readonly kernels: readonly RankedKernel[];
  readonly ask: { readonly sections: readonly string[]; readonly metrics: readonly string[] };
}

export interface MeasuredClusters extends Measured {
  /** Null: it did not come so far. */
  readonly selection: PipelineSelection | null;
  readonly passes: number | null;
  /** What bounds the launches, in words. */
  readonly reason: string;
}

/** A launch of the declared counters, 27 passes: 0.65 s (measured, ncu 2025.3.1, H200, some 20 GB in use); twice that is planned for. */
const MS_PER_LAUNCH = 1_300;
/** An attachment with its request, without a launch: 0.6 to 1.1 s and the request (measured). */
const MS_PER_ATTACHMENT = 3_000;

/**
 * Takes the counters of the clusters of a timeline from an engine under another load. Its launches are looked at first
 * (names and shapes; times only of shapes that have several clusters), since no number of the timeline holds here.
 */
export async function measureClusters(options: MeasureOptions, job: ClusterJob): Promise<MeasuredClusters> {
  const runs: Measured["runs"] = [];
  const { kernels, topN } = job;
  const times = { kind: "metrics", metrics: options.surveyMetrics } as const;
  const first = { kind: "first", skip: 0, count: options.surveyLaunches } as const;
  // Started anew for each run, a program tells shapes and times at once: a start takes longer than the times of all.
  const look = withLimit(
    options,
    await step(options, runs, options.sampled ? "shapes" : "survey", first, options.sampled ? SHAPE : times, null),
  );
  const nothing = { report: null, survey: look.path, plan: null, runs, selection: null, passes: null, reason: "" };
  const seen = byMangledName(look.summary?.matching ?? []);
  if (seen.length === 0 || mustStop(look.run)) {
    const failure = look.verdict.failure ?? notLaunched();
    return { ...nothing, ended: "failed", failure, findings: look.verdict.findings };
  }
  const launches = new SeenLaunches(seen);
  const findings: Finding[] = [...look.verdict.findings];
  const unclear = options.sampled && pays(options, 1) ? launches.toTime(replayable(kernels, topN)) : null;
  let last: Step = look;
  if (unclear !== null) {
    last = await step(options, runs, "survey", unclear.launches, times, unclear.count);
    launches.takeTimes(unclear.launches, byMangledName(last.summary?.matching ?? []));
    if (mustStop(last.run)) return { ...nothing, ended: "failed", failure: last.verdict.failure, findings };
    findings.push(...unsaid(findings, last.verdict.findings));
  }

  const startMs = options.sampled ? MS_PER_ATTACHMENT : (look.run.firstLaunchAfterMs ?? look.run.tookMs);
  const left = options.msLeft();
  const affordable = left === null ? job.maxLaunches : Math.max(0, Math.floor((left - startMs) / MS_PER_LAUNCH));
  const maxLaunches = Math.min(job.maxLaunches, affordable);
  const selection = selectLaunches(kernels, {
    topN,
    maxLaunches,
    skip: 0,
    run: launches,
    ...(job.failed === undefined ? {} : { failed: job.failed }),
  });
  const reason =
    affordable < job.maxLaunches
      ? `what is left of the budget pays for ${affordable} launches at ${MS_PER_LAUNCH / 1000} s each`
      : `at most ${job.maxLaunches} launches get counters`;
  if (selection.launches === 0) {
    const failure = affordable < job.maxLaunches ? budgetSpent() : notLaunched();
    return { ...nothing, ended: "failed", failure, findings, selection, reason };
  }
  const chosen: NcuPlan["launches"] = {
    kind: "ordinals",
    names: selection.names,
    ordinals: selection.ordinals,
    base: "mangled",
  };
  const { sections, metrics } = job.ask;
  const asked = metrics.includes(NEEDS_REPLAY) ? metrics : [...metrics, NEEDS_REPLAY];
  const counters = { kind: "set", set: "", sections, metrics: asked } as const;
  let measured = await step(options, runs, "counters", chosen, counters, selection.launches);
  if (measured.summary === null && !mustStop(measured.run) && ranToItsEnd(measured.run)) {
    // The load launched otherwise this time: any launches are better than none, and each joins by its own shape and time.
    findings.push(notRepeated(selection.launches));
    const any = { kind: "first", skip: 0, count: maxLaunches } as const;
    measured = await step(options, runs, "counters", any, counters, Math.min(maxLaunches, seen.length));
  }
  findings.push(...unsaid(findings, measured.verdict.findings));
  const cutShort = measured.verdict.failure === null ? look.verdict.failure : null;
  return {
    ended: cutShort === null ? measured.verdict.ended : "partial",
    failure: cutShort ?? measured.verdict.failure,
    findings,
    report: measured.path,
    survey: look.path,
    plan: null,
    runs,
    selection,
    passes: measured.run.observed.passes,
    reason,
  };
}

/** True where the budget has room for so many attachments. */
function pays({ msLeft }: MeasureOptions, attachments: number): boolean {
  const left = msLeft();
  return left === null || left > attachments * MS_PER_ATTACHMENT;
}

function unsaid(said: readonly Finding[], more: readonly Finding[]): Finding[] {
  const codes = new Set(said.map(({ code }) => code));
  return more.filter(({ code }) => !codes.has(code));
}

const notLaunched = (): Failure => ({
  code: "no_matching_kernel",
  message: "The load that counters are taken with launched none of the kernels and shapes of the timeline.",
  hint: "Under ncu fewer requests are in flight: where the engine takes lists of prompts, `load.batch: prompts` keeps the shapes of the batch.",
  retryable: false,
  evidence: {},
});

const notRepeated = (launches: number): Finding => ({
  code: "launches_not_repeated",
  severity: "warning",
  message: `None of the ${launches} launches that were chosen came again in the run that takes counters; the first launches of the same kernels were measured instead, and clusters may be missing.`,
  launch: null,
  evidence: { launches },
});
