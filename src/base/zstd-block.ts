import {
  BackwardBits,
  decodeHuffman,
  type FseTable,
  fseOfOne,
  fseTable,
  type HuffmanTable,
  readFseTable,
  readHuffmanTable,
  ZstdError,
} from "./zstd-entropy.ts";

/** RFC 8878 section 3.1.1.2.4: Block_Maximum_Size. */
export const MAX_BLOCK = 128 * 1024;

/** What is added behind the window before it is moved to the front of the buffer again. */
const SLACK = 2 * 1024 ** 2;

/** Sections 3.1.1.3.2.1.1: base value and extra bits by code, and the default distributions of section 3.1.1.3.2.2. */
const LITERAL_LENGTHS = {
  bits: [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
  ],
  first: 0,
  distribution: [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
  ],
  accuracyLog: 6,
  maxAccuracyLog: 9,
} as const;
const MATCH_LENGTHS = {
  bits: [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3,
    3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
  ],
  first: 3,
  distribution: [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
  ],
  accuracyLog: 6,
  maxAccuracyLog: 9,
} as const;
const OFFSETS = {
  /** Codes up to 27 reach 256 MiB, more than any window that is accepted. */
  maxCode: 27,
  distribution: [1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
  accuracyLog: 5,
  maxAccuracyLog: 8,
} as const;

/** Each code begins where the one before ends. */
const basesOf = (bits: readonly number[], first: number): readonly number[] =>
  bits.map((_width, code) => bits.slice(0, code).reduce((sum, width) => sum + 2 ** width, first));

const LITERAL_LENGTH_BASES = basesOf(LITERAL_LENGTHS.bits, LITERAL_LENGTHS.first);
const MATCH_LENGTH_BASES = basesOf(MATCH_LENGTHS.bits, MATCH_LENGTHS.first);

const DEFAULT_TABLES = {
  literalLengths: fseTable(LITERAL_LENGTHS.distribution, LITERAL_LENGTHS.accuracyLog),
  offsets: fseTable(OFFSETS.distribution, OFFSETS.accuracyLog),
  matchLengths: fseTable(MATCH_LENGTHS.distribution, MATCH_LENGTHS.accuracyLog),
};

/**
 * Decodes the blocks of one frame (RFC 8878 section 3.1.1.2 and 3.1.1.3). A block gives at most {@link MAX_BLOCK} bytes
 * and costs time in proportion to what it takes and gives, whatever it says. Throws ZstdError where it is broken.
 */
export class BlockDecoder {
  readonly #window: number;
  /** The window, then what was decoded last. */
  #buffer = new Uint8Array(MAX_BLOCK);
  #filled = 0;
  #huffman: HuffmanTable | null = null;
  #tables: { literalLengths: FseTable; offsets: FseTable; matchLengths: FseTable } | null = null;
  #recent1 = 1;
  #recent2 = 4;
  #recent3 = 8;
  readonly #literals = new Uint8Array(MAX_BLOCK);

  constructor(window: number) {
    this.#window = window;
  }

  /** Raw_Block. The result is valid until the next call. */
  raw(bytes: Uint8Array): Uint8Array {
    this.#reserve();
    this.#buffer.set(bytes, this.#filled);
    this.#filled += bytes.length;
    return this.#buffer.subarray(this.#filled - bytes.length, this.#filled);
  }

  /** RLE_Block. */
  repeated(byte: number, count: number): Uint8Array {
    this.#reserve();
    this.#filled += count;
    return this.#buffer.subarray(this.#filled - count, this.#filled).fill(byte);
  }

  /** Compressed_Block. */
  compressed(bytes: Uint8Array): Uint8Array {
    this.#reserve();
    const start = this.#filled;
    const { literals, end } = this.#readLiterals(bytes);
    this.#readSequences(bytes, end, literals);
    return this.#buffer.subarray(start, this.#filled);
  }

  /** Makes room for one block: grows with the data, up to the window and some slack, then moves the window to the front. */
  #reserve(): void {
    if (this.#filled + MAX_BLOCK <= this.#buffer.length) return;
    const limit = this.#window + SLACK;
    if (this.#buffer.length < limit) {
      const doubled = Math.max(this.#buffer.length * 2, this.#filled + MAX_BLOCK);
      // The last step is a large one, so that the buffer it replaces is at most half of it.
      const larger = new Uint8Array(doubled > limit / 2 ? limit : doubled);
      larger.set(this.#buffer.subarray(0, this.#filled));
      this.#buffer = larger;
      if (this.#filled + MAX_BLOCK <= larger.length) return;
    }
    const kept = Math.min(this.#window, this.#filled);
    this.#buffer.copyWithin(0, this.#filled - kept, this.#filled);
    this.#filled = kept;
  }

  /** Section 3.1.1.3.1. */
  #readLiterals(bytes: Uint8Array): { literals: Uint8Array; end: number } {
    const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0] = bytes;
    const type = b0 & 3;
    const format = (b0 >> 2) & 3;
    if (type < 2) {
      const headerSize = [1, 2, 1, 3][format] ?? 1;
      const size =
        headerSize === 1 ? b0 >> 3 : headerSize === 2 ? (b0 >> 4) | (b1 << 4) : (b0 >> 4) | (b1 << 4) | (b2 << 12);
      const end = headerSize + (type === 0 ? size : 1);
      check(size <= MAX_BLOCK && end <= bytes.length, "literals of more bytes than the block");
      if (type === 0) return { literals: bytes.subarray(headerSize, end), end };
      return { literals: this.#literals.subarray(0, size).fill(bytes[headerSize] ?? 0), end };
    }
    const headerSize = [3, 3, 4, 5][format] ?? 3;
    const sizeBits = [10, 10, 14, 18][format] ?? 10;
    const header = (b0 >> 4) + b1 * 2 ** 4 + b2 * 2 ** 12 + b3 * 2 ** 20 + b4 * 2 ** 28;
    const size = header % 2 ** sizeBits;
    const compressedSize = Math.floor(header / 2 ** sizeBits) % 2 ** sizeBits;
    const end = headerSize + compressedSize;
    check(size <= MAX_BLOCK && end <= bytes.length, "literals of more bytes than the block");
    let start = headerSize;
    if (type === 2) {
      const tree = readHuffmanTable(bytes.subarray(0, end), start);
      this.#huffman = tree.table;
      start = tree.end;
    }
    const literals = this.#literals.subarray(0, size);
    const table = this.#huffman;
    if (table === null) throw new ZstdError("literals that reuse a tree where there is none");
    if (format === 0) decodeHuffman(table, bytes, start, end, literals);
    else decodeFourStreams(table, bytes, start, end, literals);
    return { literals, end };
  }

  /** Section 3.1.1.3.2: reads the sequences and carries each out at once. */
  #readSequences(bytes: Uint8Array, at: number, literals: Uint8Array): void {
    let next = at;
    const byte = (): number => {
      check(next < bytes.length, "a block without its sequences");
      const value = bytes[next] ?? 0;
      next += 1;
      return value;
    };
    let count = byte();
    if (count >= 128) count = count === 255 ? byte() + (byte() << 8) + 0x7f00 : ((count - 128) << 8) + byte();
    if (count === 0) {
      check(next === bytes.length, "bytes behind a block without sequences");
      this.#append(literals, 0, literals.length);
      return;
    }
    const modes = byte();
    check((modes & 3) === 0, "reserved bits of the sequences are set");
    const read = (
      mode: number,
      what: keyof typeof DEFAULT_TABLES,
      maxAccuracyLog: number,
      maxCode: number,
    ): FseTable => {
      if (mode === 0) return DEFAULT_TABLES[what];
      if (mode === 1) {
        const code = byte();
        check(code <= maxCode, `the code ${code} in the sequences`);
        return fseOfOne(code);
      }
      if (mode === 3) {
        const before = this.#tables?.[what];
        if (before === undefined) throw new ZstdError("sequences that reuse a table where there is none");
        return before;
      }
      const { table, end } = readFseTable(bytes, next, maxAccuracyLog, maxCode);
      next = end;
      return table;
    };
    const literalLengths = read(
      modes >> 6,
      "literalLengths",
      LITERAL_LENGTHS.maxAccuracyLog,
      LITERAL_LENGTHS.bits.length - 1,
    );
    const offsets = read((modes >> 4) & 3, "offsets", OFFSETS.maxAccuracyLog, 31);
    const matchLengths = read(
      (modes >> 2) & 3,
      "matchLengths",
      MATCH_LENGTHS.maxAccuracyLog,
      MATCH_LENGTHS.bits.length - 1,
    );
    this.#tables = { literalLengths, offsets, matchLengths };

    const input = new BackwardBits(bytes, next, bytes.length);
    let literalState = input.read(literalLengths.accuracyLog);
    let offsetState = input.read(offsets.accuracyLog);
    let matchState = input.read(matchLengths.accuracyLog);
    const limit = this.#filled + MAX_BLOCK;
    let literalAt = 0;
    for (let index = 0; index < count; index += 1) {
      const offsetCode = offsets.symbols[offsetState] ?? 0;
      check(offsetCode <= OFFSETS.maxCode, "an offset beyond the window");
      const offsetBits = 2 ** offsetCode + readWide(input, offsetCode);
      const matchCode = matchLengths.symbols[matchState] ?? 0;
      const matchLength = (MATCH_LENGTH_BASES[matchCode] ?? 0) + input.read(MATCH_LENGTHS.bits[matchCode] ?? 0);
      const literalCode = literalLengths.symbols[literalState] ?? 0;
      const literalLength =
        (LITERAL_LENGTH_BASES[literalCode] ?? 0) + input.read(LITERAL_LENGTHS.bits[literalCode] ?? 0);
      if (index < count - 1) {
        literalState = (literalLengths.bases[literalState] ?? 0) + input.read(literalLengths.bits[literalState] ?? 0);
        matchState = (matchLengths.bases[matchState] ?? 0) + input.read(matchLengths.bits[matchState] ?? 0);
        offsetState = (offsets.bases[offsetState] ?? 0) + input.read(offsets.bits[offsetState] ?? 0);
      }
      check(literalAt + literalLength <= literals.length, "more literals used than there are");
      check(this.#filled + literalLength + matchLength <= limit, "a block of more than 128 KiB");
      this.#append(literals, literalAt, literalAt + literalLength);
      literalAt += literalLength;
      this.#copyMatch(this.#offset(offsetBits, literalLength), matchLength);
    }
    check(input.left === 0, "sequences that hold more than they say");
    check(this.#filled + literals.length - literalAt <= limit, "a block of more than 128 KiB");
    this.#append(literals, literalAt, literals.length);
  }

  #append(bytes: Uint8Array, from: number, to: number): void {
    const buffer = this.#buffer;
    const filled = this.#filled;
    if (to - from > 32) buffer.set(bytes.subarray(from, to), filled);
    else for (let at = from; at < to; at += 1) buffer[filled + at - from] = bytes[at] as number;
    this.#filled = filled + to - from;
  }

  /** Section 3.1.2.5: three recent offsets have names of their own. */
  #offset(value: number, literalLength: number): number {
    if (value > 3) return this.#remember(value - 3);
    const which = literalLength === 0 ? value + 1 : value;
    if (which === 1) return this.#recent1;
    if (which === 2) {
      const offset = this.#recent2;
      this.#recent2 = this.#recent1;
      this.#recent1 = offset;
      return offset;
    }
    return this.#remember(which === 3 ? this.#recent3 : this.#recent1 - 1);
  }

  #remember(offset: number): number {
    this.#recent3 = this.#recent2;
    this.#recent2 = this.#recent1;
    this.#recent1 = offset;
    return offset;
  }

  #copyMatch(offset: number, length: number): void {
    const filled = this.#filled;
    check(offset > 0 && offset <= filled, "an offset beyond the window");
    const buffer = this.#buffer;
    if (offset >= length && length > 32) buffer.copyWithin(filled, filled - offset, filled - offset + length);
    else for (let at = filled; at < filled + length; at += 1) buffer[at] = buffer[at - offset] as number;
    this.#filled = filled + length;
  }
}

/** Section 4.2.2: sizes of the first three streams, two bytes each, then the streams. */
function decodeFourStreams(table: HuffmanTable, bytes: Uint8Array, start: number, end: number, out: Uint8Array): void {
  check(start + 6 <= end, "literals without their jump table");
  const quarter = (out.length + 3) >> 2;
  check(quarter * 3 <= out.length, "four streams for too few literals");
  let from = start + 6;
  for (let stream = 0; stream < 4; stream += 1) {
    const size = (bytes[start + stream * 2] ?? 0) | ((bytes[start + stream * 2 + 1] ?? 0) << 8);
    const to = stream === 3 ? end : from + size;
    check(to <= end, "a literals stream runs past its block");
    decodeHuffman(
      table,
      bytes,
      from,
      to,
      out.subarray(stream * quarter, stream === 3 ? out.length : (stream + 1) * quarter),
    );
    from = to;
  }
}

/** Up to 27 bits. */
function readWide(input: BackwardBits, count: number): number {
  if (count <= 16) return input.read(count);
  const high = input.read(count - 16);
  return high * 2 ** 16 + input.read(16);
}

function check(holds: boolean, what: string): void {
  if (!holds) throw new ZstdError(what);
}
