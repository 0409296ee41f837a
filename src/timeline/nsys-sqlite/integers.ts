import { Refused } from "../refused.ts";
import { type Database, damaged, quoted, type Table, textOf } from "./database.ts";

/** What stands in a column in place of a whole number that a double holds exactly. */
export const NULL = Number.NaN;
/** A number outside of 64 bits with sign. */
export const OUTSIDE = Number.POSITIVE_INFINITY;
/** No whole number at all. */
export const MALFORMED = Number.NEGATIVE_INFINITY;

/** Rows for which SQLite is asked at once: some 150 KB of text. */
const CHUNK = 1000n;
/** An int64 has 20 characters; of what is longer the beginning tells that it is none. */
const WIDEST = 24;
/** Bytes of a text that are kept. */
const LONGEST_TEXT = 16_384;
const FIELD = "\x1f";
const ROW = "\x1e";
const FIELD_BYTE = 0x1f;
const ROW_BYTE = 0x1e;
const EXACT_DIGITS = 15;
const MAX_INT64 = 2n ** 63n - 1n;
const FIRST_ROW = -(2n ** 63n);

export interface Columns {
  /** Those that the table lacks read as NULL. */
  readonly integers: readonly string[];
  /** One more column, of text. */
  readonly text?: string;
  /** A condition, of this reader's own making. */
  readonly where?: string;
}

/** One row, valid only during the call. */
export interface IntegerRow {
  /**
   * By column: a whole number (the nearest double, beyond 2^53), or NULL, OUTSIDE, MALFORMED. A column that a version of
   * the schema does not have is NULL.
   */
  readonly values: Float64Array;
  /** The digits of a column as they stand, for values beyond 2^53. */
  digits(column: number): string;
  /** The text column's bytes in hexadecimal, null where it is NULL. */
  readonly hex: string | null;
}

/**
 * Reads whole numbers of all rows of a table. Fetching a million rows of twenty values one by one takes three times as
 * long as what is done here: SQLite prints a thousand rows into one text, which is then taken apart; printed, a value
 * that is no number, or wider than a double, shows by itself.
 *
 * @param onRow Null: a row whose cells cannot be told apart.
 */
export function readIntegers(
  database: Database,
  table: Table,
  columns: Columns,
  onRow: (row: IntegerRow | null) => void,
): void {
  const { integers } = columns;
  const has = (column: string): boolean => table.columns.has(column);
  const cells = integers.map((column) => (has(column) ? quoted(column) : "NULL"));
  const formats = integers.map(() => `%.${WIDEST}s`);
  if (columns.text !== undefined) {
    const text = has(columns.text) ? quoted(columns.text) : "NULL";
    formats.push("%s");
    cells.push(
      `CASE WHEN ${text} IS NULL THEN '' ELSE 'x' || hex(substr(CAST(${text} AS BLOB), 1, ${LONGEST_TEXT})) END`,
    );
  }
  const from = `FROM ${quoted(table.name)} NOT INDEXED`;
  const where = columns.where === undefined ? "" : `AND (${columns.where})`;
  const print = database.prepare(
    `SELECT CAST(group_concat(format('${formats.join(FIELD)}', ${cells.join(", ")}), '${ROW}') AS BLOB)
     ${from} WHERE rowid BETWEEN ? AND ? ${where}`,
  );
  const next = database.prepare(`SELECT CAST(rowid AS TEXT) ${from} WHERE rowid >= ? ${where} ORDER BY rowid LIMIT 1`);
  const reader = new RowReader(integers.length, columns.text !== undefined, onRow);
  // Row numbers of an export have no gaps; where there are some, the next row is looked for.
  for (let first = FIRST_ROW; first <= MAX_INT64; ) {
    const last = first + CHUNK - 1n > MAX_INT64 ? MAX_INT64 : first + CHUNK - 1n;
    const [text] = print.get(first, last) as [Uint8Array | null];
    if (text !== null) {
      reader.read(Buffer.from(text.buffer, text.byteOffset, text.byteLength));
      first = last + 1n;
      continue;
    }
    const found = next.get(first) as [string] | undefined;
    if (found === undefined) return;
    const number = BigInt(found[0]);
    if (number < first) throw new Refused(damaged(`the rows of ${table.name} are out of order`));
    first = first === number ? last + 1n : number;
  }
}

class RowReader implements IntegerRow {
  readonly values: Float64Array;
  hex: string | null = null;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #hasText: boolean;
  readonly #onRow: (row: IntegerRow | null) => void;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(width: number, hasText: boolean, onRow: (row: IntegerRow | null) => void) {
    this.values = new Float64Array(width);
    this.#starts = new Int32Array(width);
    this.#ends = new Int32Array(width);
    this.#hasText = hasText;
    this.#onRow = onRow;
  }

  digits(column: number): string {
    return this.#bytes.toString("latin1", this.#starts[column], this.#ends[column]);
  }

  read(bytes: Buffer): void {
    this.#bytes = bytes;
    let at = 0;
    while (at <= bytes.length) at = this.#row(at) + 1;
  }

  /** Reads a row and gives the position of its end. */
  #row(from: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    const { values } = this;
    const width = values.length;
    let at = from;
    for (let column = 0; column < width; column++) {
      const start = at;
      let value = 0;
      const isNegative = at < length && bytes[at] === 0x2d;
      if (isNegative) at++;
      const firstDigit = at;
      let digit = at < length ? (bytes[at] as number) - 48 : -1;
      while (digit >= 0 && digit <= 9) {
        value = value * 10 + digit;
        at++;
        digit = at < length ? (bytes[at] as number) - 48 : -1;
      }
      const digits = at - firstDigit;
      let end = at < length ? bytes[at] : ROW_BYTE;
      if (digits === 0 || digits > EXACT_DIGITS || (end !== FIELD_BYTE && end !== ROW_BYTE)) {
        while (at < length && bytes[at] !== FIELD_BYTE && bytes[at] !== ROW_BYTE) at++;
        end = at < length ? bytes[at] : ROW_BYTE;
        values[column] = at === start ? NULL : unusual(bytes.toString("latin1", start, at));
      } else {
        values[column] = isNegative ? -value : value;
      }
      this.#starts[column] = start;
      this.#ends[column] = at;
      const isLast = column === width - 1 && !this.#hasText;
      if ((end === ROW_BYTE) !== isLast) return this.#unreadable(at);
      if (!isLast) at++;
    }
    if (this.#hasText) {
      const next = bytes.indexOf(ROW_BYTE, at);
      const end = next < 0 ? length : next;
      this.hex = end === at ? null : bytes.toString("latin1", at + 1, end);
      at = end;
    }
    this.#onRow(this);
    return at;
  }

  #unreadable(from: number): number {
    const next = this.#bytes.indexOf(ROW_BYTE, from);
    this.#onRow(null);
    return next < 0 ? this.#bytes.length : next;
  }
}

function unusual(text: string): number {
  if (/^-?\d{1,40}$/.test(text)) {
    const value = BigInt(text);
    return value > MAX_INT64 || value < -MAX_INT64 - 1n ? OUTSIDE : Number(text);
  }
  // What does not fit into 64 bits SQLite keeps as a floating-point number.
  if (/^-?\d(\.\d+)?e\+\d+$/.test(text) && Math.abs(Number(text)) >= 2 ** 63) return OUTSIDE;
  return MALFORMED;
}

/** Text from the hexadecimal form; what is no UTF-8 becomes U+FFFD. */
export const textOfHex = (hex: string): string => textOf(Buffer.from(hex, "hex")) ?? "";
