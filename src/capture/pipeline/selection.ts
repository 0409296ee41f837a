import type { PipelinePlan } from "../../model/pipeline-plan.ts";
import type { Failure } from "../../model/profile.ts";
import { kernelId } from "../ncu/arguments.ts";
import { isCollective } from "../ncu/kernel-filter.ts";
import { sharedOrdinals } from "./shared-ordinals.ts";

/** A launch of a timeline. */
export interface TimelineLaunch {
  /** As the linker knows the kernel; a kernel of the model may have several. */
  readonly mangled: string;
  /** Among the launches of the mangled name in this process, from 1. */
  readonly ordinal: number;
  readonly duration_ns: number;
}

/** Launches of a kernel with one shape whose durations belong together. */
export interface RankedCluster {
  readonly grid: string;
  readonly block: string;
  readonly launches: readonly TimelineLaunch[];
}

export interface RankedKernel {
  /** The name to show. */
  readonly kernel: string;
  /** Function name, where the timeline has it. */
  readonly function: string | null;
  /** False: the timeline has no mangled names, so its launches cannot be found again. */
  readonly has_mangled: boolean;
  readonly total_ns: number;
  readonly clusters: readonly RankedCluster[];
}

/** A cluster that gets counters. The launch that stands for it is the nearest to the median among those measured. */
export type ChosenCluster = Readonly<PipelinePlan["chosen"][number]>;

export type NotMeasured = Readonly<PipelinePlan["left_out"][number]>;

export interface PipelineSelection {
  /** Sorted; with `ordinals` for `--kernel-name-base mangled --kernel-id`. Empty: nothing can be measured. */
  readonly names: readonly string[];
  readonly ordinals: readonly number[];
  /** Launches that ncu will take: of each name those of the ordinals that it has. */
  readonly launches: number;
  readonly chosen: readonly ChosenCluster[];
  readonly left_out: readonly NotMeasured[];
}

/** Another run than the one of the timeline, in which the launches are measured. */
export interface OtherRun {
  /** Its launches that may stand for a cluster of the timeline. */
  candidates(kernel: RankedKernel, cluster: RankedCluster): readonly TimelineLaunch[];
  /** Its launches of each mangled name. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface SelectionLimits {
  /** Kernels that get counters, by time. */
  readonly topN: number;
  readonly maxLaunches: number;
  /** First launches of a name that are warm-up: taken only where a cluster has no others near its median. */
  readonly skip: number;
  /** What happened to kernels that ended a run when they were measured, by the name in `kernel`. */
  readonly failed?: ReadonlyMap<string, "hang" | "fault">;
  /** Bytes of the argument of `--kernel-id`. */
  readonly maxArgument?: number;
  /** Left out: the launches of the timeline come again, one by one. */
  readonly run?: OtherRun;
}

/** What ended a run, in words. */
export const FAILED = {
  hang: "replaying it made no progress and was ended",
  fault: "it failed when it was replayed, and the program with it",
} as const;

/** Part of its kernel's time from which on a cluster is measured (DESIGN.md section 5, rule 3). */
const CLUSTER_SHARE = 0.1;
/** How far from its cluster's median the launch that stands for it may be. */
const NEAR_MEDIAN = 0.1;
/** Launches of a cluster that are looked at for shared ordinals. */
const MAX_CANDIDATES = 1024;
/** So many clusters share ordinals that are chosen anew for each kernel that is added. */
const MAX_CHOSEN_ANEW = 64;
/** After so many clusters in a row that broke a limit no other is tried. */
const MAX_REFUSED = 16;
/** Linux takes no longer argument (MAX_ARG_STRLEN, 32 pages, with the zero at its end). */
const LONGEST_ARGUMENT = 128 * 1024 - 1;

/**
 * Which launches get counters: of each of the top kernels its heaviest cluster, then the others that hold at least a
 * tenth of their kernel's time, most time first, while the limits allow it.
 * ncu takes one list of names and one of ordinals and measures every name at every ordinal, so ordinals are shared:
 * chosen so that the launches of that product are few (a weighted hitting set, solved greedily and then made smaller; not
 * always the fewest). Kernels come ranked, most time first; the same input gives the same answer.
 */
