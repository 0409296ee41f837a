import { byNumberDescending, byText, inOrder } from "../../base/order.ts";
import { err, ok, type Result } from "../../base/result.ts";
import { isCollectiveKernel } from "../../model/collective.ts";
import type { Finding } from "../../model/finding.ts";
import { baseName } from "../../model/kernel-name.ts";
import type { KernelNames } from "../../model/launch.ts";
import type { PipelinePlan } from "../../model/pipeline-plan.ts";
import type { KernelResult, PipelineResult } from "../../model/result.ts";
import { FULL_PIPELINE, RESULT_SCHEMA_VERSION } from "../../model/words.ts";
import { DECLARED_FAMILIES } from "../analyses.ts";
import { compositesOf } from "../composites.ts";
import { failedLaunches, reportFindings, untimedLaunches } from "../entry.ts";
import { FamilyIndex } from "../families.ts";
import { type AnalysisInput, type Item, itemsOf, kernelsOf, totalUs } from "../kernels.ts";
import { provenanceOf } from "../provenance.ts";
import { modelKind } from "../stages/model-kind.ts";
import type { AnalysisFailure } from "../target.ts";
import { splitCollectives } from "../timeline/collectives.ts";
import { type RankFailure, rankTimeline } from "../timeline/rank.ts";
import type { LaunchRows, RankedKernel, TimelineRanking } from "../timeline/ranking.ts";
import { stripOf } from "../timeline/strip.ts";
import type { TimelineWindow } from "../timeline/window.ts";
import { collectiveTimes } from "./collective-times.ts";
import { coverageOf } from "./coverage.ts";
import { coveredLaunches, type PipelineEntry, pipelineEntry } from "./entry.ts";
import type { TimelineInput } from "./input.ts";
import { CountedKernels, type JoinedKernel, joinKernel } from "./join.ts";
import { KernelStages } from "./kernel-stage.ts";
import { PlannedLaunches } from "./planned.ts";
import { timelineProvenance } from "./provenance.ts";

/** What is known beside timelines and reports. */
export interface Circumstances {
  readonly window?: TimelineWindow | null;
  /** Of the capture that took the reports: says which launches these are. */
  readonly plan?: PipelinePlan | null;
  readonly model?: string | null;
}

export interface PipelineOptions extends Circumstances {
  readonly topN: number;
}

export interface KernelOptions extends Circumstances {
  readonly target: string;
  readonly matches: (names: KernelNames) => boolean;
}

const NAMES_IN_EVIDENCE = 20;

/** Kernels among which at least one must have counters, or the reports are of something else. */
const HOT_KERNELS = 10;

interface JoinedRanking {
  readonly ranking: TimelineRanking;
  /** Launches of the reports: kernels, and what measured several of them as one. */
  readonly items: readonly Item[];
  readonly composites: readonly Item[];
  readonly counted: CountedKernels;
  readonly stages: KernelStages;
  readonly findings: readonly Finding[];
  readonly entryFor: (kernel: RankedKernel) => PipelineEntry;
  /** Launches of a kernel's clusters that have counters. */
  readonly covered: (kernel: RankedKernel) => readonly LaunchRows[];
}

/** Why the plan of a capture left out whole kernels, by their names in the timeline. */
const leftOutKernels = (plan: PipelinePlan | null): ReadonlyMap<string, string> =>
  new Map(
    (plan?.left_out ?? []).flatMap(({ kernel, cluster, because }) => (cluster === null ? [[kernel, because]] : [])),
  );

/** The ranking of timelines, and what joins the reports to it. */
function joinedRanking(
  inputs: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
  { window = null, plan = null, model = null }: Circumstances,
): Result<JoinedRanking, RankFailure> {
  const timelines = inputs.map(({ timeline }) => timeline);
  const ranked = rankTimeline(timelines, { window, isCollective: isCollectiveKernel });
  if (!ranked.ok) return ranked;
  const ranking = ranked.value;
  const collectives = splitCollectives(timelines, isCollectiveKernel, { window });
  const { kernels: items, composites } = itemsOf(reports);
  const counted = new CountedKernels(kernelsOf(items));
  const ordinals = plan?.ordinals ?? null;
  const planned = ordinals === null ? null : new PlannedLaunches(ordinals, timelines, items);
  const index = new FamilyIndex(DECLARED_FAMILIES);
  const stages = new KernelStages(timelines, modelKind(model));
  const totals = {
    reasons: ranking.null_reasons,
    busyUs: ranking.busy_us,
    hasReports: reports.length > 0,
    collectives: collectiveTimes(collectives),
    leftOut: leftOutKernels(plan),
  };
  const join = (kernel: RankedKernel): JoinedKernel => joinKernel(kernel, counted.of(kernel), planned);
  return ok({
    ranking,
    items,
    composites,
    counted,
    stages,
    findings: [...ranking.findings, ...collectives.findings],
    entryFor: (kernel) => pipelineEntry(join(kernel), stages.of(kernel), totals, index),
    covered: (kernel) => (counted.of(kernel) === null ? [] : coveredLaunches(join(kernel))),
  });
}

