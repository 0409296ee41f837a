import { type NumberFormat, type PrintedNumber, toBase } from "../../base/printed-number.ts";
import type { Absence, MetricSet } from "../../model/metrics.ts";

/**
 * What stands in a cell, one byte a cell. Absences first, then numbers: a whole number as printed, a number rounded to
 * half of ten to some power, and numbers whose separator the file has not explained yet.
 */
const ABSENT = 0;
const ABSENCES: readonly Absence[] = ["absent", "no_data", "nan", "infinite", "not_available", "not_a_number"];
export const NOT_A_NUMBER = 5;
const EXACT = 8;
/** Code of a resolution of 0.5 x 10^e is ROUNDED + e, for e from -24 to 39. */
const ROUNDED = 40;
const LOWEST = -24;
const HIGHEST = 39;
/** Code of an undecided number is one of these plus the power of ten of its unit, at most 39. */
const UNDECIDED_POINT = 80;
const UNDECIDED_COMMA = 120;
const isNumber = (code: number): boolean => code >= EXACT;

/** Words that stand for a missing number, in lower case (Nsight Compute 2020 to 2025; the last ones: Windows runtime). */
const MISSING: Readonly<Record<string, Absence>> = {
  "": "absent",
  "no data": "no_data",
  "n/a": "not_available",
  "(!) n/a": "not_available",
  nan: "nan",
  "-nan": "nan",
  "nan(ind)": "nan",
  "-nan(ind)": "nan",
  inf: "infinite",
  "+inf": "infinite",
  "-inf": "infinite",
  infinity: "infinite",
  "-infinity": "infinite",
};

/** The absence that a word names, or null where it names none. */
export const missingWord = (text: string): Absence | null =>
  text.length > 12 ? null : (MISSING[text.toLowerCase()] ?? null);

/** Code of a cell that holds no number. */
export const absenceCode = (absence: Absence): number => Math.max(ABSENT, ABSENCES.indexOf(absence));

/**
 * Code and value of a printed number in base units. A whole number printed without decimals is exact: Nsight Compute
 * prints decimals wherever there is a fraction (113,000 cells of three pages against their reports). In a file that
 * was saved again by another program, that may have dropped `.00`, it is known to half of two decimals only.
 */
export function encodeNumber(
  printed: PrintedNumber,
  shift: number,
  format: NumberFormat,
  resaved: boolean,
): { code: number; value: number } {
  const isUndecided = printed.ambiguous !== null && !format.proven;
  const isDecimal = !isUndecided && printed.ambiguous !== null && format.isDecimal(printed.ambiguous);
  const decided = isDecimal ? { ...printed, decimals: 3 } : printed;
  const value = toBase(decided, shift);
  if (!Number.isFinite(value)) return { code: absenceCode("infinite"), value: 0 };
  if (isUndecided) {
    return { code: (printed.ambiguous === "." ? UNDECIDED_POINT : UNDECIDED_COMMA) + Math.min(shift, HIGHEST), value };
  }
  return { code: resolutionCode(decided.decimals, shift + printed.exponent, resaved), value };
}

function resolutionCode(decimals: number, shift: number, resaved: boolean): number {
  if (decimals === 0 && shift >= 0 && !resaved) return EXACT;
  const exponent = shift - (decimals === 0 && resaved ? 2 : decimals);
  return ROUNDED + Math.min(HIGHEST, Math.max(LOWEST, exponent));
}

/** Which metrics a launch lists, in order. Launches with the same metrics share one. */
export class Layout {
  readonly names: readonly string[];
  readonly #positions: ReadonlyMap<string, number>;

  /** Where a name stands twice, the later place counts. */
  constructor(names: readonly string[]) {
    this.names = names;
    this.#positions = new Map(names.map((name, position) => [name, position]));
  }

  position(name: string): number {
    return this.#positions.get(name) ?? -1;
  }
}

/** The metrics of one launch: nine bytes a cell and the few texts. */
export class CellMetrics implements MetricSet {
  /** Code of a number that is exact without having been printed as one. */
  static readonly EXACT = EXACT;
  /** True where a code stands for a number. */
  static readonly isNumber = isNumber;
  /** True where a code still waits for the file's number format. */
  static readonly isUndecided = (code: number): boolean => code >= UNDECIDED_POINT;
  readonly #layout: Layout;
  readonly #values: Float64Array;
  readonly #codes: Uint8Array;
  readonly #texts: ReadonlyMap<number, string> | null;

  /** `values` and `codes` go by the places of the layout; where they are shorter, nothing was printed. */
  constructor(layout: Layout, values: Float64Array, codes: Uint8Array, texts: ReadonlyMap<number, string> | null) {
    this.#layout = layout;
    this.#values = values;
    this.#codes = codes;
    this.#texts = texts;
  }

  number(name: string): number | null {
    const at = this.#layout.position(name);
    return isNumber(this.#codes[at] ?? ABSENT) ? (this.#values[at] ?? null) : null;
  }

  text(name: string): string | null {
    return this.#texts?.get(this.#layout.position(name)) ?? null;
  }

  absence(name: string): Absence | null {
    const code = this.#codes[this.#layout.position(name)] ?? ABSENT;
    return isNumber(code) ? null : (ABSENCES[code] ?? "absent");
  }

  resolution(name: string): number {
    const at = this.#layout.position(name);
    const code = this.#codes[at] ?? ABSENT;
    if (!isNumber(code)) return 0;
    const value = Math.abs(this.#values[at] ?? 0);
    if (code === EXACT) return Number.isSafeInteger(value) ? 0 : value * Number.EPSILON;
    // Beyond 2^44 two decimals are finer than a double can hold: what the double itself rounds comes on top.
    return 0.5 * 10 ** (code - ROUNDED) + value * Number.EPSILON;
  }

  *names(): Iterable<string> {
    for (const [at, name] of this.#layout.names.entries()) {
      if ((this.#codes[at] ?? ABSENT) !== ABSENT && this.#layout.position(name) === at) yield name;
    }
  }

  /** Settles the numbers that waited for a proof of the file's number format. */
  settle(format: NumberFormat, resaved: boolean): void {
    for (const [at, code] of this.#codes.entries()) {
      if (code < UNDECIDED_POINT) continue;
      const point = code < UNDECIDED_COMMA;
      const shift = code - (point ? UNDECIDED_POINT : UNDECIDED_COMMA);
      const decimal = format.isDecimal(point ? "." : ",");
      // The value is a whole number of thousandths, so the quotient is the nearest double to the printed decimal.
      if (decimal) this.#values[at] = (this.#values[at] ?? 0) / 1000;
      this.#codes[at] = resolutionCode(decimal ? 3 : 0, shift, resaved);
    }
  }
}

/** How well a cell is known, for choosing between two of one metric: larger is better. */
export const precisionOf = (code: number): number => {
  if (!isNumber(code)) return code === ABSENT ? -2000 : -1000;
  if (code === EXACT) return 1000;
  if (code >= UNDECIDED_COMMA) return 3 - (code - UNDECIDED_COMMA);
  if (code >= UNDECIDED_POINT) return 3 - (code - UNDECIDED_POINT);
  return ROUNDED - code;
};
