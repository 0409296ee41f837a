import type { KeyBuffer } from "./byte-cache.ts";
import { ANNOTATION, categoryOf, GPU_ANNOTATION, NOT_NEEDED, OPERATOR, PROFILER_RANGE } from "./categories.ts";
import { JsonFault, SHORT, spaceEnd, stringEnd, type ValueSkipper } from "./json-bytes.ts";
import { LONGEST_NAME } from "./texts.ts";
import { readWhole } from "./time.ts";

/** What is taken of an event. Positions in the slots of EventScanner. */
export const NAME = 0;
export const PID = 1;
export const TID = 2;
export const TS = 3;
export const DUR = 4;
export const DEVICE = 5;
export const STREAM = 6;
export const CORRELATION = 7;
export const EXTERNAL_ID = 8;
export const GRID = 9;
export const BLOCK = 10;
export const REGISTERS = 11;
export const SHARED_MEMORY = 12;
export const BYTES = 13;
export const GRAPH_ID = 14;
export const GRAPH_NODE_ID = 15;
const PHASE = 16;
const CATEGORY = 17;
const ARGS = 18;
const SLOTS = 19;
const UNKNOWN = -1;

/** Slots that tell where a row or a call stands, as keys of a ByteCache. */
export const THREAD_SLOTS = [PID, TID] as const;
export const LANE_SLOTS = [PID, TID, DEVICE, STREAM] as const;
export const SHAPE_SLOTS = [GRID, BLOCK, SHARED_MEMORY, REGISTERS] as const;

type Keys = (readonly (readonly [Uint8Array, number])[])[];

function keys(entries: readonly (readonly [string, number])[]): Keys {
  const table: Keys = [];
  for (const [name, slot] of entries) {
    table[name.length] = [...(table[name.length] ?? []), [Buffer.from(name, "latin1"), slot]];
  }
  return table;
}

const EVENT_KEYS = keys([
  ["ph", PHASE],
  ["cat", CATEGORY],
  ["name", NAME],
  ["pid", PID],
  ["tid", TID],
  ["ts", TS],
  ["dur", DUR],
  ["args", ARGS],
]);

const ARGUMENT_KEYS = keys([
  ["device", DEVICE],
  ["stream", STREAM],
  ["correlation", CORRELATION],
  ["External id", EXTERNAL_ID],
  ["external id", EXTERNAL_ID],
  ["grid", GRID],
  ["block", BLOCK],
  ["registers per thread", REGISTERS],
  ["shared memory", SHARED_MEMORY],
  ["bytes", BYTES],
  ["graph id", GRAPH_ID],
  ["graph node id", GRAPH_NODE_ID],
]);

function slotOf(table: Keys, bytes: Buffer, start: number, end: number): number {
  const candidates = table[end - start];
  if (candidates === undefined) return UNKNOWN;
  for (const [name, slot] of candidates) {
    let at = 0;
    while (at < name.length && bytes[start + at] === name[at]) at++;
    if (at === name.length) return slot;
  }
  return UNKNOWN;
}

/** Phases (`ph`) of the trace event format: complete, and begin or end, which Kineto does not write. */
const COMPLETE = 0x58;
const BEGIN = 0x42;

/**
 * Finds in the bytes of one event where its values are. An event that is not needed is left at the first key that says
 * so (`ph` and `cat` come first in Kineto's files) and skipped to its end.
 */
export class EventScanner {
  /** NOT_NEEDED, or what the event is. */
  category = NOT_NEEDED;
  /** False: a key that is needed stands there twice. */
  isUnambiguous = true;
  /** True: a complete event (`ph` X), with start and duration. */
  isComplete = false;
  hasPhase = false;
  readonly starts = new Int32Array(SLOTS);
  readonly ends = new Int32Array(SLOTS);
  #seen = 0;
  readonly #skipper: ValueSkipper;

  constructor(skipper: ValueSkipper) {
    this.#skipper = skipper;
  }