/**
 * Ranks the kernels of a run by the time of its timelines (one a rank), and gives each the verdict of the launches in
 * `reports` that belong to it. Refused where a timeline cannot be trusted.
 */
export function pipelineOfTimelines(
  timelines: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
  { topN, ...circumstances }: PipelineOptions,
): Result<PipelineResult, RankFailure> {
  const joined = joinedRanking(timelines, reports, circumstances);
  if (!joined.ok) return joined;
  const { ranking, items, composites, counted, stages, entryFor } = joined.value;
  const spanning = compositesOf(composites);
  const reportUs = totalUs(items);
  const shown = ranking.kernels.slice(0, topN).map(entryFor);
  const entries = shown.map(({ entry }) => entry);
  const covered = [
    ...shown.flatMap((one) => one.covered),
    ...ranking.kernels.slice(topN).flatMap((kernel) => joined.value.covered(kernel)),
  ];
  const busy = ranking.busy_us;
  const idle = ranking.idle;
  return ok({
    kind: "pipeline",
    schema_version: RESULT_SCHEMA_VERSION,
    target: FULL_PIPELINE,
    partial: reports.some(({ report }) => report.partial),
    gpu_busy_us: busy,
    span_us: ranking.span_us,
    gpu_idle_us: idle?.total_us ?? null,
    launches: ranking.launches,
    report_us: reportUs,
    stages: stagesOf(ranking, stages),
    kernels: entries,
    kernels_total: ranking.kernels_total,
    composites: spanning.composites,
    timeline: timelineOf(ranking, stages),
    coverage: coverageOf(ranking, covered),
    plan: null,
    null_reasons: {
      ...reasonsOf(ranking),
      plan: "timelines and reports were handed in, so nothing was planned",
      ...spanning.nullReasons,
      ...(reportUs === null
        ? { report_us: reports.length === 0 ? "no report was given" : "no launch has a duration above 0" }
        : {}),
    },
    findings: [
      ...joined.value.findings,
      ...missedHotKernels(ranking, counted, reports),
      ...reportFindings(reports),
      ...failedLaunches(items),
      ...untimedLaunches([...items, ...composites]),
    ],
    provenance: {
      ...provenanceOf(
        reports,
        entries.flatMap(({ detail }) => (detail.launch === null ? [] : [detail])),
      ),
      ...timelineProvenance(timelines, reports),
    },
  });
}

/** The kernel of most time that matches, with its verdict; the others that match beside it. */
export function kernelOfTimelines(
  timelines: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
  { target, matches, ...circumstances }: KernelOptions,
): Result<KernelResult, RankFailure | AnalysisFailure> {
  const joined = joinedRanking(timelines, reports, circumstances);
  if (!joined.ok) return joined;
  const { ranking, entryFor } = joined.value;
  const [best, ...rest] = ranking.kernels.filter(({ names }) => matches(names)).map((kernel) => entryFor(kernel).entry);
  if (best === undefined) {
    const names = ranking.kernels.map((kernel) => kernel.names.function ?? baseName(kernel.names.display));
    return err({
      code: "no_matching_kernel",
      message: `no kernel of the timeline matches ${JSON.stringify(target)}`,
      hint: "take one of the names in `kernels`, or a /pattern/",
      evidence: { target, kernels: [...new Set(names)].slice(0, NAMES_IN_EVIDENCE), kernels_total: names.length },
    });
  }
  return ok({
    kind: "kernel",
    ...best,
    schema_version: RESULT_SCHEMA_VERSION,
    partial: reports.some(({ report }) => report.partial),
    others: rest.map((entry) => ({
      target: entry.target,
      name_key: entry.detail.names.key,
      roofline: entry.roofline,
      total_us: entry.detail.timing.total_us,
      launches: entry.detail.timing.n,
    })),
    findings: [...joined.value.findings, ...reportFindings(reports), ...best.findings],
    provenance: {
      ...provenanceOf(reports, best.detail.launch === null ? [] : [best.detail]),
      ...timelineProvenance(timelines, reports),
    },
  });
}

