import { GPU_ROW_KINDS, type GpuRowKind, type GpuRows, type HostRows, NONE } from "../model/timeline.ts";

/** One GPU activity on its way into the columns. See GpuRows. */
export interface GpuRow {
  readonly kind: GpuRowKind;
  readonly start_ns: number;
  readonly end_ns: number;
  readonly name: number;
  readonly shape?: number;
  readonly lane: number;
  readonly call_ns?: number;
  readonly thread?: number;
  readonly bytes?: number;
  readonly op?: number;
  readonly in_graph?: boolean;
}

type Column = Float64Array | Uint32Array | Uint8Array;

/** Doubled when full: columns of a million rows are copied twenty times. */
function grown<C extends Column>(column: C): C {
  const larger = new (column.constructor as new (length: number) => C)(Math.max(1024, column.length * 2));
  larger.set(column as never);
  return larger;
}

/** Gathers GPU rows in any order and gives them in order of start. */
export class GpuRowsBuilder {
  count = 0;
  #kind = new Uint8Array(0);
  #start = new Float64Array(0);
  #end = new Float64Array(0);
  #name = new Uint32Array(0);
  #shape = new Uint32Array(0);
  #lane = new Uint32Array(0);
  #call = new Float64Array(0);
  #thread = new Uint32Array(0);
  #bytes = new Float64Array(0);
  #op = new Uint32Array(0);
  #inGraph = new Uint8Array(0);
  #isSorted = true;

  /** Gives the place of the row until `finish`. */
  add(row: GpuRow): number {
    const at = this.count;
    if (at === this.#kind.length) this.#grow();
    this.#kind[at] = GPU_ROW_KINDS.indexOf(row.kind);
    this.#start[at] = row.start_ns;
    this.#end[at] = row.end_ns;
    this.#name[at] = row.name;
    this.#shape[at] = row.shape ?? NONE;
    this.#lane[at] = row.lane;
    this.#call[at] = row.call_ns ?? Number.NaN;
    this.#thread[at] = row.thread ?? NONE;
    this.#bytes[at] = row.bytes ?? Number.NaN;
    this.#op[at] = row.op ?? NONE;
    this.#inGraph[at] = row.in_graph ? 1 : 0;
    if (at > 0 && this.#isBefore(at, at - 1)) this.#isSorted = false;
    this.count = at + 1;
    return at;
  }

  /** Joins a row to what launched it, where that is known later. */
  setCall(at: number, call_ns: number, thread: number): void {
    this.#call[at] = call_ns;
    this.#thread[at] = thread;
  }

  setOp(at: number, op: number): void {
    this.#op[at] = op;
  }

  finish(): GpuRows {
    const order = this.#isSorted ? null : this.#order();
    const take = <C extends Column>(column: C): C => {
      if (order === null) return column.slice(0, this.count) as C;
      const sorted = new (column.constructor as new (length: number) => C)(this.count);
      for (let at = 0; at < this.count; at++) sorted[at] = column[order[at] as number] as number;
      return sorted;
    };
    return {
      count: this.count,
      kind: take(this.#kind),
      start_ns: take(this.#start),
      end_ns: take(this.#end),
      name: take(this.#name),
      shape: take(this.#shape),
      lane: take(this.#lane),
      call_ns: take(this.#call),
      thread: take(this.#thread),
      bytes: take(this.#bytes),
      op: take(this.#op),
      in_graph: take(this.#inGraph),
    };
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#start[a] as number) - (this.#start[b] as number);
    return difference < 0 || (difference === 0 && (this.#end[a] as number) < (this.#end[b] as number));
  }

  #order(): Uint32Array {
    const order = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) order[at] = at;
    const [start, end] = [this.#start, this.#end];
    return order.sort(
      (a, b) => (start[a] as number) - (start[b] as number) || (end[a] as number) - (end[b] as number) || a - b,
    );
  }

  #grow(): void {
    this.#kind = grown(this.#kind);
    this.#start = grown(this.#start);
    this.#end = grown(this.#end);
    this.#name = grown(this.#name);
    this.#shape = grown(this.#shape);
    this.#lane = grown(this.#lane);
    this.#call = grown(this.#call);
    this.#thread = grown(this.#thread);
    this.#bytes = grown(this.#bytes);
    this.#op = grown(this.#op);
    this.#inGraph = grown(this.#inGraph);
  }
}

/** Gathers activities of the host in any order and gives them in order of start, longer ones first. */
export class HostRowsBuilder {
  count = 0;
  #start = new Float64Array(0);
  #end = new Float64Array(0);
  #text = new Uint32Array(0);
  #thread = new Uint32Array(0);

  /** @param end_ns NaN: never closed. */
  add(start_ns: number, end_ns: number, text: number, thread: number): void {
    const at = this.count;
    if (at === this.#start.length) {
      this.#start = grown(this.#start);
      this.#end = grown(this.#end);
      this.#text = grown(this.#text);
      this.#thread = grown(this.#thread);
    }
    this.#start[at] = start_ns;
    this.#end[at] = end_ns;
    this.#text[at] = text;
    this.#thread[at] = thread;
    this.count = at + 1;
  }

  finish(): HostRows {
    const order = new Uint32Array(this.count);
    for (let at = 0; at < this.count; at++) order[at] = at;
    const [start, end] = [this.#start, this.#end];
    const last = (at: number): number => {
      const value = end[at] as number;
      return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
    };
    order.sort(
      (a, b) => (start[a] as number) - (start[b] as number) || (last(a) < last(b) ? 1 : last(a) > last(b) ? -1 : a - b),
    );
    const take = <C extends Column>(column: C): C => {
      const sorted = new (column.constructor as new (length: number) => C)(this.count);
      for (let at = 0; at < this.count; at++) sorted[at] = column[order[at] as number] as number;
      return sorted;
    };
    return {
      count: this.count,
      start_ns: take(this.#start),
      end_ns: take(this.#end),
      text: take(this.#text),
      thread: take(this.#thread),
    };
  }
}

/** Gives each distinct value a position; equal ones share it. */
export class Pool<T> {
  readonly items: T[] = [];
  readonly #positions = new Map<string, number>();
  readonly #key: (item: T) => string;

  constructor(key: (item: T) => string) {
    this.#key = key;
  }

  add(item: T): number {
    const key = this.#key(item);
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    this.#positions.set(key, this.items.length);
    return this.items.push(item) - 1;
  }
}
