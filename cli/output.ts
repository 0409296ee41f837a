import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { Writable } from "node:stream";
import { writePieces } from "../src/base/write-pieces.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";

/** The reader of the output has gone (`| head`): no error, and nothing left to do. */
export class ReaderLeft extends Error {}

/** Lets a stream lose its reader: what is written from then on throws ReaderLeft instead of ending the process. */
export function allowReaderToLeave(stream: Writable): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** Writes and waits where the reader is slower: any amount of output needs the memory of one chunk. */
export async function write(stream: Writable, text: string): Promise<void> {
  if (!stream.writable) throw new ReaderLeft();
  if (stream.write(text)) return;
  try {
    await once(stream, "drain");
  } catch {
    throw new ReaderLeft();
  }
}

export const writeLines = (stream: Writable, lines: readonly string[]): Promise<void> =>
  write(stream, `${lines.join("\n").trimEnd()}\n`);

/**
 * JSON that a terminal may show: control characters beyond ASCII and bidirectional marks, which JSON leaves as they are,
 * become escapes. The value that a parser reads is the same.
 */
export const terminalSafe = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A value as `terminalSafe` JSON with the end of the line. `pretty`: two spaces. */
export const jsonText = (value: unknown, layout: "pretty" | "line"): string =>
  `${terminalSafe(JSON.stringify(value, null, layout === "pretty" ? 2 : 0))}\n`;

/** Writes a file that the user named. @throws CommandFailure with exit code 2 where that cannot be. */
export async function writeNamedFile(path: string, content: string): Promise<void> {
  try {
    await writeFile(path, content);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** The same piece by piece, in the memory of one. */
export async function writeNamedPieces(path: string, pieces: Iterable<string>, gzip: boolean): Promise<void> {
  try {
    await writePieces(path, pieces, gzip);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

const cannotWrite = (path: string, error: unknown): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "cannot_write",
    message: `cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`,
    hint: "Name a file in a folder that exists and may be written.",
  });
