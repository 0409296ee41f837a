import type { GpuRowKind, GpuRows, Lane, LaunchShape, TimelineGpu } from "../../model/timeline.ts";
import { Dropped } from "../dropped.ts";
import { GpuRowsBuilder, Pool } from "../rows.ts";
import { memoryOperation } from "./copies.ts";
import type { Layout, Role } from "./layout.ts";
import type { NumberReader } from "./numbers.ts";
import { namePool, printedName, type Totals } from "./sums.ts";

/** Starts that are coarser than the shortest kernels tell no order and no idle time. */
const COARSEST_START_NS = 1000;
const EXACT = 2 ** 53;

interface PrintedLane {
  readonly device: number | null;
  readonly context: string;
  readonly stream: string | null;
}

/** One table of GPU activities. */
export class TraceTable {
  readonly kind = "trace";
  readonly totals: Totals = { launches: 0, total_ns: 0, rounding_ns: 0 };
  readonly names = namePool();
  readonly line: number;
  readonly dropped = new Dropped();
  readonly gpus = new Map<string, TimelineGpu>();
  malformed = 0;
  managedCopies = 0;
  tick: 1 | 1000 = 1000;
  readonly #shapes = new Pool<LaunchShape>((shape) => JSON.stringify(shape));
  readonly #lanes = new Pool<PrintedLane>((lane) => JSON.stringify(lane));
  readonly #rows = new GpuRowsBuilder();
  readonly #numbers: NumberReader;
  /** The coarsest power of ten that all starts are multiples of. */
  #step = 1e18;
  #hasStarts: boolean;

  constructor(layout: Layout, line: number, numbers: NumberReader) {
    this.line = line;
    this.#numbers = numbers;
    this.#hasStarts = layout.roles.has("start");
  }

  get count(): number {
    return this.#rows.count;
  }

  get hasStarts(): boolean {
    return this.#hasStarts && (this.count < 2 || this.#step <= COARSEST_START_NS);
  }

  /** To be called once, last. */
  rows(): GpuRows {
    return this.#rows.finish();
  }

  get shapes(): readonly LaunchShape[] {
    return this.#shapes.items;
  }

  /** Streams are numbered in each context: two of one number on a device are told apart by their contexts. */
  lanes(): Lane[] {
    const contexts = new Map<string, Set<string>>();
    const key = ({ device, stream }: PrintedLane): string => `${device}/${stream}`;
    for (const lane of this.#lanes.items) {
      contexts.set(key(lane), (contexts.get(key(lane)) ?? new Set()).add(lane.context));
    }
    return this.#lanes.items.map((lane) => ({
      process: null,
      rank: null,
      device: lane.device,
      stream:
        lane.stream !== null && (contexts.get(key(lane))?.size ?? 0) > 1
          ? `${lane.stream} (context ${lane.context})`
          : lane.stream,
    }));
  }

  row(cells: readonly string[], { roles }: Layout): boolean {
    const read = (role: Role): number | null => this.#numbers.read(cells, roles.get(role));
    const cell = (role: Role): string => (cells[roles.get(role)?.index ?? -1] ?? "").trim();
    const duration = read("duration");
    const { resolution } = this.#numbers;
    const start = read("start");
    const text = cell("name");
    if (duration === null || (start === null && roles.has("start")) || text === "") return false;
    if (duration < 0) {
      this.dropped.add("ends_before_start", text);
      return true;
    }
    const operation = memoryOperation(text);
    const kind: GpuRowKind = operation?.kind ?? (/^\[?CUDA graph\b/i.test(text) ? "graph" : "kernel");
    this.#observeStart(start, Math.round(duration));
    const from = Math.round(start ?? 0);
    this.#rows.add({
      kind,
      start_ns: from,
      end_ns: from + Math.round(duration),
      name: this.names.add(
        operation === null ? printedName(text) : { ...printedName(operation.name), demangled: null },
      ),
      lane: this.#lane(cell, operation?.isManaged ?? false),
      ...(kind === "kernel" ? { shape: this.#shape(read) } : {}),
      ...(operation === null ? {} : { bytes: read("bytes") ?? Number.NaN }),
    });
    if (operation?.isManaged) this.managedCopies++;
    if (kind === "kernel") {
      this.totals.launches++;
      this.totals.total_ns += duration;
      if (resolution > 1) this.totals.rounding_ns += resolution / 2;
    }
    return true;
  }

  #observeStart(start: number | null, duration: number): void {
    if (start === null || Math.abs(start) + duration >= EXACT) {
      this.#hasStarts = false;
      return;
    }
    const time = Math.round(start);
    while (this.#step > 1 && time % this.#step !== 0) this.#step /= 10;
    if (time % 1000 !== 0 || duration % 1000 !== 0) this.tick = 1;
  }

  #lane(cell: (role: Role) => string, isManaged: boolean): number {
    const device = /^(.{0,128}?)\s*\((\d{1,4})\)$/.exec(cell("device"));
    const index = device === null ? null : Number(device[2]);
    if (device !== null) this.#gpu(device[1] ?? "", index);
    const stream = cell("stream");
    return this.#lanes.add({
      device: index,
      context: cell("context"),
      stream: isManaged || !/^\d{1,12}$/.test(stream) ? null : stream,
    });
  }

  #gpu(name: string, index: number | null): void {
    this.gpus.set(`${index}/${name}`, {
      index,
      name: name || null,
      compute_capability: null,
      sm_count: null,
      memory_bytes: null,
      memory_bandwidth_bytes_per_s: null,
    });
  }

  #shape(read: (role: Role) => number | null): number {
    const dim3 = (...roles: [Role, Role, Role]): LaunchShape["grid"] => {
      const [x, y, z] = roles.map(read);
      return x && y && z ? [x, y, z] : null;
    };
    const fixed = read("static_memory");
    const dynamic = read("dynamic_memory");
    return this.#shapes.add({
      grid: dim3("grid_x", "grid_y", "grid_z"),
      block: dim3("block_x", "block_y", "block_z"),
      // Where the unit is MB three decimals are left, which is no size of shared memory.
      shared_memory_bytes: fixed === null || dynamic === null ? null : fixed + dynamic,
      registers_per_thread: read("registers"),
    });
  }
}
