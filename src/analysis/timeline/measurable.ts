import type { Timeline } from "../../model/timeline.ts";
import { KERNEL } from "./lanes.ts";
import type { RankedKernel } from "./ranking.ts";

/** A launch as a profiler of counters finds it again. */
export interface MeasurableLaunch {
  readonly mangled: string;
  /** Among the launches of the mangled name in its process, in the order of the launch calls, from 1. */
  readonly ordinal: number;
  readonly duration_ns: number;
}

/** A ranked kernel with its launches by cluster. */
export interface MeasurableKernel {
  readonly kernel: string;
  readonly function: string | null;
  /** False: the timeline does not name its launches, or has none of its own (summaries). */
  readonly has_mangled: boolean;
  readonly total_ns: number;
  readonly clusters: readonly {
    readonly grid: string;
    readonly block: string;
    readonly launches: readonly MeasurableLaunch[];
  }[];
}

/**
 * The kernels of a ranking (of this timeline alone) with all that is needed to have their launches measured in another
 * run of the program. Ordinals count all launches of the timeline, those outside the ranking's window too.
 */
export function measurableKernels(timeline: Timeline, kernels: readonly RankedKernel[]): MeasurableKernel[] {
  const ordinals = launchOrdinals(timeline);
  return kernels.map(({ names, exclusive_us, shapes }): MeasurableKernel => {
    const clusters = (shapes ?? []).flatMap(({ grid, block, clusters: own }) =>
      own.map(({ launches }) => ({
        grid: grid?.join("x") ?? "unknown",
        block: block?.join("x") ?? "unknown",
        launches: launches.flatMap(({ rows }) => Array.from(rows).flatMap((row) => launchOf(timeline, ordinals, row))),
      })),
    );
    return {
      kernel: names.display,
      function: names.function,
      has_mangled: clusters.some(({ launches }) => launches.length > 0),
      total_ns: exclusive_us * 1000,
      clusters: clusters.filter(({ launches }) => launches.length > 0),
    };
  });
}

function launchOf({ rows, names }: Timeline, ordinals: Uint32Array, row: number): MeasurableLaunch[] {
  const mangled = names[Number(rows.name[row])]?.mangled ?? null;
  if (mangled === null) return [];
  const duration_ns = Number(rows.end_ns[row]) - Number(rows.start_ns[row]);
  return [{ mangled, ordinal: Number(ordinals[row]), duration_ns }];
}

/** For each row of a kernel its number from 1; 0 for other rows. Where calls are not recorded, in order of start. */
export function launchOrdinals({ rows, lanes, names }: Timeline): Uint32Array {
  const groups = new Map<string, number[]>();
  for (let row = 0; row < rows.count; row += 1) {
    if (rows.kind[row] !== KERNEL) continue;
    const name = names[Number(rows.name[row])];
    const key = `${lanes[Number(rows.lane[row])]?.process ?? ""} ${name?.mangled ?? rows.name[row]}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  const ordinals = new Uint32Array(rows.count);
  for (const group of groups.values()) {
    const called = group.every((row) => Number.isFinite(rows.call_ns[row]));
    // Two streams may start launches in another order than they were called; nodes of a graph have one call.
    if (called) group.sort((a, b) => Number(rows.call_ns[a]) - Number(rows.call_ns[b]) || a - b);
    for (const [at, row] of group.entries()) ordinals[row] = at + 1;
  }
  return ordinals;
}
