import { byNumber, byNumberDescending, byText, inOrder } from "../../base/order.ts";
import { durationCuts } from "../clusters.ts";
import { timingOfSorted } from "../timing.ts";
import { type LaunchColumns, launchColumns, type Source } from "./launches.ts";
import type { LaunchRows, PhaseTime, RankedCluster, RankedKernel, RankedShape } from "./ranking.ts";
import { PHASES } from "./step-patterns.ts";
import { EXCLUSIVE_DIFFERS } from "./thresholds.ts";

/** A shape may hold very many clusters where its durations spread evenly; the heaviest are listed. */
export const CLUSTERS_LISTED = 64;
export const SHAPES_LISTED = 256;

const NS_PER_US = 1000;
const share = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** Sums over launches, nanoseconds. */
interface Sums {
  exclusive: number;
  recorded: number;
  clipped: number;
}

function sumsOf(
  { duration_ns, exclusive_ns, clipped_ns }: LaunchColumns,
  { from, to }: LaunchColumns["groups"][number],
): Sums {
  const sums = { exclusive: 0, recorded: 0, clipped: 0 };
  for (let at = from; at < to; at += 1) {
    sums.exclusive += Number(exclusive_ns[at]);
    sums.recorded += Number(duration_ns[at]);
  }
  for (let at = from; clipped_ns !== null && at < to; at += 1) {
    const clipped = Number(clipped_ns[at]);
    sums.recorded += clipped;
    if (clipped > 0) sums.clipped += 1;
  }
  return sums;
}

/** Launches at some places of the columns, which ascend by timeline. */
function rowsAt({ timeline, row, ordinal }: LaunchColumns, places: Uint32Array): LaunchRows[] {
  const result: LaunchRows[] = [];
  for (let from = 0, to = 0; from < places.length; from = to) {
    const own = Number(timeline[Number(places[from])]);
    while (to < places.length && timeline[Number(places[to])] === own) to += 1;
    const part = places.subarray(from, to);
    const [rows, ordinals] = [new Uint32Array(part.length), new Uint32Array(part.length)];
    for (let launch = 0; launch < part.length; launch += 1) {
      rows[launch] = Number(row[Number(part[launch])]);
      ordinals[launch] = Number(ordinal[Number(part[launch])]);
    }
    result.push({ timeline: own, rows, ordinals });
  }
  return result;
}

interface ShapeResult {
  readonly shape: RankedShape;
  readonly sorted: Float64Array;
  readonly sums: Sums;
  readonly first: number;
}

