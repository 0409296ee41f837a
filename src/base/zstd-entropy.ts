/**
 * Entropy coding of zstd: RFC 8878 section 4. Everything read is checked against what is there; broken data throw
 * {@link ZstdError}.
 */

export class ZstdError extends Error {}

const fail = (what: string): never => {
  throw new ZstdError(what);
};

/** Reads bits from front to back (section 4.1.1: FSE table descriptions). */
class ForwardBits {
  readonly #bytes: Uint8Array;
  #position: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#position = at * 8;
  }

  peek(count: number): number {
    return bitsAt(this.#bytes, this.#position, count);
  }

  skip(count: number): void {
    this.#position += count;
    if (this.#position > this.#bytes.length * 8) fail("a table description runs past its block");
  }

  /** Offset of the first byte that was not touched. */
  get end(): number {
    return (this.#position + 7) >> 3;
  }
}

/** Up to 24 bits from a bit position; zeros behind the end. */
function bitsAt(bytes: Uint8Array, position: number, count: number): number {
  const at = position >> 3;
  const word =
    (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
  return (word >>> (position & 7)) & ((1 << count) - 1);
}

/** Reads bits from back to front; the highest set bit of the last byte only marks the end. */
export class BackwardBits {
  readonly #bytes: Uint8Array;
  readonly #start: number;
  /** Bits that are left. */
  left: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    const last = end > start ? (bytes[end - 1] ?? 0) : 0;
    if (last === 0) fail("a bit stream without an end mark");
    this.#bytes = bytes;
    this.#start = start * 8;
    this.left = (end - start) * 8 - Math.clz32(last) + 24 - 1;
  }

  /** Up to 24 bits. */
  read(count: number): number {
    this.left -= count;
    if (this.left < 0) fail("a bit stream ends too early");
    return bitsAt(this.#bytes, this.#start + this.left, count);
  }

  /** The next `count` bits, filled up with zeros where fewer are left. */
  peek(count: number): number {
    const missing = count - this.left;
    if (missing <= 0) return bitsAt(this.#bytes, this.#start + this.left - count, count);
    return bitsAt(this.#bytes, this.#start, this.left) << missing;
  }
}

/** A decoding table: by state the symbol, the bits to read and what to add to them for the next state. */
export interface FseTable {
  readonly accuracyLog: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
  readonly bases: Uint16Array;
}

/** A table of one state that always gives the same symbol (section 3.1.1.3.2.1.1, RLE_Mode). */
export const fseOfOne = (symbol: number): FseTable => ({
  accuracyLog: 0,
  symbols: Uint8Array.of(symbol),
  bits: Uint8Array.of(0),
  bases: Uint16Array.of(0),
});

/** Section 4.1.1: how often each symbol occurs, -1 for "less than once", as a table. */
export function fseTable(probabilities: readonly number[], accuracyLog: number): FseTable {
  const size = 1 << accuracyLog;
  const symbols = new Uint8Array(size);
  const next = new Uint16Array(probabilities.length);
  let high = size;
  probabilities.forEach((probability, symbol) => {
    if (probability === -1) {
      high -= 1;
      symbols[high] = symbol;
      next[symbol] = 1;
    } else next[symbol] = probability;
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let position = 0;
  probabilities.forEach((probability, symbol) => {
    for (let count = 0; count < probability; count += 1) {
      symbols[position] = symbol;
      do position = (position + step) & (size - 1);
      while (position >= high);
    }
  });
  if (position !== 0) fail("a table description that does not add up");
  const bits = new Uint8Array(size);
  const bases = new Uint16Array(size);
  for (let state = 0; state < size; state += 1) {
    const symbol = symbols[state] ?? 0;
    const value = next[symbol] ?? 0;
    next[symbol] = value + 1;
    const width = accuracyLog - (31 - Math.clz32(value));
    bits[state] = width;
    bases[state] = (value << width) - size;
  }
  return { accuracyLog, symbols, bits, bases };
}

/** Reads a table description; `end` is the offset behind it. */
export function readFseTable(
  bytes: Uint8Array,
  at: number,
  maxAccuracyLog: number,
  maxSymbol: number,
): { table: FseTable; end: number } {
  const input = new ForwardBits(bytes, at);
  const accuracyLog = input.peek(4) + 5;
  input.skip(4);
  if (accuracyLog > maxAccuracyLog) fail(`an accuracy of ${accuracyLog} bits`);
  const probabilities: number[] = [];
  let remaining = 1 << accuracyLog;
  while (remaining > 0) {
    if (probabilities.length > maxSymbol) fail("a table description with too many symbols");
    // Values below a threshold that depends on what is left take one bit less.
    const width = 32 - Math.clz32(remaining + 1);
    const value = input.peek(width);
    const lowMask = (1 << (width - 1)) - 1;
    const threshold = (1 << width) - 1 - (remaining + 1);
    let coded = value & lowMask;
    if (coded < threshold) input.skip(width - 1);
    else {
      coded = value > lowMask ? value - threshold : value;
      input.skip(width);
    }
    const probability = coded - 1;
    probabilities.push(probability);
    remaining -= Math.abs(probability);
    if (probability === 0) {
      for (let repeat = 3; repeat === 3; ) {
        repeat = input.peek(2);
        input.skip(2);
        for (let zero = 0; zero < repeat; zero += 1) probabilities.push(0);
        if (probabilities.length > maxSymbol + 1) fail("a table description with too many symbols");
      }
    }
  }
  if (remaining < 0 || probabilities.length > maxSymbol + 1) fail("a table description that does not add up");
  return { table: fseTable(probabilities, accuracyLog), end: input.end };
}

/** By the next `maxBits` bits: the symbol and how many of them it takes. */
export interface HuffmanTable {
  readonly maxBits: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
}

const MAX_WEIGHT_LOG = 6;
const MAX_HUFFMAN_BITS = 11;

/** Section 4.2.1: a Huffman tree description; `end` is the offset behind it. */
export function readHuffmanTable(bytes: Uint8Array, at: number): { table: HuffmanTable; end: number } {
  const header = bytes[at] ?? fail("a missing tree description");
  const start = at + 1;
  if (header >= 128) {
    const count = header - 127;
    const end = start + ((count + 1) >> 1);
    if (end > bytes.length) fail("a tree description runs past its block");
    const weights = Array.from({ length: count }, (_none, index) => {
      const byte = bytes[start + (index >> 1)] ?? 0;
      return index % 2 === 0 ? byte >> 4 : byte & 15;
    });
    return { table: huffmanTable(weights), end };
  }
  const end = start + header;
  if (end > bytes.length) fail("a tree description runs past its block");
  return { table: huffmanTable(readWeights(bytes.subarray(0, end), start, end)), end };
}

/** Section 4.2.1.2: weights from two interleaved FSE states. */
function readWeights(bytes: Uint8Array, start: number, end: number): number[] {
  const { table, end: streamStart } = readFseTable(bytes, start, MAX_WEIGHT_LOG, 255);
  const input = new BackwardBits(bytes, streamStart, end);
  const weights: number[] = [];
  let state = input.read(table.accuracyLog);
  let other = input.read(table.accuracyLog);
  for (;;) {
    if (weights.length > 253) fail("a tree description with too many symbols");
    weights.push(table.symbols[state] ?? 0);
    const width = table.bits[state] ?? 0;
    if (width > input.left) {
      weights.push(table.symbols[other] ?? 0);
      return weights;
    }
    [state, other] = [other, (table.bases[state] ?? 0) + input.read(width)];
  }
}

/** Section 4.2.1.3: the last weight is not stored, it completes the sum to a power of two. */
function huffmanTable(weights: number[]): HuffmanTable {
  let sum = 0;
  for (const weight of weights) {
    if (weight > MAX_HUFFMAN_BITS) fail(`a weight of ${weight}`);
    if (weight > 0) sum += 1 << (weight - 1);
  }
  if (sum === 0) fail("a tree without symbols");
  const maxBits = 32 - Math.clz32(sum);
  const rest = (1 << maxBits) - sum;
  if (maxBits > MAX_HUFFMAN_BITS || (rest & (rest - 1)) !== 0) fail("a tree that does not add up");
  const all = [...weights, 32 - Math.clz32(rest)];
  const symbols = new Uint8Array(1 << maxBits);
  const bits = new Uint8Array(1 << maxBits);
  let position = 0;
  for (let weight = 1; weight <= maxBits; weight += 1) {
    all.forEach((own, symbol) => {
      if (own !== weight) return;
      const width = 1 << (weight - 1);
      symbols.fill(symbol, position, position + width);
      bits.fill(maxBits + 1 - weight, position, position + width);
      position += width;
    });
  }
  return { maxBits, symbols, bits };
}

/** Section 4.2.2: decodes one stream into `out`, which it must fill exactly. */
export function decodeHuffman(
  table: HuffmanTable,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
): void {
  const input = new BackwardBits(bytes, start, end);
  for (let at = 0; at < out.length; at += 1) {
    const index = input.peek(table.maxBits);
    out[at] = table.symbols[index] ?? 0;
    input.left -= table.bits[index] ?? 0;
    if (input.left < 0) fail("a literals stream ends too early");
  }
  if (input.left !== 0) fail("a literals stream holds more than its size says");
}
