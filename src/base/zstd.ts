import { type ByteSource, BytesError } from "./bytes.ts";
import { BlockDecoder, MAX_BLOCK } from "./zstd-block.ts";
import { ZstdError } from "./zstd-entropy.ts";

/** What the zstd program decodes unless told otherwise (windowLog 27); ordinary levels need 8 MiB or less. */
const MAX_WINDOW = 128 * 1024 ** 2;
const MAGIC = 0xfd2fb528;

/**
 * Decompresses zstd (RFC 8878), also several frames in a row. The zlib of Node 20 has no zstd, and the decoders that
 * were found for it either need all data at once or can be kept busy for minutes by a block of thirty bytes: this one is
 * bounded in time and memory by what goes in and comes out. Chunks are valid until the next one is asked for. Checksums
 * of frames are not verified; a frame's declared size is.
 */
export async function* unzstdChunks(source: ByteSource): AsyncGenerator<Uint8Array> {
  const input = new Input(source);
  let hasFrame = false;
  while (await input.more()) {
    const start = source.position - 1;
    const magic = uint32(await input.take(4));
    if (magic >>> 4 === 0x184d2a5) {
      await input.skip(uint32(await input.take(4)));
      continue;
    }
    if (magic !== MAGIC) {
      if (!hasFrame) throw damaged(source, "no frame starts here");
      throw new BytesError(
        "trailing",
        `the zstd data are complete, but from byte ${start} on no further frame follows`,
      );
    }
    hasFrame = true;
    try {
      yield* frame(input);
    } catch (error) {
      if (!(error instanceof ZstdError)) throw error;
      throw damaged(source, error.message, error);
    }
  }
}

/** Sections 3.1.1 and 3.1.1.2. */
async function* frame(input: Input): AsyncGenerator<Uint8Array> {
  const header = await frameHeader(input);
  const decoder = new BlockDecoder(header.window);
  let size = 0;
  for (let last = false; !last; ) {
    const prefix = await input.take(3);
    const bits = (prefix[0] ?? 0) | ((prefix[1] ?? 0) << 8) | ((prefix[2] ?? 0) << 16);
    last = (bits & 1) === 1;
    const type = (bits >> 1) & 3;
    const length = bits >> 3;
    if (type === 3 || length > MAX_BLOCK) throw new ZstdError(`a block of type ${type} and ${length} bytes`);
    const bytes = await input.take(type === 1 ? 1 : length);
    const chunk =
      type === 0
        ? decoder.raw(bytes)
        : type === 1
          ? decoder.repeated(bytes[0] ?? 0, length)
          : decoder.compressed(bytes);
    size += chunk.length;
    if (chunk.length > 0) yield chunk;
  }
  if (header.hasChecksum) await input.take(4);
  if (header.contentSize !== null && header.contentSize !== size) {
    throw new ZstdError(`a frame of ${size} bytes that declares ${header.contentSize}`);
  }
}

/** Section 3.1.1.1. */
async function frameHeader(
  input: Input,
): Promise<{ window: number; contentSize: number | null; hasChecksum: boolean }> {
  const [descriptor = 0] = await input.take(1);
  if ((descriptor & 8) !== 0) throw new ZstdError("a reserved bit of a frame header is set");
  if ((descriptor & 3) !== 0) throw new ZstdError("a frame that needs a dictionary");
  const single = (descriptor & 0x20) !== 0;
  const declared = single ? null : windowSize((await input.take(1))[0] ?? 0);
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const contentSize = sizeBytes === 0 ? null : littleEndian(await input.take(sizeBytes)) + (sizeBytes === 2 ? 256 : 0);
  const window = declared ?? contentSize ?? 0;
  if (window > MAX_WINDOW) {
    throw new BytesError("too_large", `a zstd window of ${window} bytes; at most ${MAX_WINDOW} are decoded`);
  }
  return { window, contentSize, hasChecksum: (descriptor & 4) !== 0 };
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function littleEndian(bytes: Uint8Array): number {
  let value = 0;
  for (let at = bytes.length - 1; at >= 0; at -= 1) value = value * 256 + (bytes[at] ?? 0);
  return value;
}

/** Exact takes from a source; each is valid until the next. */
class Input {
  readonly #source: ByteSource;
  #peeked: Uint8Array = new Uint8Array(0);

  constructor(source: ByteSource) {
    this.#source = source;
  }

  async more(): Promise<boolean> {
    this.#peeked = (await this.#source.read(1)).slice();
    return this.#peeked.length > 0;
  }

  async take(length: number): Promise<Uint8Array> {
    const from = this.#peeked.length;
    const rest = await this.#source.read(length - from);
    if (rest.length < length - from) throw await this.#tooShort();
    if (from === 0) return rest;
    const bytes = new Uint8Array(length);
    bytes.set(this.#peeked);
    bytes.set(rest, from);
    this.#peeked = new Uint8Array(0);
    return bytes;
  }

  async skip(length: number): Promise<void> {
    if ((await this.#source.skip(length)) < length) throw await this.#tooShort();
  }

  /** Rejects instead where the source has an error of its own. */
  async #tooShort(): Promise<BytesError> {
    await this.#source.read(1);
    return new BytesError("truncated", `the zstd data end too early, after ${this.#source.position} bytes`);
  }
}

const uint32 = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);

const damaged = (source: ByteSource, what: string, cause?: unknown): BytesError =>
  new BytesError("damaged", `the zstd data are damaged before byte ${source.position} (${what})`, { cause });
