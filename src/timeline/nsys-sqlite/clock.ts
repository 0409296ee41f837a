import { type Database, quoted, type Table } from "./database.ts";
import { type IntegerRow, MALFORMED, NULL, OUTSIDE } from "./integers.ts";

/** Beyond this a difference of two times is no longer exact in a double. */
const EXACT = 2 ** 53;
/** Times up to here are kept as they are: 52 days. */
const FROM_SESSION_START = 2n ** 52n;
const SAMPLE = 1001;

/**
 * Turns times of the file into times of the timeline. Those of an ordinary export count from the start of the session
 * and stay; those that were normalised to 1970 do not fit a double and are counted from the first of them.
 */
export class Clock {
  /** What is subtracted from every time of the file. */
  readonly zero: bigint;
  readonly #isShifted: boolean;

  constructor(zero: bigint) {
    this.zero = zero;
    this.#isShifted = zero !== 0n;
  }

  /** Chooses the zero by the middle of the first rows, since single ones may hold anything. */
  static of(database: Database, tables: readonly (Table | null)[]): Clock {
    for (const table of tables) {
      if (table === null || !table.columns.has("start")) continue;
      const from = `FROM ${quoted(table.name)} WHERE typeof(start) = 'integer'`;
      const starts = database
        .rows(`SELECT CAST(start AS TEXT) ${from} LIMIT ${SAMPLE}`)
        .map(([text]) => BigInt(text as string))
        .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      const middle = starts[starts.length >> 1];
      if (middle === undefined) continue;
      if (middle >= 0n && middle < FROM_SESSION_START) return new Clock(0n);
      const earliest = database.rows(
        `SELECT CAST(min(start) AS TEXT) ${from} AND start > ?`,
        middle - FROM_SESSION_START > -(2n ** 63n) ? middle - FROM_SESSION_START : -(2n ** 63n),
      )[0]?.[0];
      return new Clock(typeof earliest === "string" ? BigInt(earliest) : middle);
    }
    return new Clock(0n);
  }

  /** A time in nanoseconds from zero, or NULL, OUTSIDE, MALFORMED. */
  read(row: IntegerRow, column: number): number {
    const value = row.values[column] as number;
    if (Number.isNaN(value) || value === OUTSIDE || value === MALFORMED) return value;
    if (!this.#isShifted) return value < EXACT && value > -EXACT ? value : OUTSIDE;
    // What has no time is 0 in the file, however far away the zero of the others is.
    if (value === 0) return NULL;
    const time = Number(BigInt(row.digits(column)) - this.zero);
    return time < EXACT && time > -EXACT ? time : OUTSIDE;
  }

  /** True for what a tool writes where it has no time. */
  isMissing(time: number, row: IntegerRow, column: number): boolean {
    return Number.isNaN(time) || row.values[column] === 0;
  }

  /** Whether a GPU can have done something at this time: nothing is recorded before the session begins. */
  isBeforeSession(time: number): boolean {
    return !this.#isShifted && time < 0;
  }
}
