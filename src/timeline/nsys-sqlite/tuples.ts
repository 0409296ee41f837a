/** Gives each distinct tuple of numbers a position. Keys of text would cost more than reading the rows does. */
export class Tuples {
  readonly #width: number;
  #values: Float64Array;
  #count = 0;
  /** Position + 1 by hash, 0 where free; at most half full. */
  #table = new Int32Array(1024);
  #last = -1;

  constructor(width: number) {
    this.#width = width;
    this.#values = new Float64Array(width * 64);
  }

  /** Position of the tuple that begins at `from`; what `count` was before the call where it is new. NaN equals itself. */
  add(values: Float64Array, from: number): number {
    if (this.#last >= 0 && this.#is(this.#last, values, from)) return this.#last;
    const mask = this.#table.length - 1;
    let slot = this.#hash(values, from) & mask;
    for (let found = this.#table[slot] as number; found !== 0; found = this.#table[slot] as number) {
      if (this.#is(found - 1, values, from)) {
        this.#last = found - 1;
        return found - 1;
      }
      slot = (slot + 1) & mask;
    }
    this.#table[slot] = this.#count + 1;
    return this.#append(values, from);
  }

  value(position: number, column: number): number {
    return this.#values[position * this.#width + column] as number;
  }

  get count(): number {
    return this.#count;
  }

  #append(values: Float64Array, from: number): number {
    const width = this.#width;
    if ((this.#count + 1) * width > this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values.set(values.subarray(from, from + width), this.#count * width);
    this.#last = this.#count++;
    if (this.#count * 2 > this.#table.length) this.#grow();
    return this.#count - 1;
  }

  #grow(): void {
    this.#table = new Int32Array(this.#table.length * 4);
    const mask = this.#table.length - 1;
    for (let position = 0; position < this.#count; position++) {
      let slot = this.#hash(this.#values, position * this.#width) & mask;
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask;
      this.#table[slot] = position + 1;
    }
  }

  #is(position: number, values: Float64Array, from: number): boolean {
    const start = position * this.#width;
    for (let at = 0; at < this.#width; at++) {
      const a = this.#values[start + at] as number;
      const b = values[from + at] as number;
      if (a !== b && !(Number.isNaN(a) && Number.isNaN(b))) return false;
    }
    return true;
  }

  #hash(values: Float64Array, from: number): number {
    let hash = 0;
    for (let at = 0; at < this.#width; at++) {
      hash = Math.imul(hash ^ (values[from + at] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return hash;
  }
}
