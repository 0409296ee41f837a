import { NONE, type Recording } from "../../model/timeline.ts";
import type { CallTable } from "./calls.ts";
import { NumberColumn } from "./column.ts";
import { IdTable } from "./id-table.ts";

/** GPU rows by correlation id: those of one launch have the same. */
export class LaunchGroups {
  readonly #table = new IdTable();
  readonly #key = NumberColumn.wide();
  readonly #kernels = NumberColumn.whole();
  /** Graph of a group, where a row says that it is a graph's; 0: but not which. */
  readonly #graphs = new Map<number, number>();

  /** @param key NaN: none. `graph`: id of the graph, 0 where it is unknown, NaN where the row is not a graph's. */
  add(key: number, isKernel: boolean, graph: number): void {
    if (Number.isNaN(key)) return;
    let group = this.#table.get(key);
    if (group === NONE) {
      group = this.#key.length;
      this.#table.set(key, group);
      this.#key.push(key);
      this.#kernels.push(0);
    }
    if (isKernel) this.#kernels.set(group, this.#kernels.at(group) + 1);
    if (!Number.isNaN(graph)) this.#graphs.set(group, graph);
  }

  /** `graph`: 0 where it is unknown or there is none. */
  get(key: number): { readonly kernels: number; readonly graph: number } | null {
    const group = this.#table.get(key);
    return group === NONE ? null : { kernels: this.#kernels.at(group), graph: this.#graphs.get(group) ?? 0 };
  }

  /** Ids of several kernels, none of which is a node of a graph. */
  sharedOutsideGraphs(calls: CallTable): number {
    let shared = 0;
    for (let group = 0; group < this.#key.length; group++) {
      if (this.#kernels.at(group) < 2 || this.#graphs.has(group)) continue;
      const slot = calls.slotOf(this.#key.at(group));
      if (slot === NONE || !calls.isGraphLaunch(slot)) shared++;
    }
    return shared;
  }
}

export type LaunchRecording = Pick<
  Recording,
  | "launch_calls"
  | "launch_calls_without_row"
  | "kernels_without_call"
  | "graph_launch_calls"
  | "graph_launch_calls_without_row"
  | "graph_kernels_min"
  | "graph_kernels_max"
  | "stream_capture_calls"
  | "shared_correlations"
>;

/** Launch calls against the rows they have. Without any API call recorded, nothing can be said about calls. */
export function launchRecording(calls: CallTable, groups: LaunchGroups, kernelsWithoutCall: number): LaunchRecording {
  const shared_correlations = groups.sharedOutsideGraphs(calls);
  if (calls.calls === 0) {
    return {
      launch_calls: null,
      launch_calls_without_row: null,
      kernels_without_call: null,
      graph_launch_calls: null,
      graph_launch_calls_without_row: null,
      graph_kernels_min: null,
      graph_kernels_max: null,
      stream_capture_calls: null,
      shared_correlations,
    };
  }
  const launch = { calls: calls.launchesWithoutId, withoutRow: 0 };
  const graph = { calls: calls.graphLaunchesWithoutId, withoutRow: 0 };
  const replays = new Replays();
  const isCaptured = calls.captureTest();
  for (let slot = 0; slot < calls.count; slot++) {
    const launches = calls.launches(slot);
    if (launches === 0) continue;
    const group = groups.get(calls.key(slot));
    const isGraph = calls.isGraphLaunch(slot);
    // What is captured does not run; a launch outside the captured stream does, and has its row.
    if (group === null && !isGraph && isCaptured(slot)) continue;
    const counted = isGraph ? graph : launch;
    counted.calls += launches;
    if (group === null) counted.withoutRow += launches;
    else if (isGraph && calls.isKnown(slot) && group.graph > 0) replays.add(group.graph, group.kernels);
  }
  const range = replays.mostDifferent();
  return {
    launch_calls: launch.calls,
    launch_calls_without_row: launch.withoutRow,
    kernels_without_call: kernelsWithoutCall,
    graph_launch_calls: graph.calls,
    graph_launch_calls_without_row: graph.withoutRow,
    graph_kernels_min: range?.min ?? null,
    graph_kernels_max: range?.max ?? null,
    stream_capture_calls: calls.captureCalls,
    shared_correlations,
  };
}

/** Kernels of each replay, by graph. Only traces of CUDA 13 and later say which graph a kernel is of. */
class Replays {
  readonly #graphs = new Map<number, { min: number; max: number }>();

  add(graph: number, kernels: number): void {
    const known = this.#graphs.get(graph);
    if (known === undefined) this.#graphs.set(graph, { min: kernels, max: kernels });
    else {
      known.min = Math.min(known.min, kernels);
      known.max = Math.max(known.max, kernels);
    }
  }

  /** Of the graph whose replays differ most, by ratio; null where none do. */
  mostDifferent(): { readonly min: number; readonly max: number } | null {
    let most: { readonly min: number; readonly max: number } | null = null;
    for (const range of this.#graphs.values()) {
      if (range.min === range.max) continue;
      if (most === null || range.min * most.max < most.min * range.max) most = range;
    }
    return most;
  }
}
