import { NumberFormat, type PrintedNumber, scanNumber } from "../../base/printed-number.ts";
import type { Hint } from "../../model/launch.ts";
import type { ReadFailure, ReadOptions } from "../../model/report.ts";
import type { Identity } from "./identity.ts";
import { absenceCode, CellMetrics, encodeNumber, missingWord, NOT_A_NUMBER } from "./metrics.ts";
import { Notes } from "./notes.ts";

/** Ends the reading; caught once, in index.ts. */
export class Refused extends Error {
  readonly failure: ReadFailure;

  constructor(failure: ReadFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Bounds on what one file may make the reader hold. A raw page of 2025.3.1 has 2,240 columns and cells of some KB. */
export const MOST_COLUMNS = 20_000;
export const LONGEST_CELL = 1024 * 1024;
/** Numbers of all launches together, nine bytes each. */
const MOST_NUMBERS = 250_000_000;
const MOST_SHARED_TEXTS = 10_000;

/** A launch before the positions in the file are final. */
export interface Draft {
  readonly identity: Identity;
  /** The `ID` that the page prints; null where it has no such column. */
  readonly id: string | null;
  readonly failure: string | null;
  readonly metrics: CellMetrics;
  readonly hints: readonly Hint[];
}

/** Metrics whose text is no number even where it looks like one (`0,1`: two TPCs). */
const TEXT_METRICS = new Set([
  "device__attribute_confidential_computing_mode",
  "device__attribute_display_name",
  "launch__cluster_scheduling_policy",
  "launch__func_cache_config",
  "launch__kernel_name",
  "launch__tpc_enabled",
]);

/** What all tables of one file share. */
export class Reading {
  readonly options: ReadOptions;
  readonly format = new NumberFormat();
  readonly notes = new Notes();
  readonly drafts: Draft[] = [];
  /** Device index to name, null where no page names it. */
  readonly devices = new Map<number, string | null>();
  readonly #undecided: { readonly metrics: CellMetrics; readonly resaved: boolean }[] = [];
  readonly #texts = new Map<string, string>();
  #numbers = 0;

  constructor(options: ReadOptions) {
    this.options = options;
  }

  wants(metric: string): boolean {
    return this.options.wantMetric?.(metric) ?? true;
  }

  addDraft(draft: Draft): void {
    this.drafts.push(draft);
    this.checkLaunches(this.drafts.length);
  }

  /** Refuses a file with more launches than allowed. */
  checkLaunches(launches: number): void {
    if (launches <= this.options.limits.maxLaunches) return;
    throw new Refused({
      code: "too_large",
      message: `Expected at most ${this.options.limits.maxLaunches} launches, found more.`,
      hint: "Export fewer launches: ncu --import REPORT --csv --page raw --kernel-name NAME, or --launch-count N.",
      evidence: { limit: this.options.limits.maxLaunches },
    });
  }

  countNumbers(numbers: number): void {
    this.#numbers += numbers;
    if (this.#numbers <= MOST_NUMBERS) return;
    throw new Refused({
      code: "too_large",
      message: `Expected at most ${MOST_NUMBERS} metric values, found more.`,
      hint: "Export fewer launches or metrics, or give the report itself (.ncu-rep).",
      evidence: { limit: MOST_NUMBERS },
    });
  }

  /** One copy of a text that many launches repeat. */
  shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const copy = ` ${text}`.slice(1);
    if (this.#texts.size < MOST_SHARED_TEXTS) this.#texts.set(copy, copy);
    return copy;
  }

  addDevice(index: number | null, name: string | null): void {
    if (index === null || this.devices.size >= 1024) return;
    if (name !== null || !this.devices.has(index)) this.devices.set(index, name);
  }

  /** Metrics that hold numbers whose separator the file has not explained yet. */
  addUndecided(metrics: CellMetrics, resaved: boolean): void {
    this.#undecided.push({ metrics, resaved });
  }

  settle(): void {
    for (const { metrics, resaved } of this.#undecided) metrics.settle(this.format, resaved);
  }

  /** Takes in what a cell shows of the file's number format. */
  observe(text: string, line: number): void {
    // One point and no comma cannot speak against a decimal point: nine of ten cells need no closer look.
    if (this.format.english !== null && !text.includes(",") && text.indexOf(".") === text.lastIndexOf(".")) return;
    const printed = scanNumber(text);
    if (printed !== null) this.observeNumber(printed, text, line);
  }

  /** The same for a number that is read already. Refuses the second of two opposite proofs. */
  observeNumber(printed: PrintedNumber, text: string, line: number): void {
    if (printed.proof === null && printed.ambiguous === null && !printed.spaced) return;
    this.format.observe(printed, text, line);
    if (!this.format.contradictory) return;
    const { english, european } = this.format;
    throw new Refused({
      code: "malformed",
      message:
        `Expected one number format, found two: ${JSON.stringify(english?.text)} in line ${english?.line} has a decimal point, ` +
        `${JSON.stringify(european?.text)} in line ${european?.line} a decimal comma. A wrong guess would be off by 1000.`,
      hint: "Export the page again in one locale, e.g. LC_ALL=C ncu --import REPORT --csv --page raw.",
      evidence: {
        english: english?.text ?? "",
        english_line: english?.line ?? 0,
        european: european?.text ?? "",
        european_line: european?.line ?? 0,
      },
    });
  }
}

/** What is known of a cell before it is read. */
export interface Place {
  readonly metric: string;
  /** As printed. */
  readonly unit: string;
  /** The unit as it was read, null for an unknown one. */
  readonly base: string | null;
  /** Power of ten of the unit, null for an unknown one. */
  readonly shift: number | null;
  /** The base unit that the metric must have, null where any will do. */
  readonly expected: string | null;
  /** True for a metric whose cells are text. */
  readonly isText: boolean;
  readonly resaved: boolean;
}

/** What the reader found in the last cell; one object is used again for each cell. */
export class CellReader {
  code = 0;
  value = 0;
  text: string | null = null;
  readonly #reading: Reading;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  get undecided(): boolean {
    return CellMetrics.isUndecided(this.code);
  }

  read(cell: string, place: Place, line: number): void {
    this.value = 0;
    this.text = null;
    const printed = cell.trim();
    const number = place.isText ? null : scanNumber(printed);
    if (number === null) {
      const missing = missingWord(printed);
      this.code = missing === null ? NOT_A_NUMBER : absenceCode(missing);
      if (missing === null) this.text = this.#reading.shared(printed);
      return;
    }
    this.#reading.observeNumber(number, printed, line);
    if (place.shift === null) {
      this.code = NOT_A_NUMBER;
      this.#reading.notes.add(
        "unknown_unit",
        "warning",
        place.metric,
        (count, examples) =>
          `The unit ${JSON.stringify(place.unit.slice(0, 64))} is not known: ${count} values are left out (${examples}).`,
        { unit: place.unit.slice(0, 64) },
        place.unit.slice(0, 64),
      );
      return;
    }
    if (place.expected !== null && place.expected !== place.base) {
      this.code = NOT_A_NUMBER;
      this.#noteUnexpected(place, place.expected, line);
      return;
    }
    const { code, value } = encodeNumber(number, place.shift, this.#reading.format, place.resaved);
    this.code = code;
    this.value = value;
  }

  #noteUnexpected({ metric, unit }: Place, expected: string, line: number): void {
    const shown = unit.trim().slice(0, 64);
    this.#reading.notes.add(
      "unexpected_unit",
      "warning",
      `line ${line}`,
      (count, examples) =>
        `${metric} has ${shown === "" ? "no unit" : `the unit ${JSON.stringify(shown)}`} where ${expected} is expected: ${count === 1 ? "1 value is" : `${count} values are`} left out (${examples}).`,
      { metric, unit: shown, expected },
      metric,
    );
  }
}

/** True for a metric that holds text. */
export const isText = (metric: string): boolean =>
  TEXT_METRICS.has(metric) || metric.startsWith("breakdown:") || metric.startsWith("group:");
