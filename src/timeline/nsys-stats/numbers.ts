import { NumberFormat, type PrintedNumber, scanNumber, toBase } from "../../base/printed-number.ts";
import type { ReadFailure } from "../../model/report.ts";
import { Refused } from "../refused.ts";
import type { TableSink } from "./document.ts";
import type { Column, Layout, Role } from "./layout.ts";

/** Columns without which a row counts for nothing. */
export const NEEDED: Readonly<Record<Layout["kind"], readonly Role[]>> = {
  sum: ["total", "instances"],
  trace: ["duration"],
};
const TEXTS: ReadonlySet<Role> = new Set<Role>(["name", "device"]);

/**
 * The first reading of a text: by which locale its numbers are printed (`744.226` ns can be 744 thousand), decided once
 * for all of it from cells that allow one reading only.
 */
export class NumberSurvey implements TableSink {
  readonly format = new NumberFormat();
  #undecided: { readonly text: string; readonly line: number } | null = null;

  begin(): void {}
  malformed(): void {}
  skipped(): void {}

  row(cells: readonly string[], layout: Layout, line: number): boolean {
    if (NEEDED[layout.kind].some((role) => printed(cells, layout.roles.get(role)) === null)) return false;
    for (const [role, column] of layout.roles) {
      if (TEXTS.has(role)) continue;
      const number = printed(cells, column);
      if (number === null) continue;
      this.format.observe(number, cells[column.index] ?? "", line);
      const isNeeded = role === "start" || NEEDED[layout.kind].includes(role);
      if (isNeeded && number.ambiguous !== null) this.#undecided ??= { text: cells[column.index] ?? "", line };
    }
    return true;
  }

  /** @throws Refused where numbers that matter allow two readings. */
  decide(): NumberFormat {
    const { english, european, contradictory, proven } = this.format;
    if (contradictory && english !== null && european !== null) {
      throw new Refused(
        undecidable(
          `"${english.text}" (line ${english.line}) has a decimal point and "${european.text}" (line ${european.line}) a decimal comma`,
          { line: european.line },
        ),
      );
    }
    if (!proven && this.#undecided !== null) {
      const { text, line } = this.#undecided;
      throw new Refused(
        undecidable(`"${text.trim()}" (line ${line}) can be read with thousands or with decimals`, { line }),
      );
    }
    return this.format;
  }
}

const undecidable = (what: string, evidence: ReadFailure["evidence"]): ReadFailure => ({
  code: "malformed",
  message: `the number format of this table of nsys stats cannot be told: ${what}`,
  hint: "print it again in the C locale: LC_ALL=C nsys stats -r cuda_gpu_trace --format csv FILE.nsys-rep",
  evidence,
});

function printed(cells: readonly string[], column: Column | undefined): PrintedNumber | null {
  return column === undefined ? null : scanNumber((cells[column.index] ?? "").trim());
}

/** Reads numbers of a row in base units: nanoseconds, bytes, a plain count. */
export class NumberReader {
  readonly #format: NumberFormat;
  /** What the last digit of the number read last stands for, in base units. */
  resolution = 0;

  constructor(format: NumberFormat) {
    this.#format = format;
  }

  /** Null where the cell is empty, holds no number, or its unit or format is not known. */
  read(cells: readonly string[], column: Column | undefined): number | null {
    const number = printed(cells, column);
    const shift = column?.shift ?? null;
    if (number === null || shift === null) return null;
    if (number.ambiguous === null) {
      this.resolution = 10 ** (shift + number.exponent - number.decimals);
      return toBase(number, shift);
    }
    if (!this.#format.proven) return null;
    const decimals = this.#format.isDecimal(number.ambiguous) ? 3 : 0;
    this.resolution = 10 ** (shift - decimals);
    return toBase(number, shift - decimals);
  }
}
