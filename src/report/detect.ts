import { BytesError, type OpenBytes } from "../base/bytes.ts";
import { openDecompressed } from "../base/compression.ts";
import { err, ok, type Result } from "../base/result.ts";
import { type CompressionHints, compressionFailure, withoutBytesError } from "../model/read-failure.ts";
import {
  type Compression,
  DEFAULT_READ_LIMITS,
  type LaunchExtras,
  type ReadFailure,
  type ReadOptions,
  type ReadReport,
  type Report,
  type ReportFormat,
} from "../model/report.ts";
import { isCsv, readCsv } from "./ncu-csv/index.ts";
import { readNcuRepExtras } from "./ncu-rep/extras.ts";
import { isNcuRep, readNcuRep } from "./ncu-rep/index.ts";
import { refuse, refuseForeign } from "./wrong-kinds.ts";

/** Enough for the magic bytes of a report: of those nothing more is read for detection. */
const MAGIC_BYTES = 16;
const HINTS: CompressionHints = {
  tooLarge: "decompress it yourself and check that a report is inside, or split the recording into several reports",
  damaged: "copy the file again in binary mode, or compress the report again",
};

/** What detection looks at otherwise. Program output before a CSV table can be long. */
const HEAD_BYTES = 256 * 1024;

const READERS: Readonly<Record<ReportFormat, ReadReport>> = {
  "ncu-rep": readNcuRep,
  "ncu-csv-raw": readCsv,
  "ncu-csv-details": readCsv,
};

interface Detected {
  readonly format: ReportFormat;
  readonly compression: Compression;
  /** The same bytes without their wrapping. */
  readonly open: OpenBytes;
}

/**
 * Recognises a report by its first bytes, after decompression; the name of the file says nothing. Anything else is
 * refused with what it is, what is expected and what to do.
 */
export async function detectReport(
  open: OpenBytes,
): Promise<Result<{ readonly format: ReportFormat; readonly compression: Compression }, ReadFailure>> {
  const detected = await detect(open, DEFAULT_READ_LIMITS.maxBytes);
  if (!detected.ok) return detected;
  return ok({ format: detected.value.format, compression: detected.value.compression });
}

/** Detects the format and reads the report. Errors of the file system reject; everything about the bytes is a Result. */
export async function readReport(
  open: OpenBytes,
  options: Partial<ReadOptions> = {},
): Promise<Result<Report, ReadFailure>> {
  const full: ReadOptions = { ...options, limits: options.limits ?? DEFAULT_READ_LIMITS };
  const detected = await detect(open, full.limits.maxBytes);
  if (!detected.ok) return detected;
  const { format, compression, open: openPlain } = detected.value;
  return withoutBytesError(HINTS, () => READERS[format](openPlain, compression, full));
}

/**
 * Instances of one metric (per PC, opcode, time stamp or table key) and all messages of NVIDIA's rules of one launch,
 * read from the file again. Pages of CSV hold neither: the result is then empty.
 */
export async function readExtras(
  open: OpenBytes,
  launchIndex: number,
  metric?: string,
): Promise<Result<LaunchExtras, ReadFailure>> {
  const detected = await detect(open, DEFAULT_READ_LIMITS.maxBytes);
  if (!detected.ok) return detected;
  if (detected.value.format !== "ncu-rep") return ok({ instances: [], rules: [] });
  return withoutBytesError(HINTS, () => readNcuRepExtras(detected.value.open, launchIndex, metric));
}

async function detect(open: OpenBytes, maxBytes: number): Promise<Result<Detected, ReadFailure>> {
  return withoutBytesError(HINTS, async () => {
    const unwrapped = await openDecompressed(open, { maxBytes });
    if (!unwrapped.ok) return err(compressionFailure(unwrapped.error.code, unwrapped.error.message, HINTS));
    const { open: openPlain, compression } = unwrapped.value;
    const { head, broken } = await readHead(openPlain);
    const format = formatOf(head);
    if (typeof format === "string") return ok({ format, compression, open: openPlain });
    const isUnknown = format.code === "unknown_format" || format.code === "empty";
    if (isUnknown && broken !== null && broken.code !== "trailing") throw broken;
    return err(format);
  });
}

/** One line a format. */
function formatOf(head: Uint8Array): ReportFormat | ReadFailure {
  if (isNcuRep(head)) return "ncu-rep";
  const foreign = refuseForeign(head);
  if (foreign !== null) return foreign;
  const csv = isCsv(head);
  if (csv !== null) return typeof csv === "string" ? csv : csv.refuse;
  return refuse(head);
}

/**
 * The first bytes, and the error where the data break inside them: what came before may be enough to know them by, and
 * the reader then says what is wrong.
 */
async function readHead(open: OpenBytes): Promise<{ readonly head: Uint8Array; readonly broken: BytesError | null }> {
  const source = await open();
  let head: Uint8Array = new Uint8Array(0);
  try {
    head = (await source.read(MAGIC_BYTES)).slice();
    if (isNcuRep(head)) return { head, broken: null };
    const rest = await source.read(HEAD_BYTES - MAGIC_BYTES);
    const start = head;
    head = new Uint8Array(start.length + rest.length);
    head.set(start);
    head.set(rest, start.length);
    if (head.length < HEAD_BYTES) await source.read(1);
    return { head, broken: null };
  } catch (error) {
    if (!(error instanceof BytesError) || error.code === "too_large") throw error;
    return { head, broken: error };
  } finally {
    await source.close();
  }
}
