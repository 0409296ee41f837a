import { Decompress } from "fzstd";
import { type ByteSource, BytesError } from "./bytes.ts";

/** RFC 8878 section 3.1.1.1.2 recommends decoders to support at least 8 MiB; the zstd program stops at 128 MiB. */
const MAX_WINDOW = 64 * 1024 ** 2;
/** RFC 8878 section 3.1.1.2.4: Block_Maximum_Size. */
const MAX_BLOCK = 128 * 1024;
const MAGIC = 0xfd2fb528;

/**
 * Decompresses zstd (RFC 8878), also several frames in a row. The library decodes blocks; the frames are taken apart
 * here, because it is given exactly one block at a time: what one call can produce is then bounded, and so is the
 * window that a frame may ask for. Checksums of frames are not verified (the library does not).
 */
export async function* unzstdChunks(source: ByteSource): AsyncGenerator<Uint8Array> {
  const input = new Input(source);
  while (await input.more()) {
    const magic = uint32(await input.take(4));
    if (magic >>> 4 === 0x184d2a5) {
      await input.skip(uint32(await input.take(4)));
      continue;
    }
    if (magic !== MAGIC) throw damaged(source, "no frame starts here");
    yield* frame(input, source);
  }
}

async function* frame(input: Input, source: ByteSource): AsyncGenerator<Uint8Array> {
  const header = await frameHeader(input, source);
  let ready: Uint8Array[] = [];
  const decoder = new Decompress((chunk) => ready.push(chunk));
  const push = (bytes: Uint8Array, final: boolean): void => {
    try {
      decoder.push(bytes, final);
    } catch (error) {
      throw damaged(source, error instanceof Error ? error.message : String(error), error);
    }
  };
  push(header.bytes, false);
  for (let last = false; !last; ) {
    const prefix = await input.take(3);
    const bits = (prefix[0] ?? 0) | ((prefix[1] ?? 0) << 8) | ((prefix[2] ?? 0) << 16);
    last = (bits & 1) === 1;
    const type = (bits >> 1) & 3;
    const size = bits >> 3;
    if (type === 3 || size > MAX_BLOCK) throw damaged(source, `a block of type ${type} and ${size} bytes`);
    const block = new Uint8Array(3 + (type === 1 ? 1 : size));
    block.set(prefix);
    block.set(await input.take(block.length - 3), 3);
    push(block, false);
    const chunks = ready;
    ready = [];
    yield* chunks;
  }
  if (header.hasChecksum) push(await input.take(4), false);
  push(new Uint8Array(0), true);
  yield* ready;
}

/** RFC 8878 section 3.1.1.1, with the magic number put back in front. */
async function frameHeader(input: Input, source: ByteSource): Promise<{ bytes: Uint8Array; hasChecksum: boolean }> {
  const descriptor = (await input.take(1))[0] ?? 0;
  const single = ((descriptor >> 5) & 1) === 1;
  const dictionary = descriptor & 3;
  if (dictionary !== 0) throw damaged(source, "a frame that needs a dictionary");
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const rest = await input.take((single ? 0 : 1) + sizeBytes);
  const bytes = new Uint8Array(5 + rest.length);
  new DataView(bytes.buffer).setUint32(0, MAGIC, true);
  bytes[4] = descriptor;
  bytes.set(rest, 5);
  const window = single ? contentSize(rest) : windowSize(rest[0] ?? 0);
  if (window > MAX_WINDOW) {
    throw new BytesError("too_large", `a zstd window of ${window} bytes; at most ${MAX_WINDOW} are decoded`);
  }
  return { bytes, hasChecksum: ((descriptor >> 2) & 1) === 1 };
}

function windowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentSize(bytes: Uint8Array): number {
  let size = 0;
  for (let at = bytes.length - 1; at >= 0; at -= 1) size = size * 256 + (bytes[at] ?? 0);
  return bytes.length === 2 ? size + 256 : size;
}

/** Exact takes from a source; each result is a copy. */
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
    const bytes = new Uint8Array(length);
    bytes.set(this.#peeked);
    const from = this.#peeked.length;
    this.#peeked = new Uint8Array(0);
    const rest = await this.#source.read(length - from);
    if (rest.length < length - from) {
      throw new BytesError("truncated", `the zstd data end too early, after ${this.#source.position} bytes`);
    }
    bytes.set(rest, from);
    return bytes;
  }

  async skip(length: number): Promise<void> {
    if ((await this.#source.skip(length)) < length) {
      throw new BytesError("truncated", `the zstd data end too early, after ${this.#source.position} bytes`);
    }
  }
}

const uint32 = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);

const damaged = (source: ByteSource, what: string, cause?: unknown): BytesError =>
  new BytesError("damaged", `the zstd data are damaged before byte ${source.position} (${what})`, { cause });
