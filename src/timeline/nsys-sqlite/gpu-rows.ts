import type { KernelNames } from "../../model/launch.ts";
import type { GpuRowKind, Lane, LaunchShape, TimelineLimits } from "../../model/timeline.ts";
import type { Dropped } from "../dropped.ts";
import { Refused } from "../refused.ts";
import { GpuRowsBuilder, Pool } from "../rows.ts";
import type { Clock } from "./clock.ts";
import { Correlations } from "./correlations.ts";
import type { Database, Table } from "./database.ts";
import { GraphLaunches } from "./graph-launches.ts";
import { type IntegerRow, MALFORMED, OUTSIDE, readIntegers } from "./integers.ts";
import { kernelNames, plainName } from "./names.ts";
import type { Strings } from "./strings.ts";
import { Tuples } from "./tuples.ts";

/** Where a row stands: in the same places in all tables of GPU activities. */
const PLACE = ["start", "end", "correlationId", "globalPid", "deviceId", "contextId", "streamId"] as const;
const NAME = ["demangledName", "shortName", "mangledName"] as const;
const SHAPE = [
  "gridX",
  "gridY",
  "gridZ",
  "blockX",
  "blockY",
  "blockZ",
  "staticSharedMemory",
  "dynamicSharedMemory",
  "registersPerThread",
] as const;
const START = 0;
const END = 1;
const CORRELATION = 2;
const PROCESS = 3;
/** First column behind the place. */
const OWN = PLACE.length;

/** ENUM_CUDA_MEMCPY_OPER of nsys 2025.3.2, in the words that nsys stats prints. */
const COPY_KINDS: readonly (string | undefined)[] = [
  undefined,
  "Host-to-Device",
  "Device-to-Host",
  "Host-to-Array",
  "Array-to-Host",
  "Array-to-Array",
  "Array-to-Device",
  "Device-to-Array",
  "Device-to-Device",
  "Host-to-Host",
  "Peer-to-Peer",
  "Unified Host-to-Device",
  "Unified Device-to-Host",
  "Unified Device-to-Device",
];
const FIRST_UNIFIED = 11;

export interface GpuTables {
  readonly kernels: Table | null;
  readonly copies: Table | null;
  readonly sets: Table | null;
  readonly graphs: Table | null;
}

