/** Which separator a cell shows to be the decimal one; null where it has none or allows both readings. */
export type Proof = "english" | "european" | null;

/** A number as it is printed. */
export interface PrintedNumber {
  /** The digits without separators as one whole number, with sign; exact where there are at most 15 of them. */
  readonly mantissa: number;
  /** The digits as text where there are more than 15. */
  readonly digits: string | null;
  /** How many of the digits stand behind the decimal separator. */
  readonly decimals: number;
  /** Power of ten of a printed exponent, else 0. Nsight Compute prints none; spreadsheets and pandas do. */
  readonly exponent: number;
  readonly proof: Proof;
  /**
   * `117.344` and `117,344` may be one hundred thousand or one hundred. `decimals` is then 0, and where the separator
   * turns out to be the decimal one the number is a thousandth.
   */
  readonly ambiguous: "." | "," | null;
  /** True where blanks or apostrophes group the digits, so that neither point nor comma can. */
  readonly spaced: boolean;
}

const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;
const COMMA = 0x2c;
const MINUS = 0x2d;
/** Digits that a double holds exactly. */
const EXACT_DIGITS = 15;

/**
 * Reads the form of a number; null where the text is none. Nearly all cells of a page are digits with at most one
 * separator: those are read here, the others by {@link scanGrouped}.
 */
export function scanNumber(text: string): PrintedNumber | null {
  const { length } = text;
  const first = text.charCodeAt(0) === MINUS ? 1 : 0;
  let separator = -1;
  let mantissa = 0;
  for (let at = first; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code >= ZERO && code <= NINE) mantissa = mantissa * 10 + (code - ZERO);
    else if ((code === POINT || code === COMMA) && separator < 0 && at > first && at < length - 1) separator = at;
    else return scanGrouped(text);
  }
  const digits = length - first - (separator < 0 ? 0 : 1);
  if (digits < 1 || digits > EXACT_DIGITS) return scanGrouped(text);
  if (first === 1) mantissa = -mantissa;
  if (separator < 0) return plain(mantissa, 0, null);
  const isPoint = text.charCodeAt(separator) === POINT;
  const decimals = length - separator - 1;
  const whole = separator - first;
  // A leading zero is never the first group of a grouped number: `0.123` is a decimal.
  if (decimals === 3 && whole <= 3 && text.charCodeAt(first) !== ZERO) {
    return { ...plain(mantissa, 0, null), ambiguous: isPoint ? "." : "," };
  }
  return plain(mantissa, decimals, isPoint ? "english" : "european");
}

const plain = (mantissa: number, decimals: number, proof: Proof): PrintedNumber => ({
  mantissa,
  digits: null,
  decimals,
  exponent: 0,
  proof,
  ambiguous: null,
  spaced: false,
});

