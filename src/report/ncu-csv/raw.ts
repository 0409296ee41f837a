import type { Row } from "../../base/csv-row.ts";
import { scanNumber } from "../../base/printed-number.ts";
import { type Identity, IdentityReader, isIdentification } from "./identity.ts";
import { CellMetrics, Layout } from "./metrics.ts";
import type { Header } from "./page.ts";
import { CellReader, isText, type Place, type Reading } from "./reading.ts";
import { isTooLong, noteUnreadable, type Table } from "./table.ts";
import { expectedUnit, readUnit } from "./units.ts";

/** Metrics that the reader itself needs, whatever the caller wants. */
const ROLES: Readonly<Record<string, "duration" | "device_name" | "device_index">> = {
  "gpu__time_duration.sum": "duration",
  device__attribute_display_name: "device_name",
  device__attribute_device_index: "device_index",
};
/** The same fact as the column `CC`. */
export const CAPABILITY = [
  "device__attribute_compute_capability_major",
  "device__attribute_compute_capability_minor",
] as const;

/** Written where a launch has neither a shape nor a duration. */
export const FAILED = "the launch failed while it was measured: the page prints no grid, no block and no duration";

interface MetricColumn extends Place {
  readonly column: number;
  /** Place in the layout, -1 for a metric that nobody wants. */
  readonly position: number;
  readonly role: "duration" | "device_name" | "device_index" | null;
}

/** The raw page: one row a launch, one column a metric, the second row holds the units. */
export class RawTable implements Table {
  readonly header: Header;
  readonly identity: IdentityReader;
  readonly #reading: Reading;
  readonly #cell: CellReader;
  readonly #columns: readonly string[];
  #metrics: MetricColumn[] | null = null;
  #layout = new Layout([]);
  /** Metrics in front of the layout that come from the column `CC`. */
  #fromCapability: readonly number[] = [];
  /** Places in the layout whose name stands again behind them. */
  #repeated: readonly number[] = [];
  #warnedOfUnits = false;

  constructor(header: Header, reading: Reading) {
    this.header = header;
    this.identity = new IdentityReader(header);
    this.#reading = reading;
    this.#cell = new CellReader(reading);
    this.#columns = header.columns;
  }

  row(row: Row, line: number): boolean {
    const { cells } = row;
    if (!this.#isLaunch(row)) {
      if (this.#metrics !== null || !this.#isUnitRow(row)) return false;
      this.#readUnits(cells);
      return true;
    }
    if (isTooLong(row, this.header)) {
      noteUnreadable(this.#reading, line);
      return true;
    }
    if (this.#metrics === null) {
      this.#noteMissingUnits(line);
      return true;
    }
    this.#readLaunch(cells, line, this.#metrics);
    return true;
  }

  #isLaunch({ cells }: Row): boolean {
    if (this.identity.idColumn >= 0) return cells.length > 1 && this.identity.id(cells) !== null;
    return cells.length === this.#columns.length && (cells[this.identity.nameColumn] ?? "").trim() !== "";
  }

  #isUnitRow({ cells }: Row): boolean {
    const { idColumn, nameColumn } = this.identity;
    const blank = (column: number): boolean => column < 0 || (cells[column] ?? "").trim() === "";
    return cells.length > 1 && blank(idColumn) && blank(nameColumn);
  }