export function selectLaunches(kernels: readonly RankedKernel[], limits: SelectionLimits): PipelineSelection {
  const kernelsLeftOut: NotMeasured[] = [];
  const candidates: ({ readonly kernel: RankedKernel } & Sorted)[] = [];
  let ranked = 0;
  for (const kernel of kernels) {
    const refused = refusal(kernel, limits, ranked);
    if (refused === null) candidates.push({ kernel, ...clustersOf(kernel, limits) });
    else kernelsLeftOut.push(whole(kernel, ...refused));
    // One that ended a run keeps its place: without it no other kernel moves into the plan.
    if (refused === null || refused[0] === "hang" || refused[0] === "fault") ranked++;
  }
  const heaviest = candidates.flatMap(({ wanted }) => wanted.slice(0, 1));
  const others = candidates.flatMap(({ wanted }) => wanted.slice(1)).sort((a, b) => b.total - a.total);
  const { taken, product, refused } = fitting(heaviest, others, limits, limits.run?.counts ?? launchCounts(kernels));
  const measured = new Set(product.ordinals);
  const has = new Set(taken.map(({ kernel }) => kernel));
  const left_out = candidates.flatMap(({ kernel, wanted, small, missing }) => {
    const [first] = wanted;
    const why = first === undefined ? undefined : refused.get(first);
    if (!has.has(kernel)) return why === undefined ? missing : [whole(kernel, ...why)];
    const parts = wanted.flatMap((one) => {
      const broken = refused.get(one);
      return broken === undefined ? [] : [part(kernel, one.cluster, one.median, one.total, ...broken)];
    });
    return [...parts, ...missing, ...small];
  });
  return {
    ...product,
    chosen: taken.map((wanted) => chosenOf(wanted, measured)),
    left_out: [...left_out, ...kernelsLeftOut],
  };
}

/** A plan lists no more than so many, and counts the others. */
const MAX_LEFT_OUT = 500;

/** What of a plan was left out, as it is listed. */
export const listed = (left_out: readonly NotMeasured[]): Pick<PipelinePlan, "left_out" | "left_out_more"> => ({
  left_out: left_out.slice(0, MAX_LEFT_OUT),
  left_out_more: Math.max(0, left_out.length - MAX_LEFT_OUT),
});

/** No counters were taken: what would have got some is named all the same. */
export function unmeasured(kernels: readonly RankedKernel[], topN: number, failure: Failure | null): PipelineSelection {
  const none = selectLaunches(kernels, { topN, maxLaunches: 0, skip: 0 });
  const because = failure === null ? "no counters were taken" : `no counters were taken: ${failure.code}`;
  const left_out = none.left_out.map((one) => (one.reason === "launch_limit" ? { ...one, because } : one));
  return { ...none, left_out };
}

/** Takes what keeps within the limits, in order. A kernel without its heaviest cluster is left out as a whole. */
function fitting(
  heaviest: readonly Wanted[],
  others: readonly Wanted[],
  limits: SelectionLimits,
  counts: ReadonlyMap<string, number>,
): { readonly taken: readonly Wanted[]; readonly product: Product; readonly refused: ReadonlyMap<Wanted, Why> } {
  let taken: Wanted[] = [];
  let product: Product = { names: [], ordinals: [], launches: 0 };
  const refused = new Map<Wanted, Why>();
  const without = new Set<RankedKernel>();
  let refusedInARow = 0;
  for (const wanted of [...heaviest, ...others]) {
    if (without.has(wanted.kernel)) continue;
    const fits = refusedInARow < MAX_REFUSED ? smallest(taken, [wanted], product, counts) : null;
    const broken = fits === null ? brokenBy(limits) : brokenLimit(fits, limits);
    if (fits !== null && broken === null) {
      [taken, product, refusedInARow] = [[...taken, wanted], fits, 0];
    } else {
      refused.set(wanted, broken ?? brokenBy(limits));
      refusedInARow++;
      if (heaviest.includes(wanted)) without.add(wanted.kernel);
    }
  }
  const place = new Map(heaviest.map(({ kernel }, at) => [kernel, at]));
  const order = (one: Wanted): number => place.get(one.kernel) ?? 0;
  taken.sort((a, b) => order(a) - order(b) || b.total - a.total);
  return { taken, product, refused };
}

