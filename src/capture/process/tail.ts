import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";

const CHUNK = 64 * 1024;

/** Reads what is added to a file that may not be there yet, piece by piece. */
export class FileTail {
  readonly #path: string;
  #file: FileHandle | null = null;
  #offset = 0;
  #reading: Promise<number> = Promise.resolve(0);

  constructor(path: string) {
    this.#path = path;
  }

  /** Hands over the bytes that are new. Returns how many. Calls made meanwhile wait for their turn. */
  read(take: (chunk: Buffer) => void): Promise<number> {
    this.#reading = this.#reading.then(() => this.#readOn(take));
    return this.#reading;
  }

  async #readOn(take: (chunk: Buffer) => void): Promise<number> {
    this.#file ??= await open(this.#path, "r").catch(() => null);
    if (this.#file === null) return 0;
    let total = 0;
    for (;;) {
      const { bytesRead, buffer } = await this.#file
        .read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, this.#offset)
        .catch(() => ({ bytesRead: 0, buffer: Buffer.alloc(0) }));
      if (bytesRead === 0) return total;
      this.#offset += bytesRead;
      total += bytesRead;
      take(buffer.subarray(0, bytesRead));
    }
  }

  async close(): Promise<void> {
    await this.#reading;
    await this.#file?.close().catch(() => {});
    this.#file = null;
  }
}

/** The last lines of a stream, bounded. */
export class LastLines {
  readonly #limit: number;
  readonly #lines: string[] = [];
  readonly #decoder = new StringDecoder("utf8");
  #open = "";

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    const parts = (this.#open + this.#decoder.write(chunk)).split(/\r\n|\n|\r/);
    this.#open = (parts.pop() ?? "").slice(-MAX_LINE);
    for (const part of parts.slice(-this.#limit)) this.#lines.push(part.slice(0, MAX_LINE));
    this.#lines.splice(0, Math.max(0, this.#lines.length - this.#limit));
  }

  get lines(): string[] {
    return [...this.#lines, ...(this.#open === "" ? [] : [this.#open])].slice(-this.#limit);
  }
}

const MAX_LINE = 2000;
