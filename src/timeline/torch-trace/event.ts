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

/** Keys of an event itself, by their length and bytes. */
function eventSlot(bytes: Buffer, at: number, length: number): number {
  const first = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (length === 2) {
    if (first === 0x70 && second === 0x68) return PHASE;
    return first === 0x74 && second === 0x73 ? TS : UNKNOWN;
  }
  if (length === 3) {
    const third = bytes[at + 2] as number;
    if (third === 0x64 && second === 0x69) return first === 0x70 ? PID : first === 0x74 ? TID : UNKNOWN;
    if (first === 0x64 && second === 0x75 && third === 0x72) return DUR;
    return first === 0x63 && second === 0x61 && third === 0x74 ? CATEGORY : UNKNOWN;
  }
  if (length !== 4) return UNKNOWN;
  if (isKey(bytes, at, KEY_NAME)) return NAME;
  return isKey(bytes, at, KEY_ARGS) ? ARGS : UNKNOWN;
}

const key = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"));
const KEY_NAME = key("name");
const KEY_ARGS = key("args");
const KEY_GRID = key("grid");
const KEY_BLOCK = key("block");
const KEY_BYTES = key("bytes");
const KEY_DEVICE = key("device");
const KEY_STREAM = key("stream");
const KEY_GRAPH_ID = key("graph id");
const KEY_CORRELATION = key("correlation");
const KEY_EXTERNAL_ID = key("xternal id");
const KEY_SHARED_MEMORY = key("shared memory");
const KEY_GRAPH_NODE_ID = key("graph node id");
const KEY_REGISTERS = key("registers per thread");

function isKey(bytes: Buffer, from: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at++) if (bytes[from + at] !== name[at]) return false;
  return true;
}

/** Keys of `args`. `External id` was `external id` in 2021. */
function argumentSlot(bytes: Buffer, at: number, length: number): number {
  switch (length) {
    case 4:
      return isKey(bytes, at, KEY_GRID) ? GRID : UNKNOWN;
    case 5:
      return isKey(bytes, at, KEY_BLOCK) ? BLOCK : isKey(bytes, at, KEY_BYTES) ? BYTES : UNKNOWN;
    case 6:
      return isKey(bytes, at, KEY_DEVICE) ? DEVICE : isKey(bytes, at, KEY_STREAM) ? STREAM : UNKNOWN;
    case 8:
      return isKey(bytes, at, KEY_GRAPH_ID) ? GRAPH_ID : UNKNOWN;
    case 11:
      if (isKey(bytes, at, KEY_CORRELATION)) return CORRELATION;
      return ((bytes[at] as number) | 0x20) === 0x65 && isKey(bytes, at + 1, KEY_EXTERNAL_ID) ? EXTERNAL_ID : UNKNOWN;
    case 13:
      if (isKey(bytes, at, KEY_SHARED_MEMORY)) return SHARED_MEMORY;
      return isKey(bytes, at, KEY_GRAPH_NODE_ID) ? GRAPH_NODE_ID : UNKNOWN;
    case 20:
      return isKey(bytes, at, KEY_REGISTERS) ? REGISTERS : UNKNOWN;
    default:
      return UNKNOWN;
  }
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
    const after = this.#object(bytes, from, end, false);
    if (after !== SHORT && !this.has(CATEGORY)) this.category = NOT_NEEDED;
    return after;
  }

  #object(bytes: Buffer, from: number, end: number, isArguments: boolean): number {
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
      const length = keyEnd - 1 - key;
      const slot = isArguments ? argumentSlot(bytes, key, length) : eventSlot(bytes, key, length);
      const goesInto = slot === ARGS && bytes[value] === 0x7b && this.#needsArguments();
      at = goesInto ? this.#object(bytes, value, end, true) : this.#skipper.valueEnd(bytes, value, end);
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
