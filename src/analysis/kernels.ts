import { byNumber, byNumberDescending, byText, inOrder } from "../base/order.ts";
import { ROLES } from "../hardware/roles.ts";
import { baseName } from "../model/kernel-name.ts";
import type { Launch } from "../model/launch.ts";
import type { Report } from "../model/report.ts";
import type { Cluster, Shape } from "../model/result.ts";
import { DECLARED_FAMILIES } from "./analyses.ts";
import { clusterByDuration } from "./clusters.ts";
import { durationUs } from "./duration.ts";
import { FamilyIndex } from "./families.ts";
import { type NameKey, nameKey } from "./names.ts";
import type { Survey } from "./survey.ts";
import { timingOf } from "./timing.ts";
import { analyzeLaunch, type LaunchAnalysis } from "./verdict.ts";

/** A report to analyse, with the name under which its uploader knows it. */
export interface AnalysisInput {
  readonly report: Report;
  readonly id: string | null;
  readonly sha256: string | null;
}

/** One launch with the report it stands in. */
export interface Item {
  readonly launch: Launch;
  readonly input: AnalysisInput;
  /** Position of the report among the inputs. */
  readonly inputIndex: number;
  /** Null where the launch failed or has no duration above 0: it enters no sum. */
  readonly durationUs: number | null;
}

/** All launches with the same name key. */
export interface Kernel {
  readonly key: NameKey;
  readonly target: string;
  readonly items: readonly Item[];
  /** Summed duration, where there was a survey that of all launches it saw; null where no launch has one. */
  readonly totalUs: number | null;
  readonly survey: Survey | null;
}

const sum = (values: Iterable<number | null>): number | null => {
  let total: number | null = null;
  for (const value of values) if (value !== null) total = (total ?? 0) + value;
  return total;
};

export const totalUs = (items: readonly Item[]): number | null => sum(items.map((item) => item.durationUs));

/** All launches of the inputs in file order: kernels, and what measured several kernels as one. */
export function itemsOf(inputs: readonly AnalysisInput[]): { kernels: Item[]; composites: Item[] } {
  const kernels: Item[] = [];
  const composites: Item[] = [];
  for (const [inputIndex, input] of inputs.entries()) {
    for (const launch of input.report.launches) {
      const item = { launch, input, inputIndex, durationUs: durationUs({ launch }) };
      (launch.kind === "kernel" ? kernels : composites).push(item);
    }
  }
  return { kernels, composites };
}

/** The short name of a kernel: its function name without namespaces, template arguments and parameters. */
export const targetOf = ({ names }: Launch): string => names.function ?? baseName(names.display);

/** Kernels by name key, most summed time first; kernels without any time last; equal times by key. */
export function kernelsOf(items: readonly Item[], survey: Survey | null = null): Kernel[] {
  const keys = new Map<string, NameKey>();
  const groups = new Map<string, { key: NameKey; items: Item[] }>();
  for (const item of items) {
    const { names } = item.launch;
    const spelled = `${names.simplified}\n${names.demangled ?? ""}\n${names.mangled ?? ""}\n${names.display}`;
    const key = keys.get(spelled) ?? nameKey(names);
    keys.set(spelled, key);
    const group = groups.get(key.key) ?? { key, items: [] };
    groups.set(key.key, group);
    group.items.push(item);
  }
  return [...groups.values()]
    .map(({ key, items: own }) => ({
      key,
      target: own[0] === undefined ? key.key : targetOf(own[0].launch),
      items: own,
      totalUs: survey?.kernels.get(key.key)?.total_us ?? totalUs(own),
      survey,
    }))
    .sort(
      inOrder(
        byNumberDescending((kernel) => kernel.totalUs),
        byText((kernel) => kernel.key.key),
      ),
    );
}

/** Judges launches on demand, each once. */
export class Judge {
  readonly #index = new FamilyIndex(DECLARED_FAMILIES);
  readonly #known = new Map<Launch, LaunchAnalysis>();

