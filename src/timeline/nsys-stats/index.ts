import { BytesError } from "../../base/bytes.ts";
import { err, ok } from "../../base/result.ts";
import { headLines } from "../../base/text-lines.ts";
import type { Compression, ReadFailure } from "../../model/report.ts";
import type { ReadTimeline, Recording, Timeline, TimelineFormat, TimelineLimits } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { GpuRowsBuilder, HostRowsBuilder } from "../rows.ts";
import { readTables, type TableSink } from "./document.ts";
import { isRule, type Layout, readCsvHeader } from "./layout.ts";
import { NumberReader, NumberSurvey } from "./numbers.ts";
import { SumTable } from "./sums.ts";
import { TraceTable } from "./trace.ts";

const PRINT = "nsys stats -r cuda_gpu_trace --format csv FILE.nsys-rep";
/** Lines that only nsys writes, of 2020 to 2026. */
const TOOL_LINE =
  /^(?:Generating SQLite file |Generating '.{1,400}\.qdstrm'|Processing \[.{1,400}\.sqlite\] with \[|NOTICE: Existing SQLite export |Saved report file to "|SKIPPED: .{1,400} does not contain |\[\d+\/\d+\] Executing '\w+' stats report|\s*\*\* .{1,80} \(\w+\):|(?:CUDA|NVTX|Operating System Runtime API) .{0,60}(?:Statistics|Trace)(?: \(.{1,40}\))?:)/;
/** Tables in one text: six recordings with four reports each were seen. */
const MAX_TABLES = 1000;

/**
 * Whether the first bytes of a file (decompressed) are output of `nsys stats` or of `nsys profile --stats=true`: a table of
 * kernels, or lines of the tool around one that comes later.
 */
export function isNsysStats(head: Uint8Array): boolean {
  let previous = "";
  for (const line of headLines(head)) {
    if (readCsvHeader(line) !== null || TOOL_LINE.test(line)) return true;
    if (isRule(line) && /^\s*Time ?\(%\)/.test(previous)) return true;
    previous = line;
  }
  return false;
}

type StatsTable = SumTable | TraceTable;

/** The second reading of a text: its tables, now that the number format is known. */
class Collector implements TableSink {
  readonly tables: StatsTable[] = [];
  skippedLine: number | null = null;
  readonly #numbers: NumberReader;
  readonly #limits: TimelineLimits;
  #rows = 0;

  constructor(numbers: NumberReader, limits: TimelineLimits) {
    this.#numbers = numbers;
    this.#limits = limits;
  }

  begin(layout: Layout, line: number): void {
    if (this.tables.length === MAX_TABLES) throw new Refused(tooLarge(`more than ${MAX_TABLES} tables`));
    const table = layout.kind === "sum" ? SumTable : TraceTable;
    this.tables.push(new table(layout, line, this.#numbers));
  }

  row(cells: readonly string[], layout: Layout): boolean {
    const isRow = this.tables.at(-1)?.row(cells, layout) ?? false;
    if (isRow && ++this.#rows > this.#limits.maxRows)
      throw new Refused(tooLarge(`more than ${this.#limits.maxRows} rows`));
    return isRow;
  }

  malformed(): void {
    const table = this.tables.at(-1);
    if (table !== undefined) table.malformed++;
  }

  skipped(line: number): void {
    this.skippedLine ??= line;
  }
}

/**
 * Reads what `nsys stats` (2020 to 2026) prints of kernels: the summary by name (`cuda_gpu_kern_sum`, `gpukernsum`) or all
 * activities (`cuda_gpu_trace`, `gputrace`), as CSV or in columns. Several tables of one recording give the one that says
 * most; tables of several recordings in one text are refused, since adding them up would mean nothing.
 */
export const readNsysStats: ReadTimeline = async (open, compression, limits) => {
  try {
    const survey = new NumberSurvey();
    let source = await open();
    let broken: BytesError | null;
    try {
      broken = await readTables(source, survey);
    } finally {
      await source.close();
    }
    if (broken !== null) throw broken;
    const tables = new Collector(new NumberReader(survey.decide()), limits);
    source = await open();
    try {
      await readTables(source, tables);
      return ok(timelineOf(choose(tables), source.position, compression));
    } finally {
      await source.close();
    }
  } catch (error) {
    if (error instanceof Refused) return err(error.failure);
    if (error instanceof BytesError) return err(cannotDecompress(error));
    throw error;
  }
};

/** The table that says most, where all say the same of all kernels together; null where the tool found none. */
function choose({ tables, skippedLine }: Collector): StatsTable | null {
  const filled = tables.filter(({ totals, count }) => totals.launches > 0 || count > 0);
  const [first] = filled;
  if (first === undefined) {
    if (tables[0] !== undefined) return tables[0];
    if (skippedLine !== null) return null;
    throw new Refused({
      code: "wrong_kind",
      message: "this is output of nsys without a table of kernels",
      hint: `print one: ${PRINT}`,
      evidence: { found: "output of nsys stats" },
    });
  }
  const reports: StatsTable[] = [];
  for (const table of filled) if (!reports.some((known) => isSame(known, table))) reports.push(table);
  if (reports.length > 1) {
    const lines = reports.slice(0, 5).map(({ line }) => line);
    throw new Refused({
      code: "wrong_kind",
      message: `this text holds tables of ${reports.length} recordings (lines ${lines.join(", ")}${reports.length > 5 ? ", …" : ""}); their sum would mean nothing`,
      hint: "give the output of one recording at a time",
      evidence: { found: "several_reports_in_one_text", reports: reports.length },
    });
  }
  const worth = (table: StatsTable): number =>
    table.kind === "trace" ? (table.hasStarts ? 0 : 1) : table.isByShape ? 3 : 2;
  return [...filled].sort((a, b) => worth(a) - worth(b) || a.line - b.line)[0] ?? first;
}

function isSame({ totals: a }: StatsTable, { totals: b }: StatsTable): boolean {
  const difference = Math.abs(a.total_ns - b.total_ns);
  return a.launches === b.launches && difference <= a.rounding_ns + b.rounding_ns;
}

function timelineOf(table: StatsTable | null, bytesRead: number, compression: Compression): Timeline {
  const trace = table?.kind === "trace" ? table : null;
  const format: TimelineFormat = trace === null ? "nsys-stats-sum" : "nsys-stats-trace";
  const dropped: Recording["dropped"] =
    table === null || table.malformed === 0
      ? []
      : [{ reason: "malformed", count: table.malformed, first: `a row of the table in line ${table.line}` }];
  return {
    format,
    compression,
    bytes_read: bytesRead,
    tool: { name: "nsys", version: null },
    schema_version: null,
    cuda_version: null,
    driver_version: null,
    zero_unix_ns: null,
    tick_ns: trace?.hasStarts === true && trace.count > 0 ? trace.tick : 1,
    has_starts: trace?.hasStarts ?? false,
    gpus: [...(trace?.gpus.values() ?? [])].sort((a, b) => (a.index ?? 0) - (b.index ?? 0)),
    world_size: null,
    names: table?.names.items ?? [],
    shapes: trace?.shapes ?? [],
    lanes: trace?.lanes() ?? [],
    threads: [],
    texts: [],
    sums: table?.kind === "trace" ? null : (table?.sums ?? []),
    calls: new HostRowsBuilder().finish(),
    ranges: new HostRowsBuilder().finish(),
    recording: {
      has_kernel_table: table !== null,
      launch_calls: null,
      launch_calls_without_row: null,
      kernels_without_call: null,
      graph_launch_calls: null,
      graph_launch_calls_without_row: null,
      graph_kernels_min: null,
      graph_kernels_max: null,
      graph_trace_mode: null,
      stream_capture_calls: null,
      shared_correlations: null,
      dropped: [...(trace?.dropped.list() ?? []), ...dropped],
      tool_messages: [],
      is_cut: false,
      profiler_ranges: 0,
      managed_copies: trace?.managedCopies ?? 0,
      batched_copies: 0,
    },
    rows: trace?.rows() ?? new GpuRowsBuilder().finish(),
  };
}

const tooLarge = (what: string): ReadFailure => ({
  code: "too_large",
  message: `the text holds ${what}`,
  hint: "print the summary by kernel in place of every launch: nsys stats -r cuda_gpu_kern_sum --format csv FILE.nsys-rep",
  evidence: {},
});

const cannotDecompress = (error: BytesError): ReadFailure => ({
  code: error.code === "too_large" ? "too_large" : "malformed",
  message: `the file cannot be decompressed: ${error.message}`,
  hint: "copy the file again in binary mode, or compress the text again",
  evidence: { damage: error.code },
});
