import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";

/** Writes text to a file piece by piece, packed where asked for, in the memory of a few pieces. */
export async function writePieces(path: string, pieces: Iterable<string>, gzip: boolean): Promise<void> {
  const source = Readable.from(pieces);
  const target = createWriteStream(path);
  // The fastest level: text that repeats itself packs well at any.
  if (gzip) await pipeline(source, createGzip({ level: constants.Z_BEST_SPEED }), target);
  else await pipeline(source, target);
}
