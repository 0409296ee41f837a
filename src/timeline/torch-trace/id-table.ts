import { NONE } from "../../model/timeline.ts";

const PAGE_BITS = 8;
const PAGE = 2 ** PAGE_BITS;
/** Room in pages for each id, beyond which ids are too far from each other for pages. */
const MOST_ROOM = 8;
const FREE_ROOM = 1024 * PAGE;
const FIRST_SLOTS = 2 ** 16;
const NO_PAGE = new Uint32Array(0);

/**
 * Whole numbers to positions, for millions of ids. The ids of a trace are counted up, so they lie close together and a
 * page of 256 takes four bytes an id; ids that do not (a file made to take memory) go into a table with open addressing.
 */
export class IdTable {
  count = 0;
  #pages: Map<number, Uint32Array> | null = new Map();
  #number = -1;
  #page: Uint32Array = NO_PAGE;
  #keys = new Float64Array(0);
  #values = new Uint32Array(0);

  /** NONE where the id is not there. */
  get(id: number): number {
    if (this.#pages !== null) return this.#turnTo(id) ? (this.#page[id % PAGE] as number) : NONE;
    const slot = this.#slot(id);
    return this.#keys[slot] === id ? (this.#values[slot] as number) : NONE;
  }

  set(id: number, value: number): void {
    if (this.#pages === null) {
      this.#setSparse(id, value);
      return;
    }
    if (!this.#turnTo(id)) {
      if ((this.#pages.size + 1) * PAGE > this.count * MOST_ROOM + FREE_ROOM) {
        this.#leavePages(this.#pages);
        this.#setSparse(id, value);
        return;
      }
      this.#page = new Uint32Array(PAGE).fill(NONE);
      this.#pages.set(this.#number, this.#page);
    }
    const place = id % PAGE;
    if (this.#page[place] === NONE) this.count++;
    this.#page[place] = value;
  }

  /** Makes the page of the id the current one; false where there is none yet. */
  #turnTo(id: number): boolean {
    const number = Math.floor(id / PAGE);
    if (number === this.#number) return this.#page.length > 0;
    this.#number = number;
    const page = this.#pages?.get(number);
    this.#page = page ?? NO_PAGE;
    return page !== undefined;
  }

  #leavePages(pages: Map<number, Uint32Array>): void {
    this.#pages = null;
    this.count = 0;
    this.#keys = new Float64Array(FIRST_SLOTS).fill(Number.NaN);
    this.#values = new Uint32Array(FIRST_SLOTS);
    for (const [number, page] of pages) {
      for (let place = 0; place < PAGE; place++) {
        const value = page[place] as number;
        if (value !== NONE) this.#setSparse(number * PAGE + place, value);
      }
    }
  }

  #setSparse(id: number, value: number): void {
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
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const key = this.#keys[slot] as number;
      if (key === id || Number.isNaN(key)) return slot;
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
