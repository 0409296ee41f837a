import { BytesError } from "../../base/bytes.ts";
import { err, ok } from "../../base/result.ts";
import { headLines } from "../../base/text-lines.ts";
import type { ReadFailure, ReadReport } from "../../model/report.ts";
import { CsvDocument } from "./document.ts";
import { pageOfCutHeader, readHeader } from "./page.ts";
import { Refused } from "./reading.ts";
import { Surroundings } from "./surroundings.ts";

/** A head shorter than this is a whole file: what is not in it is nowhere. */
const WHOLE_HEAD = 64 * 1024;

/**
 * Says from the first bytes of a file (decompressed; at least 64 KiB where the file has them) whether they are a page of
 * Nsight Compute as CSV, and which. Other output of the tool is refused by name. Where output of the program fills the
 * head and only lines of the tool speak for a page behind it, the answer is the page that ncu prints by default; the
 * reader looks for itself. Null: nothing of the tool is in it.
 */
export function isCsv(head: Uint8Array): "ncu-csv-raw" | "ncu-csv-details" | { refuse: ReadFailure } | null {
  const lines = headLines(head);
  const last = lines.at(-1) ?? "";
  const surroundings = new Surroundings();
  for (const line of lines) {
    const page = readHeader(line)?.page ?? (line === last ? pageOfCutHeader(line) : null);
    if (page !== null) return `ncu-csv-${page}`;
    surroundings.line(line);
  }
  if (looksForeign(lines)) return null;
  if (surroundings.otherPage !== null) return { refuse: surroundings.otherPage };
  if (!surroundings.toolSpoke) return null;
  if (head.length >= WHOLE_HEAD) return "ncu-csv-details";
  return surroundings.refusal === null ? null : { refuse: surroundings.refusal };
}

/** Markup, JSON or binary data may quote lines of the tool. */
const looksForeign = (lines: readonly string[]): boolean =>
  /^\s{0,100}[<{]/.test(lines[0] ?? "") || lines.some((line) => line.includes("\0"));

/**
 * Reads a raw or details page of `ncu --csv` (Nsight Compute 2020 to 2025), also with program output around it, several
 * tables in a row, in UTF-8 or UTF-16, and saved again by pandas or a spreadsheet. Launches are numbered by position.
 *
 * A file that ends inside a row is `partial`; `partial_at_byte` is where that row begins. On a details page the launch
 * that the torn row belongs to is left out with it. A file that ends exactly behind a row looks whole.
 */
export const readCsv: ReadReport = async (open, compression, options) => {
  const source = await open();
  try {
    return ok(await new CsvDocument(options).read(source, compression));
  } catch (error) {
    if (error instanceof Refused) return err(error.failure);
    if (error instanceof BytesError) return err(damaged(error));
    throw error;
  } finally {
    await source.close();
  }
};

const damaged = (error: BytesError): ReadFailure => ({
  code: error.code === "too_large" ? "too_large" : "malformed",
  message: `The file cannot be decompressed: ${error.message}`,
  hint: "Copy the file again in binary mode, or compress the page again.",
  evidence: { damage: error.code },
});
