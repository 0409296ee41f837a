import { type ByteSource, BytesError } from "./bytes.ts";

/** One of these becomes at most 1,032 times as many bytes (DEFLATE), all held until they are asked for. */
const INPUT_BYTES = 16 * 1024;
const OUTPUT_BYTES = 256 * 1024;

/**
 * Decompresses gzip (RFC 1952), also several members in a row. Input is given to zlib in small pieces and the next one
 * only when the output of the one before was taken. All bytes that could be decoded come out before the error does.
 */
export async function* gunzipChunks(source: ByteSource): AsyncGenerator<Uint8Array> {
  // Loaded only now: most reports are not compressed.
  const { createGunzip } = await import("node:zlib");
  const gunzip = createGunzip({ chunkSize: OUTPUT_BYTES });
  const failures: Error[] = [];
  let chunks: Uint8Array[] = [];
  gunzip.on("error", (error) => failures.push(error));
  gunzip.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  const write = (piece: Uint8Array): Promise<void> =>
    new Promise((resolve) => {
      // A failed write may close the stream without calling back.
      gunzip.once("close", resolve);
      gunzip.write(piece, () => {
        gunzip.off("close", resolve);
        resolve();
      });
    });
  const end = (): Promise<void> => new Promise((resolve) => gunzip.once("close", resolve).end());
  try {
    for (let ended = false; !ended && !gunzip.destroyed; ) {
      const piece = await source.read(INPUT_BYTES);
      ended = piece.length < INPUT_BYTES;
      if (piece.length > 0) await write(piece);
      if (ended && !gunzip.destroyed) await end();
      const ready = chunks;
      chunks = [];
      yield* ready;
    }
  } finally {
    gunzip.destroy();
  }
  const [failure] = failures;
  if (failure !== undefined) throw asBytesError(failure, source.position);
}

function asBytesError(error: Error & { code?: string }, position: number): BytesError {
  return error.code === "Z_BUF_ERROR"
    ? new BytesError("truncated", `the gzip data end too early, after ${position} bytes`, { cause: error })
    : new BytesError("damaged", `the gzip data are damaged before byte ${position} (${error.message})`, {
        cause: error,
      });
}
