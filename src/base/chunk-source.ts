import type { ByteSource } from "./bytes.ts";

/** Bytes that are allocated before there is data to fill them. */
const FIRST_ALLOCATION = 1024 ** 2;

/**
 * A stream of chunks as a ByteSource. A chunk is taken when the one before is used up, so who reads sets the pace. A
 * read across chunks is gathered in one buffer that is reused and grows with the data that really come. Where the stream
 * breaks, what came before is read first; every later call throws.
 */
export class ChunkSource implements ByteSource {
  readonly size = null;
  position = 0;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #onClose: () => Promise<void>;
  #chunk: Uint8Array = new Uint8Array(0);
  #buffer = new Uint8Array(0);
  #broken: { readonly error: unknown } | null = null;

  constructor(chunks: AsyncIterable<Uint8Array>, onClose: () => Promise<void>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#onClose = onClose;
  }

  async read(length: number): Promise<Uint8Array> {
    if (this.#chunk.length === 0) await this.#next();
    if (length <= this.#chunk.length) return this.#take(length);
    let filled = 0;
    while (filled < length && (this.#chunk.length > 0 || (await this.#nextUnlessBroken(filled)))) {
      const part = this.#chunk.subarray(0, length - filled);
      this.#reserve(filled, filled + part.length, length);
      this.#buffer.set(part, filled);
      filled += part.length;
      this.#take(part.length);
    }
    return this.#buffer.subarray(0, filled);
  }

  async skip(length: number): Promise<number> {
    let skipped = 0;
    while (skipped < length && (this.#chunk.length > 0 || (await this.#next()))) {
      skipped += this.#take(length - skipped).length;
    }
    return skipped;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
    await this.#onClose();
  }

  #take(length: number): Uint8Array {
    const taken = this.#chunk.subarray(0, length);
    this.#chunk = this.#chunk.subarray(taken.length);
    this.position += taken.length;
    return taken;
  }

  /** With bytes gathered already, an error waits for the next call. */
  async #nextUnlessBroken(gathered: number): Promise<boolean> {
    try {
      return await this.#next();
    } catch (error) {
      if (gathered === 0) throw error;
      return false;
    }
  }

  async #next(): Promise<boolean> {
    if (this.#broken !== null) throw this.#broken.error;
    try {
      for (;;) {
        const { done, value } = await this.#chunks.next();
        if (done) return false;
        if (value.length === 0) continue;
        this.#chunk = value;
        return true;
      }
    } catch (error) {
      this.#broken = { error };
      throw error;
    }
  }

  #reserve(keep: number, needed: number, wanted: number): void {
    if (this.#buffer.length >= needed) return;
    const larger = new Uint8Array(Math.min(wanted, Math.max(needed, FIRST_ALLOCATION, this.#buffer.length * 2)));
    larger.set(this.#buffer.subarray(0, keep));
    this.#buffer = larger;
  }
}
