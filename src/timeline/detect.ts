import { randomUUID } from "node:crypto";
import { open as openHandle, rm } from "node:fs/promises";
import { join } from "node:path";
import { BytesError, type OpenBytes } from "../base/bytes.ts";
import { openDecompressed } from "../base/compression.ts";
import { openFile } from "../base/file-source.ts";
import { err, ok, type Result } from "../base/result.ts";
import { type CompressionHints, compressionFailure, withoutBytesError } from "../model/read-failure.ts";
import type { Compression, ReadFailure } from "../model/report.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline, type TimelineKind, type TimelineLimits } from "../model/timeline.ts";
import { isNsysStats, readNsysStats } from "./nsys-stats/index.ts";
import { refuse } from "./wrong-kinds.ts";

const HINTS: CompressionHints = {
  tooLarge: "decompress it yourself and check that a timeline is inside, or record a shorter part of the run",
  damaged: "copy the file again in binary mode, or compress it again",
};

const HEAD_BYTES = 256 * 1024;
const COPY_BYTES = 1024 ** 2;
/** sqlite.org/fileformat2.html, section 1.3. */
const SQLITE_MAGIC = "SQLite format 3\0";

interface Detected {
  readonly kind: TimelineKind;
  readonly compression: Compression;
  /** The same bytes without their wrapping. */
  readonly open: OpenBytes;
}

/**
 * Recognises a timeline by its first bytes, after decompression; the name of the file says nothing. Anything else is
 * refused with what it is, what is expected and what to do.
 */
export async function detectTimeline(
  open: OpenBytes,
): Promise<Result<{ readonly kind: TimelineKind; readonly compression: Compression }, ReadFailure>> {
  const detected = await detect(open, DEFAULT_TIMELINE_LIMITS.maxBytes);
  if (!detected.ok) return detected;
  return ok({ kind: detected.value.kind, compression: detected.value.compression });
}

/**
 * Detects the format and reads the timeline. A damaged database can end the process (see `readNsysSqlite`): files of
 * others are read in a process of their own. Errors of the file system reject; everything about the bytes is a Result.
 *
 * @param folder Where a compressed database is unpacked; what is put there is removed again.
 */
export async function readTimeline(
  path: string,
  folder: string,
  limits: TimelineLimits = DEFAULT_TIMELINE_LIMITS,
): Promise<Result<Timeline, ReadFailure>> {
  const detected = await detect(openFile(path), limits.maxBytes);
  if (!detected.ok) return detected;
  const { kind, compression, open } = detected.value;
  return withoutBytesError(HINTS, async () => {
    switch (kind) {
      case "nsys-sqlite": {
        const { readNsysSqlite } = await import("./nsys-sqlite/index.ts");
        if (compression === "none") return readNsysSqlite(path, compression, limits);
        return unpacked(open, folder, (plain) => readNsysSqlite(plain, compression, limits));
      }
      case "nsys-stats":
        return readNsysStats(open, compression, limits);
      case "torch-trace": {
        const { readTorchTrace } = await import("./torch-trace/index.ts");
        return readTorchTrace(open, compression, limits);
      }
    }
  });
}

async function detect(open: OpenBytes, maxBytes: number): Promise<Result<Detected, ReadFailure>> {
  return withoutBytesError(HINTS, async () => {
    const unwrapped = await openDecompressed(open, { maxBytes });
    if (!unwrapped.ok) return err(compressionFailure(unwrapped.error.code, unwrapped.error.message, HINTS));
    const { open: openPlain, compression } = unwrapped.value;
    const { head, broken } = await readHead(openPlain);
    const kind = kindOf(head);
    if (kind !== null) return ok({ kind, compression, open: openPlain });
    const refusal = refuse(head);
    if (refusal.code !== "wrong_kind" && broken !== null && broken.code !== "trailing") throw broken;
    return err(refusal);
  });
}

/** One line a format. */
function kindOf(head: Uint8Array): TimelineKind | null {
  if (Buffer.from(head.subarray(0, SQLITE_MAGIC.length)).toString("latin1") === SQLITE_MAGIC) return "nsys-sqlite";
  if (isTrace(head)) return "torch-trace";
  return isNsysStats(head) ? "nsys-stats" : null;
}

/** JSON of the Chrome trace format: an object with `traceEvents`, or the events alone. */
function isTrace(head: Uint8Array): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  const json = text.replace(/^\xef\xbb\xbf/, "").trimStart();
  if (json.startsWith("{")) return /"(?:traceEvents|deviceProperties|schemaVersion|distributedInfo)"\s*:/.test(json);
  return json.startsWith("[") && /"ph"\s*:/.test(json);
}

async function readHead(open: OpenBytes): Promise<{ readonly head: Uint8Array; readonly broken: BytesError | null }> {
  const source = await open();
  let head: Uint8Array = new Uint8Array(0);
  try {
    head = (await source.read(HEAD_BYTES)).slice();
    if (head.length < HEAD_BYTES) await source.read(1);
    return { head, broken: null };
  } catch (error) {
    if (!(error instanceof BytesError) || error.code === "too_large") throw error;
    return { head, broken: error };
  } finally {
    await source.close();
  }
}

/** Hands a copy without wrapping to `read`: SQLite reads files only. */
async function unpacked<T>(open: OpenBytes, folder: string, read: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, `timeline-${randomUUID()}.sqlite`);
  try {
    await unpack(open, path);
    return await read(path);
  } finally {
    await rm(path, { force: true });
  }
}

async function unpack(open: OpenBytes, path: string): Promise<void> {
  const source = await open();
  try {
    const file = await openHandle(path, "wx", 0o600);
    try {
      for (let bytes = await source.read(COPY_BYTES); bytes.length > 0; bytes = await source.read(COPY_BYTES)) {
        await file.writeFile(bytes);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    // Bytes behind compressed data that were complete: the database says itself whether it is whole.
    if (!(error instanceof BytesError) || error.code !== "trailing") throw error;
  } finally {
    await source.close();
  }
}
