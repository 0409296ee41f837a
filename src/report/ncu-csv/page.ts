import { splitRow } from "../../base/csv-row.ts";
import type { ReadFailure } from "../../model/report.ts";

/** The header row of a table. */
export interface Header {
  readonly page: "raw" | "details";
  readonly columns: readonly string[];
  readonly delimiter: string;
  /** True where the cells are not quoted: another program saved the file again. Nsight Compute quotes every cell. */
  readonly resaved: boolean;
}

/** A spreadsheet of a country with decimal commas saves with semicolons. */
const DELIMITERS = [",", ";", "\t"] as const;

/**
 * The header in a line, or null. The columns may stand in any order and some may be missing; a table without `Kernel
 * Name`, and one that has neither `ID` nor a column of a metric, is not from Nsight Compute. Program output without line
 * end may stand before it.
 */
export function readHeader(line: string): Header | null {
  if (!line.includes("Kernel Name")) return null;
  const id = line.indexOf('"ID",');
  const text = id > 0 && !DELIMITERS.some((delimiter) => line[id - 1] === delimiter) ? line.slice(id) : line;
  for (const delimiter of DELIMITERS) {
    const row = splitRow(text, delimiter);
    const columns = row.cells.map((cell) => cell.replace(/^\ufeff/, "").trim());
    if (row.open || !columns.includes("Kernel Name")) continue;
    const details = columns.includes("Metric Name") && columns.includes("Metric Value");
    if (!columns.includes("ID") && !details && !columns.some((column) => column.includes("__"))) continue;
    return { page: details ? "details" : "raw", columns, delimiter, resaved: !text.includes('"Kernel Name"') };
  }
  return null;
}

/** The page of a header that the end of the bytes cut off: a raw page's header is longer than the head of a file. */
export function pageOfCutHeader(line: string): Header["page"] | null {
  if (!/"?ID"?[,;\t]/.test(line) || !line.includes("Kernel Name")) return null;
  return /Section Name|Metric Name/.test(line) ? "details" : "raw";
}

/** A line of the tool itself: `==PROF== …`; where it begins, or -1. It may follow program output without line end. */
export function toolTextAt(line: string): number {
  if (!line.includes("== ")) return -1;
  const match = /==(?:PROF|WARNING|ERROR)== /.exec(line);
  return match ? match.index : -1;
}

const EXPORT_HINT = "Give the report itself (.ncu-rep), or print this page of it: ncu --import REPORT --csv --page raw";

const refusal = (what: string, line: string, hint = EXPORT_HINT): ReadFailure => ({
  code: "wrong_kind",
  message: `Expected a raw or details page of Nsight Compute as CSV, found ${what}.`,
  hint,
  evidence: { line: line.slice(0, 200) },
});

/** Other output of Nsight Compute, by one of its lines: why it is refused, or null where the line is none. */
export function otherPage(line: string): ReadFailure | null {
  if (/^"?Launch Settings"?,?$|^"?Launch Attribute"?,/.test(line)) {
    return refusal("its session page, which holds no counters", line);
  }
  if (/^"?#"?,"?(?:Address|Source|SASS|PTX)"?(?:,|$)/.test(line)) {
    return refusal("its source page, which holds counters by instruction and none of a launch as a whole", line);
  }
  if (/\(\d+, ?\d+, ?\d+\)x\(\d+, ?\d+, ?\d+\), Context \d+, Stream \d+/.test(line)) return textPage(line);
  if (/^\s+(?:Section: \S|Metric Name +Metric Unit +Metric Value)/.test(line)) return textPage(line);
  return null;
}

const textPage = (line: string): ReadFailure =>
  refusal("a page printed as text, without --csv; it leaves out most counters", line);

/** The console output of a run that wrote a report: the numbers are in that file. */
export const consoleOutput = (line: string): ReadFailure =>
  refusal(
    "the console output of a run that saved its numbers to a report",
    line,
    `Give the file it names: ${line.slice(0, 200)}`,
  );

/** True for `==PROF== Report: /path/x.ncu-rep`. */
export const namesReport = (toolText: string): boolean => /^==PROF== Report: /.test(toolText);