function stagesOf(ranking: TimelineRanking, stages: KernelStages): PipelineResult["stages"] {
  const { busy_us: busy } = ranking;
  if (busy === null || busy <= 0) return null;
  const sums = new Map<string, { stage: string; family: string; ns: number }>();
  const add = (stage: string, family: string, us: number): void => {
    const sum = sums.get(stage) ?? { stage, family, ns: 0 };
    sums.set(stage, sum);
    sum.ns += Math.round(us * 1000);
  };
  for (const kernel of ranking.kernels) {
    const { stage, family } = stages.of(kernel);
    add(stage, family, kernel.exclusive_us);
  }
  for (const { kind, total_us } of ranking.activities) {
    if (kind === "graph") add("other", "other", total_us);
    else add("memcpy", "memory", total_us);
  }
  return [...sums.values()]
    .map(({ stage, family, ns }) => ({ stage, family, share: ns / 1000 / busy, total_us: ns / 1000 }))
    .sort(
      inOrder(
        byNumberDescending((one) => one.total_us),
        byText((one) => one.stage),
      ),
    );
}

function timelineOf(ranking: TimelineRanking, stages: KernelStages): NonNullable<PipelineResult["timeline"]> {
  const { idle, sources } = ranking;
  const strip = stripOf(sources, (timeline, name) => {
    const names = sources[timeline]?.timeline.names[name];
    return names === undefined ? "other" : stages.named(names).stage;
  });
  return {
    window: ranking.window === null ? null : { ...ranking.window },
    wall_us: ranking.wall_us,
    kernels_recorded_us: ranking.kernels_recorded_us,
    kernels_exclusive_us: ranking.kernels_exclusive_us,
    overlap_between_streams_us: ranking.overlap_between_streams_us,
    overlap_on_streams: ranking.overlap_on_streams === null ? null : { ...ranking.overlap_on_streams },
    phases: ranking.phases === null ? null : ranking.phases.map((phase) => ({ ...phase })),
    activities: ranking.activities.map((activity) => ({ ...activity })),
    idle:
      idle === null
        ? null
        : {
            count: idle.count,
            total_us: idle.total_us,
            share_of_wall: idle.share_of_wall,
            host: {
              calls: idle.host.calls === null ? null : idle.host.calls.map((call) => ({ ...call })),
              null_reason: idle.host.null_reason,
            },
            largest: idle.largest.map(({ host, ...gap }) => ({
              ...gap,
              host: host.calls === null ? null : host.calls.map((call) => ({ ...call })),
            })),
          },
    strip,
    null_reasons: {
      ...ranking.null_reasons,
      ...(strip === null ? { strip: ranking.null_reasons.busy_us ?? "no row of the timeline has a length" } : {}),
    },
  };
}

function reasonsOf({ null_reasons, busy_us, span_us, idle }: TimelineRanking): Record<string, string> {
  const busy = null_reasons.busy_us ?? "no row of the timeline has a start";
  return {
    ...(busy_us === null ? { gpu_busy_us: busy, stages: busy, coverage: busy } : {}),
    ...(span_us === null ? { span_us: null_reasons.span_us ?? busy } : {}),
    ...(idle === null ? { gpu_idle_us: null_reasons.idle ?? busy } : {}),
  };
}

function missedHotKernels(
  { kernels }: TimelineRanking,
  counted: CountedKernels,
  reports: readonly AnalysisInput[],
): Finding[] {
  const hot = kernels.slice(0, HOT_KERNELS);
  if (reports.length === 0 || hot.length === 0 || hot.some((kernel) => counted.of(kernel) !== null)) return [];
  return [
    {
      code: "report_misses_hot_kernels",
      severity: "error",
      message: `none of the ${hot.length} kernels that take the most time in the timeline is in the reports: they are of another run, or their window missed the work`,
      launch: null,
      evidence: { hot_kernels: hot.length, first: hot[0]?.names.display.slice(0, 160) ?? null },
    },
  ];
}