  #noteMissingUnits(line: number): void {
    if (this.#warnedOfUnits) return;
    this.#warnedOfUnits = true;
    this.#reading.notes.add(
      "unit_row_missing",
      "error",
      `line ${line}`,
      (_count, examples) =>
        `The row of units below the header is missing (${examples}): without it numbers may be off by powers of ten, so the launches of this table are left out.`,
    );
  }

  #readUnits(units: readonly string[]): void {
    const metrics: MetricColumn[] = [];
    const names: string[] = [];
    const known = new Set(this.#columns);
    if (known.has("CC") && !known.has(CAPABILITY[0])) {
      const wanted = CAPABILITY.map((name) => (this.#reading.wants(name) ? names.push(name) - 1 : -1));
      this.#fromCapability = wanted;
    }
    this.#columns.forEach((metric, column) => {
      if (isIdentification(metric)) return;
      const unit = units[column] ?? "";
      const position = this.#reading.wants(metric) ? names.push(metric) - 1 : -1;
      const read = readUnit(unit);
      const role = Object.hasOwn(ROLES, metric) ? (ROLES[metric] ?? null) : null;
      metrics.push({
        metric,
        role,
        column,
        position,
        unit,
        base: read?.base ?? null,
        shift: read?.shift ?? null,
        expected: expectedUnit(metric),
        isText: isText(metric),
        resaved: this.header.resaved,
      });
    });
    this.#metrics = metrics;
    const layout = new Layout(names);
    this.#layout = layout;
    this.#repeated = [...names.keys()].filter((position) => layout.position(names[position] ?? "") !== position);
  }

  #readLaunch(cells: readonly string[], line: number, metrics: readonly MetricColumn[]): void {
    const identity = this.identity.read(cells);
    const values = new Float64Array(this.#layout.names.length);
    const codes = new Uint8Array(this.#layout.names.length);
    const texts = new Map<number, string>();
    let undecided = false;
    let device = identity.device;
    let deviceName: string | null = null;
    let hasDuration = false;
    for (const place of metrics) {
      if (place.column >= cells.length) break;
      const text = cells[place.column] as string;
      if (place.role === "device_name") deviceName = text.trim() === "" ? null : this.#reading.shared(text.trim());
      else if (place.role === "device_index" && /^\d{1,6}$/.test(text)) device ??= Number(text);
      else if (place.role === "duration") hasDuration = scanNumber(text.trim()) !== null;
      if (place.position < 0) {
        if (!place.isText) this.#reading.observe(text.trim(), line);
        continue;
      }
      this.#cell.read(text, place, line);
      codes[place.position] = this.#cell.code;
      values[place.position] = this.#cell.value;
      undecided ||= this.#cell.undecided;
      if (this.#cell.text !== null) texts.set(place.position, this.#cell.text);
    }
    this.#setCapability(identity, codes, values);
    if (this.#repeated.length > 0) this.#noteDisagreements(codes, values, texts);
    this.#reading.countNumbers(codes.length);
    const set = new CellMetrics(this.#layout, values, codes, texts.size === 0 ? null : texts);
    if (undecided) this.#reading.addUndecided(set, this.header.resaved);
    this.#reading.addDevice(device, deviceName);
    this.#reading.addDraft({
      identity: { ...identity, device },
      id: this.identity.id(cells),
      failure: identity.kind === "kernel" && identity.shapeless && !hasDuration ? FAILED : null,
      metrics: set,
      hints: [],
    });
  }

  /** As in a report, the last of several values counts; where they differ that is said. */
  #noteDisagreements(codes: Uint8Array, values: Float64Array, texts: ReadonlyMap<number, string>): void {
    const shown = (at: number): string =>
      texts.get(at) ?? (CellMetrics.isNumber(codes[at] ?? 0) ? String(values[at]) : "no number");
    for (const dropped of this.#repeated) {
      const metric = this.#layout.names[dropped] as string;
      const used = this.#layout.position(metric);
      if (shown(dropped) === shown(used)) continue;
      this.#reading.notes.add(
        "duplicate_metric_disagrees",
        "warning",
        `launch ${this.#reading.drafts.length}: ${shown(dropped)} and ${shown(used)}`,
        (_count, examples) =>
          `The column ${metric} stands more than once, with different values (${examples}); the last one is used.`,
        { metric },
        metric,
      );
    }
  }

  #setCapability(identity: Identity, codes: Uint8Array, values: Float64Array): void {
    this.#fromCapability.forEach((position, part) => {
      if (position < 0 || identity.capability === null) return;
      codes[position] = CellMetrics.EXACT;
      values[position] = identity.capability[part] ?? 0;
    });
  }

  isWhole(row: Row): boolean {
    return row.cells.length >= this.#columns.length;
  }

  torn(): void {
    // A row is a launch: the ones before it are complete.
  }

  cut(): void {
    // As for a torn row.
  }

  finish(): void {
    // Launches are handed over row by row.
  }
}
