import { NONE } from "../../model/timeline.ts";

const FIRST_SLOTS = 1024;

/**
 * Whole numbers to positions, in typed arrays with open addressing: a Map of the millions of ids of a long trace takes
 * three times the memory.
 */
export class IdTable {
  count = 0;
  #keys = new Float64Array(FIRST_SLOTS).fill(Number.NaN);
  #values = new Uint32Array(FIRST_SLOTS);

  /** NONE where the id is not there. */
  get(id: number): number {
    const slot = this.#slot(id);
    return this.#keys[slot] === id ? (this.#values[slot] as number) : NONE;
  }

  set(id: number, value: number): void {
    if (this.count * 2 >= this.#keys.length) this.#grow();
    const slot = this.#slot(id);
    if (this.#keys[slot] !== id) this.count++;
    this.#keys[slot] = id;
    this.#values[slot] = value;
  }

  /** Where the id is, or a free slot (NaN), which there always is. */
  #slot(id: number): number {
    const mask = this.#keys.length - 1;
    let hash = Math.imul((id >>> 0) ^ Math.imul((id / 2 ** 32) >>> 0, 0x9e3779b1), 0x85ebca6b);
    hash ^= hash >>> 15;
    let slot = hash & mask;
    for (;;) {
      const key = this.#keys[slot] as number;
      if (key === id || Number.isNaN(key)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Float64Array(keys.length * 2).fill(Number.NaN);
    this.#values = new Uint32Array(keys.length * 2);
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as number;
      if (Number.isNaN(key)) continue;
      const slot = this.#slot(key);
      this.#keys[slot] = key;
      this.#values[slot] = values[at] as number;
    }
  }
}
