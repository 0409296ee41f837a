import type { LaunchShape } from "../../model/timeline.ts";
import { NONE, type Timeline } from "../../model/timeline.ts";
import { type NameKey, nameKey } from "../names.ts";
import type { LaneTimes } from "./exclusive.ts";
import { gpuUsesOf, KERNEL } from "./lanes.ts";
import { PHASES } from "./step-patterns.ts";
import { phaseOfRow, type Steps } from "./steps.ts";
import type { Selection } from "./window.ts";

/** A timeline with what was found out about its rows. */
export interface Source {
  readonly timeline: Timeline;
  readonly lanes: LaneTimes;
  readonly steps: Steps;
  readonly selection: Selection;
}

/**
 * Launches of all timelines by column, those of one kernel and shape together, in order of timeline and start. Kernels
 * with a million launches are usual: no object is made for one.
 */
export interface LaunchColumns {
  readonly kernels: readonly { readonly key: NameKey; readonly timeline: number; readonly name: number }[];
  readonly shapes: readonly LaunchShape[];
  /** Groups of launches of one kernel and shape: `from` (inclusive) to `to`. */
  readonly groups: readonly {
    readonly kernel: number;
    readonly shape: number;
    readonly from: number;
    readonly to: number;
  }[];
  readonly timeline: Uint16Array;
  readonly row: Uint32Array;
  readonly ordinal: Uint32Array;
  /** Position in PHASES. */
  readonly phase: Uint8Array;
  /** Impossible ones clipped. */
  readonly duration_ns: Float64Array;
  readonly exclusive_ns: Float64Array;
  /** Of each kernel: time in which at least one of its launches runs, summed over the GPU uses. Of no meaning without starts. */
  readonly running_ns: Float64Array;
  /** What was clipped off; null where nothing was in any timeline. */
  readonly clipped_ns: Float64Array | null;
}

const UNKNOWN_SHAPE: LaunchShape = { grid: null, block: null, shared_memory_bytes: null, registers_per_thread: null };

/** Kernels by name key and shapes by what a shape is, over all timelines. */
class Ids {
  readonly kernels: { key: NameKey; timeline: number; name: number }[] = [];
  readonly shapes: LaunchShape[] = [UNKNOWN_SHAPE];
  readonly #kernelOf = new Map<string, number>();
  readonly #shapeOf = new Map<string, number>([["null|null|null", 0]]);

  ofNames({ names }: Timeline, timeline: number): Uint32Array {
    return Uint32Array.from(names, (own, name) => {
      const key = nameKey(own);
      const known = this.#kernelOf.get(key.key);
      if (known !== undefined) return known;
      this.#kernelOf.set(key.key, this.kernels.length);
      return this.kernels.push({ key, timeline, name }) - 1;
    });
  }

  /** Launches with other registers are the same shape: registers belong to the kernel. */
  ofShapes({ shapes }: Timeline): Uint32Array {
    return Uint32Array.from(shapes, (shape) => {
      const key = `${shape.grid?.join() ?? null}|${shape.block?.join() ?? null}|${shape.shared_memory_bytes}`;
      const known = this.#shapeOf.get(key);
      if (known !== undefined) return known;
      this.#shapeOf.set(key, this.shapes.length);
      return this.shapes.push(shape) - 1;
    });
  }
}

/** Adds the time in which a kernel runs: launches of it on several streams at once count once. */
class Running {
  readonly ns: Float64Array;
  readonly #lastEnd = new Map<number, number>();

  constructor(kernels: number) {
    this.ns = new Float64Array(kernels);
  }

  /** Of the next timeline, whose GPU uses are others. */
  next(): void {
    this.#lastEnd.clear();
  }

  /** In order of start. */
  add(kernel: number, use: number, start: number, end: number): void {
    const key = use * this.ns.length + kernel;
    const last = this.#lastEnd.get(key) ?? Number.NEGATIVE_INFINITY;
    if (end <= last) return;
    this.ns[kernel] = Number(this.ns[kernel]) + end - Math.max(start, last);
    this.#lastEnd.set(key, end);
  }
}

