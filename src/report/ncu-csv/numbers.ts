/** Which separator a cell shows to be the decimal one; null where it has none or allows both readings. */
export type Proof = "english" | "european" | null;

/** A number as it is printed. */
export interface PrintedNumber {
  /** Sign and digits without separators. */
  readonly digits: string;
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

/** Longer texts are no numbers: the widest printed ones have 26 characters. */
const LONGEST = 64;
const SHAPE = /^([+-]?)(\d[\d.,' \u00a0\u2009\u202f\u2019]*|[.,]\d+)(?:[eE]([+-]?\d{1,3}))?$/;
const SPACED = /^\d{1,3}(?:[' \u00a0\u2009\u202f\u2019]\d{3})+(?:[.,]\d+)?$/;
/** Groups of three; of two in the Indian form. */
const GROUPED_BY_COMMA = /^\d{1,3}(?:,\d{2,3})*,\d{3}$/;
const GROUPED_BY_POINT = /^\d{1,3}(?:\.\d{3})+$/;
/** A leading zero is never the first group of a grouped number: `0.123` is a decimal. */
const EITHER = /^[1-9]\d{0,2}[.,]\d{3}$/;

/** Reads the form of a number; null where the text is none. */
export function scanNumber(text: string): PrintedNumber | null {
  if (text.length > LONGEST) return null;
  if (/^\d+$/.test(text)) {
    return { digits: text, decimals: 0, exponent: 0, proof: null, ambiguous: null, spaced: false };
  }
  const shape = SHAPE.exec(text);
  if (!shape) return null;
  const sign = shape[1] === "-" ? "-" : "";
  const body = shape[2] as string;
  const exponent = shape[3] === undefined ? 0 : Number(shape[3]);
  const decimal = (whole: string, fraction: string, proof: Proof, spaced = false): PrintedNumber => ({
    digits: `${sign}${whole}${fraction}`,
    decimals: fraction.length,
    exponent,
    proof,
    ambiguous: null,
    spaced,
  });
  if (/^\d+$/.test(body)) return decimal(body, "", null);
  if (SPACED.test(body)) {
    const plain = body.replace(/[^\d.,]/g, "");
    const separator = plain.search(/[.,]/);
    if (separator < 0) return decimal(plain, "", null, true);
    const proof = plain[separator] === "." ? "english" : "european";
    return decimal(plain.slice(0, separator), plain.slice(separator + 1), proof, true);
  }
  if (/[^\d.,]/.test(body)) return null;
  const point = body.lastIndexOf(".");
  const comma = body.lastIndexOf(",");
  if (point >= 0 && comma >= 0) {
    const separator = Math.max(point, comma);
    const whole = body.slice(0, separator);
    const grouped = point > comma ? GROUPED_BY_COMMA : GROUPED_BY_POINT;
    if (!grouped.test(whole)) return null;
    return decimal(whole.replace(/[.,]/g, ""), body.slice(separator + 1), point > comma ? "english" : "european");
  }
  const separator = Math.max(point, comma);
  if (body.indexOf(point >= 0 ? "." : ",") !== separator) {
    if (point >= 0 ? !GROUPED_BY_POINT.test(body) : !GROUPED_BY_COMMA.test(body)) return null;
    return decimal(body.replace(/[.,]/g, ""), "", point >= 0 ? "european" : "english");
  }
  if (shape[3] === undefined && EITHER.test(body)) {
    return { ...decimal(body.replace(/[.,]/, ""), "", null), ambiguous: point >= 0 ? "." : "," };
  }
  return decimal(body.slice(0, separator), body.slice(separator + 1), point >= 0 ? "english" : "european");
}

/** The number in base units. Decimal digits and power of ten meet in one conversion, so that nothing is rounded twice. */
export const toBase = (printed: PrintedNumber, shift: number): number =>
  Number(`${printed.digits}e${printed.exponent + shift - printed.decimals}`);

/** A cell that proves a number format. */
interface Evidence {
  readonly text: string;
  readonly line: number;
}

/**
 * The number format of one file. `117.344` is 117 or 117 thousand by the locale that ncu ran under, so it is decided
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
