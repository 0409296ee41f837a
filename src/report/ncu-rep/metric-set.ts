import type { Absence, MetricSet } from "../../model/metrics.ts";
import type { NameTable } from "./name-table.ts";

/** What a metric of a launch holds. The order is that of {@link ABSENCES}. */
export const HOLDS = { number: 0, noData: 1, instancesOnly: 2, nan: 3, infinite: 4, text: 5 } as const;

const ABSENCES: readonly (Absence | null)[] = [null, "no_data", "instances_only", "nan", "infinite", "not_a_number"];

/**
 * Which metrics a launch has, in the order of the report. Launches of one run mostly have the same, so they share one
 * layout: a launch with two thousand metrics then costs little more than its numbers.
 */
export class Layout {
  readonly ids: Uint32Array;
  /** By name id: one more than the position of the metric, 0 where there is none. */
  readonly #positions: Uint32Array;

  constructor(ids: Uint32Array, names: number) {
    this.ids = ids;
    this.#positions = new Uint32Array(names);
    ids.forEach((id, position) => {
      this.#positions[id] = position + 1;
    });
  }

  /** Position of the metric with this name id, -1 where the launch has none. */
  position(id: number | undefined): number {
    return id === undefined ? -1 : (this.#positions[id] ?? 0) - 1;
  }

  get bytes(): number {
    return this.ids.byteLength + this.#positions.byteLength;
  }
}

/** The metrics of one launch as columns. `holds` is null where every metric holds a number. */
export class ColumnMetrics implements MetricSet {
  readonly #names: NameTable;
  readonly #layout: Layout;
  readonly #values: Float64Array;
  readonly #holds: Uint8Array | null;
  readonly #texts: ReadonlyMap<number, string> | null;

  constructor(
    names: NameTable,
    layout: Layout,
    values: Float64Array,
    holds: Uint8Array | null,
    texts: ReadonlyMap<number, string> | null,
  ) {
    this.#names = names;
    this.#layout = layout;
    this.#values = values;
    this.#holds = holds;
    this.#texts = texts;
  }

  number(name: string): number | null {
    const position = this.#layout.position(this.#names.id(name));
    if (position < 0 || (this.#holds !== null && this.#holds[position] !== HOLDS.number)) return null;
    return this.#values[position] ?? null;
  }

  text(name: string): string | null {
    const position = this.#layout.position(this.#names.id(name));
    return position < 0 ? null : (this.#texts?.get(position) ?? null);
  }

  absence(name: string): Absence | null {
    const position = this.#layout.position(this.#names.id(name));
    if (position < 0) return "absent";
    return ABSENCES[this.#holds?.[position] ?? HOLDS.number] ?? null;
  }

  /** A report holds full precision. */
  resolution(): number {
    return 0;
  }

  /** Calls `visit` for each metric in order: name id, what it holds (see {@link HOLDS}), number, text. */
  forEach(visit: (id: number, holds: number, value: number, text: string | null) => void): void {
    this.#layout.ids.forEach((id, position) => {
      const holds = this.#holds?.[position] ?? HOLDS.number;
      visit(id, holds, this.#values[position] ?? 0, this.#texts?.get(position) ?? null);
    });
  }

  *names(): Iterable<string> {
    for (const id of this.#layout.ids) yield this.#names.name(id);
  }
}
