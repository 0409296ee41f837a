/**
 * The metric names of a report. Reports number them: a metric refers to its name by the position in a table that grows
 * block by block. One table is shared by all launches of a report.
 */
export class NameTable {
  readonly #names: string[] = [];
  readonly #ids = new Map<string, number>();
  /** By position in the file's table: the first position with the same name. */
  readonly #canonical: number[] = [];
  readonly #wanted: boolean[] = [];
  readonly #want: (name: string) => boolean;

  /** Memory that the table takes, roughly. */
  bytes = 0;

  /** `want` is asked once a name. */
  constructor(want: (name: string) => boolean) {
    this.#want = want;
  }

  get size(): number {
    return this.#names.length;
  }

  add(name: string): void {
    const id = this.#names.length;
    const known = this.#ids.get(name);
    this.#names.push(name);
    this.bytes += 32 + (known === undefined ? 2 * name.length + 64 : 0);
    this.#canonical.push(known ?? id);
    this.#wanted.push(known === undefined ? this.#want(name) : (this.#wanted[known] ?? false));
    if (known === undefined) this.#ids.set(name, id);
  }

  /** The one id of all entries with the same name; `id` must be below `size`. */
  canonical(id: number): number {
    return this.#canonical[id] ?? id;
  }

  wants(id: number): boolean {
    return this.#wanted[id] ?? false;
  }

  name(id: number): string {
    return this.#names[id] ?? "";
  }

  id(name: string): number | undefined {
    return this.#ids.get(name);
  }
}
