import type { NcuPlan } from "../ncu/arguments.ts";
import { isCollective, type KernelFilter } from "../ncu/kernel-filter.ts";
import type { SurveyLaunch } from "../plan.ts";
import { chooseSample, type SeenLaunch, takenBy } from "../sample.ts";
import type { OtherRun, RankedCluster, RankedKernel, TimelineLaunch } from "./selection.ts";

/** A launch belongs to a cluster whose median its time is not further from than this (DESIGN.md section 5, rule 2). */
const SAME_WITHIN = 1.25;
/** Launches that are timed to tell the clusters of a shape apart, for each of them: 0.4 s each (9 passes, ncu 2025.3.1, H200). */
const TIMED_OF_A_CLUSTER = 5;
const MAX_TIMED = 64;

const namesOf = ({ clusters }: RankedKernel): string[] => [
  ...new Set(clusters.flatMap(({ launches }) => launches.map(({ mangled }) => mangled))),
];

/** The first kernels by time that may be replayed and can be found again. */
export const replayable = (kernels: readonly RankedKernel[], topN: number): readonly RankedKernel[] =>
  kernels
    .filter((kernel) => ![kernel.kernel, kernel.function ?? "", ...namesOf(kernel)].some(isCollective))
    .slice(0, topN)
    .filter((kernel) => namesOf(kernel).length > 0);

/** For ncu: the launches of these kernels, by the linker's names. */
export function filterFor(kernels: readonly RankedKernel[]): KernelFilter {
  const names = [...new Set(kernels.flatMap(namesOf))].sort();
  const pattern = `^(${names.map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})$`;
  return {
    argv: ["--kernel-name-base", "mangled", "-k", `regex:${pattern}`],
    base: "mangled",
    exact: null,
    pattern,
    complete: true,
  };
}

/** A launch that was seen: `functionName` is the linker's name, and `ordinal` counts the launches of that. */
type Seen = SeenLaunch;

/** The launches of a report by the linker's name of their kernel. */
export const byMangledName = (launches: readonly SeenLaunch[]): Seen[] =>
  launches.flatMap((launch) =>
    launch.mangled ? [{ ...launch, functionName: launch.mangled.name, ordinal: launch.mangled.ordinal }] : [],
  );

/**
 * The launches that the load of the counters makes, as those that may stand for the clusters of a timeline of another load:
 * of the same linker's name, grid and block, and where these have clusters of several times, of the same time.
 */
export class SeenLaunches implements OtherRun {
  readonly #seen = new Map<string, Seen[]>();
  readonly #timed = new Map<string, SurveyLaunch[]>();
  readonly #all: readonly Seen[];
  readonly counts = new Map<string, number>();

  /** @param all by {@link byMangledName}; with times or without. */
  constructor(all: readonly Seen[]) {
    this.#all = all;
    for (const launch of all) {
      const { functionName, ordinal } = launch;
      add(this.#seen, shapeOf(launch), launch);
      this.counts.set(functionName, Math.max(this.counts.get(functionName) ?? 0, ordinal));
    }
    this.setTimes(all.filter((launch): launch is Seen & SurveyLaunch => launch.duration_ns !== null));
  }

  /**
   * Launches that are to be timed, because their shape has clusters of several times; null where there are none.
   * `count`: how many ncu will take.
   */
  toTime(kernels: readonly RankedKernel[]): {
    readonly launches: Extract<NcuPlan["launches"], { kind: "ordinals" }>;
    readonly count: number;
  } | null {
    const unclear = new Map<string, Seen[]>();
    let clusters = 0;
    for (const kernel of kernels) {
      for (const cluster of kernel.clusters) {
        if (siblings(kernel, cluster).length < 2) continue;
        const own = this.#shapes(cluster);
        if (own.size > 0) clusters++;
        for (const [key, launches] of own) unclear.set(key, launches);
      }
    }
    const open = [...unclear.values()].flat();
    if (open.length === 0) return null;
    const sample = chooseSample(open, Math.min(MAX_TIMED, TIMED_OF_A_CLUSTER * clusters));
    const names = [...new Set(open.map(({ functionName }) => functionName))].sort();
    const ordinals =
      sample.selection.kind === "ordinals"
        ? [...sample.selection.ordinals]
        : [...new Set(open.map(({ ordinal }) => ordinal))].sort((a, b) => a - b);
    const count = this.#all.filter(
      ({ functionName, ordinal }) => names.includes(functionName) && ordinals.includes(ordinal),
    ).length;
    return { launches: { kind: "ordinals", names, ordinals, base: "mangled" }, count };
  }

