import type { FileHandle } from "node:fs/promises";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Readable } from "node:stream";
import { openBuffer } from "../src/base/file-source.ts";
import { DEFAULT_READ_LIMITS } from "../src/model/report.ts";
import { detectReport } from "../src/report/detect.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";
import { readFailure } from "./read-failure.ts";

/** So many bytes hold what detection looks at (256 KiB), compressed or not. */
const HEAD_BYTES = 512 * 1024;
/** The rest of the free space is left to others. */
const SHARE_OF_FREE_SPACE = 0.9;

/** Bytes that are kept of an input: what a reader takes in at most, and no more than the temporary folder has room for. */
export async function mostKept(): Promise<number> {
  const { bavail, bsize } = await statfs(tmpdir());
  return Math.min(DEFAULT_READ_LIMITS.maxBytes, Math.floor(bavail * bsize * SHARE_OF_FREE_SPACE));
}

/**
 * Copies a stream into a file. A stream that begins as no report is given up there: it may have no end.
 * @throws CommandFailure with exit code 3 for what is no report, or is longer than `limit` bytes.
 */
export async function keepInput(name: string, source: Readable, file: FileHandle, limit: number): Promise<void> {
  let head: Buffer | null = Buffer.alloc(0);
  let length = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw tooLong(name, limit);
    await file.appendFile(chunk);
    if (head === null) continue;
    head = Buffer.concat([head, chunk]);
    if (head.length < HEAD_BYTES) continue;
    await refuseForeign(name, head);
    head = null;
  }
}

/** A head whose compressed data end too early says nothing about the whole. */
async function refuseForeign(name: string, head: Uint8Array): Promise<void> {
  const detected = await detectReport(openBuffer(head));
  if (detected.ok || detected.error.evidence.damage === "truncated") return;
  throw readFailure(name, detected.error);
}

const tooLong = (name: string, limit: number): CommandFailure =>
  new CommandFailure(EXIT.unreadable, {
    code: "input_too_large",
    message: `${name} is no file, and longer than the ${limit} bytes that are kept of such an input`,
    hint: "Save it to a file and name that, or let TMPDIR name a folder with more room.",
    evidence: { file: name, limit },
  });
