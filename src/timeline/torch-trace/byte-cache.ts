import { NONE } from "../../model/timeline.ts";

const SLOTS = 4096;
/** Bytes that are hashed of a longer key: some from the front, the end, and between. */
const HASHED = 64;
const NO_KEY = new Uint8Array(0);

/**
 * Remembers what bytes stand for, so that a text that thousands of events repeat is made a string once. Every key has
 * two places, and a third with the same two puts out the older: memory is bounded, and no keys can be chosen that make
 * it slow.
 */
export class ByteCache {
  readonly #keys: Uint8Array[] = new Array<Uint8Array>(SLOTS).fill(NO_KEY);
  readonly #values = new Uint32Array(SLOTS);
  #slot = 0;

  /** What was kept for these bytes, of which there is at least one; NONE where nothing was. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const slot = hashOf(bytes, start, end) & (SLOTS - 1);
    this.#slot = slot;
    if (isSame(this.#keys[slot] as Uint8Array, bytes, start, end)) return this.#values[slot] as number;
    if (isSame(this.#keys[slot ^ 1] as Uint8Array, bytes, start, end)) return this.#values[slot ^ 1] as number;
    return NONE;
  }

  /** To be called right behind a `find` of the same bytes. */
  keep(bytes: Uint8Array, start: number, end: number, value: number): void {
    const slot = this.#slot;
    this.#keys[slot ^ 1] = this.#keys[slot] as Uint8Array;
    this.#values[slot ^ 1] = this.#values[slot] as number;
    const key = new Uint8Array(end - start);
    key.set(bytes.subarray(start, end));
    this.#keys[slot] = key;
    this.#values[slot] = value;
  }
}

function isSame(key: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  const { length } = key;
  if (length !== end - start) return false;
  for (let at = 0; at < length; at++) if (key[at] !== bytes[start + at]) return false;
  return true;
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  let hash = length;
  if (length <= HASHED) {
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  } else {
    const step = (length / HASHED) | 0;
    for (let at = start; at < end; at += step) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    for (let at = end - 16; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  }
  return hash ^ (hash >>> 15);
}

/** Several values of one event as one key. */
export class KeyBuffer {
  readonly bytes = new Uint8Array(512);
  length = 0;
  /** False where the values are longer than keys of this kind are. */
  isWhole = true;

  clear(): void {
    this.length = 0;
    this.isWhole = true;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    if (this.length + end - start + 1 > this.bytes.length) {
      this.isWhole = false;
      return;
    }
    let to = this.length;
    for (let at = start; at < end; at++) this.bytes[to++] = bytes[at] as number;
    // No byte of UTF-8.
    this.bytes[to++] = 0xff;
    this.length = to;
  }
}
