import { type FileHandle, open } from "node:fs/promises";
import type { ByteSource, OpenBytes } from "./bytes.ts";

/** Small reads are served from one larger one, so that a length and the header behind it cost one call. */
const READ_AHEAD = 512;

/**
 * Opens a file. Skipping seeks: skipped bytes are never read. The size is that at the time of opening, so a file that
 * is still being written ends where it ended then. Errors of the file system reject.
 */
export const openFile =
  (path: string): OpenBytes =>
  async () => {
    const handle = await open(path, "r");
    try {
      const { size } = await handle.stat();
      return new FileSource(handle, size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  };

class FileSource implements ByteSource {
  readonly size: number;
  position = 0;
  readonly #handle: FileHandle;
  #buffer = new Uint8Array(READ_AHEAD);
  /** File offset of the first byte in the buffer, and how many bytes of it are filled. */
  #start = 0;
  #filled = 0;

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.size = size;
  }

  async read(length: number): Promise<Uint8Array> {
    const wanted = Math.max(0, Math.min(length, this.size - this.position));
    let from = this.position - this.#start;
    if (from < 0 || from + wanted > this.#filled) {
      await this.#fill(Math.min(Math.max(wanted, READ_AHEAD), this.size - this.position));
      from = 0;
    }
    const bytes = this.#buffer.subarray(from, Math.min(from + wanted, this.#filled));
    this.position += bytes.length;
    return bytes;
  }

  async #fill(length: number): Promise<void> {
    if (this.#buffer.length < length) this.#buffer = new Uint8Array(length);
    this.#start = this.position;
    this.#filled = 0;
    while (this.#filled < length) {
      const { bytesRead } = await this.#handle.read(
        this.#buffer,
        this.#filled,
        length - this.#filled,
        this.#start + this.#filled,
      );
      if (bytesRead === 0) return;
      this.#filled += bytesRead;
    }
  }

  async skip(length: number): Promise<number> {
    const moved = Math.max(0, Math.min(length, this.size - this.position));
    this.position += moved;
    return moved;
  }

  async close(): Promise<void> {
    await this.#handle.close();
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
