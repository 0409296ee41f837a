import type { Gunzip } from "node:zlib";
import { type ByteSource, BytesError, type OpenBytes } from "./bytes.ts";

/** One of these becomes at most 1,032 times as many bytes (DEFLATE), all held until they are asked for. */
const INPUT_BYTES = 16 * 1024;
const OUTPUT_BYTES = 256 * 1024;
/** Bytes in which zlib recognises the start of a member. */
const MEMBER_MAGIC = 2;

/**
 * Decompresses gzip (RFC 1952), also several members in a row. Input is given to zlib in small pieces and the next one
 * only when the output of the one before was taken.
 *
 * All bytes that can be decoded come out before the error does. Of the piece in which zlib meets damage it gives
 * nothing, so the data are then decoded a second time, that piece byte by byte: `open` opens them again.
 */
export async function* gunzipChunks(source: ByteSource, open: OpenBytes): AsyncGenerator<Uint8Array> {
  const inflater = await Inflater.start();
  let given = 0;
  try {
    for (;;) {
      const start = source.position;
      const piece = await source.read(INPUT_BYTES);
      const ready = piece.length > 0 ? await inflater.write(piece) : await inflater.end();
      for (const chunk of ready) {
        given += chunk.length;
        yield chunk;
      }
      if (inflater.failure !== null) {
        if (isCut(inflater.failure)) throw cut(inflater.failure, source.position);
        yield* lastBytes(open, start, given);
        throw damaged(inflater.failure, source.position);
      }
      if (piece.length === 0) return;
    }
  } finally {
    inflater.close();
  }
}

/**
 * What comes out of the data behind the first `given` bytes, up to the very byte that is damaged, in the piece that
 * begins at `start`; then the error with its place.
 */
async function* lastBytes(open: OpenBytes, start: number, given: number): AsyncGenerator<Uint8Array> {
  const source = await open();
  const inflater = await Inflater.start();
  let passed = 0;
  try {
    while (inflater.failure === null) {
      const piece = await source.read(source.position < start ? Math.min(INPUT_BYTES, start - source.position) : 1);
      if (piece.length === 0) return;
      for (const chunk of await inflater.write(piece)) {
        const known = Math.min(chunk.length, Math.max(0, given - passed));
        passed += chunk.length;
        if (known < chunk.length) yield chunk.subarray(known);
      }
    }
    if (isNoMember(inflater.failure)) throw trailing(inflater.failure, source.position - MEMBER_MAGIC);
    throw damaged(inflater.failure, source.position);
  } finally {
    inflater.close();
    await source.close();
  }
}

/** zlib as calls that give what came out of each piece. */
class Inflater {
  failure: (Error & { code?: string }) | null = null;
  readonly #gunzip: Gunzip;
  #chunks: Uint8Array[] = [];

  /** zlib is loaded only now: most reports are not compressed. */
  static async start(): Promise<Inflater> {
    const { createGunzip } = await import("node:zlib");
    return new Inflater(createGunzip({ chunkSize: OUTPUT_BYTES }));
  }

  private constructor(gunzip: Gunzip) {
    this.#gunzip = gunzip;
    gunzip.on("error", (error) => {
      this.failure ??= error;
    });
    gunzip.on("data", (chunk: Uint8Array) => this.#chunks.push(chunk));
  }

  write(piece: Uint8Array): Promise<Uint8Array[]> {
    return this.#after((done) => this.#gunzip.write(piece, done));
  }

  end(): Promise<Uint8Array[]> {
    return this.#after(() => this.#gunzip.end());
  }

  close(): void {
    this.#gunzip.destroy();
  }

  async #after(call: (done: () => void) => void): Promise<Uint8Array[]> {
    if (!this.#gunzip.destroyed) {
      await new Promise<void>((resolve) => {
        // A failed write may close the stream without calling back.
        this.#gunzip.once("close", resolve);
        call(() => {
          this.#gunzip.off("close", resolve);
          resolve();
        });
      });
    }
    const ready = this.#chunks;
    this.#chunks = [];
    return ready;
  }
}

const isCut = (error: { code?: string }): boolean => error.code === "Z_BUF_ERROR";

/** zlib's words where the two bytes at the start of a member are not 1f 8b; the member before it was complete then. */
const isNoMember = (error: Error): boolean => error.message === "incorrect header check";

const cut = (cause: Error, position: number): BytesError =>
  new BytesError("truncated", `the gzip data end too early, after ${position} bytes`, { cause });

const trailing = (cause: Error, start: number): BytesError =>
  new BytesError("trailing", `the gzip data are complete, but from byte ${start} on no further member follows`, {
    cause,
  });

const damaged = (cause: Error, position: number): BytesError =>
  new BytesError("damaged", `the gzip data are damaged before byte ${position} (${cause.message})`, { cause });
