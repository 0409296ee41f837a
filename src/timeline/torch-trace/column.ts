/** A list of numbers that grows, eight bytes each. */
export class NumberColumn {
  length = 0;
  values = new Float64Array(1024);

  push(value: number): void {
    if (this.length === this.values.length) {
      const larger = new Float64Array(this.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.length++] = value;
  }

  at(position: number): number {
    return this.values[position] as number;
  }

  set(position: number, value: number): void {
    this.values[position] = value;
  }
}
