import type { ByteSource, BytesError } from "../../base/bytes.ts";
import { scanNumber } from "../../base/printed-number.ts";
import { LineReader } from "../../base/text-lines.ts";
import { isRule, type Layout, readColumnHeader, readCsvHeader } from "./layout.ts";

/** What becomes of the tables of a text. */
export interface TableSink {
  begin(layout: Layout, line: number): void;
  /** False: the cells are no row (they hold no numbers where there must be some). */
  row(cells: readonly string[], layout: Layout, line: number): boolean;
  /** A row whose cells cannot be told apart. */
  malformed(line: number): void;
  /** The tool says that a report has no rows because nothing was recorded for it. */
  skipped(line: number): void;
}

/** `SKIPPED: x.sqlite does not contain CUDA kernel data.` and its forms for the trace. */
const SKIPPED =
  /SKIPPED: .{0,4000}does not contain (?:CUDA (?:GPU )?(?:kernel|trace)|GPU (?:kernel|trace)|CUDA) ?(?:data|events)?/i;
/** Characters of a row over several lines: names may hold line ends. */
const LONGEST_ROW = 256 * 1024;

/**
 * Finds the tables of `nsys stats` in a text: as CSV, or in columns as `--stats=true` prints them, with output of the
 * program, progress bars and other tables around them. A table ends at a blank line or where a line is no row.
 *
 * @returns The error where compressed data break off; what came before was read.
 */
export async function readTables(source: ByteSource, sink: TableSink): Promise<BytesError | null> {
  const lines = new LineReader(source);
  const state = new Tables(sink);
  for (let batch = await lines.batch(); batch !== null; batch = await lines.batch()) {
    for (const line of batch) if (!line.overlong) state.line(line.text, line.number);
  }
  return lines.broken;
}

class Tables {
  readonly #sink: TableSink;
  #layout: Layout | null = null;
  #previous = "";
  #previousNumber = 0;
  /** The beginning of a row whose quoted name goes on. */
  #open = "";

  constructor(sink: TableSink) {
    this.#sink = sink;
  }

  line(raw: string, number: number): void {
    const text = lastSegment(raw);
    const isBehindBlank = number !== this.#previousNumber + 1;
    const previous = isBehindBlank ? "" : this.#previous;
    this.#previous = text;
    this.#previousNumber = number;
    if (isBehindBlank && this.#open === "") this.#layout = null;
    if (this.#begins(text, previous, number)) return;
    if (this.#layout !== null) this.#row(this.#layout, text, number);
    else if (SKIPPED.test(text)) this.#sink.skipped(number);
  }

  #begins(text: string, previous: string, number: number): boolean {
    let layout = readCsvHeader(text);
    const isUnderlined = layout === null && isRule(text);
    if (isUnderlined) layout = readColumnHeader(previous, text);
    if (layout === null && !isUnderlined) return false;
    this.#open = "";
    this.#layout = layout;
    if (layout !== null) this.#sink.begin(layout, number);
    return true;
  }

  #row(layout: Layout, text: string, number: number): void {
    const whole = this.#open === "" ? text : `${this.#open}\n${text}`;
    this.#open = "";
    const row = layout.split(whole);
    if (row?.open && whole.length < LONGEST_ROW) {
      this.#open = whole;
      return;
    }
    const cells = row?.cells ?? [];
    const isWide = cells.length >= layout.width && cells.slice(layout.width).every((cell) => cell.trim() === "");
    if (isWide && this.#sink.row(cells, layout, number)) return;
    // A number in front speaks for a damaged row; anything else is what follows the table.
    if (scanNumber((cells[0] ?? whole.trim().split(/\s/)[0] ?? "").trim()) !== null) this.#sink.malformed(number);
    else this.#layout = null;
  }
}

/** What a terminal would show of a line on which a progress bar was drawn. */
function lastSegment(line: string): string {
  if (!line.includes("\r")) return line;
  return (
    line
      .split("\r")
      .filter((segment) => segment !== "")
      .at(-1) ?? ""
  );
}
