import { ROLES } from "../../hardware/roles.ts";
import { baseName } from "../../model/kernel-name.ts";
import type { Item, Kernel } from "../kernels.ts";
import type { RankedCluster, RankedKernel, RankedShape } from "../timeline/ranking.ts";
import { byPlan, type RunsDiffer } from "./join-planned.ts";
import { type JoinedBy, type JoinedShape, sameDim } from "./joined.ts";
import type { PlannedLaunches } from "./planned.ts";

export interface JoinedKernel {
  readonly kernel: RankedKernel;
  /** The kernel of the reports; null: they have none of this name. */
  readonly counted: Kernel | null;
  /** Null for summaries by name, which have no shapes. */
  readonly shapes: readonly JoinedShape[] | null;
  /** Launches with counters of which no cluster of the timeline is. */
  readonly mismatched: readonly Item[];
  /** Why the plan's numbers were not followed; null: they were, or there are none. */
  readonly differs: RunsDiffer | null;
}

/** A launch belongs to a cluster whose median its own duration is not further from than this (DESIGN: how counters join). */
const SAME_WITHIN = 1.25;

/** Kernels of reports by name key. CSV pages drop namespaces, so their names join by the base name. */
export class CountedKernels {
  readonly #byKey = new Map<string, Kernel>();
  readonly #printed = new Map<string, Kernel[]>();

  constructor(kernels: readonly Kernel[]) {
    for (const kernel of kernels) {
      this.#byKey.set(kernel.key.key, kernel);
      if (kernel.key.kind === "printed") {
        const base = baseName(kernel.target);
        this.#printed.set(base, [...(this.#printed.get(base) ?? []), kernel]);
      }
    }
  }

  of({ key, names }: RankedKernel): Kernel | null {
    const same = this.#byKey.get(key.key) ?? (names.mangled === null ? undefined : this.#byKey.get(names.mangled));
    if (same !== undefined) return same;
    const printed = this.#printed.get(names.function ?? baseName(names.display)) ?? [];
    // Two kernels of one base name: nobody knows which.
    return printed.length === 1 ? (printed[0] ?? null) : null;
  }
}

const isComplete = ({ launch, durationUs }: Item): boolean => launch.failure === null && durationUs !== null;

function sharedBytes({ launch }: Item): number | null {
  const [fixed, dynamic] = [
    launch.metrics.number(ROLES.shared_static[0]),
    launch.metrics.number(ROLES.shared_dynamic[0]),
  ];
  return fixed === null || dynamic === null ? null : fixed + dynamic;
}

const isOfShape = (item: Item, { grid, block, shared_memory_bytes: shared }: RankedShape): boolean => {
  const own = sharedBytes(item);
  return (
    sameDim(item.launch.grid, grid) &&
    sameDim(item.launch.block, block) &&
    (own === null || shared === null || own === shared)
  );
};

const byDuration = (a: Item, b: Item): number => (a.durationUs ?? 0) - (b.durationUs ?? 0);

/**
 * Joins the launches with counters of a kernel to the clusters of its timeline: by the numbers that they were asked for
 * (`planned`) where grid and block agree; else by the number of the launch where both
 * runs have the same number of launches of the kernel, else by duration within 25 %, as measured where every launch of a
 * shape meets a cluster so, and after scaling with the ratio of the shape's medians where not (ncu runs kernels one by
 * one, at other clocks, with a cold cache). What meets no cluster is not used.
 */
