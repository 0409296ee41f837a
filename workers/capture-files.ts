import { constants, createReadStream, createWriteStream } from "node:fs";
import { open, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { redactor } from "../src/base/redact.ts";

/** Of each file of a log: the beginning says what was started, the end how it ended. */
const HEAD_BYTES = 256 * 1024;
const TAIL_BYTES = 768 * 1024;

const READ_PLAIN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * One text of all logs of a capture: what ncu said, what the program printed, run by run. Bounded, without secrets.
 * @returns path of the text; null where nothing was logged.
 */
export async function writeLog(
  folder: string,
  engineLog: string | null,
  secrets: readonly string[],
): Promise<string | null> {
  const names = (await readdir(folder)).filter((name) => /\.(out|log)$/.test(name)).sort();
  const paths = [...names.map((name) => join(folder, name)), ...(engineLog === null ? [] : [engineLog])];
  const redact = redactor(secrets);
  const parts: string[] = [];
  for (const path of paths) {
    const text = await readEnds(path);
    if (text.trim() === "") continue;
    const lines = text.split("\n").map((line) => redact(line));
    parts.push(`=== ${path.slice(path.lastIndexOf("/") + 1)}\n${lines.join("\n").trimEnd()}\n`);
  }
  if (parts.length === 0) return null;
  const log = join(folder, "capture.txt");
  await writeFile(log, parts.join("\n"), { mode: 0o600 });
  return log;
}

/** Position of the first line feed or, of output that overwrites its line, carriage return; the end where there is none. */
function firstLineEnd(bytes: Buffer): number {
  const found = [bytes.indexOf("\n"), bytes.indexOf("\r")].filter((position) => position >= 0);
  return found.length === 0 ? bytes.length : Math.min(...found);
}

async function readEnds(path: string): Promise<string> {
  // A program may have put a link or a pipe in its place: neither is followed, and opening never waits.
  const file = await open(path, READ_PLAIN_FILE).catch(() => null);
  if (file === null) return "";
  try {
    const entry = await file.stat();
    const { size } = entry;
    if (!entry.isFile()) return "";
    if (size <= HEAD_BYTES + TAIL_BYTES) return await file.readFile("utf8");
    const { buffer: first } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const { buffer: last } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, size - TAIL_BYTES);
    // Whole lines only: of a secret that is cut in two neither half would be known.
    const head = first.subarray(0, 1 + Math.max(first.lastIndexOf("\n"), first.lastIndexOf("\r")));
    const tail = last.subarray(1 + firstLineEnd(last));
    const left = size - head.length - tail.length;
    return `${head.toString("utf8")}[… ${left} bytes left out …]\n${tail.toString("utf8")}`;
  } finally {
    await file.close();
  }
}

/** A packed copy beside a file. */
export async function gzipped(path: string): Promise<string> {
  const packed = `${path}.gz`;
  await pipeline(createReadStream(path), createGzip({ level: 6 }), createWriteStream(packed, { mode: 0o600 }));
  return packed;
}
