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

/** Doubled when full, unless more is asked for: columns of a million rows are copied twenty times. */
function grown<C extends Column>(column: C, length = Math.max(1024, column.length * 2)): C {
  const larger = new (column.constructor as new (length: number) => C)(length);
  larger.set(column as never);
  return larger;
}

/**
 * The order of `count` rows in which none is after the next, ties as they came. Recordings consist of a few parts in
 * order (a table each), so parts that are in order already are merged rather than all rows sorted; null where nothing is
 * to do.
 */
function orderOf(count: number, isAfter: (a: number, b: number) => boolean): Uint32Array | null {
  let runs: number[] = [];
  for (let at = 0; at < count; at++) if (at === 0 || isAfter(at - 1, at)) runs.push(at);
  if (runs.length <= 1) return null;
  let from = new Uint32Array(count);
  for (let at = 0; at < count; at++) from[at] = at;
  let to = new Uint32Array(count);
  while (runs.length > 1) {
    const merged: number[] = [];
    for (let run = 0; run < runs.length; run += 2) {
      const start = runs[run] as number;
      const middle = runs[run + 1] ?? count;
      const end = runs[run + 2] ?? count;
      merged.push(start);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        const isLeft = left < middle && (right >= end || !isAfter(from[left] as number, from[right] as number));
        to[at] = from[isLeft ? left++ : right++] as number;
      }
    }
    runs = merged;
    [from, to] = [to, from];
  }
  return from;
}

/** Rows that stay neighbours are copied at once where there are at least this many of them. */
const SPAN = 16;

/**
 * Puts a column in order where it stands, by way of `scratch`: new columns beside the old ones would take twice the
 * memory until they are collected.
 */
function inOrder<C extends Column>(column: C, count: number, order: Uint32Array | null, scratch: Scratch): C {
  if (order !== null) {
    const sorted = scratch.like(column, count);
    for (let at = 0; at < count; ) {
      const from = order[at] as number;
      let span = 1;
      while (at + span < count && order[at + span] === from + span) span++;
      if (span >= SPAN) sorted.set(column.subarray(from, from + span) as never, at);
      else for (let next = 0; next < span; next++) sorted[at + next] = column[from + next] as number;
      at += span;
    }
    column.set(sorted as never);
  }
  return column.length === count ? column : (column.slice(0, count) as C);
}

/** Room for one column of each type. */
class Scratch {
  readonly #columns = new Map<unknown, Column>();

  like<C extends Column>(column: C, count: number): C {
    const known = this.#columns.get(column.constructor);
    if (known !== undefined) return known as C;
    const created = new (column.constructor as new (length: number) => C)(count);
    this.#columns.set(column.constructor, created);
    return created;
  }
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

  /** Makes room for so many rows in all, so that columns are not copied, nor half empty, where the number is known. */
  reserve(rows: number): void {
    if (rows > this.#kind.length) this.#grow(rows);
  }

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

  /** Where only the call that launched it tells. */
  setInGraph(at: number): void {
    this.#inGraph[at] = 1;
  }

  /** Hands the columns over one by one, so that there are never two sets of them: the builder is empty afterwards. */
  finish(): GpuRows {
    const { count } = this;
    const [start, end] = [this.#start, this.#end];
    const order = orderOf(count, (a, b) => {
      const difference = (start[a] as number) - (start[b] as number);
      return difference > 0 || (difference === 0 && (end[a] as number) > (end[b] as number));
    });
    const scratch = new Scratch();
    const take = <C extends Column>(column: C, release: (empty: C) => void): C => {
      release(column.slice(0, 0) as C);
      return inOrder(column, count, order, scratch);
    };
    this.count = 0;
    return {
      count,
      kind: take(this.#kind, (empty) => (this.#kind = empty)),
      start_ns: take(this.#start, (empty) => (this.#start = empty)),
      end_ns: take(this.#end, (empty) => (this.#end = empty)),
      name: take(this.#name, (empty) => (this.#name = empty)),
      shape: take(this.#shape, (empty) => (this.#shape = empty)),
      lane: take(this.#lane, (empty) => (this.#lane = empty)),
      call_ns: take(this.#call, (empty) => (this.#call = empty)),
      thread: take(this.#thread, (empty) => (this.#thread = empty)),
      bytes: take(this.#bytes, (empty) => (this.#bytes = empty)),
      op: take(this.#op, (empty) => (this.#op = empty)),
      in_graph: take(this.#inGraph, (empty) => (this.#inGraph = empty)),
    };
  }

  #grow(length?: number): void {
    this.#kind = grown(this.#kind, length);
    this.#start = grown(this.#start, length);
    this.#end = grown(this.#end, length);
    this.#name = grown(this.#name, length);
    this.#shape = grown(this.#shape, length);
    this.#lane = grown(this.#lane, length);
    this.#call = grown(this.#call, length);
    this.#thread = grown(this.#thread, length);
    this.#bytes = grown(this.#bytes, length);
    this.#op = grown(this.#op, length);
    this.#inGraph = grown(this.#inGraph, length);
  }
}

/** Gathers activities of the host in any order and gives them in order of start, longer ones first. */
export class HostRowsBuilder {
  count = 0;
  #start = new Float64Array(0);
  #end = new Float64Array(0);
  #text = new Uint32Array(0);
  #thread = new Uint32Array(0);

  /** Makes room for so many rows in all. */
  reserve(rows: number): void {
    if (rows > this.#start.length) this.#grow(rows);
  }

  /** @param end_ns NaN: never closed. */
  add(start_ns: number, end_ns: number, text: number, thread: number): void {
    const at = this.count;
    if (at === this.#start.length) this.#grow();
    this.#start[at] = start_ns;
    this.#end[at] = end_ns;
    this.#text[at] = text;
    this.#thread[at] = thread;
    this.count = at + 1;
  }

  /** The builder is empty afterwards. */
  finish(): HostRows {
    const { count } = this;
    const [start, end] = [this.#start, this.#end];
    const last = (at: number): number => {
      const value = end[at] as number;
      return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
    };
    const order = orderOf(count, (a, b) => {
      const difference = (start[a] as number) - (start[b] as number);
      return difference > 0 || (difference === 0 && last(a) < last(b));
    });
    const [text, thread] = [this.#text, this.#thread];
    const scratch = new Scratch();
    this.count = 0;
    this.#start = new Float64Array(0);
    this.#end = new Float64Array(0);
    this.#text = new Uint32Array(0);
    this.#thread = new Uint32Array(0);
    return {
      count,
      start_ns: inOrder(start, count, order, scratch),
      end_ns: inOrder(end, count, order, scratch),
      text: inOrder(text, count, order, scratch),
      thread: inOrder(thread, count, order, scratch),
    };
  }

  #grow(length?: number): void {
    this.#start = grown(this.#start, length);
    this.#end = grown(this.#end, length);
    this.#text = grown(this.#text, length);
    this.#thread = grown(this.#thread, length);
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