/** Cluster of a duration: the last one that begins at or below it. */
function clusterAt(lowest: Float64Array, duration: number): number {
  let [low, high] = [0, lowest.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(lowest[middle]) <= duration) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function boundaries(cuts: readonly number[], length: number): Uint32Array {
  const begins = new Uint32Array(cuts.length + 2);
  begins.set(cuts, 1);
  begins[cuts.length + 1] = length;
  return begins;
}

/** Launches of a shape by cluster, in columns: durations that spread evenly make nearly a cluster for each. */
interface Clusters {
  /** Where each begins in `sorted` and `places`; one more at the end. */
  readonly begins: Uint32Array;
  readonly places: Uint32Array;
  readonly exclusive: Float64Array;
  /** Place of the launch of median duration. */
  readonly medians: Uint32Array;
}

function clustersOf(
  columns: LaunchColumns,
  { from, to }: LaunchColumns["groups"][number],
  sorted: Float64Array,
): Clusters {
  const begins = boundaries(durationCuts(sorted), sorted.length);
  const count = begins.length - 1;
  const [lowest, middles] = [new Float64Array(count), new Float64Array(count)];
  for (let cluster = 0; cluster < count; cluster += 1) {
    const [begin, end] = [Number(begins[cluster]), Number(begins[cluster + 1])];
    lowest[cluster] = Number(sorted[begin]);
    middles[cluster] = Number(sorted[begin + Math.floor((end - begin - 1) / 2)]);
  }
  const places = new Uint32Array(sorted.length);
  const exclusive = new Float64Array(count);
  const medians = new Uint32Array(count).fill(to);
  const next = begins.slice();
  for (let at = from; at < to; at += 1) {
    const duration = Number(columns.duration_ns[at]);
    const cluster = count === 1 ? 0 : clusterAt(lowest, duration);
    const place = Number(next[cluster]);
    places[place] = at;
    next[cluster] = place + 1;
    exclusive[cluster] = Number(exclusive[cluster]) + Number(columns.exclusive_ns[at]);
    if (duration === middles[cluster] && medians[cluster] === to) medians[cluster] = at;
  }
  return { begins, places, exclusive, medians };
}

function shapeOf(columns: LaunchColumns, group: LaunchColumns["groups"][number]): ShapeResult {
  const { from, to } = group;
  const sorted = columns.duration_ns.slice(from, to).sort();
  const { begins, places, exclusive, medians } = clustersOf(columns, group, sorted);
  const order = Array.from(exclusive, (_, cluster) => cluster).sort(
    inOrder<number>(
      byNumberDescending((cluster) => Number(exclusive[cluster])),
      byNumber((cluster) => cluster),
    ),
  );
  const sums = sumsOf(columns, group);
  const clusters = order.slice(0, CLUSTERS_LISTED).map((cluster): Omit<RankedCluster, "share_of_kernel"> => {
    const median = Number(medians[cluster]);
    return {
      timing: timingOfSorted(sorted.subarray(begins[cluster], begins[cluster + 1]), NS_PER_US, "timeline"),
      exclusive_us: Number(exclusive[cluster]) / NS_PER_US,
      median_launch: { timeline: Number(columns.timeline[median]), row: Number(columns.row[median]) },
      launches: rowsAt(columns, places.subarray(begins[cluster], begins[cluster + 1])),
    };
  });
  const { grid, block, shared_memory_bytes, registers_per_thread } = columns.shapes[group.shape] ?? {
    grid: null,
    block: null,
    shared_memory_bytes: null,
    registers_per_thread: null,
  };
  const shape: RankedShape = {
    grid,
    block,
    shared_memory_bytes,
    registers_per_thread,
    timing: timingOfSorted(sorted, NS_PER_US, "timeline"),
    exclusive_us: sums.exclusive / NS_PER_US,
    clusters: clusters.map((cluster) => ({ ...cluster, share_of_kernel: null })),
    clusters_total: exclusive.length,
  };
  return { shape, sorted, sums, first: from };
}

function phasesOf(columns: LaunchColumns, groups: readonly LaunchColumns["groups"][number][]): PhaseTime[] {
  const counts = new Float64Array(PHASES.length);
  const ns = new Float64Array(PHASES.length);
  for (const { from, to } of groups)
    for (let at = from; at < to; at += 1) {
      const phase = Number(columns.phase[at]);
      counts[phase] = Number(counts[phase]) + 1;
      ns[phase] = Number(ns[phase]) + Number(columns.exclusive_ns[at]);
    }
  return PHASES.flatMap((phase, position) =>
    counts[position] === 0
      ? []
      : [{ phase, launches: Number(counts[position]), exclusive_us: Number(ns[position]) / NS_PER_US }],
  );
}

/** What shares are shares of, microseconds. */
export interface Denominators {
  readonly busy_us: number | null;
  readonly wall_us: number | null;
}

/** Kernels of the selected rows by exclusive time, most first, each by shape and cluster. Equal times: by key. */
export function rankKernels(
  sources: readonly Source[],
  { busy_us, wall_us }: Denominators,
  hasPhases: boolean,
): RankedKernel[] {
  const columns = launchColumns(sources);
  const byKernel = new Map<number, LaunchColumns["groups"][number][]>();
  for (const group of columns.groups) {
    const own = byKernel.get(group.kernel);
    if (own === undefined) byKernel.set(group.kernel, [group]);
    else own.push(group);
  }
  const kernels = [...byKernel].map(([kernel, groups]): Omit<RankedKernel, "share_of_kernels"> => {
    const shapes = groups
      .map((group) => shapeOf(columns, group))
      .sort(
        inOrder<ShapeResult>(
          byNumberDescending(({ sums }) => sums.exclusive),
          byNumber(({ first }) => first),
        ),
      );
    const sums = { exclusive: 0, recorded: 0, clipped: 0 };
    for (const { sums: own } of shapes) {
      sums.exclusive += own.exclusive;
      sums.recorded += own.recorded;
      sums.clipped += own.clipped;
    }
    let all = shapes[0]?.sorted ?? new Float64Array(0);
    if (shapes.length > 1) {
      all = new Float64Array(shapes.reduce((total, { sorted }) => total + sorted.length, 0));
      let at = 0;
      for (const { sorted } of shapes) {
        all.set(sorted, at);
        at += sorted.length;
      }
      all.sort();
    }
    const byTimeline = new Array<number>(sources.length).fill(0);
    for (const { from, to } of groups)
      for (let at = from; at < to; at += 1) {
        const timeline = Number(columns.timeline[at]);
        byTimeline[timeline] = Number(byTimeline[timeline]) + 1;
      }
    const { key, timeline, name } = columns.kernels[kernel] ?? {
      key: { key: "", kind: "printed" },
      timeline: 0,
      name: 0,
    };
    const names = sources[timeline]?.timeline.names[name];
    const exclusive_us = sums.exclusive / NS_PER_US;
    return {
      key,
      names: names ?? { mangled: null, function: null, demangled: null, display: key.key, simplified: false },
      timing: timingOfSorted(all, NS_PER_US, "timeline"),
      recorded_us: sums.recorded / NS_PER_US,
      exclusive_us,
      running_us: busy_us === null ? null : Number(columns.running_ns[kernel]) / NS_PER_US,
      exclusive_differs: sums.recorded - sums.exclusive > EXCLUSIVE_DIFFERS * sums.recorded,
      clipped_launches: sums.clipped,
      share_of_busy: busy_us === null ? null : share(exclusive_us, busy_us),
      share_of_wall: wall_us === null ? null : share(exclusive_us, wall_us),
      launches_by_timeline: byTimeline,
      phases: hasPhases ? phasesOf(columns, groups) : null,
      shapes: shapes.slice(0, SHAPES_LISTED).map(({ shape }) => ({
        ...shape,
        clusters: shape.clusters.map((cluster) => ({
          ...cluster,
          share_of_kernel: share(cluster.exclusive_us, exclusive_us),
        })),
      })),
      shapes_total: shapes.length,
    };
  });
  return inRank(kernels);
}

/** Sorts, and adds each kernel's share of all kernels. */
export function inRank(kernels: readonly Omit<RankedKernel, "share_of_kernels">[]): RankedKernel[] {
  const total = kernels.reduce((sum, kernel) => sum + kernel.exclusive_us, 0);
  return kernels
    .map((kernel) => ({ ...kernel, share_of_kernels: share(kernel.exclusive_us, total) }))
    .sort(
      inOrder<RankedKernel>(
        byNumberDescending((kernel) => kernel.exclusive_us),
        byText((kernel) => kernel.key.key),
        byText((kernel) => kernel.key.kind),
      ),
    );
}
