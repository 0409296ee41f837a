import type { Dim3 } from "../../model/launch.ts";
import { type GpuRowKind, type GpuRows, type LaunchShape, NONE } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { GpuRowsBuilder, Pool } from "../rows.ts";
import { ByteCache, KeyBuffer } from "./byte-cache.ts";
import { joinKey } from "./calls.ts";
import { NumberColumn } from "./column.ts";
import {
  BLOCK,
  BYTES,
  CORRELATION,
  DEVICE,
  type EventScanner,
  EXTERNAL_ID,
  GRAPH_ID,
  GRAPH_NODE_ID,
  GRID,
  LANE_SLOTS,
  PID,
  REGISTERS,
  SHAPE_SLOTS,
  SHARED_MEMORY,
  STREAM,
  TID,
  textOf,
  wholeOf,
} from "./event.ts";
import type { HostSide } from "./host.ts";
import { type DraftLane, readLabel, readPid, streamOf } from "./lanes.ts";
import { LaunchGroups } from "./recording.ts";
import { MOST_PLACES, tooManyPlaces } from "./refused.ts";

interface PlacedLane {
  /** Position in `lanes`. */
  readonly lane: number;
  /** Number of the label that a merger of files put before the pid. */
  readonly label: number;
}

/** The GPU's side of a trace: its rows, and the ids by which they are joined to the host's when both are complete. */
export class GpuSide {
  readonly rows = new GpuRowsBuilder();
  readonly lanes = new Pool<DraftLane>((lane) => JSON.stringify(lane));
  readonly shapes = new Pool<LaunchShape>((shape) => JSON.stringify(shape));
  readonly #isKernel = NumberColumn.small();
  readonly #correlation = NumberColumn.wide();
  readonly #external = NumberColumn.wide();
  /** Graph of a row: NaN where it is not from one, 0 where it is not named. Absent as long as no row is from one. */
  #graph: NumberColumn | null = null;
  readonly #lanes: PlacedLane[] = [];
  readonly #laneCache = new ByteCache();
  readonly #shapeCache = new ByteCache();
  readonly #key = new KeyBuffer();
  #withBothIds = 0;
  #withEqualIds = 0;
  readonly #host: HostSide;

  constructor(host: HostSide) {
    this.#host = host;
  }

  /** @param name position in `names`. `event` is where everything else about the row is. */
  add(kind: GpuRowKind, start_ns: number, end_ns: number, name: number, event: EventScanner, bytes: Buffer): void {
    const { lane, label } = this.#lane(event, bytes);
    const correlation = wholeOf(event, bytes, CORRELATION);
    const external = wholeOf(event, bytes, EXTERNAL_ID);
    // 0 and NaN: not from a graph.
    const graph = wholeOf(event, bytes, GRAPH_ID);
    const isNode = graph > 0 || wholeOf(event, bytes, GRAPH_NODE_ID) > 0;
    const isKernel = kind === "kernel";
    const at = this.rows.add({
      kind,
      start_ns,
      end_ns,
      name,
      shape: isKernel ? this.#shape(event, bytes) : NONE,
      lane,
      call_ns: Number.NaN,
      thread: NONE,
      bytes: isKernel ? Number.NaN : wholeOf(event, bytes, BYTES),
      op: NONE,
      in_graph: isNode,
    });
    if (isNode) this.#graph ??= this.#startGraphs(at);
    this.#graph?.push(graph > 0 ? graph : isNode ? 0 : Number.NaN);
    this.#isKernel.push(isKernel ? 1 : 0);
    this.#correlation.push(joinKey(label, correlation));
    this.#external.push(joinKey(label, external));
    if (Number.isNaN(correlation) || Number.isNaN(external)) return;
    this.#withBothIds++;
    if (correlation === external) this.#withEqualIds++;
  }

  #startGraphs(rowsBefore: number): NumberColumn {
    const graphs = NumberColumn.wide();
    while (graphs.length < rowsBefore) graphs.push(Number.NaN);
    return graphs;
  }

  #lane(event: EventScanner, bytes: Buffer): PlacedLane {
    const key = this.#key;
    event.putKey(key, LANE_SLOTS, bytes);
    const known = key.isWhole ? this.#laneCache.find(key.bytes, 0, key.length) : NONE;
    if (known !== NONE) return this.#lanes[known] as PlacedLane;
    const text = (slot: number): string | null => readLabel(textOf(event, bytes, slot));
    const { label, id } = readPid(textOf(event, bytes, PID));
    const device = wholeNumber(text(DEVICE)) ?? wholeNumber(id);
    const stream = text(STREAM) ?? text(TID);
    // A process is a device as Kineto writes; another number was put there by a merger of files.
    const process = label ?? (id !== null && wholeNumber(id) !== device ? id : null);
    const lane = this.lanes.add({ process, label, device, stream: stream === null ? null : streamOf(stream) });
    if (lane >= MOST_PLACES) throw new Refused(tooManyPlaces("streams", MOST_PLACES));
    this.#lanes[lane] ??= { lane, label: this.#host.labels.add(label) };
    if (key.isWhole) this.#laneCache.keep(key.bytes, 0, key.length, lane);
    return this.#lanes[lane];
  }

  #shape(event: EventScanner, bytes: Buffer): number {
    const key = this.#key;
    event.putKey(key, SHAPE_SLOTS, bytes);
    const known = key.isWhole ? this.#shapeCache.find(key.bytes, 0, key.length) : NONE;
    if (known !== NONE) return known;
    const shape = {
      grid: dim3Of(textOf(event, bytes, GRID)),
      block: dim3Of(textOf(event, bytes, BLOCK)),
      shared_memory_bytes: wholeNumber(textOf(event, bytes, SHARED_MEMORY)),
      registers_per_thread: wholeNumber(textOf(event, bytes, REGISTERS)),
    };
    if (Object.values(shape).every((value) => value === null)) return NONE;
    const position = this.shapes.add(shape);
    if (position >= MOST_PLACES) throw new Refused(tooManyPlaces("launch shapes", MOST_PLACES));
    if (key.isWhole) this.#shapeCache.keep(key.bytes, 0, key.length, position);
    return position;
  }

  /** Joins the rows to calls and operators. Once, when the whole file was read. */
  finish(): { readonly rows: GpuRows; readonly groups: LaunchGroups; readonly kernelsWithoutCall: number } {
    const groups = new LaunchGroups();
    const { calls } = this.#host;
    let kernelsWithoutCall = 0;
    for (let at = 0; at < this.rows.count; at++) {
      const key = this.#correlation.at(at);
      const isKernel = this.#isKernel.at(at) === 1;
      groups.add(key, isKernel, this.#graph?.at(at) ?? Number.NaN);
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

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}(?:\.0+)?$/.test(text) ? Number(text) : null;
}

/** `[4, 1, 1]`. Null where it is not three numbers from 1 on. */
function dim3Of(text: string): Dim3 | null {
  const parts = /^\[\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\]$/.exec(text);
  if (parts === null) return null;
  const [x, y, z] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  return x > 0 && y > 0 && z > 0 ? [x, y, z] : null;
}
