import type { Row } from "../../base/csv-row.ts";
import { scanNumber } from "../../base/printed-number.ts";
import type { Hint } from "../../model/launch.ts";
import { type Identity, IdentityReader } from "./identity.ts";
import { isUndecidable, metricOf } from "./labels.ts";
import { CellMetrics, Layout, precisionOf } from "./metrics.ts";
import type { Header } from "./page.ts";
import { CAPABILITY, FAILED } from "./raw.ts";
import { CellReader, isText, type Reading, Refused } from "./reading.ts";
import { isTooLong, noteUnreadable, type Table } from "./table.ts";
import { expectedUnit, readUnit, type Unit } from "./units.ts";

const DURATION = "gpu__time_duration.sum";

/** Rows of one launch: some hundred on the widest page seen. */
const MOST_ROWS = 65_536;
const MOST_HINTS = 4096;
const MOST_UNITS = 1024;

/**
 * The details page: one row a metric, then one a rule. Rows of a launch share its `ID` and mostly stand together; where
 * they do not (a sorted table), they are gathered. Metric rows are shorter than the header where rule columns exist.
 */
export class DetailsTable implements Table {
  readonly header: Header;
  readonly identity: IdentityReader;
  readonly #reading: Reading;
  readonly #cell: CellReader;
  readonly #at: Readonly<
    Record<"section" | "metric" | "unit" | "value" | "rule" | "type" | "text" | "speedupType" | "speedup", number>
  >;
  readonly #launches = new Map<string, LaunchRows>();
  readonly #units = new Map<string, Unit | null>();
  #current: { readonly key: string; readonly rows: LaunchRows } | null = null;