/** A cluster that is to be measured, with the launches that may stand for it. */
interface Wanted {
  readonly kernel: RankedKernel;
  readonly cluster: RankedCluster;
  readonly median: number;
  readonly total: number;
  readonly candidates: readonly TimelineLaunch[];
}

interface Product {
  readonly names: readonly string[];
  readonly ordinals: readonly number[];
  readonly launches: number;
}

type Why = readonly [reason: NotMeasured["reason"], because: string];

function refusal(kernel: RankedKernel, { topN, failed }: SelectionLimits, ranked: number): Why | null {
  const names = [kernel.kernel, kernel.function, kernel.clusters[0]?.launches[0]?.mangled];
  if (names.some((name) => name !== undefined && name !== null && isCollective(name)))
    return ["collective", "it waits for other GPUs inside the kernel, and replaying it would wait for ever"];
  if (ranked >= topN) return ["below_top_n", `it is not among the first ${topN} kernels by time`];
  const failure = failed?.get(kernel.kernel);
  if (failure !== undefined) return [failure, FAILED[failure]];
  if (!kernel.has_mangled || kernel.clusters.length === 0)
    return ["no_mangled_name", "the timeline does not tell its mangled name, by which its launches are found again"];
  return null;
}

function brokenLimit({ names, ordinals, launches }: Product, limits: SelectionLimits): Why | null {
  if (launches > limits.maxLaunches) return brokenBy(limits);
  const longest = limits.maxArgument ?? LONGEST_ARGUMENT;
  // Names of kernels are ASCII in all compilers seen; other letters take more bytes.
  if (Buffer.byteLength(kernelId(names, ordinals)) > longest)
    return ["argument_limit", `the list of names would pass the ${longest} bytes that an argument may have`];
  return null;
}

const brokenBy = ({ maxLaunches }: SelectionLimits): Why => [
  "launch_limit",
  `with it more than ${maxLaunches} launches would be measured`,
];

interface Sorted {
  /** Clusters with enough of the kernel's time, heaviest first. */
  readonly wanted: Wanted[];
  readonly small: NotMeasured[];
  /** Those of which the other run has no launch. */
  readonly missing: NotMeasured[];
}

function clustersOf(kernel: RankedKernel, { skip, run }: SelectionLimits): Sorted {
  const all = kernel.clusters.flatMap((cluster): Wanted[] => {
    if (cluster.launches.length === 0) return [];
    const median = medianOf(cluster.launches);
    const total = cluster.launches.reduce((sum, { duration_ns }) => sum + duration_ns, 0);
    const candidates = run?.candidates(kernel, cluster) ?? near(cluster.launches, median, skip);
    return [{ kernel, cluster, median, total, candidates }];
  });
  const sum = all.reduce((time, { total }) => time + total, 0);
  all.sort((a, b) => b.total - a.total);
  const heavy = all.filter(({ total }, at) => at === 0 || total >= CLUSTER_SHARE * sum);
  const leave = (ones: readonly Wanted[], ...why: Why): NotMeasured[] =>
    ones.map(({ cluster, median, total }) => part(kernel, cluster, median, total, ...why));
  const unseen = heavy.filter(({ candidates }) => candidates.length === 0);
  return {
    wanted: heavy.filter(({ candidates }) => candidates.length > 0),
    small: leave(all.slice(heavy.length), "small_cluster", "it holds less than a tenth of its kernel's time"),
    missing: unseen.length === heavy.length ? [whole(kernel, ...NOT_LAUNCHED)] : leave(unseen, ...NOT_LAUNCHED),
  };
}

const NOT_LAUNCHED: Why = [
  "not_launched",
  "the load that the counters were taken with made no launch of this shape and time",
];

/** The lower median: a launch has it. */
function medianOf(launches: readonly TimelineLaunch[]): number {
  const durations = Float64Array.from(launches, ({ duration_ns }) => duration_ns).sort();
  return durations[(durations.length - 1) >> 1] ?? 0;
}

