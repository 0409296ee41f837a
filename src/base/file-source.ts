import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { ByteSource, OpenBytes } from "./bytes.ts";

/** Small reads are served from one larger one, so that a length and the header behind it cost one call. */
const READ_AHEAD = 512;

/**
 * Opens a file. Skipping seeks: skipped bytes are never read. The size is that at the time of opening, so a file that
 * is still being written ends where it ended then. Errors of the file system reject. Reads block: reports are read in
 * a thread or a process of their own, where waiting for the thread pool took as long as the reads.
 */
export const openFile =
  (path: string): OpenBytes =>
  async () => {
    const descriptor = openSync(path, "r");
    try {
      return new FileSource(descriptor, fstatSync(descriptor).size);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  };

class FileSource implements ByteSource {
  readonly size: number;
  position = 0;
  readonly #descriptor: number;
  #isOpen = true;
  #buffer = new Uint8Array(READ_AHEAD);
  /** File offset of the first byte in the buffer, and how many bytes of it are filled. */
  #start = 0;
  #filled = 0;

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.size = size;
  }

  async read(length: number): Promise<Uint8Array> {
    const wanted = Math.max(0, Math.min(length, this.size - this.position));
    let from = this.position - this.#start;
    if (from < 0 || from + wanted > this.#filled) {
      this.#fill(Math.min(Math.max(wanted, READ_AHEAD), this.size - this.position));
      from = 0;
    }
    const bytes = this.#buffer.subarray(from, Math.min(from + wanted, this.#filled));
    this.position += bytes.length;
    return bytes;
  }

  #fill(length: number): void {
    if (this.#buffer.length < length) this.#buffer = new Uint8Array(length);
    this.#start = this.position;
    this.#filled = 0;
    while (this.#filled < length) {
      const wanted = length - this.#filled;
      const read = readSync(this.#descriptor, this.#buffer, this.#filled, wanted, this.#start + this.#filled);
      if (read === 0) return;
      this.#filled += read;
    }
  }

  async skip(length: number): Promise<number> {
    const moved = Math.max(0, Math.min(length, this.size - this.position));
    this.position += moved;
    return moved;
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#descriptor);
  }
}

/** Opens bytes that are in memory already. They are not copied. */
export const openBuffer =
  (bytes: Uint8Array): OpenBytes =>
  async () => {
    let position = 0;
    const take = (length: number): number => Math.max(0, Math.min(length, bytes.length - position));
    return {
      size: bytes.length,
      get position() {
        return position;
      },
      async read(length) {
        const start = position;
        position += take(length);
        return bytes.subarray(start, position);
      },
      async skip(length) {
        const moved = take(length);
        position += moved;
        return moved;
      },
      async close() {},
    };
  };
