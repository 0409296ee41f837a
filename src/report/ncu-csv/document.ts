import type { ByteSource, BytesError } from "../../base/bytes.ts";
import { type Row, splitRow } from "../../base/csv-row.ts";
import { type Line, LineReader, LONGEST_LINE } from "../../base/text-lines.ts";
import type { Launch } from "../../model/launch.ts";
import type { Compression, ReadFailure, ReadOptions, Report } from "../../model/report.ts";
import { DetailsTable } from "./details.ts";
import { type Header, readHeader, toolTextAt } from "./page.ts";
import { RawTable } from "./raw.ts";
import { LONGEST_CELL, MOST_COLUMNS, Reading, Refused } from "./reading.ts";
import { Surroundings } from "./surroundings.ts";
import { beginsRow, noteUnreadable, type Table } from "./table.ts";

/** A cell with line breaks (a rule text) is put together from at most this much. */
const LONGEST_OPEN_ROW = 256 * 1024;
const MOST_OPEN_LINES = 200;

/** After so many bytes, some milliseconds of work, other requests of the process get their turn. */
const BYTES_IN_A_ROW = 128 * 1024;

/** A row whose last cell goes on in the next line. */
interface OpenRow {
  text: string;
  lines: number;
  readonly at: number;
  readonly number: number;
}

/**
 * A file of CSV pages: noise, a table, noise, perhaps further tables. Rows are read line by line and only the launches'
 * numbers are kept.
 */
export class CsvDocument {
  readonly #reading: Reading;
  readonly #surroundings = new Surroundings();
  #page: Header["page"] | null = null;
  #table: Table | null = null;
  #tables = 0;
  #open: OpenRow | null = null;
  #tornAt: number | null = null;

  constructor(options: ReadOptions) {
    this.#reading = new Reading(options);
  }

  async read(source: ByteSource, compression: Compression): Promise<Report> {
    const reader = new LineReader(source);
    let rest = source.position;
    for (let lines = await reader.batch(); lines !== null; lines = await reader.batch()) {
      this.#checkBytes(source.position);
      for (const line of lines) this.#line(line);
      if (source.position - rest < BYTES_IN_A_ROW) continue;
      rest = source.position;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#end(source.position, reader.broken);
    return this.#report(source.position, compression);
  }

  #checkBytes(position: number): void {
    const { maxBytes } = this.#reading.options.limits;
    if (position <= maxBytes) return;
    throw new Refused({
      code: "too_large",
      message: `Expected at most ${maxBytes} bytes, found more.`,
      hint: "Export fewer launches or metrics, or give the report itself (.ncu-rep).",
      evidence: { limit: maxBytes },
    });
  }