/** Reads what the GPUs did, and remembers by which ids API calls find it. */
export class GpuRowsReader {
  readonly builder = new GpuRowsBuilder();
  readonly correlations = new Correlations();
  readonly graphLaunches = new GraphLaunches();
  managedCopies = 0;
  batchedCopies = 0;
  /** 1000 as long as all times are whole microseconds. */
  tick: 1 | 1000 = 1000;
  readonly #names = new Pool<KernelNames>(({ display, demangled, mangled, function: name }) =>
    JSON.stringify([display, demangled, mangled, name]),
  );
  readonly #nameIds = new Tuples(NAME.length);
  readonly #nameOf: number[] = [];
  readonly #shapes = new Tuples(SHAPE.length);
  /** Process, device, context, stream. */
  readonly #lanes = new Tuples(4);
  readonly #lane = new Float64Array(4);
  readonly #clock: Clock;
  readonly #strings: Strings;
  readonly #dropped: Dropped;
  readonly #limits: TimelineLimits;
  /** The process where rows do not name theirs; NaN where that cannot be known. */
  readonly #onlyProcess: number;
  #seen = 0;

  constructor(clock: Clock, strings: Strings, dropped: Dropped, onlyProcess: number, limits: TimelineLimits) {
    this.#clock = clock;
    this.#strings = strings;
    this.#dropped = dropped;
    this.#onlyProcess = onlyProcess;
    this.#limits = limits;
  }

  read(database: Database, tables: GpuTables): void {
    const expected = Object.values(tables).reduce(
      (sum, table) => sum + (table === null ? 0 : database.expectedRows(table)),
      0,
    );
    this.builder.reserve(Math.min(expected, this.#limits.maxRows));
    this.correlations.reserve(Math.min(expected, this.#limits.maxRows));
    if (tables.kernels !== null) this.#readKernels(database, tables.kernels);
    if (tables.copies !== null) this.#readCopies(database, tables.copies);
    if (tables.sets !== null) this.#readSets(database, tables.sets);
    if (tables.graphs !== null) this.#readGraphs(database, tables.graphs);
    this.correlations.index();
  }

  get names(): readonly KernelNames[] {
    return this.#names.items;
  }

  shapes(): LaunchShape[] {
    return Array.from({ length: this.#shapes.count }, (_, position) => {
      const [gx, gy, gz, bx, by, bz, fixed, dynamic, registers] = SHAPE.map((_name, column) =>
        count(this.#shapes.value(position, column)),
      );
      return {
        grid: dim3(gx, gy, gz),
        block: dim3(bx, by, bz),
        shared_memory_bytes: fixed == null || dynamic == null ? null : fixed + dynamic,
        registers_per_thread: registers ?? null,
      };
    });
  }

  /** Streams are numbered in each context: two of one number on a device are told apart by their contexts. */
  lanes(): Lane[] {
    const contexts = new Map<string, Set<number>>();
    const lanes = Array.from({ length: this.#lanes.count }, (_, position) => {
      const [process, device, context, stream] = [0, 1, 2, 3].map((column) => this.#lanes.value(position, column)) as [
        number,
        number,
        number,
        number,
      ];
      const key = `${process}/${device}/${stream}`;
      contexts.set(key, (contexts.get(key) ?? new Set()).add(context));
      return { process, device, context, stream, key };
    });
    return lanes.map(({ process, device, context, stream, key }) => ({
      process: processName(process),
      rank: null,
      device: Number.isSafeInteger(device) ? device : null,
      stream: !Number.isSafeInteger(stream)
        ? null
        : (contexts.get(key)?.size ?? 0) > 1
          ? `${stream} (context ${context})`
          : String(stream),
    }));
  }

  #readKernels(database: Database, table: Table): void {
    const shape = OWN + NAME.length;
    const node = shape + SHAPE.length;
    const integers = [...PLACE, ...NAME, ...SHAPE, "graphNodeId", "graphId"];
    readIntegers(database, table, { integers }, (row) => {
      if (row === null) return this.#malformed("a kernel");
      const { values } = row;
      const name = this.#kernelName(values);
      const at = this.#add("kernel", row, name, {
        shape: this.#shapes.add(values, shape),
        isGraphNode: isId(values[node]),
      });
      if (at >= 0 && isId(values[node])) {
        this.graphLaunches.add(
          this.#processOf(values),
          values[CORRELATION] as number,
          values[node] as number,
          values[node + 1] as number,
        );
      }
    });
  }

  #readCopies(database: Database, table: Table): void {
    const integers = [...PLACE, "copyKind", "bytes", "graphNodeId", "copyCount"];
    readIntegers(database, table, { integers }, (row) => {
      if (row === null) return this.#malformed("a copy");
      const { values } = row;
      const kind = values[OWN] as number;
      const copies = values[OWN + 3] as number;
      const words = COPY_KINDS[kind];
      const isManaged = words !== undefined && kind >= FIRST_UNIFIED;
      if (isManaged) values[PLACE.length - 1] = Number.NaN;
      const name = this.#names.add(plainName(words === undefined ? "[CUDA memcpy]" : `[CUDA memcpy ${words}]`));
      const bytes = values[OWN + 1] as number;
      const at = this.#add("memcpy", row, name, { bytes, isGraphNode: isId(values[OWN + 2]) });
      if (at < 0) return;
      if (isManaged) this.managedCopies++;
      if (copies > 1 && Number.isFinite(copies)) this.batchedCopies++;
    });
  }

  #readSets(database: Database, table: Table): void {
    const name = this.#names.add(plainName("[CUDA memset]"));
    readIntegers(database, table, { integers: [...PLACE, "bytes", "graphNodeId"] }, (row) => {
      if (row === null) return this.#malformed("a memory set");
      const bytes = row.values[OWN] as number;
      this.#add("memset", row, name, { bytes, isGraphNode: isId(row.values[OWN + 1]) });
    });
  }

  #readGraphs(database: Database, table: Table): void {
    readIntegers(database, table, { integers: [...PLACE, "graphId", "graphExecId"] }, (row) => {
      if (row === null) return this.#malformed("a graph");
      const [graph, executable] = [row.values[OWN] as number, row.values[OWN + 1] as number];
      const id = isId(graph) ? graph : isId(executable) ? executable : null;
      const name = this.#names.add(plainName(id === null ? "CUDA graph" : `CUDA graph ${id}`));
      this.#add("graph", row, name, { isGraphNode: false });
    });
  }

  #malformed(what: string): void {
    this.#count();
    this.#dropped.add("malformed", what);
  }

  /** Gives the place in the builder, -1 where the row is left out. */
  #add(
    kind: GpuRowKind,
    row: IntegerRow,
    name: number,
    more: { readonly shape?: number; readonly bytes?: number; readonly isGraphNode: boolean },
  ): number {
    this.#count();
    const start = this.#clock.read(row, START);
    const end = this.#clock.read(row, END);
    const reason = this.#fault(row, start, end);
    if (reason !== null) {
      this.#dropped.add(reason, this.#names.items[name]?.display ?? kind);
      return -1;
    }
    if (this.tick === 1000 && (start % 1000 !== 0 || end % 1000 !== 0)) this.tick = 1;
    const { values } = row;
    const process = this.#processOf(values);
    this.#lane[0] = process;
    this.#lane[1] = values[PROCESS + 1] as number;
    this.#lane[2] = values[PROCESS + 2] as number;
    this.#lane[3] = values[PROCESS + 3] as number;
    const bytes = more.bytes ?? Number.NaN;
    const at = this.builder.add({
      kind,
      start_ns: start,
      end_ns: end,
      name,
      lane: this.#lanes.add(this.#lane, 0),
      bytes: bytes >= 0 && bytes < OUTSIDE ? bytes : Number.NaN,
      in_graph: more.isGraphNode,
      ...(more.shape === undefined ? {} : { shape: more.shape }),
    });
    this.correlations.add(at, process, values[CORRELATION] as number, kind === "kernel", more.isGraphNode);
    return at;
  }

  #fault(row: IntegerRow, start: number, end: number): Parameters<Dropped["add"]>[0] | null {
    if (start === MALFORMED || end === MALFORMED) return "malformed";
    if (start === OUTSIDE || end === OUTSIDE) return "outside_int64";
    if (this.#clock.isMissing(start, row, START) || this.#clock.isMissing(end, row, END)) return "no_time";
    // A number without sign beyond 2^63 is stored as a negative one.
    if (this.#clock.isBeforeSession(start) || this.#clock.isBeforeSession(end)) return "outside_int64";
    return end < start ? "ends_before_start" : null;
  }

  #processOf(values: Float64Array): number {
    const process = values[PROCESS] as number;
    return Number.isNaN(process) ? this.#onlyProcess : process;
  }

  #kernelName(values: Float64Array): number {
    const known = this.#nameIds.count;
    const position = this.#nameIds.add(values, OWN);
    if (position === known) {
      const ids = [0, 1, 2].map((column) => values[OWN + column] as number) as [number, number, number];
      this.#nameOf.push(this.#names.add(kernelNames(this.#strings, ...ids)));
    }
    return this.#nameOf[position] as number;
  }

  #count(): void {
    if (++this.#seen > this.#limits.maxRows) {
      throw new Refused({
        code: "too_large",
        message: `the file has more than ${this.#limits.maxRows} GPU activities`,
        hint: "record a shorter part of the run",
        evidence: { limit: this.#limits.maxRows },
      });
    }
  }
}

/** Old exports write 0 where newer ones write NULL. */
const isId = (value: number | undefined): boolean => value !== undefined && Number.isFinite(value) && value !== 0;

const count = (value: number): number | null => (Number.isSafeInteger(value) && value >= 0 ? value : null);

const dim3 = (
  x: number | null | undefined,
  y: number | null | undefined,
  z: number | null | undefined,
): readonly [number, number, number] | null => (x && y && z ? [x, y, z] : null);

/** The decimal digits as they stand in the file; a double holds a process id exactly, since its low 24 bits are zero. */
export const processName = (process: number): string | null =>
  Number.isFinite(process) ? BigInt(process).toString() : null;
