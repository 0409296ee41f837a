import { err, ok, type Result } from "../../base/result.ts";
import type { Item } from "../kernels.ts";
import type { RankedCluster, RankedShape } from "../timeline/ranking.ts";
import { type JoinedShape, sameDim } from "./joined.ts";
import type { PlannedLaunches, TimelineRow } from "./planned.ts";

/** A launch with counters that is not the launch of the timeline which it was to be. */
export interface RunsDiffer {
  readonly item: Item;
  /** Null: more launches were measured than asked for. */
  readonly ordinal: number | null;
  /** Grid and block in the timeline; null: it has no launch of this number. */
  readonly expected: Pick<TimelineRow, "grid" | "block"> | null;
}

interface Found {
  readonly item: Item;
  readonly cluster: RankedCluster;
  readonly us: number;
}

/**
 * Each launch to the cluster of the launch of the timeline with its number. One whose number lies outside of the ranked
 * window, or in a cluster that is not listed, is in none. Several processes have a launch of each number: that of the
 * same shape and nearest duration. `err`: the runs were not the same.
 */
export function byPlan(
  shapes: readonly RankedShape[],
  items: readonly Item[],
  planned: PlannedLaunches,
): Result<JoinedShape[], RunsDiffer> {
  const places: { readonly item: Item; readonly rows: readonly TimelineRow[] }[] = [];
  for (const item of items) {
    const launch = planned.of(item);
    const { grid, block } = item.launch;
    const rows = launch?.rows.filter((row) => sameDim(grid, row.grid) && sameDim(block, row.block)) ?? [];
    if (rows.length === 0) return err({ item, ordinal: launch?.ordinal ?? null, expected: launch?.rows[0] ?? null });
    places.push({ item, rows });
  }
  const clusterOf = clustersOf(shapes, new Set(places.flatMap(({ rows }) => rows.map(({ row }) => row))));
  const found = places.flatMap(({ item, rows }) => nearest(item, rows, clusterOf) ?? []);
  return ok(
    shapes.map((shape) => ({
      shape,
      clusters: shape.clusters.map((cluster) => {
        const own = found.filter((one) => one.cluster === cluster).sort((a, b) => timeOf(a.item) - timeOf(b.item));
        const items = own.map(({ item }) => item);
        return own.length === 0
          ? { cluster, items, by: null }
          : { cluster, items, by: "plan_ordinal" as const, timelineUs: own.map(({ us }) => us) };
      }),
    })),
  );
}

const timeOf = ({ durationUs }: Item): number => durationUs ?? 0;

/** Of each wanted row its cluster, by timeline. */
type ClusterOf = (row: TimelineRow) => RankedCluster | undefined;

function clustersOf(shapes: readonly RankedShape[], wanted: ReadonlySet<number>): ClusterOf {
  const found = new Map<number, Map<number, RankedCluster>>();
  for (const { clusters } of shapes) {
    for (const cluster of clusters) {
      for (const { timeline, rows } of cluster.launches) {
        const own = found.get(timeline) ?? new Map<number, RankedCluster>();
        found.set(timeline, own);
        for (const row of rows) if (wanted.has(row)) own.set(row, cluster);
      }
    }
  }
  return ({ timeline, row }) => found.get(timeline)?.get(row);
}

function nearest(item: Item, rows: readonly TimelineRow[], clusterOf: ClusterOf): Found | null {
  let best: (Found & { readonly off: number }) | null = null;
  for (const row of rows) {
    const cluster = clusterOf(row);
    if (cluster === undefined) continue;
    const us = row.duration_ns / 1000;
    const off = Math.abs(timeOf(item) - us);
    if (best === null || off < best.off) best = { item, cluster, us, off };
  }
  return best;
}