/** Sorts the selected kernel launches of all timelines by kernel and shape (counting sort). */
export function launchColumns(sources: readonly Source[]): LaunchColumns {
  const ids = new Ids();
  const maps = sources.map(({ timeline }, position) => ({
    names: ids.ofNames(timeline, position),
    shapes: ids.ofShapes(timeline),
  }));
  const groupOf = new Map<number, number>();
  const found: { kernel: number; shape: number; count: number }[] = [];
  const shapeCount = ids.shapes.length;
  const groupsOfRows = sources.map(({ timeline: { rows }, selection: { mask } }, position) => {
    const map = maps[position];
    const groups = new Uint32Array(rows.count).fill(NONE);
    for (let row = 0; row < rows.count; row += 1) {
      if (rows.kind[row] !== KERNEL || (mask !== null && mask[row] === 0)) continue;
      const kernel = Number(map?.names[Number(rows.name[row])]);
      const recorded = Number(rows.shape[row]);
      const shape = recorded === NONE ? 0 : Number(map?.shapes[recorded]);
      const key = kernel * shapeCount + shape;
      let group = groupOf.get(key);
      if (group === undefined) {
        group = found.push({ kernel, shape, count: 0 }) - 1;
        groupOf.set(key, group);
      }
      const entry = found[group];
      if (entry !== undefined) entry.count += 1;
      groups[row] = group;
    }
    return groups;
  });
  const next = new Uint32Array(found.length);
  let total = 0;
  const groups = found.map(({ kernel, shape, count }, group) => {
    next[group] = total;
    total += count;
    return { kernel, shape, from: total - count, to: total };
  });
  const columns = {
    timeline: new Uint16Array(total),
    row: new Uint32Array(total),
    ordinal: new Uint32Array(total),
    phase: new Uint8Array(total),
    duration_ns: new Float64Array(total),
    exclusive_ns: new Float64Array(total),
    clipped_ns: sources.some(({ lanes }) => lanes.impossible.count > 0) ? new Float64Array(total) : null,
  };
  const running = new Running(ids.kernels.length);
  for (const [timeline, source] of sources.entries()) {
    const { useOfLane } = gpuUsesOf(source.timeline);
    running.next();
    const ordinals = new Uint32Array(ids.kernels.length);
    const groupsOfRow = groupsOfRows[timeline] ?? new Uint32Array(0);
    const hasPhases = source.steps.null_reason === null;
    const phases = new Map(PHASES.map((phase, position) => [phase, position]));
    const unknown = phases.get("unknown") ?? 0;
    const { start_ns, end_ns, lane } = source.timeline.rows;
    const { end_ns: ends, exclusive_ns } = source.lanes;
    for (let row = 0; row < groupsOfRow.length; row += 1) {
      const group = Number(groupsOfRow[row]);
      if (group === NONE) continue;
      const at = Number(next[group]);
      next[group] = at + 1;
      const kernel = found[group]?.kernel ?? 0;
      columns.timeline[at] = timeline;
      columns.row[at] = row;
      columns.ordinal[at] = Number(ordinals[kernel]);
      ordinals[kernel] = Number(ordinals[kernel]) + 1;
      columns.duration_ns[at] = Number(ends[row]) - Number(start_ns[row]);
      columns.exclusive_ns[at] = Number(exclusive_ns[row]);
      running.add(kernel, Number(useOfLane[Number(lane[row])]), Number(start_ns[row]), Number(ends[row]));
      if (columns.clipped_ns !== null) columns.clipped_ns[at] = Number(end_ns[row]) - Number(ends[row]);
      columns.phase[at] = hasPhases ? Number(phases.get(phaseOfRow(source.steps, row))) : unknown;
    }
  }
  return { kernels: ids.kernels, shapes: ids.shapes, groups, running_ns: running.ns, ...columns };
}
