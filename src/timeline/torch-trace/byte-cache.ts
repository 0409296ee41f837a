import { NONE } from "../../model/timeline.ts";

const SLOTS = 4096;
/** Bytes that are hashed of a longer key: some from the front, the end, and between. */
const HASHED = 64;

/**
 * Remembers what bytes stand for, so that a text that thousands of events repeat is made a string once. Every key has
 * one slot and puts out what was there: memory is bounded, and no keys can be chosen that make it slow.
 */
export class ByteCache {
  readonly #keys: (Uint8Array | undefined)[] = new Array<Uint8Array | undefined>(SLOTS).fill(undefined);
  readonly #values = new Uint32Array(SLOTS);
  #slot = 0;

  /** What was kept for these bytes; NONE where nothing was. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const slot = hashOf(bytes, start, end) & (SLOTS - 1);
    this.#slot = slot;
    const key = this.#keys[slot];
    if (key === undefined || key.length !== end - start) return NONE;
    for (let at = 0; at < key.length; at++) if (key[at] !== bytes[start + at]) return NONE;
    return this.#values[slot] as number;
  }

  /** To be called right behind a `find` of the same bytes. */
  keep(bytes: Uint8Array, start: number, end: number, value: number): void {
    this.#keys[this.#slot] = Uint8Array.prototype.slice.call(bytes, start, end);
    this.#values[this.#slot] = value;
  }
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