export function joinKernel(
  kernel: RankedKernel,
  counted: Kernel | null,
  planned: PlannedLaunches | null = null,
): JoinedKernel {
  const { shapes } = kernel;
  const items = counted?.items.filter(isComplete) ?? [];
  const nothing = { kernel, counted, mismatched: [], differs: null };
  if (shapes === null) return { ...nothing, shapes: null };
  if (items.length === 0) return { ...nothing, shapes: shapes.map((shape) => unjoined(shape)) };
  const exact = planned === null ? null : byPlan(shapes, items, planned);
  if (exact?.ok) return { ...nothing, shapes: exact.value };
  const numbered = planned === null ? byOrdinal(kernel, shapes, counted?.items ?? []) : null;
  const joined = numbered ?? shapes.map((shape) => byTime(shape, items));
  const used = new Set(joined.flatMap(({ clusters }) => clusters.flatMap((one) => one.items)));
  const mismatched = items.filter((item) => !used.has(item));
  return { kernel, counted, shapes: joined, mismatched, differs: exact?.error ?? null };
}

const unjoined = (shape: RankedShape): JoinedShape => ({
  shape,
  clusters: shape.clusters.map((cluster) => ({ cluster, items: [], by: null })),
});

/** Null where the runs have different numbers of launches, or the same number is of another shape. */
function byOrdinal(kernel: RankedKernel, shapes: readonly RankedShape[], items: readonly Item[]): JoinedShape[] | null {
  const isOneRun = kernel.launches_by_timeline.filter((count) => count > 0).length === 1;
  if (!isOneRun || items.length !== kernel.timing.n || !items.every(isComplete)) return null;
  if (shapes.some(({ clusters, clusters_total: total }) => clusters.length < total)) return null;
  const joined = shapes.map((shape) => ({
    shape,
    clusters: shape.clusters.map((cluster) => {
      const own = cluster.launches.flatMap(({ ordinals }) => Array.from(ordinals, (ordinal) => items[ordinal]));
      return { cluster, items: own.flatMap((item) => item ?? []).sort(byDuration), by: "ordinal" as const };
    }),
  }));
  const agrees = joined.every(({ shape, clusters }) =>
    clusters.every((one) => one.items.every((item) => isOfShape(item, shape))),
  );
  return agrees ? joined : null;
}

function byTime(shape: RankedShape, all: readonly Item[]): JoinedShape {
  const items = all.filter((item) => isOfShape(item, shape));
  if (items.length === 0) return unjoined(shape);
  const direct = nearest(shape, items, 1);
  if (direct.every((cluster) => cluster !== null)) return placed(shape, items, direct, "duration");
  const [own, theirs] = [medianOf(items.map(({ durationUs }) => durationUs ?? 0)), shape.timing.median_us];
  const ratio = theirs !== null && theirs > 0 && own > 0 ? own / theirs : 1;
  const scaled = nearest(shape, items, ratio);
  const count = (clusters: readonly unknown[]): number => clusters.filter((cluster) => cluster !== null).length;
  return count(scaled) > count(direct)
    ? placed(shape, items, scaled, "scaled_duration")
    : placed(shape, items, direct, "duration");
}

/** For each launch the cluster of nearest median within 25 %; null where there is none. */
function nearest({ clusters }: RankedShape, items: readonly Item[], ratio: number): (RankedCluster | null)[] {
  return items.map(({ durationUs }) => {
    let best: { cluster: RankedCluster; off: number } | null = null;
    for (const cluster of clusters) {
      const [median, own] = [cluster.timing.median_us ?? 0, (durationUs ?? 0) / ratio];
      if (!(median > 0 && own > 0)) continue;
      const off = Math.max(own / median, median / own);
      if (off <= SAME_WITHIN && (best === null || off < best.off)) best = { cluster, off };
    }
    return best?.cluster ?? null;
  });
}

const placed = (
  shape: RankedShape,
  items: readonly Item[],
  clusters: readonly (RankedCluster | null)[],
  by: JoinedBy,
): JoinedShape => ({
  shape,
  clusters: shape.clusters.map((cluster) => {
    const own = items.filter((_, position) => clusters[position] === cluster).sort(byDuration);
    return { cluster, items: own, by: own.length === 0 ? null : by };
  }),
});

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? 0) + (high ?? 0)) / 2;
}