  constructor(header: Header, reading: Reading) {
    this.header = header;
    this.identity = new IdentityReader(header);
    this.#reading = reading;
    this.#cell = new CellReader(reading);
    const at = (name: string): number => header.columns.indexOf(name);
    this.#at = {
      section: at("Section Name"),
      metric: at("Metric Name"),
      unit: at("Metric Unit"),
      value: at("Metric Value"),
      rule: at("Rule Name"),
      type: at("Rule Type"),
      text: at("Rule Description"),
      speedupType: at("Estimated Speedup Type"),
      speedup: at("Estimated Speedup"),
    };
    if (this.identity.idColumn < 0 || this.#at.unit < 0) {
      throw new Refused({
        code: "malformed",
        message: `Expected the columns ID and Metric Unit on a details page, found ${header.columns.length} columns without one of them.`,
        hint: "Export the page again and keep all columns: ncu --import REPORT --csv --page details.",
        evidence: { columns: header.columns.slice(0, 30).join(", ").slice(0, 500) },
      });
    }
  }

  row(row: Row, line: number): boolean {
    const { cells } = row;
    const id = this.identity.id(cells);
    if (id === null || cells.length < 2) return false;
    const metric = (cells[this.#at.metric] ?? "").trim();
    const rule = (cells[this.#at.rule] ?? "").trim();
    if (isTooLong(row, this.header) || (metric !== "" && cells.length <= Math.max(this.#at.value, this.#at.unit))) {
      noteUnreadable(this.#reading, line);
      return true;
    }
    const rows = this.#rowsOf(id, cells);
    if (metric !== "") this.#readMetric(rows, metric, cells, line);
    else if (rule !== "") this.#readRule(rows, rule, cells);
    return true;
  }

  #rowsOf(id: string, cells: readonly string[]): LaunchRows {
    const key = `${id}|${this.identity.process(cells)}`;
    if (this.#current?.key === key) return this.#current.rows;
    let rows = this.#launches.get(key);
    if (rows === undefined) {
      const identity = this.identity.read(cells);
      rows = new LaunchRows(id, identity);
      this.#launches.set(key, rows);
      this.#reading.checkLaunches(this.#reading.drafts.length + this.#launches.size);
      this.#reading.addDevice(identity.device, null);
      CAPABILITY.forEach((name, part) => {
        const value = identity.capability?.[part];
        if (value !== undefined && this.#reading.wants(name))
          rows?.put(this.#reading.shared(name), CellMetrics.EXACT, value, null);
      });
    }
    this.#current = { key, rows };
    return rows;
  }

  #readMetric(rows: LaunchRows, label: string, cells: readonly string[], line: number): void {
    const section = (cells[this.#at.section] ?? "").trim();
    const printedUnit = cells[this.#at.unit] ?? "";
    const text = cells[this.#at.value] ?? "";
    const unit = this.#unitOf(printedUnit);
    const metric = metricOf(section, label, unit?.base ?? null);
    if (metric === null) {
      this.#noteUnmapped(section, label);
      return;
    }
    if (metric === DURATION && scanNumber(text.trim()) !== null) rows.hasDuration = true;
    if (!this.#reading.wants(metric)) {
      if (!isText(metric)) this.#reading.observe(text.trim(), line);
      return;
    }
    const { resaved } = this.header;
    this.#cell.read(
      text,
      {
        metric,
        unit: printedUnit,
        base: unit?.base ?? null,
        shift: unit?.shift ?? null,
        expected: expectedUnit(metric),
        isText: isText(metric),
        resaved,
      },
      line,
    );
    rows.put(this.#reading.shared(metric), this.#cell.code, this.#cell.value, this.#cell.text);
    if (rows.length > MOST_ROWS) {
      throw new Refused({
        code: "too_large",
        message: `Expected at most ${MOST_ROWS} metric rows of one launch, found more at line ${line}.`,
        hint: "Export the page again; rows of several runs must not share one header.",
        evidence: { limit: MOST_ROWS, line, id: rows.id },
      });
    }
  }

  #unitOf(printed: string): Unit | null {
    const known = this.#units.get(printed);
    if (known !== undefined) return known;
    const unit = readUnit(printed);
    if (this.#units.size < MOST_UNITS) this.#units.set(printed, unit);
    return unit;
  }

  #noteUnmapped(section: string, label: string): void {
    const example = `${section.slice(0, 80)}: ${label.slice(0, 80)}`;
    if (isUndecidable(section, label)) {
      this.#reading.notes.add(
        "label_ambiguous",
        "info",
        example,
        (count, examples) =>
          `${count} values are left out because their label stands for another metric in another version of ncu or on another chip (${examples}).`,
      );
      return;
    }
    this.#reading.notes.add(
      "label_unknown",
      "info",
      example,
      (count, examples) => `${count} values are left out because no metric is known for their label (${examples}).`,
    );
  }

  /** Only type OPT promises something; the page has neither the rule's title nor its evidence. */
  #readRule(rows: LaunchRows, rule: string, cells: readonly string[]): void {
    const cell = (column: number): string | null => {
      const text = (cells[column] ?? "").trim();
      return text === "" ? null : this.#reading.shared(text);
    };
    if (cell(this.#at.type) !== "OPT" || rows.hints.length >= MOST_HINTS) return;
    const kind = cell(this.#at.speedupType);
    rows.hints.push({
      rule: this.#reading.shared(rule),
      section: cell(this.#at.section),
      title: null,
      text: cell(this.#at.text),
      speedup_type: kind === "global" || kind === "local" ? kind : null,
      speedup_percent: readPercent(cell(this.#at.speedup)),
      evidence: [],
    });
  }

  isWhole(row: Row): boolean {
    const isMetric = (row.cells[this.#at.metric] ?? "").trim() !== "";
    const behind = isMetric ? Math.max(this.#at.value, this.#at.unit) + 1 : this.header.columns.length;
    return row.cells.length >= behind;
  }

  /**
   * The torn row belongs to the launch whose number it starts with; where even the number is cut, to the last launch if
   * that number may be its own. That launch may have lost rows and is dropped; the others are complete.
   */
  torn(row: Row): void {
    const { idColumn } = this.identity;
    const complete = row.open ? row.cells.length - 1 : row.cells.length;
    if (complete > idColumn && (row.cells.length > idColumn + 1 || row.lastClosed)) {
      const id = this.identity.id(row.cells);
      for (const [key, rows] of [...this.#launches].reverse()) {
        if (rows.id !== id) continue;
        this.#launches.delete(key);
        return;
      }
      return;
    }
    const begin = row.cells.length > idColumn ? (row.cells[idColumn] ?? "").trim() : "";
    if (this.#current?.rows.id.startsWith(begin)) this.cut();
  }

  cut(): void {
    if (this.#current !== null) this.#launches.delete(this.#current.key);
    this.#current = null;
  }

  finish(): void {
    const layouts = new Map<string, Layout>();
    for (const rows of this.#launches.values()) {
      const metrics = rows.metrics(layouts);
      this.#reading.countNumbers(rows.length);
      if (rows.undecided) this.#reading.addUndecided(metrics, this.header.resaved);
      const { identity, id, hints } = rows;
      const failed = identity.kind === "kernel" && identity.shapeless && !rows.hasDuration;
      this.#reading.addDraft({ identity, id, hints, metrics, failure: failed ? FAILED : null });
    }
    this.#launches.clear();
  }
}

/** Percentages are printed with four significant digits and no grouping: `8.531`, `48.1`. One separator is the decimal one. */
function readPercent(text: string | null): number | null {
  if (text === null || !/^\d{1,12}(?:[.,]\d{1,12})?$/.test(text)) return null;
  return Number(text.replace(",", "."));
}

/** The rows of one launch, gathered. */
class LaunchRows {
  readonly id: string;
  readonly identity: Identity;
  readonly hints: Hint[] = [];
  hasDuration = false;
  length = 0;
  undecided = false;
  readonly #names: string[] = [];
  readonly #texts = new Map<number, string>();
  #values = new Float64Array(64);
  #codes = new Uint8Array(64);

  constructor(id: string, identity: Identity) {
    this.id = id;
    this.identity = identity;
  }

  put(metric: string, code: number, value: number, text: string | null): void {
    if (this.length === this.#codes.length) this.#grow();
    this.#names.push(metric);
    this.#codes[this.length] = code;
    this.#values[this.length] = value;
    if (text !== null) this.#texts.set(this.length, text);
    this.length++;
  }

  #grow(): void {
    const values = new Float64Array(this.length * 2);
    values.set(this.#values);
    this.#values = values;
    const codes = new Uint8Array(this.length * 2);
    codes.set(this.#codes);
    this.#codes = codes;
  }

  /**
   * The metrics of the launch. One that several sections print (`Duration` beside `gpu__time_duration.sum`) is taken
   * where it is printed most finely, of equals the last.
   */
  metrics(layouts: Map<string, Layout>): CellMetrics {
    const best = new Map<string, number>();
    for (let row = 0; row < this.length; row++) {
      const name = this.#names[row] as string;
      const other = best.get(name);
      const better = other === undefined || precisionOf(this.#codes[row] ?? 0) >= precisionOf(this.#codes[other] ?? 0);
      if (better) best.set(name, row);
    }
    const names = [...best.keys()];
    const key = names.join("\n");
    const layout = layouts.get(key) ?? new Layout(names);
    layouts.set(key, layout);
    const values = new Float64Array(names.length);
    const codes = new Uint8Array(names.length);
    const texts = new Map<number, string>();
    [...best.values()].forEach((row, at) => {
      values[at] = this.#values[row] ?? 0;
      codes[at] = this.#codes[row] ?? 0;
      const text = this.#texts.get(row);
      if (text !== undefined) texts.set(at, text);
    });
    this.undecided = codes.some(CellMetrics.isUndecided);
    return new CellMetrics(layout, values, codes, texts.size === 0 ? null : texts);
  }
}
