import type { KernelNames } from "../../model/launch.ts";
import type { KernelSum } from "../../model/timeline.ts";
import { Pool } from "../rows.ts";
import type { Layout, Role } from "./layout.ts";
import type { NumberReader } from "./numbers.ts";

/** A table is compared with others of the text by what it says of all kernels together. */
export interface Totals {
  launches: number;
  total_ns: number;
  /** By how much `total_ns` may be off because of rounding. */
  rounding_ns: number;
}

/** Names of a table; the option that shortened them is not printed. */
export const printedName = (text: string): KernelNames => ({
  mangled: text.startsWith("_Z") ? text : null,
  function: null,
  demangled: text.startsWith("_Z") ? null : text,
  display: text,
  simplified: false,
});

export const namePool = (): Pool<KernelNames> => new Pool((names) => names.display);

/** One table of kernels by name. */
export class SumTable {
  readonly kind = "sum";
  readonly totals: Totals = { launches: 0, total_ns: 0, rounding_ns: 0 };
  readonly names = namePool();
  readonly line: number;
  readonly isByShape: boolean;
  malformed = 0;
  readonly #sums = new Map<number, KernelSum>();
  readonly #numbers: NumberReader;

  constructor(layout: Layout, line: number, numbers: NumberReader) {
    this.line = line;
    this.isByShape = layout.isByShape;
    this.#numbers = numbers;
  }

  get count(): number {
    return this.#sums.size;
  }

  get sums(): readonly KernelSum[] {
    return [...this.#sums.values()];
  }

  row(cells: readonly string[], { roles }: Layout): boolean {
    const read = (role: Role): number | null => this.#numbers.read(cells, roles.get(role));
    const launches = read("instances");
    const total = read("total");
    const { resolution } = this.#numbers;
    const text = (cells[roles.get("name")?.index ?? -1] ?? "").trim();
    if (launches === null || total === null) return false;
    if (!Number.isSafeInteger(launches) || launches < 0 || !(total >= 0) || text === "") {
      this.malformed++;
      return true;
    }
    const name = this.names.add(printedName(text));
    const sum: KernelSum = {
      name,
      launches,
      total_ns: total,
      mean_ns: read("mean"),
      median_ns: read("median"),
      min_ns: read("min"),
      max_ns: read("max"),
      stddev_ns: read("stddev"),
    };
    const known = this.#sums.get(name);
    this.#sums.set(name, known === undefined ? sum : together(known, sum));
    this.totals.launches += launches;
    this.totals.total_ns += total;
    if (resolution > 1) this.totals.rounding_ns += resolution / 2;
    return true;
  }
}

/** One name in several rows: one for each grid. Median and deviation of the whole do not follow from those of the parts. */
function together(a: KernelSum, b: KernelSum): KernelSum {
  const launches = a.launches + b.launches;
  const total_ns = a.total_ns + b.total_ns;
  const least = a.min_ns !== null && b.min_ns !== null ? Math.min(a.min_ns, b.min_ns) : null;
  const most = a.max_ns !== null && b.max_ns !== null ? Math.max(a.max_ns, b.max_ns) : null;
  return {
    name: a.name,
    launches,
    total_ns,
    mean_ns: launches > 0 ? total_ns / launches : null,
    median_ns: null,
    min_ns: least,
    max_ns: most,
    stddev_ns: null,
  };
}
