/** Deeper nesting is refused: events nest three deep, so this is no trace. */
const DEEPEST = 512;

/** Returned where the bytes at hand end before the value does. */
export const SHORT = -1;

/** From here on a string is searched by the runtime, which costs a call and then takes many bytes at once. */
const LONG_STRING = 48;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What is wrong, and where in the bytes at hand. */
export class JsonFault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Position of the first byte that is no white space; `end` where there is none. */
export function spaceEnd(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) return at;
    at++;
  }
  return end;
}

/** Position behind the closing quote of the string whose content begins at `from`. */
export function stringEnd(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const near = Math.min(end, at + LONG_STRING);
    while (at < near) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) return at + 1;
      at += byte === BACKSLASH ? 2 : 1;
    }
    if (at >= end) return SHORT;
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0 || quote >= end) return SHORT;
    if (backslashesBefore(bytes, at, quote) % 2 === 0) return quote + 1;
    at = quote + 1;
  }
  return SHORT;
}

function backslashesBefore(bytes: Buffer, from: number, to: number): number {
  let first = to;
  while (first > from && bytes[first - 1] === BACKSLASH) first--;
  return to - first;
}

/**
 * Skips values without reading them. Brackets have to match; what is between them is not looked at, so that a bare `inf`
 * or `nan`, which Kineto prints for a bandwidth without a duration, does not cost the event.
 */
export class ValueSkipper {
  readonly #open = new Uint8Array(DEEPEST);
  #depth = 0;
  #isInString = false;
  #isStarted = false;

  /** Position behind the value that begins at `from`, which is no white space. */
  valueEnd(bytes: Buffer, from: number, end: number): number {
    const byte = bytes[from] as number;
    if (byte === QUOTE) return stringEnd(bytes, from + 1, end);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#depth = 0;
      return this.#follow(bytes, from, end);
    }
    let at = from;
    while (at < end && PRIMITIVE[bytes[at] as number] === 1) at++;
    if (at === end) return SHORT;
    if (at === from) throw new JsonFault(`Expected a value, found byte ${hex(byte)}`, from);
    return at;
  }

  /** Position behind the brace that closes the object inside which `from` is. */
  objectEnd(bytes: Buffer, from: number, end: number): number {
    this.#open[0] = OPEN_BRACE;
    this.#depth = 1;
    return this.#follow(bytes, from, end);
  }

  #follow(bytes: Buffer, from: number, end: number): number {
    let at = from;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        at = stringEnd(bytes, at + 1, end);
        if (at === SHORT) return SHORT;
        continue;
      }
      at++;
      if (byte < OPEN_BRACKET) continue;
      if (this.#bracket(byte, at - 1) && this.#depth === 0) return at;
    }
    return SHORT;
  }

  /** Begins a value that is taken in pieces, because it is larger than what is held in memory. */
  startLong(): void {
    this.#depth = 0;
    this.#isInString = false;
    this.#isStarted = false;
  }

  /**
   * The next piece of a long value. `at`: the position behind the value, or SHORT where the piece ends first. `rest`:
   * bytes at the end of the piece to give again, since an escape sequence is cut there.
   */
  longEnd(bytes: Buffer, from: number, end: number): { readonly at: number; readonly rest: number } {
    let at = from;
    while (at < end) {
      if (this.#isInString) {
        const after = stringEnd(bytes, at, end);
        if (after === SHORT) return { at: SHORT, rest: backslashesBefore(bytes, at, end) % 2 };
        at = after;
        this.#isInString = false;
        if (this.#depth === 0) return { at, rest: 0 };
        continue;
      }
      const byte = bytes[at] as number;
      if (this.#depth === 0 && this.#isStarted && PRIMITIVE[byte] === 0) return { at, rest: 0 };
      this.#isStarted = true;
      at++;
      if (byte === QUOTE) this.#isInString = true;
      else if (this.#bracket(byte, at - 1) && this.#depth === 0) return { at, rest: 0 };
    }
    return { at: SHORT, rest: 0 };
  }

  #bracket(byte: number, at: number): boolean {
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (this.#depth === DEEPEST) throw new JsonFault(`Expected at most ${DEEPEST} nested values, found more`, at);
      this.#open[this.#depth++] = byte;
      return false;
    }
    if (byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET) return false;
    // The closing bracket of ASCII stands two behind the opening one.
    if (this.#depth === 0 || (this.#open[--this.#depth] as number) + 2 !== byte) {
      throw new JsonFault(`Expected another bracket than ${String.fromCharCode(byte)}`, at);
    }
    return true;
  }
}

/** 1 for the bytes of numbers, `true`, `null`, `NaN`: all but white space and what has a meaning in JSON. */
const PRIMITIVE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > 0x20 && !'",:[]{}'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

export const hex = (byte: number): string => `0x${byte.toString(16).padStart(2, "0")}`;