  of({ launch, input }: Item): LaunchAnalysis {
    let analysis = this.#known.get(launch);
    if (analysis === undefined) {
      analysis = analyzeLaunch(launch, input.report, this.#index);
      this.#known.set(launch, analysis);
    }
    return analysis;
  }

  /** Lets go of an answer: for a walk over all launches. */
  forget({ launch }: Item): void {
    this.#known.delete(launch);
  }
}

const first = (launch: Launch, role: "shared_static" | "shared_dynamic"): number | null =>
  launch.metrics.number(ROLES[role][0]);

function sharedUsage({ launch }: Item): number | null {
  const [fixed, dynamic] = [first(launch, "shared_static"), first(launch, "shared_dynamic")];
  return fixed === null || dynamic === null ? null : fixed + dynamic;
}

/** Launches of a cluster, shortest first, and the one in the middle (of an even number the shorter of the two). */
interface Group {
  readonly items: readonly Item[];
  readonly median: Item;
  readonly totalUs: number | null;
}

function group(items: readonly Item[], { key, survey }: Kernel): Group | null {
  const median = items[Math.floor((items.length - 1) / 2)];
  if (median === undefined) return null;
  const { grid, block } = median.launch;
  const weight = median.durationUs === null ? null : survey?.weight(key.key, grid, block, median.durationUs);
  return { items, median, totalUs: weight ?? totalUs(items) };
}

/** Clusters of one shape: those with a duration by duration, then those without one together. */
function groupsOf(items: readonly Item[], kernel: Kernel): Group[] {
  const timed = items.filter((item) => item.durationUs !== null);
  const untimed = items.filter((item) => item.durationUs === null);
  const clusters = clusterByDuration(timed, (item) => item.durationUs ?? 0);
  return [...clusters, untimed].flatMap((cluster) => group(cluster, kernel) ?? []);
}

function clusterOf({ items, median, totalUs: total }: Group, kernel: Kernel, judge: Judge): Cluster {
  const analysis = judge.of(median);
  const { judgement } = analysis;
  return {
    timing: timingOf(
      items.flatMap((item) => item.durationUs ?? []),
      "ncu",
    ),
    median_launch: median.launch.index,
    launches: items.map((item) => item.launch.index).sort((a, b) => a - b),
    joined_by: null,
    ncu_median_us: timingOf(
      items.flatMap((item) => item.durationUs ?? []),
      "ncu",
    ).median_us,
    ncu_over_timeline: null,
    roofline: analysis.roofline,
    roofline_null_reason: judgement.roofline_null_reason,
    limiter: judgement.limiter,
    memory_bw_utilization: analysis.memory_bw_utilization,
    compute_utilization: judgement.compute_utilization,
    sm_occupancy: analysis.sm_occupancy,
    tflops: analysis.tflops,
    share_of_kernel: total === null || !kernel.totalUs ? null : total / kernel.totalUs,
  };
}

const byPosition = inOrder<Item>(
  byNumber((item) => item.inputIndex),
  byNumber((item) => item.launch.index),
);

/** A kernel by shape and cluster, and the launch whose verdict stands for it. */
export interface KernelShapes {
  /** Heaviest shape and cluster first. Judges the median launch of each cluster, so it is done on demand. */
  readonly shapes: (judge: Judge) => Shape[];
  /** The median launch of the heaviest cluster; of a kernel without a complete launch its first one. */
  readonly heaviest: Item;
}

function shapeOf(items: readonly Item[], groups: readonly Group[], kernel: Kernel, judge: Judge): Shape[] {
  const [item] = items;
  if (item === undefined) return [];
  const { grid, block } = item.launch;
  const shape: Shape = {
    grid: grid === null ? null : [grid[0], grid[1], grid[2]],
    block: block === null ? null : [block[0], block[1], block[2]],
    shared_memory_usage_bytes: sharedUsage(item),
    timing: timingOf(
      items.flatMap((one) => one.durationUs ?? []),
      "ncu",
    ),
    clusters: groups.map((one) => clusterOf(one, kernel, judge)),
  };
  return [shape];
}

/** Splits a kernel into shapes and clusters; null for a kernel without launches. */
export function shapesOf(kernel: Kernel): KernelShapes | null {
  const complete = kernel.items.filter((item) => item.launch.failure === null);
  const byShape = new Map<string, Item[]>();
  for (const item of complete) {
    const { grid, block } = item.launch;
    const shape = `${grid?.join() ?? ""}|${block?.join() ?? ""}|${sharedUsage(item) ?? ""}`;
    const same = byShape.get(shape);
    if (same === undefined) byShape.set(shape, [item]);
    else same.push(item);
  }
  const heavier = inOrder<Group>(
    byNumberDescending((one) => one.totalUs),
    byNumberDescending((one) => one.items.length),
    (a, b) => byPosition(a.median, b.median),
  );
  const weight = (groups: readonly Group[]): number => sum(groups.map((one) => one.totalUs)) ?? 0;
  const byWeight = (a: readonly Group[], b: readonly Group[]): number => weight(b) - weight(a);
  const byFirst = ([a]: readonly Item[], [b]: readonly Item[]): number => (a && b ? byPosition(a, b) : 0);
  const shapes = [...byShape.values()]
    .map((items) => ({ items, groups: groupsOf(items, kernel).sort(heavier) }))
    .sort((a, b) => byWeight(a.groups, b.groups) || byFirst(a.items, b.items));
  const best = shapes.flatMap(({ groups }) => groups).sort(heavier)[0];
  const heaviest = best?.median ?? kernel.items[0];
  if (heaviest === undefined) return null;
  return { heaviest, shapes: (judge) => shapes.flatMap(({ items, groups }) => shapeOf(items, groups, kernel, judge)) };
}