  /** Takes in the times of a run that took only some launches, numbered as they came there. */
  takeTimes(launches: NcuPlan["launches"], taken: readonly Seen[]): void {
    const timed = taken.filter((launch): launch is Seen & SurveyLaunch => launch.duration_ns !== null);
    const wanted = launches.kind === "ordinals" ? new Set(launches.names) : null;
    const seen = this.#all.filter(({ functionName }) => wanted?.has(functionName) ?? true);
    this.setTimes(takenBy(launches, seen, timed));
  }

  setTimes(timed: readonly SurveyLaunch[]): void {
    for (const launch of timed) add(this.#timed, shapeOf(launch), launch);
  }

  candidates(kernel: RankedKernel, cluster: RankedCluster): readonly TimelineLaunch[] {
    const keys = [...this.#shapes(cluster).keys()];
    const seen = keys.flatMap((key) => this.#seen.get(key) ?? []);
    const timed = keys.flatMap((key) => this.#timed.get(key) ?? []);
    const same = siblings(kernel, cluster);
    // Without times any launch of the shape may be the one: its own time tells, once it has counters.
    if (same.length < 2 || timed.length === 0) return seen.map((launch) => launchOf(launch, medianOf(cluster)));
    const of = placed(timed, same);
    return timed.flatMap((launch) => {
      const place = of(launch.duration_ns);
      return place?.cluster === cluster ? [launchOf(launch, place.time)] : [];
    });
  }

  /** By linker's name: the launches that were seen of the cluster's shape. */
  #shapes({ grid, block, launches }: RankedCluster): Map<string, Seen[]> {
    const found = new Map<string, Seen[]>();
    for (const name of new Set(launches.map(({ mangled }) => mangled))) {
      const key = keyOf(name, grid, block);
      const own = this.#seen.get(key);
      if (own !== undefined) found.set(key, own);
    }
    return found;
  }
}

/** Clusters of the same linker's name, grid and block, the cluster itself among them. */
function siblings({ clusters }: RankedKernel, { grid, block, launches }: RankedCluster): RankedCluster[] {
  const names = new Set(launches.map(({ mangled }) => mangled));
  return clusters.filter(
    (other) => other.grid === grid && other.block === block && other.launches.some(({ mangled }) => names.has(mangled)),
  );
}

interface Place {
  readonly cluster: RankedCluster;
  /** Its time as the timeline would have it. */
  readonly time: number;
}

/** As the counters join later: as measured where all find a cluster so, else scaled with the ratio of the medians. */
function placed(timed: readonly SurveyLaunch[], clusters: readonly RankedCluster[]): (time: number) => Place | null {
  const medians = clusters.map((cluster) => ({ cluster, median: medianOf(cluster) }));
  const times = timed.map(({ duration_ns }) => duration_ns);
  const all = clusters.flatMap(({ launches }) => launches.map(({ duration_ns }) => duration_ns));
  const ratio = middle(times) / (middle(all) || 1) || 1;
  const atScale = (scale: number) => (time: number) => nearest(medians, time / scale);
  const met = (scale: number): number => times.filter((time) => atScale(scale)(time) !== null).length;
  return met(ratio) > met(1) ? atScale(ratio) : atScale(1);
}

function nearest(
  medians: readonly { readonly cluster: RankedCluster; readonly median: number }[],
  time: number,
): Place | null {
  let best: (Place & { readonly off: number }) | null = null;
  for (const { cluster, median } of medians) {
    const off = Math.max(time / median, median / time);
    if (off <= SAME_WITHIN && (best === null || off < best.off)) best = { cluster, time, off };
  }
  return best;
}

const launchOf = ({ functionName, ordinal }: Seen | SurveyLaunch, duration_ns: number): TimelineLaunch => ({
  mangled: functionName,
  ordinal,
  duration_ns,
});

const medianOf = ({ launches }: RankedCluster): number => middle(launches.map(({ duration_ns }) => duration_ns));

/** The lower median; 0 where there is none. */
function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[(sorted.length - 1) >> 1] ?? 0;
}

const keyOf = (name: string, grid: string, block: string): string => JSON.stringify([name, grid, block]);
const shapeOf = ({ functionName, grid, block }: Pick<Seen, "functionName" | "grid" | "block">): string =>
  keyOf(functionName, grid?.join("x") ?? "unknown", block?.join("x") ?? "unknown");

function add<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
