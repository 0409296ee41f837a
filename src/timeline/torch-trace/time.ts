/** What became of a time: a number; absent (also `null` and `NaN`); no number at all; not within int64 nanoseconds. */
export const TIME_READ = 0;
export const TIME_ABSENT = 1;
export const TIME_NO_NUMBER = 2;
export const TIME_OUTSIDE = 3;

const INT64_MAX = 2n ** 63n - 1n;
/** Digits that cannot leave the whole numbers of a double before they are compared with its largest. */
const MOST_DIGITS = 16;

/**
 * Decimal microseconds as whole nanoseconds, from the text: a time since 1970 in nanoseconds is beyond what a double
 * holds exactly, its microseconds and the nanoseconds within one are not. More than three decimals are rounded, as in
 * traces that were read and written again as doubles.
 */
export class MicrosecondReader {
  /** Whole microseconds, without sign. */
  us = 0;
  /** Nanoseconds within the microsecond, 0 to 999. */
  ns = 0;
  isNegative = false;

  read(bytes: Buffer, start: number, end: number): number {
    let from = start;
    let to = end;
    if (bytes[from] === 0x22) {
      from++;
      to--;
    }
    let at = from;
    this.isNegative = bytes[at] === 0x2d;
    if (this.isNegative) at++;
    const first = at;
    let us = 0;
    for (; at < to; at++) {
      const digit = (bytes[at] as number) - 0x30;
      if (digit < 0 || digit > 9) break;
      us = us * 10 + digit;
    }
    if (at === first || at - first > MOST_DIGITS) return this.#readText(bytes.toString("latin1", from, to));
    let ns = 0;
    if (at < to && bytes[at] === 0x2e) {
      const point = at++;
      for (; at < to; at++) {
        const digit = (bytes[at] as number) - 0x30;
        if (digit < 0 || digit > 9) break;
        const place = at - point;
        if (place === 1) ns += digit * 100;
        else if (place === 2) ns += digit * 10;
        else if (place === 3) ns += digit;
        else if (place === 4 && digit >= 5) ns++;
      }
      if (at === point + 1) return TIME_NO_NUMBER;
    }
    if (at !== to) return this.#readText(bytes.toString("latin1", from, to));
    if (ns === 1000) {
      us++;
      ns = 0;
    }
    return this.#give(us, ns);
  }

  #give(us: number, ns: number): number {
    if (us > Number.MAX_SAFE_INTEGER) return TIME_OUTSIDE;
    this.us = us;
    this.ns = ns;
    if (us === 0 && ns === 0) this.isNegative = false;
    return TIME_READ;
  }

  /** What is not plain digits: exponents, very long numbers, no numbers. */
  #readText(text: string): number {
    const parts = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?)(\d+))?$/.exec(text);
    if (parts === null) {
      if (/^[+-]?inf(?:inity)?$/i.test(text)) return TIME_OUTSIDE;
      return text === "" || /^(?:null|-?nan)$/i.test(text) ? TIME_ABSENT : TIME_NO_NUMBER;
    }
    const [, whole = "", fraction = "", sign, power = "0"] = parts;
    const digits = `${whole}${fraction}`.replace(/^0+/, "");
    if (digits === "") return this.#give(0, 0);
    // Position of the decimal point of the nanoseconds within `digits`; a power of over four digits decides alone.
    const exponent = (sign === "-" ? -1 : 1) * Number(power.replace(/^0+(?=\d)/, "").slice(0, 9));
    const point = digits.length - fraction.length + exponent + 3;
    if (point > 19) return TIME_OUTSIDE;
    if (point < 0) return this.#give(0, 0);
    const rounded = Number(digits[point] ?? "0") >= 5 ? 1n : 0n;
    const ns = BigInt(digits.slice(0, point).padEnd(point, "0") || "0") + rounded;
    if (ns > INT64_MAX) return TIME_OUTSIDE;
    return this.#give(Number(ns / 1000n), Number(ns % 1000n));
  }
}

/** A whole number without sign, as digits or in quotes, also `12.0`; NaN where it is none or not exact in a double. */
export function readWhole(bytes: Buffer, start: number, end: number): number {
  const isQuoted = bytes[start] === 0x22;
  const from = isQuoted ? start + 1 : start;
  const to = isQuoted ? end - 1 : end;
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 9) {
      const rest = to - at <= 16 ? bytes.toString("latin1", at, to) : "";
      return at > from && /^\.0+$/.test(rest) && value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
    }
    value = value * 10 + digit;
  }
  return to > from && value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
}
