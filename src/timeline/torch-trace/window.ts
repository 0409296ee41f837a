import type { ByteSource } from "../../base/bytes.ts";
import { Refused } from "../refused.ts";
import { tooManyBytes } from "./refused.ts";

const CHUNK_BYTES = 256 * 1024;
/** After so many bytes, some milliseconds of work, other requests of the process get their turn. */
const BYTES_IN_A_ROW = 4 * 1024 ** 2;

/** A piece of the file: what is being read and not yet done with. It grows only where one value needs it. */
export class ByteWindow {
  /** Only [at, end) holds bytes of the file. */
  bytes = Buffer.allocUnsafe(2 * CHUNK_BYTES);
  at = 0;
  end = 0;
  /** Place in the file of the first byte of `bytes`. */
  #offset = 0;
  #rested = 0;
  readonly #source: ByteSource;
  readonly #maxBytes: number;

  constructor(source: ByteSource, maxBytes: number) {
    this.#source = source;
    this.#maxBytes = maxBytes;
  }

  /** Place in the file of a position in `bytes`. */
  place(at: number): number {
    return this.#offset + at;
  }

  get bytesRead(): number {
    return this.#source.position;
  }

  /** Takes more bytes in behind those from `at` on, which move to the front. False at the end of the file. */
  async more(): Promise<boolean> {
    if (this.at > 0) {
      this.bytes.copyWithin(0, this.at, this.end);
      this.#offset += this.at;
      this.end -= this.at;
      this.at = 0;
    }
    // As much again as there is: a large value is looked at from its front at most twice as often as a small one.
    const wanted = Math.max(CHUNK_BYTES, this.end);
    if (this.end + wanted > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.end + wanted, this.bytes.length * 2));
      this.bytes.copy(larger, 0, 0, this.end);
      this.bytes = larger;
    }
    const chunk = await this.#source.read(wanted);
    if (this.#source.position > this.#maxBytes) throw new Refused(tooManyBytes(this.#maxBytes));
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
    if (this.#source.position - this.#rested >= BYTES_IN_A_ROW) {
      this.#rested = this.#source.position;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return chunk.length > 0;
  }
}
