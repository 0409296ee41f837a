import type { Dim3 } from "../../model/launch.ts";
import { GPU_ROW_KINDS, type GpuRows, type LaunchShape, NONE } from "../../model/timeline.ts";
import { type GpuRow, GpuRowsBuilder, Pool } from "../rows.ts";
import { joinKey } from "./calls.ts";
import { NumberColumn } from "./column.ts";
import type { HostSide } from "./host.ts";
import { type DraftLane, readLabel, readPid, streamOf } from "./lanes.ts";
import { LaunchGroups } from "./recording.ts";

const KERNEL_KIND = GPU_ROW_KINDS.indexOf("kernel");

export interface RowTexts {
  readonly pid: string;
  readonly tid: string;
  /** As `args` have them; empty where they do not. */
  readonly device: string;
  readonly stream: string;
}

export interface LaunchIds {
  /** NaN where not recorded. */
  readonly correlation: number;
  readonly external: number;
  /** 0 and NaN: not from a graph. */
  readonly graph: number;
  readonly graphNode: number;
}

/** The GPU's side of a trace: its rows, and the ids by which they are joined to the host's when both are complete. */
export class GpuSide {
  readonly rows = new GpuRowsBuilder();
  readonly lanes = new Pool<DraftLane>((lane) => JSON.stringify(lane));
  readonly shapes = new Pool<LaunchShape>((shape) => JSON.stringify(shape));
  readonly #kind = new NumberColumn();
  readonly #correlation = new NumberColumn();
  readonly #external = new NumberColumn();
  readonly #graph = new NumberColumn();
  readonly #byRawLane = new Map<string, { readonly lane: number; readonly label: number }>();
  readonly #byRawShape = new Map<string, number>();
  #withBothIds = 0;
  #withEqualIds = 0;
  readonly #host: HostSide;

  constructor(host: HostSide) {
    this.#host = host;
  }

  add(row: Omit<GpuRow, "lane" | "in_graph">, texts: RowTexts, ids: LaunchIds): void {
    const { lane, label } = this.#lane(texts);
    const { correlation, external, graph, graphNode } = ids;
    this.rows.add({ ...row, lane, in_graph: graph > 0 || graphNode > 0 });
    this.#kind.push(GPU_ROW_KINDS.indexOf(row.kind));
    this.#correlation.push(joinKey(label, correlation));
    this.#external.push(joinKey(label, external));
    this.#graph.push(graph > 0 ? graph : graphNode > 0 ? 0 : Number.NaN);
    if (Number.isNaN(correlation) || Number.isNaN(external)) return;
    this.#withBothIds++;
    if (correlation === external) this.#withEqualIds++;
  }

  #lane(texts: RowTexts): { readonly lane: number; readonly label: number } {
    const raw = `${texts.pid}\n${texts.tid}\n${texts.device}\n${texts.stream}`;
    const known = this.#byRawLane.get(raw);
    if (known !== undefined) return known;
    const { label, id } = readPid(texts.pid);
    const device = wholeOf(readLabel(texts.device)) ?? wholeOf(id);
    const stream = readLabel(texts.stream) ?? readLabel(texts.tid);
    // A process is a device as Kineto writes; another number was put there by a merger of files.
    const process = label ?? (id !== null && wholeOf(id) !== device ? id : null);
    const lane = {
      lane: this.lanes.add({ process, label, device, stream: stream === null ? null : streamOf(stream) }),
      label: this.#host.labels.add(label),
    };
    this.#byRawLane.set(raw, lane);
    return lane;
  }

  /** The four as the file has them; empty where not recorded. */
  shape(grid: string, block: string, shared: string, registers: string): number {
    const raw = `${grid}|${block}|${shared}|${registers}`;
    const known = this.#byRawShape.get(raw);
    if (known !== undefined) return known;
    const shape = {
      grid: dim3Of(grid),
      block: dim3Of(block),
      shared_memory_bytes: wholeOf(shared),
      registers_per_thread: wholeOf(registers),
    };
    const position = Object.values(shape).every((value) => value === null) ? NONE : this.shapes.add(shape);
    this.#byRawShape.set(raw, position);
    return position;
  }

  /** Joins the rows to calls and operators. Once, when the whole file was read. */
  finish(): { readonly rows: GpuRows; readonly groups: LaunchGroups; readonly kernelsWithoutCall: number } {
    const groups = new LaunchGroups();
    const { calls } = this.#host;
    let kernelsWithoutCall = 0;
    for (let at = 0; at < this.rows.count; at++) {
      const key = this.#correlation.at(at);
      const isKernel = this.#kind.at(at) === KERNEL_KIND;
      groups.add(key, isKernel, this.#graph.at(at));
      const slot = calls.slotOf(key);
      if (slot === NONE) {
        if (isKernel) kernelsWithoutCall++;
        continue;
      }
      if (calls.isKnown(slot)) this.rows.setCall(at, calls.start_ns(slot), calls.thread(slot));
      if (calls.isGraphLaunch(slot)) this.rows.setInGraph(at);
    }
    this.#joinOperators();
    return { rows: this.rows.finish(), groups, kernelsWithoutCall };
  }

  /**
   * Traces of 2023 write the correlation id into `External id` too, which then names no operator; a number that an
   * operator has by chance must not join.
   */
  #joinOperators(): void {
    if (this.#withBothIds > 0 && this.#withEqualIds === this.#withBothIds) return;
    for (let at = 0; at < this.rows.count; at++) {
      const text = this.#host.operator(this.#external.at(at));
      if (text !== NONE) this.rows.setOp(at, text);
    }
  }
}

function wholeOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}(?:\.0+)?$/.test(text) ? Number(text) : null;
}

/** `[4, 1, 1]`. Null where it is not three numbers from 1 on. */
function dim3Of(text: string): Dim3 | null {
  const parts = /^\[\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\]$/.exec(text);
  if (parts === null) return null;
  const [x, y, z] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  return x > 0 && y > 0 && z > 0 ? [x, y, z] : null;
}
