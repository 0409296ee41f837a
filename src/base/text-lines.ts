import { type ByteSource, BytesError } from "./bytes.ts";

/** One line of the file. Blank lines are counted and left out. */
export interface Line {
  /** Without line end; the beginning only where `overlong`. */
  readonly text: string;
  /** Offset of its first byte. */
  readonly at: number;
  /** From 1. */
  readonly number: number;
  /** False for a last line that no line end follows. */
  readonly ended: boolean;
  readonly overlong: boolean;
}

/** Bytes of a line. The header of a raw page of ncu has about 100 KB, a row 25 KB. */
export const LONGEST_LINE = 4 * 1024 * 1024;

const CHUNK = 32 * 1024;
/** What is kept of an overlong line, to say where it is. */
const KEPT_OF_OVERLONG = 1024;

interface Encoding {
  readonly label: "utf-8" | "utf-16le" | "utf-16be";
  /** Bytes of the byte order mark. */
  readonly mark: number;
}

/**
 * PowerShell redirection writes UTF-16 with a byte order mark; spreadsheets write a mark before UTF-8. Without a mark
 * UTF-16 shows by the zero in every second byte of plain text.
 */
function encodingOf(head: Uint8Array): Encoding {
  const [a, b, c, d] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return { label: "utf-8", mark: 3 };
  if (a === 0xff && b === 0xfe) return { label: "utf-16le", mark: 2 };
  if (a === 0xfe && b === 0xff) return { label: "utf-16be", mark: 2 };
  if (a !== 0 && b === 0 && c !== 0 && d === 0) return { label: "utf-16le", mark: 0 };
  if (a === 0 && b !== 0 && c === 0 && d !== 0) return { label: "utf-16be", mark: 0 };
  return { label: "utf-8", mark: 0 };
}

/** The text at the start of a file, split into lines; the last one may be cut. */
export function headLines(head: Uint8Array): string[] {
  const { label, mark } = encodingOf(head);
  return new TextDecoder(label).decode(head.subarray(mark)).split(/\r?\n/);
}

/**
 * Reads lines in batches of one chunk, so that a file of any size takes a bounded part of the memory. Bytes that are no
 * text of the encoding become U+FFFD. A compressed stream that ends too early or is damaged ends the lines; `broken` tells.
 */
export class LineReader {
  broken: BytesError | null = null;
  readonly #source: ByteSource;
  #decoder: InstanceType<typeof TextDecoder> | null = null;
  #width: 1 | 2 = 1;
  /** Which byte of a two-byte unit holds the line feed. */
  #low: 0 | 1 = 0;
  #number = 1;
  /** Offset of the first byte of the line that is being gathered. */
  #at = 0;
  #pieces: Uint8Array[] = [];
  #gathered = 0;
  #done = false;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** The next lines, none where the chunk held no line end, or null at the end. */
  async batch(): Promise<Line[] | null> {
    if (this.#done) return null;
    const offset = this.#source.position;
    let bytes = await this.#read();
    const lines: Line[] = [];
    if (bytes.length === 0) {
      this.#done = true;
      this.#emit(lines, false);
      return lines;
    }
    let start = 0;
    if (this.#decoder === null) {
      const { label, mark } = encodingOf(bytes);
      this.#decoder = new TextDecoder(label);
      this.#width = label === "utf-8" ? 1 : 2;
      this.#low = label === "utf-16be" ? 1 : 0;
      bytes = bytes.subarray(mark);
      start = mark;
      this.#at = mark;
    }
    let from = 0;
    for (let end = this.#lineEnd(bytes, from); end >= 0; end = this.#lineEnd(bytes, from)) {
      this.#gather(bytes.subarray(from, end), false);
      this.#emit(lines, true);
      from = end + this.#width;
      this.#at = offset + start + from;
    }
    this.#gather(bytes.subarray(from), true);
    return lines;
  }

  async #read(): Promise<Uint8Array> {
    try {
      return await this.#source.read(CHUNK);
    } catch (error) {
      if (!(error instanceof BytesError) || error.code === "too_large") throw error;
      this.broken = error;
      return new Uint8Array(0);
    }
  }

  #lineEnd(bytes: Uint8Array, from: number): number {
    if (this.#width === 1) return bytes.indexOf(10, from);
    for (let at = bytes.indexOf(10, from); at >= 0; at = bytes.indexOf(10, at + 1)) {
      // Chunks have an even length and so has the mark: units begin at even positions.
      const unit = at - this.#low;
      if (unit % 2 === 0 && unit >= from && bytes[unit + 1 - this.#low] === 0) return unit;
    }
    return -1;
  }

  /** `copy`: the bytes outlive the chunk. */
  #gather(bytes: Uint8Array, copy: boolean): void {
    const room = LONGEST_LINE - this.#gathered;
    if (bytes.length > 0 && room > 0) {
      const kept = bytes.subarray(0, Math.min(bytes.length, room));
      this.#pieces.push(copy ? kept.slice() : kept);
    }
    this.#gathered += bytes.length;
  }

  #emit(lines: Line[], ended: boolean): void {
    const overlong = this.#gathered > LONGEST_LINE;
    let bytes = this.#pieces.length === 1 ? this.#pieces[0] : concatenate(this.#pieces);
    this.#pieces = [];
    this.#gathered = 0;
    const number = this.#number++;
    if (bytes === undefined || bytes.length === 0 || this.#decoder === null) return;
    if (overlong) bytes = bytes.subarray(0, KEPT_OF_OVERLONG);
    const decoded = this.#decoder.decode(bytes);
    const text = decoded.endsWith("\r") ? decoded.slice(0, -1) : decoded;
    if (text !== "") lines.push({ text, at: this.#at, number, ended, overlong });
  }
}

function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