/** Longer texts are no numbers: the widest printed ones have 26 characters. */
const LONGEST = 64;
const SHAPE = /^([+-]?)(\d[\d.,' \u00a0\u2009\u202f\u2019]*|[.,]\d+)(?:[eE]([+-]?\d{1,3}))?$/;
const SPACED = /^\d{1,3}(?:[' \u00a0\u2009\u202f\u2019]\d{3})+(?:[.,]\d+)?$/;
/** Groups of three; of two in the Indian form. */
const GROUPED_BY_COMMA = /^\d{1,3}(?:,\d{2,3})*,\d{3}$/;
const GROUPED_BY_POINT = /^\d{1,3}(?:\.\d{3})+$/;
const EITHER = /^[1-9]\d{0,2}[.,]\d{3}$/;

/** Numbers with several separators, with an exponent, or with more digits than a double holds. */
function scanGrouped(text: string): PrintedNumber | null {
  if (text.length > LONGEST) return null;
  const shape = SHAPE.exec(text);
  if (!shape) return null;
  const body = shape[2] as string;
  const number = scanBody(body);
  if (number === null) return null;
  const sign = shape[1] === "-" ? -1 : 1;
  const exponent = shape[3] === undefined ? 0 : Number(shape[3]);
  if (number.ambiguous !== null && shape[3] !== undefined) {
    // A mantissa has one digit before its decimal separator and no groups.
    const proof = number.ambiguous === "." ? "english" : "european";
    return { ...number, mantissa: sign * number.mantissa, decimals: 3, proof, ambiguous: null, exponent };
  }
  const digits = number.digits !== null && sign < 0 ? `-${number.digits}` : number.digits;
  return { ...number, mantissa: sign * number.mantissa, digits, exponent };
}

function scanBody(body: string): PrintedNumber | null {
  const point = body.lastIndexOf(".");
  const comma = body.lastIndexOf(",");
  const separator = Math.max(point, comma);
  if (/[^\d.,]/.test(body)) {
    if (!SPACED.test(body)) return null;
    const [whole = "", fraction = ""] = body.replace(/[^\d.,]/g, "").split(/[.,]/);
    const proof = separator < 0 ? null : point > comma ? "english" : "european";
    return { ...fromDigits(whole, fraction, proof), spaced: true };
  }
  if (separator < 0) return fromDigits(body, "", null);
  const whole = body.slice(0, separator);
  const fraction = body.slice(separator + 1);
  if (fraction === "") return null;
  if (point >= 0 && comma >= 0) {
    if (!(point > comma ? GROUPED_BY_COMMA : GROUPED_BY_POINT).test(whole)) return null;
    return fromDigits(whole.replace(/[.,]/g, ""), fraction, point > comma ? "english" : "european");
  }
  if (body.search(/[.,]/) !== separator) {
    if (!(point >= 0 ? GROUPED_BY_POINT : GROUPED_BY_COMMA).test(body)) return null;
    return fromDigits(body.replace(/[.,]/g, ""), "", point >= 0 ? "european" : "english");
  }
  if (EITHER.test(body)) return { ...fromDigits(whole + fraction, "", null), ambiguous: point >= 0 ? "." : "," };
  return fromDigits(whole, fraction, point >= 0 ? "english" : "european");
}

function fromDigits(whole: string, fraction: string, proof: Proof): PrintedNumber {
  const digits = whole + fraction;
  return { ...plain(Number(digits), fraction.length, proof), digits: digits.length > EXACT_DIGITS ? digits : null };
}

/** Powers of ten that a double holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

/**
 * The number in base units: the double nearest to what is printed. A whole number and a power of ten that are both exact
 * meet in one operation (W. Clinger, "How to Read Floating Point Numbers Accurately", 1990); the rest goes through text.
 */
export function toBase(printed: PrintedNumber, shift: number): number {
  const exponent = printed.exponent + shift - printed.decimals;
  const power = POWERS[Math.abs(exponent)];
  if (printed.digits !== null || power === undefined) {
    return Number(`${printed.digits ?? printed.mantissa}e${exponent}`);
  }
  return exponent < 0 ? printed.mantissa / power : printed.mantissa * power;
}

/** A cell that proves a number format. */
interface Evidence {
  readonly text: string;
  readonly line: number;
}

/**
 * The number format of one file. `117.344` is 117 or 117 thousand by the locale that the tool ran under, so it is decided
 * once for the file, from cells that allow one reading only; two opposite proofs leave no reading that can be trusted.
 */
export class NumberFormat {
  english: Evidence | null = null;
  european: Evidence | null = null;
  #spaced = false;
  /** Numbers with a point that stay undecided unless a proof follows. */
  unproven = 0;

  /** Takes in what a cell shows. */
  observe(printed: PrintedNumber, text: string, line: number): void {
    if (printed.proof === "english") this.english ??= { text, line };
    else if (printed.proof === "european") this.european ??= { text, line };
    if (printed.spaced) this.#spaced = true;
    if (printed.ambiguous === ".") this.unproven++;
  }

  get contradictory(): boolean {
    return this.english !== null && this.european !== null;
  }

  get proven(): boolean {
    return this.english !== null || this.european !== null || this.#spaced;
  }

  /** True where the separator of an ambiguous number is the decimal one. Without any proof: English. */
  isDecimal(separator: "." | ","): boolean {
    if (this.#spaced) return true;
    return separator === (this.european === null ? "." : ",");
  }
}
