type Values = Float64Array | Uint32Array | Uint8Array;

/** A list of numbers that grows by half its length, so that a long one does not take twice what it holds. */
export class NumberColumn {
  length = 0;
  #values: Values;

  private constructor(values: Values) {
    this.#values = values;
  }

  /** Any number, eight bytes each. */
  static wide = (): NumberColumn => new NumberColumn(new Float64Array(1024));
  /** 0 to 2^32 - 1. */
  static whole = (): NumberColumn => new NumberColumn(new Uint32Array(1024));
  /** 0 to 255. */
  static small = (): NumberColumn => new NumberColumn(new Uint8Array(1024));

  push(value: number): void {
    const values = this.#values;
    if (this.length === values.length) {
      const larger = new (values.constructor as new (length: number) => Values)(values.length + (values.length >> 1));
      larger.set(values);
      this.#values = larger;
    }
    this.#values[this.length++] = value;
  }

  at(position: number): number {
    return this.#values[position] as number;
  }

  set(position: number, value: number): void {
    this.#values[position] = value;
  }
}