/** Never empty: the median is a launch's own. */
function near(launches: readonly TimelineLaunch[], median: number, skip: number): readonly TimelineLaunch[] {
  const all = launches.filter(({ duration_ns }) => Math.abs(duration_ns - median) <= NEAR_MEDIAN * median);
  const warm = all.filter(({ ordinal }) => ordinal > skip);
  const some = (warm.length > 0 ? warm : all).sort((a, b) => a.ordinal - b.ordinal);
  // Which of many launches it is hardly matters: the first ordinals are those that most kernels have.
  return some.length <= MAX_CANDIDATES
    ? some
    : [...some.slice(0, MAX_CANDIDATES / 2), ...some.slice(-MAX_CANDIDATES / 2)];
}

/** Launches of each mangled name, of all kernels. */
function launchCounts(kernels: readonly RankedKernel[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { clusters } of kernels)
    for (const { launches } of clusters)
      for (const { mangled, ordinal } of launches)
        if (ordinal > (counts.get(mangled) ?? 0)) counts.set(mangled, ordinal);
  return counts;
}

/**
 * A small product that holds a candidate of each cluster, those of `taken` and `more`. While clusters are few all ordinals
 * are chosen anew, above that (rare: many kernels) those of `product` stay.
 */
function smallest(
  taken: readonly Wanted[],
  more: readonly Wanted[],
  product: Product,
  counts: ReadonlyMap<string, number>,
): Product {
  const anew = taken.length + more.length <= MAX_CHOSEN_ANEW;
  const kept = anew ? [] : product.ordinals;
  // A cluster over several mangled names is looked for in the one with most candidates.
  const parts = (anew ? [...taken, ...more] : more).map(({ candidates }) => ofOneName(candidates));
  const names = [...new Set([...product.names, ...parts.map(({ name }) => name)])].sort();
  const sizes = names.map((name) => counts.get(name) ?? 0).sort((a, b) => a - b);
  const cost = (ordinal: number): number => sizes.length - firstAtLeast(sizes, ordinal);
  const open = parts.map(({ ordinals }) => ordinals).filter((own) => !own.some((ordinal) => kept.includes(ordinal)));
  const ordinals = [...kept, ...sharedOrdinals(open, cost)].sort((a, b) => a - b);
  return { names, ordinals, launches: ordinals.reduce((sum, ordinal) => sum + cost(ordinal), 0) };
}

/** Position of the first that is at least so large. */
function firstAtLeast(sorted: readonly number[], least: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Candidates of the mangled name that has most of them; of equal ones the first in order of letters. */
function ofOneName(candidates: readonly TimelineLaunch[]): {
  readonly name: string;
  readonly ordinals: readonly number[];
} {
  const byName = new Map<string, number[]>();
  for (const { mangled, ordinal } of candidates) {
    const list = byName.get(mangled);
    if (list === undefined) byName.set(mangled, [ordinal]);
    else list.push(ordinal);
  }
  const [[name, ordinals] = ["", []]] = [...byName].sort(
    ([a, first], [b, second]) => second.length - first.length || (a < b ? -1 : 1),
  );
  return { name, ordinals };
}

function chosenOf(
  { kernel, cluster, median, total, candidates }: Wanted,
  measured: ReadonlySet<number>,
): ChosenCluster {
  const { name } = ofOneName(candidates);
  const taken = candidates
    .filter(({ mangled, ordinal }) => mangled === name && measured.has(ordinal))
    .sort((a, b) => Math.abs(a.duration_ns - median) - Math.abs(b.duration_ns - median) || a.ordinal - b.ordinal);
  const [launch] = taken;
  if (launch === undefined) throw new Error(`no launch was chosen for ${kernel.kernel}`);
  return {
    kernel: kernel.kernel,
    grid: cluster.grid,
    block: cluster.block,
    launches: cluster.launches.length,
    median_ns: median,
    total_ns: total,
    ...launch,
  };
}

const whole = ({ kernel, total_ns }: RankedKernel, ...[reason, because]: Why): NotMeasured => ({
  kernel,
  cluster: null,
  total_ns,
  reason,
  because,
});

const part = (
  { kernel }: RankedKernel,
  { grid, block }: RankedCluster,
  median_ns: number,
  total_ns: number,
  ...[reason, because]: Why
): NotMeasured => ({ kernel, cluster: { grid, block, median_ns }, total_ns, reason, because });
