import { err, ok, type Result } from "../../base/result.ts";

/** A reading of the host: a value, or null with the reason why there is none. */
export type Reading<T> =
  | { readonly value: T; readonly reason: null }
  | { readonly value: null; readonly reason: string };

export const read = <T>(value: T): Reading<T> => ({ value, reason: null });
export const unread = (reason: string): Reading<never> => ({ value: null, reason });

/** One line of an answer, by field. */
export type Row = Readonly<Record<string, string>>;

const MIB = 1024 * 1024;
const MHZ = 1_000_000;
/** Lines that an answer may have. A host has at most 16 GPUs with 7 MIG devices each; processes are more. */
const MAX_ROWS = 4096;

/**
 * Rows of `--format=csv,noheader,nounits`: cells are separated by a comma and a blank. Nothing is quoted, so the last
 * field may hold such a separator itself.
 */
export function parseRows(text: string, fields: readonly string[]): Result<Row[], string> {
  const rows: Row[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const cells = line.trimEnd().split(", ");
    if (cells.length < fields.length) {
      return err(
        `expected ${fields.length} cells (${fields.join(", ")}), found ${cells.length}: ${line.slice(0, 200)}`,
      );
    }
    if (rows.length === MAX_ROWS) return err(`more than ${MAX_ROWS} lines`);
    const last = fields.length - 1;
    rows.push(
      Object.fromEntries(
        fields.map((field, at) => [field, (at === last ? cells.slice(at).join(", ") : (cells[at] ?? "")).trim()]),
      ),
    );
  }
  return ok(rows);
}

/** A cell as text. `[N/A]`, `[Not Supported]`, `[Insufficient Permissions]`, `[Unknown Error]` and their like are reasons. */
export function textCell(row: Row, field: string): Reading<string> {
  const cell = row[field];
  if (cell === undefined) return unread(`this nvidia-smi does not know the field ${field}`);
  if (cell === "" || cell === "N/A" || /^\[.*\]$/.test(cell)) {
    return unread(`nvidia-smi gives ${cell === "" ? "nothing" : cell} for ${field}`);
  }
  return read(cell);
}

function wholeCell(row: Row, field: string, unit: number): Reading<number> {
  const text = textCell(row, field);
  if (text.value === null) return text;
  if (!/^\d{1,12}$/.test(text.value)) return unread(`expected a whole number for ${field}, found ${text.value}`);
  return read(Number(text.value) * unit);
}

export const countCell = (row: Row, field: string): Reading<number> => wholeCell(row, field, 1);
/** MiB to bytes. */
export const mibCell = (row: Row, field: string): Reading<number> => wholeCell(row, field, MIB);
/** MHz to Hz. */
export const mhzCell = (row: Row, field: string): Reading<number> => wholeCell(row, field, MHZ);

/** `Enabled` or `Disabled`. */
export function switchCell(row: Row, field: string): Reading<boolean> {
  const text = textCell(row, field);
  if (text.value === null) return text;
  if (text.value === "Enabled") return read(true);
  if (text.value === "Disabled") return read(false);
  return unread(`expected Enabled or Disabled for ${field}, found ${text.value}`);
}

/** `0x` and hexadecimal digits. */
export function maskCell(row: Row, field: string): Reading<bigint> {
  const text = textCell(row, field);
  if (text.value === null) return text;
  if (!/^0x[0-9a-fA-F]{1,16}$/.test(text.value)) {
    return unread(`expected a hexadecimal number for ${field}, found ${text.value}`);
  }
  return read(BigInt(text.value));
}