  has(slot: number): boolean {
    return (this.#seen & (1 << slot)) !== 0;
  }

  /** The values of some slots as one key; `key.isWhole` says whether it may be used. */
  putKey(key: KeyBuffer, slots: readonly number[], bytes: Buffer): void {
    key.clear();
    for (const slot of slots) {
      if (this.has(slot)) key.add(bytes, this.starts[slot] as number, this.ends[slot] as number);
      else key.add(bytes, 0, 0);
    }
  }

  /** Position behind the event that begins at `from`, or SHORT where its end is not among the bytes at hand. */
  scan(bytes: Buffer, from: number, end: number): number {
    this.#seen = 0;
    this.category = NOT_NEEDED;
    this.isUnambiguous = true;
    this.isComplete = false;
    this.hasPhase = false;
    const after = this.#object(bytes, from, end, EVENT_KEYS);
    if (after !== SHORT && !this.has(CATEGORY)) this.category = NOT_NEEDED;
    return after;
  }

  #object(bytes: Buffer, from: number, end: number, table: Keys): number {
    let at = spaceEnd(bytes, from + 1, end);
    if (at < end && bytes[at] === 0x7d) return at + 1;
    for (;;) {
      if (at >= end) return SHORT;
      if (bytes[at] !== 0x22) throw new JsonFault("Expected a key in quotes", at);
      const key = at + 1;
      const keyEnd = stringEnd(bytes, key, end);
      if (keyEnd === SHORT) return SHORT;
      at = spaceEnd(bytes, keyEnd, end);
      if (at >= end) return SHORT;
      if (bytes[at] !== 0x3a) throw new JsonFault("Expected `:` behind a key", at);
      const value = spaceEnd(bytes, at + 1, end);
      if (value >= end) return SHORT;
      const slot = slotOf(table, bytes, key, keyEnd - 1);
      const goesInto = slot === ARGS && bytes[value] === 0x7b && this.#needsArguments();
      at = goesInto ? this.#object(bytes, value, end, ARGUMENT_KEYS) : this.#skipper.valueEnd(bytes, value, end);
      if (at === SHORT) return SHORT;
      if (slot !== UNKNOWN && !this.#take(slot, bytes, value, at)) return this.#skipper.objectEnd(bytes, at, end);
      at = spaceEnd(bytes, at, end);
      if (at >= end) return SHORT;
      const byte = bytes[at];
      if (byte === 0x7d) return at + 1;
      if (byte !== 0x2c) throw new JsonFault("Expected `,` or `}` behind a value", at);
      at = spaceEnd(bytes, at + 1, end);
    }
  }

  #needsArguments(): boolean {
    const { category } = this;
    return category !== ANNOTATION && category !== GPU_ANNOTATION && category !== PROFILER_RANGE;
  }

  /** False: nothing more of this object is needed. */
  #take(slot: number, bytes: Buffer, start: number, end: number): boolean {
    // `External id` and `external id` may stand side by side.
    if ((this.#seen & (1 << slot)) !== 0 && slot !== EXTERNAL_ID) this.isUnambiguous = false;
    this.#seen |= 1 << slot;
    this.starts[slot] = start;
    this.ends[slot] = end;
    if (slot === PHASE) {
      this.hasPhase = true;
      const phase = bytes[start] === 0x22 && end - start === 3 ? bytes[start + 1] : 0;
      this.isComplete = phase === COMPLETE;
      if (phase === COMPLETE || phase === BEGIN) return true;
      this.category = NOT_NEEDED;
      return false;
    }
    if (slot === CATEGORY) {
      this.category = bytes[start] === 0x22 ? categoryOf(bytes, start + 1, end - 1) : NOT_NEEDED;
      return this.category !== NOT_NEEDED;
    }
    // All that is needed of an operator's arguments, which can be long (shapes, call stacks).
    return !(slot === EXTERNAL_ID && this.category === OPERATOR);
  }
}

/** The bytes of a value as latin-1; empty where the event has none. */
export function textOf(event: EventScanner, bytes: Buffer, slot: number): string {
  return event.has(slot) ? bytes.toString("latin1", event.starts[slot], event.ends[slot]) : "";
}

/** See readWhole. */
export function wholeOf(event: EventScanner, bytes: Buffer, slot: number): number {
  return event.has(slot) ? readWhole(bytes, event.starts[slot] as number, event.ends[slot] as number) : Number.NaN;
}

/** Whether a value is a string that may be a name, by its length. */
export function isName(event: EventScanner, bytes: Buffer, slot: number): boolean {
  if (!event.has(slot)) return false;
  const [start, end] = [event.starts[slot] as number, event.ends[slot] as number];
  return bytes[start] === 0x22 && end - start - 2 <= LONGEST_NAME && end - start > 2;
}
