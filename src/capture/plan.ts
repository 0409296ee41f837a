import type { CaptureRecord } from "../model/capture.ts";
import type { Dim3 } from "../model/launch.ts";

/** One launch of the survey: the run that takes times only, of every launch that matches. */
export interface SurveyLaunch {
  /** Function name: what `ncu -k` matches and what its ordinals count by. */
  readonly functionName: string;
  /** Name key: kernels of one function differ by it (template arguments). */
  readonly kernel: string;
  /** Which launch of its function it is, from 1, in the order of the program. */
  readonly ordinal: number;
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
  readonly duration_ns: number;
}

/** Launches of one kernel and shape whose durations belong together. */
export interface SurveyCluster {
  readonly kernel: string;
  readonly launches: readonly SurveyLaunch[];
}

/** Which launches get counters. */
export interface MeasurementPlan {
  readonly selection:
    | { readonly kind: "first"; readonly skip: number; readonly count: number }
    | { readonly kind: "ordinals"; readonly names: readonly string[]; readonly ordinals: readonly number[] };
  /** How many launches the selection takes where the next run launches what the survey saw. */
  readonly count: number;
  readonly clusters: NonNullable<NonNullable<CaptureRecord["plan"]>["clusters"]>;
  readonly reason: string;
}

export interface PlanLimits {
  /** Launches that get counters, at most. */
  readonly maxLaunches: number;
  /** First launches of each function that are not measured; never all of them. */
  readonly skip: number;
}

/** Launches that one cluster needs: the median one carries the verdict, the others show how much it varies. */
const WANTED_OF_A_CLUSTER = 3;
/** Clusters below this share of the summed time say little and cost as much (DESIGN: one launch per cluster that holds 10 %). */
const SMALLEST_SHARE = 0.1;

/**
 * Chooses launches so that each cluster that matters is seen: its median first, then those beside it, while the budget
 * lasts; heaviest cluster first. The first `skip` launches of a function are left out unless its cluster has no other.
 */
export function planMeasurement(
  clusters: readonly SurveyCluster[],
  { maxLaunches, skip }: PlanLimits,
): MeasurementPlan {
  const all = clusters.flatMap(({ launches }) => launches);
  const total = sum(all);
  const ranked = clusters
    .map((cluster) => ({ ...cluster, total: sum(cluster.launches), eligible: withoutWarmUp(cluster.launches, skip) }))
    .sort((a, b) => b.total - a.total || compareFirst(a.launches, b.launches));
  const wanted = ranked.filter((cluster, position) => position === 0 || cluster.total >= SMALLEST_SHARE * total);
  const chosen = wanted.map(({ eligible }) => medianFirst(eligible).slice(0, WANTED_OF_A_CLUSTER));
  const taken = chosen.map(() => 0);
  let left = maxLaunches;
  for (let round = 0; round < WANTED_OF_A_CLUSTER; round++) {
    for (const [position, launches] of chosen.entries()) {
      if (left === 0 || taken[position] !== round || launches.length <= round) continue;
      taken[position] = round + 1;
      left -= 1;
    }
  }
  const picked = withinLimit(
    all,
    chosen.map((launches, position) => launches.slice(0, taken[position])),
    maxLaunches,
  );
  const described = wanted.map(({ kernel, launches }, position) => describe(kernel, launches, picked[position] ?? []));
  return { ...select(all, picked.flat(), skip), clusters: described, reason: reasonFor(clusters, wanted, picked) };
}

/**
 * One expression serves all names, so an ordinal that one function needs is taken of each: launches are left out, the
 * extra ones of a cluster first and the lightest clusters first, until the selection is within the limit.
 */
function withinLimit(
  all: readonly SurveyLaunch[],
  given: readonly (readonly SurveyLaunch[])[],
  maxLaunches: number,
): SurveyLaunch[][] {
  const picked = given.map((launches) => [...launches]);
  while (select(all, picked.flat(), 1).count > maxLaunches) {
    const most = Math.max(...picked.map(({ length }) => length));
    const last = picked.findLastIndex(({ length }) => length === most);
    if (most === 0 || (most === 1 && last === 0)) break;
    picked[last]?.pop();
  }
  return picked;
}

function select(
  all: readonly SurveyLaunch[],
  picked: readonly SurveyLaunch[],
  skip: number,
): Pick<MeasurementPlan, "selection" | "count"> {
  const names = [...new Set(picked.map(({ functionName }) => functionName))].sort();
  const ordinals = [...new Set(picked.map(({ ordinal }) => ordinal))].sort((a, b) => a - b);
  // One expression serves all names: an ordinal that one of them needs is taken of each.
  const count = all.filter((launch) => names.includes(launch.functionName) && ordinals.includes(launch.ordinal)).length;
  const only = all.length === picked.length && new Set(all.map(({ functionName }) => functionName)).size === 1;
  if (only && skip === 0) return { selection: { kind: "first", skip: 0, count: all.length }, count: all.length };
  return { selection: { kind: "ordinals", names, ordinals }, count };
}

function withoutWarmUp(launches: readonly SurveyLaunch[], skip: number): readonly SurveyLaunch[] {
  const warm = launches.filter(({ ordinal }) => ordinal > skip);
  return warm.length > 0 ? warm : launches;
}

/** The median by duration, then its neighbours outwards, the shorter side first. */
function medianFirst(launches: readonly SurveyLaunch[]): SurveyLaunch[] {
  const sorted = [...launches].sort((a, b) => a.duration_ns - b.duration_ns || a.ordinal - b.ordinal);
  const middle = Math.floor((sorted.length - 1) / 2);
  return sorted
    .map((launch, position) => ({ launch, distance: Math.abs(position - middle), position }))
    .sort((a, b) => a.distance - b.distance || a.position - b.position)
    .map(({ launch }) => launch);
}

const sum = (launches: readonly SurveyLaunch[]): number =>
  launches.reduce((total, { duration_ns }) => total + duration_ns, 0);

const compareFirst = ([a]: readonly SurveyLaunch[], [b]: readonly SurveyLaunch[]): number =>
  (a?.ordinal ?? 0) - (b?.ordinal ?? 0) || (a?.functionName ?? "").localeCompare(b?.functionName ?? "");

const describe = (kernel: string, launches: readonly SurveyLaunch[], chosen: readonly SurveyLaunch[]) => ({
  kernel,
  grid: launches[0]?.grid?.join("x") ?? "unknown",
  block: launches[0]?.block?.join("x") ?? "unknown",
  launches: launches.length,
  median_us: (medianFirst(launches)[0]?.duration_ns ?? 0) / 1000,
  total_us: sum(launches) / 1000,
  chosen: chosen.map(({ ordinal }) => ordinal).sort((a, b) => a - b),
});

function reasonFor(
  clusters: readonly unknown[],
  wanted: readonly unknown[],
  picked: readonly (readonly unknown[])[],
): string {
  const seen = picked.filter((launches) => launches.length > 0).length;
  const small = clusters.length - wanted.length;
  const parts = [`${seen} of ${clusters.length} duration clusters get counters`];
  if (small > 0) parts.push(`${small} hold less than ${100 * SMALLEST_SHARE} % of the time each`);
  if (seen < wanted.length) parts.push(`${wanted.length - seen} are over the limit of launches`);
  return parts.join("; ");
}
