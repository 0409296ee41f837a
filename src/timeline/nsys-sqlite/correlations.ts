const KERNEL = 1;
const GRAPH_NODE = 2;
const CALLED = 4;
/** The first row of its key. */
const FIRST = 8;

/**
 * Finds the GPU rows of an API call. A correlation id is good inside one process only, so the key is both. Open
 * addressing over typed arrays: a Map of a million keys takes five times the memory.
 */
export class Correlations {
  readonly #processes = new Map<number, number>();
  #count = 0;
  #ids = new Float64Array(0);
  #process = new Uint32Array(0);
  #flags = new Uint8Array(0);
  /** Next row of the same key + 1, 0 at the end. */
  #next = new Uint32Array(0);
  /** First row of a key + 1, 0 where free; at most half full. */
  #table = new Uint32Array(0);
  /** A bit for each key, several keys to a bit: most calls launch nothing, and this says so without a search. */
  #maybe = new Uint8Array(1);
  /** What was found last: the row behind it is often that of the next call. */
  #last = -1;

  reserve(rows: number): void {
    if (rows <= this.#ids.length) return;
    const ids = new Float64Array(rows);
    ids.set(this.#ids);
    this.#ids = ids;
    const process = new Uint32Array(rows);
    process.set(this.#process);
    this.#process = process;
    const flags = new Uint8Array(rows);
    flags.set(this.#flags);
    this.#flags = flags;
  }

  /** @param id As in the file; NaN where there is none. 0 stands for none too (migrations of managed memory). */
  add(at: number, process: number, id: number, isKernel: boolean, isGraphNode: boolean): void {
    if (at >= this.#ids.length) this.reserve(Math.max(1024, this.#ids.length * 2));
    this.#ids[at] = isId(id) ? id : 0;
    this.#process[at] = this.#processOf(process);
    this.#flags[at] = (isKernel ? KERNEL : 0) | (isGraphNode ? GRAPH_NODE : 0);
    this.#count = at + 1;
  }

  /** To be called once, after the last row. */
  index(): void {
    let size = 1024;
    while (size < this.#count * 2) size *= 2;
    this.#table = new Uint32Array(size);
    this.#next = new Uint32Array(this.#count);
    this.#maybe = new Uint8Array(size);
    for (let at = this.#count - 1; at >= 0; at--) {
      const id = this.#ids[at] as number;
      if (id === 0) continue;
      const bit = this.#bit(this.#process[at] as number, id);
      this.#maybe[bit >>> 3] = (this.#maybe[bit >>> 3] as number) | (1 << (bit & 7));
      const slot = this.#slot(this.#process[at] as number, id);
      this.#next[at] = this.#table[slot] as number;
      this.#table[slot] = at + 1;
      this.#flags[at] = (this.#flags[at] as number) | FIRST;
      const next = this.#next[at] as number;
      if (next !== 0) this.#flags[next - 1] = (this.#flags[next - 1] as number) & ~FIRST;
    }
  }

  /** Calls `onRow` for every row of the key that no call found before, in order; gives how many rows the key has. */
  find(process: number, id: number, onRow: (at: number) => void): number {
    if (!isId(id)) return 0;
    const known = this.#processes.get(process);
    if (known === undefined) return 0;
    let found = 0;
    for (let at = this.#first(known, id); at !== 0; at = this.#next[at - 1] as number) {
      this.#last = at - 1;
      const flags = this.#flags[at - 1] as number;
      this.#flags[at - 1] = flags | CALLED;
      if ((flags & CALLED) === 0) onRow(at - 1);
      found++;
    }
    return found;
  }

  /** Gives the memory back; nothing is found afterwards. */
  release(): void {
    this.#count = 0;
    this.#ids = new Float64Array(0);
    this.#process = new Uint32Array(0);
    this.#flags = new Uint8Array(0);
    this.#next = new Uint32Array(0);
    this.#table = new Uint32Array(1);
    this.#maybe = new Uint8Array(1);
  }

  /** Kernels that no call found. */
  kernelsWithoutCall(): number {
    let count = 0;
    for (let at = 0; at < this.#count; at++) if (((this.#flags[at] as number) & (KERNEL | CALLED)) === KERNEL) count++;
    return count;
  }

  /** Keys that several kernels share of which none is a graph node. */
  shared(): number {
    let shared = 0;
    for (let first = 0; first < this.#count; first++) {
      if (this.#next[first] === 0 || ((this.#flags[first] as number) & FIRST) === 0) continue;
      let kernels = 0;
      let nodes = 0;
      for (let at = first + 1; at !== 0; at = this.#next[at - 1] as number) {
        const flags = this.#flags[at - 1] as number;
        if (flags & KERNEL) kernels++;
        if (flags & GRAPH_NODE) nodes++;
      }
      if (kernels > 1 && nodes === 0) shared++;
    }
    return shared;
  }

  #processOf(process: number): number {
    const known = this.#processes.get(process);
    if (known !== undefined) return known;
    this.#processes.set(process, this.#processes.size);
    return this.#processes.size - 1;
  }

  /** The first row of a key + 1, 0 where there is none. */
  #first(process: number, id: number): number {
    const next = this.#last + 1;
    if (
      next < this.#count &&
      this.#ids[next] === id &&
      this.#process[next] === process &&
      ((this.#flags[next] as number) & FIRST) !== 0
    ) {
      return next + 1;
    }
    const bit = this.#bit(process, id);
    if (((this.#maybe[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return 0;
    return this.#table[this.#slot(process, id)] as number;
  }

  /** Ids that follow one another have bits that do, so that a run of calls stays within a few lines of the cache. */
  #bit(process: number, id: number): number {
    return (id + Math.imul(process, 0x85ebca6b)) & (this.#maybe.length * 8 - 1);
  }

  #slot(process: number, id: number): number {
    const mask = this.#table.length - 1;
    let hash = Math.imul((id ^ (id / 2 ** 32)) + Math.imul(process, 0x85ebca6b), 0x9e3779b1);
    hash ^= hash >>> 15;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = this.#table[slot] as number;
      if (at === 0 || (this.#ids[at - 1] === id && this.#process[at - 1] === process)) return slot;
    }
  }
}

const isId = (id: number): boolean => Number.isSafeInteger(id) && id !== 0;
