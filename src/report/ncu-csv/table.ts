import type { Row } from "../../base/csv-row.ts";
import type { IdentityReader } from "./identity.ts";
import type { Header } from "./page.ts";
import type { Reading } from "./reading.ts";

/** One table of a page: a header row and what follows it. */
export interface Table {
  readonly header: Header;
  readonly identity: IdentityReader;
  /** Takes a row in. False: the line is no row of this table but noise. */
  row(row: Row, line: number): boolean;
  /** True where the file may end behind these cells without anything missing in the row. */
  isWhole(row: Row): boolean;
  /** The file ends inside a row that begins with these cells: drops the launch that may continue there. */
  torn(row: Row): void;
  /** The file goes on behind the last row, but cannot be read any further. */
  cut(): void;
  /** The table is over: its launches are handed to the reading. */
  finish(): void;
}

/**
 * True where the cells can be the beginning of a row: the launch number is in them, or they end before it. `open` rows
 * that pass are continued on the next line; everything else between rows is output of the program.
 */
export function beginsRow(row: Row, table: Table): boolean {
  const { idColumn } = table.identity;
  if (idColumn < 0) return row.cells.length > 1 || row.open;
  const complete = row.open ? row.cells.length - 1 : row.cells.length;
  if (complete > idColumn) return table.identity.id(row.cells) !== null || isUnitRow(row, idColumn);
  return row.cells.length > 1 || (row.open && (idColumn > 0 || /^\d*$/.test(row.cells[0] ?? "")));
}

/** The row of units below the header of a raw page has blank identification cells. */
const isUnitRow = ({ cells, open }: Row, idColumn: number): boolean =>
  !open && cells.length > idColumn + 1 && (cells[idColumn] ?? "").trim() === "";

/** Cells beyond the header's: the row is damaged (a comma in a name without quotes), and its cells are out of place. */
export const isTooLong = (row: Row, header: Header): boolean =>
  row.cells.length > header.columns.length && row.cells.slice(header.columns.length).some((cell) => cell.trim() !== "");

/** Counts a row that is left out because its cells cannot be told apart. */
export function noteUnreadable(reading: Reading, line: number): void {
  reading.notes.add(
    "row_unreadable",
    "warning",
    `line ${line}`,
    (count, examples) =>
      `${count === 1 ? "1 row is" : `${count} rows are`} damaged and left out (${examples}): the cells do not fit the header.`,
  );
}