  #line(line: Line): void {
    if (line.overlong) {
      this.#overlong(line);
      return;
    }
    let { text } = line;
    const tool = toolTextAt(text);
    if (tool >= 0 && quotesAreEven(text, tool)) {
      this.#surroundings.tool(text.slice(tool));
      text = text.slice(0, tool).trimEnd();
      if (text === "") return;
    }
    if (this.#open !== null && this.#continues(text)) return;
    const header = readHeader(text);
    const row = header === null && this.#table !== null ? splitRow(text, this.#table.header.delimiter) : null;
    if (header !== null) {
      this.#startTable(header, line.number);
      if (!line.ended) this.#tornAt = line.at;
    } else if (row === null || this.#table === null || !beginsRow(row, this.#table)) this.#surroundings.line(text);
    else if (row.open) this.#open = { text, lines: 1, at: line.at, number: line.number };
    else this.#row(row, text.length, line.number, line.at, text === line.text && !line.ended);
  }

  #overlong({ text, number }: Line): void {
    const isHeader = text.includes('"Kernel Name"') && text.includes('"ID"');
    if (!isHeader && (this.#table === null || !beginsRow(splitRow(text, this.#table.header.delimiter), this.#table)))
      return;
    throw tooLarge(`a line of at most ${LONGEST_LINE} bytes`, "a longer one", number);
  }

  /** Puts the next line of an open row to it. False: the row never closes, and this line is one of its own. */
  #continues(text: string): boolean {
    const open = this.#open as OpenRow;
    const table = this.#table as Table;
    const full = open.text.length + text.length > LONGEST_OPEN_ROW || open.lines >= MOST_OPEN_LINES;
    if (full || this.#standsAlone(text, table)) {
      noteUnreadable(this.#reading, open.number);
      this.#open = null;
      return false;
    }
    open.text += `\n${text}`;
    open.lines++;
    if (!text.includes('"')) return true;
    const row = splitRow(open.text, table.header.delimiter);
    if (row.open) return true;
    this.#open = null;
    this.#row(row, open.text.length, open.number, open.at, false);
    return true;
  }

  /** A header, or a row with all identification cells. */
  #standsAlone(text: string, table: Table): boolean {
    if (readHeader(text) !== null) return true;
    const row = splitRow(text, table.header.delimiter);
    if (row.open || row.cells.length <= table.identity.lastColumn) return false;
    return table.identity.idColumn < 0 || table.identity.id(row.cells) !== null;
  }

  #startTable(header: Header, line: number): void {
    this.#table?.finish();
    this.#table = null;
    if (header.columns.length > MOST_COLUMNS) {
      throw tooLarge(`at most ${MOST_COLUMNS} columns`, `${header.columns.length}`, line);
    }
    if (this.#page !== null && this.#page !== header.page) {
      this.#reading.notes.add(
        "page_skipped",
        "warning",
        `line ${line}`,
        (count, examples) =>
          `${count} tables of the ${header.page} page are left out (${examples}): the file begins with the other page, and both may hold the same launches.`,
      );
      return;
    }
    this.#page = header.page;
    this.#tables++;
    this.#table = header.page === "raw" ? new RawTable(header, this.#reading) : new DetailsTable(header, this.#reading);
  }

  /** `length`: characters of the row; `last`: the file ends behind it, without a line end. */
  #row(row: Row, length: number, line: number, at: number, last: boolean): void {
    const table = this.#table as Table;
    if (row.cells.length > MOST_COLUMNS) throw tooLarge(`at most ${MOST_COLUMNS} cells`, `${row.cells.length}`, line);
    if (length > LONGEST_CELL && row.cells.some((cell) => cell.length > LONGEST_CELL)) {
      throw tooLarge(`cells of at most ${LONGEST_CELL} characters`, "a longer one", line);
    }
    if (last && !table.isWhole(row)) {
      this.#torn(row, at);
      return;
    }
    if (last && !row.lastClosed && row.cells.at(-1) !== "") {
      row.cells[row.cells.length - 1] = "";
      this.#reading.notes.add(
        "last_cell_unproven",
        "info",
        `line ${line}`,
        (_count, examples) =>
          `The file ends inside or right behind a cell without quotes (${examples}); that cell is not used.`,
      );
    }
    if (!table.row(row, line)) this.#surroundings.line(row.cells.join(" "));
  }

  #torn(row: Row, at: number): void {
    this.#tornAt = at;
    this.#table?.torn(row);
  }

  #end(position: number, broken: BytesError | null): void {
    if (this.#open !== null && this.#table !== null) {
      this.#torn(splitRow(this.#open.text, this.#table.header.delimiter), this.#open.at);
    } else if (broken !== null && broken.code !== "trailing" && this.#tornAt === null) {
      this.#tornAt = position;
      this.#table?.cut();
    }
    if (broken !== null) this.#noteBroken(broken);
    this.#table?.finish();
    this.#reading.settle();
  }

  #noteBroken({ code, message }: BytesError): void {
    if (code === "trailing") {
      this.#reading.notes.add(
        "trailing_data",
        "warning",
        message,
        () => `${message}; what is there is left out, the page before it is whole.`,
      );
    } else if (code === "damaged") {
      this.#reading.notes.add("report_damaged", "error", message, () => `The page goes on, but ${message}.`);
    }
  }

  #report(bytes: number, compression: Compression): Report {
    const { drafts, notes, format, devices } = this.#reading;
    if (this.#page === null || drafts.length === 0) throw new Refused(this.#nothing(bytes));
    const launches = drafts.map(
      ({ identity, failure, metrics, hints }, index): Launch => ({
        index,
        kind: identity.kind,
        names: identity.names,
        grid: identity.grid,
        block: identity.block,
        process_id: identity.process_id,
        context_id: identity.context_id,
        stream_id: identity.stream_id,
        device: identity.device,
        rank: null,
        nvtx: identity.nvtx,
        // The date in old pages names no time zone.
        created_at_unix_s: null,
        failure,
        metrics,
        hints,
      }),
    );
    if (format.unproven > 0 && !format.proven) {
      notes.add(
        "number_format_unproven",
        "warning",
        `${format.unproven} numbers`,
        (_count, examples) =>
          `Nothing in the file proves whether 1.234 means one or one thousand: ${examples} are read with a decimal point. Export with LC_ALL=C to be sure.`,
      );
    }
    this.#noteNumbering();
    if (this.#tornAt !== null) {
      const at = this.#tornAt;
      notes.add(
        "report_truncated",
        "warning",
        `byte ${at}`,
        () => `The file ends inside the row at byte ${at}: the launches before it are complete.`,
        { offset: at, complete_launches: launches.length },
      );
    }
    return {
      format: this.#page === "raw" ? "ncu-csv-raw" : "ncu-csv-details",
      compression,
      bytes_read: bytes,
      tool: { name: "ncu", version: null },
      cuda_version: null,
      driver_version: null,
      devices: [...devices].map(([index, name]) => ({ index, name })).sort((a, b) => a.index - b.index),
      launches,
      partial: this.#tornAt !== null,
      partial_at_byte: this.#tornAt,
      findings: [...notes.findings(), ...this.#surroundings.findings()],
    };
  }

  /** Launches are numbered by position; where the page's own numbers differ, that is said with an example. */
  #noteNumbering(): void {
    this.#reading.drafts.forEach(({ id }, index) => {
      if (id === null || Number(id) === index) return;
      this.#reading.notes.add(
        "launches_renumbered",
        "info",
        `ID ${id} is ${index}`,
        (count, examples) =>
          `Launches are numbered by their position in the file; the page's own ID differs for ${count} of them (${examples}).`,
        { tables: this.#tables },
      );
    });
  }

  #nothing(bytes: number): ReadFailure {
    if (bytes === 0) {
      return {
        code: "empty",
        message: "Expected a page of Nsight Compute as CSV, found an empty file.",
        hint: "Export again: ncu --import REPORT --csv --page raw.",
        evidence: {},
      };
    }
    const damage = this.#reading.notes.findings().find(({ severity }) => severity !== "info");
    if (this.#tornAt !== null || damage !== undefined) {
      return {
        code: "malformed",
        message:
          this.#tornAt === null
            ? `Expected launches below the header, found none that can be read. ${damage?.message}`
            : `Expected launches below the header, found the end of the file inside the first one, in the row at byte ${this.#tornAt}.`,
        hint: "Export the page again: ncu --import REPORT --csv --page raw.",
        evidence: { bytes, ...(this.#tornAt === null ? {} : { offset: this.#tornAt }) },
      };
    }
    if (this.#page === null) {
      return (
        this.#surroundings.refusal ?? {
          code: "unknown_format",
          message: "Expected a page of Nsight Compute as CSV, found no header row with ID and Kernel Name.",
          hint: "Export a page: ncu --import REPORT --csv --page raw.",
          evidence: { bytes },
        }
      );
    }
    return (
      this.#surroundings.refusal ?? {
        code: "no_kernels",
        message: `Expected launches on the ${this.#page} page, found its header and no row below it.`,
        hint: "The run profiled no kernel: check the kernel filter (-k, --launch-skip) and what ncu printed.",
        evidence: { bytes },
      }
    );
  }
}

const tooLarge = (expected: string, found: string, line: number): Refused =>
  new Refused({
    code: "too_large",
    message: `Expected ${expected}, found ${found} in line ${line}.`,
    hint: "This is no page that ncu printed. Export it again, or give the report itself (.ncu-rep).",
    evidence: { line },
  });

/** True where the text before `end` is not inside a quoted cell. */
function quotesAreEven(text: string, end: number): boolean {
  let even = true;
  for (let at = text.indexOf('"'); at >= 0 && at < end; at = text.indexOf('"', at + 1)) even = !even;
  return even;
}
