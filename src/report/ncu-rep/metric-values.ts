import { ColumnMetrics, HOLDS, Layout } from "./metric-set.ts";
import type { NameTable } from "./name-table.ts";
import type { Texts } from "./texts.ts";
import { type Wire, WireError } from "./wire.ts";

/** A metric whose name a later block brings: its id lies behind the names read so far. */
export interface NamelessMetric {
  readonly id: number;
  readonly holds: number;
  readonly value: number;
  readonly text: string | null;
}

/** What was odd about the metrics of one launch. */
export interface MetricOddities {
  /** Application range replay (seen with 2025.3.1) writes the names of some metrics only with the next result. */
  nameless: NamelessMetric[];
  /** Nameless metrics beyond those that are kept. */
  namelessDropped: number;
  /** The first metrics that the launch lists more than once with values that differ, and the number of all. */
  disagreementCount: number;
  disagreements: { name: string; kept: number | string | null; dropped: number | string | null }[];
}

const noOddities = (): MetricOddities => ({
  nameless: [],
  namelessDropped: 0,
  disagreementCount: 0,
  disagreements: [],
});

const DISAGREEMENTS_LISTED = 20;
const NAMELESS_KEPT = 5000;

/** Layouts that are compared before a new one is made. */
const LAYOUTS_REMEMBERED = 32;

/**
 * Collects the metrics of one launch after another. A metric is {1 name id, 2 value {1 string | 2 float | 3 double |
 * 4 uint32 | 5 uint64}, 3 instances, 4 kind}; the value may be missing.
 */
export class MetricCollector {
  readonly #names: NameTable;
  readonly #layouts: Layout[] = [];
  readonly #texts: Texts;
  #ids = new Uint32Array(4096);
  #values = new Float64Array(4096);
  #holds = new Uint8Array(4096);
  /** By name id: one more than its position in the launch at hand. */
  #positions = new Uint32Array(4096);
  #launchTexts: Map<number, string> | null = null;
  #count = 0;
  #oddities: MetricOddities = noOddities();
  /** Memory that layouts and columns handed out so far take, roughly. */
  bytes = 0;

  constructor(names: NameTable, texts: Texts) {
    this.#names = names;
    this.#texts = texts;
  }

  /** Reads the metric whose tag was read last. Where a launch lists a metric twice the last value counts. */
  read(wire: Wire): void {
    const outer = wire.enter();
    let id = -1;
    let hasInstances = false;
    let value = 0;
    let text: string | null = null;
    let hasValue = false;
    // The value is all that is wanted: the instances behind it, most of the bytes of a report, are passed over.
    while (!(hasValue && id >= 0)) {
      const field = wire.next();
      if (field === 0) break;
      if (field === 1) {
        id = wire.uint();
        if (id < this.#names.size && !this.#names.wants(id)) break;
      } else if (field === 2) {
        const valueOuter = wire.enter();
        for (let form = wire.next(); form !== 0; form = wire.next()) {
          hasValue ||= form <= 5;
          if (form === 3) value = wire.double();
          else if (form === 5 || form === 4) value = wire.uint();
          else if (form === 1) text = this.#texts.keep(wire.text());
          else if (form === 2) value = wire.float();
          else wire.skip();
        }
        wire.leave(valueOuter);
      } else {
        if (field === 3) hasInstances = true;
        wire.skip();
      }
    }
    wire.leave(outer);
    if (id < 0) throw new WireError("metric without a name id", wire.pos);
    if (id < this.#names.size && !this.#names.wants(id)) return;
    let holds: number = hasInstances ? HOLDS.instancesOnly : HOLDS.noData;
    if (text !== null) holds = HOLDS.text;
    else if (hasValue) holds = classify(value);
    if (id < this.#names.size) this.#put(this.#names.canonical(id), holds, value, text);
    else if (this.#oddities.nameless.length < NAMELESS_KEPT) this.#oddities.nameless.push({ id, holds, value, text });
    else this.#oddities.namelessDropped += 1;
  }

  /** The metrics of a launch with those whose names came later, as far as they are known by now and wanted. */
  complete(metrics: ColumnMetrics, nameless: readonly NamelessMetric[]): { metrics: ColumnMetrics; missing: number } {
    this.reset();
    metrics.forEach((id, holds, value, text) => {
      this.#put(id, holds, value, text);
    });
    let missing = 0;
    for (const { id, holds, value, text } of nameless) {
      if (id >= this.#names.size) missing += 1;
      else if (this.#names.wants(id)) this.#put(this.#names.canonical(id), holds, value, text);
    }
    return { metrics: this.finish().metrics, missing };
  }

  #put(id: number, holds: number, value: number, text: string | null): void {
    if (id >= this.#positions.length) this.#positions = grow(this.#positions, id + 1);
    let position = (this.#positions[id] ?? 0) - 1;
    if (position >= 0) this.#noteDisagreement(id, position, holds, value, text);
    else {
      position = this.#count++;
      if (position >= this.#ids.length) {
        this.#ids = grow(this.#ids, position + 1);
        this.#values = grow(this.#values, position + 1);
        this.#holds = grow(this.#holds, position + 1);
      }
      this.#ids[position] = id;
      this.#positions[id] = position + 1;
    }
    this.#values[position] = value;
    this.#holds[position] = holds;
    if (text !== null) {
      this.#launchTexts ??= new Map();
      this.#launchTexts.set(position, text);
    } else this.#launchTexts?.delete(position);
  }

  #noteDisagreement(id: number, position: number, holds: number, value: number, text: string | null): void {
    const dropped = this.#at(position);
    const kept = holds === HOLDS.text ? text : holds === HOLDS.number ? value : null;
    if (dropped === kept) return;
    this.#oddities.disagreementCount += 1;
    if (this.#oddities.disagreements.length < DISAGREEMENTS_LISTED) {
      this.#oddities.disagreements.push({ name: this.#names.name(id), kept, dropped });
    }
  }

  #at(position: number): number | string | null {
    if (this.#holds[position] === HOLDS.text) return this.#launchTexts?.get(position) ?? null;
    return this.#holds[position] === HOLDS.number ? (this.#values[position] ?? null) : null;
  }

  /** Ends the launch at hand and starts the next. */
  finish(): { metrics: ColumnMetrics; oddities: MetricOddities } {
    const count = this.#count;
    const layout = this.#layout(this.#ids.subarray(0, count));
    const holds = this.#holds.subarray(0, count);
    const onlyNumbers = holds.every((held) => held === HOLDS.number);
    const metrics = new ColumnMetrics(
      this.#names,
      layout,
      this.#values.slice(0, count),
      onlyNumbers ? null : holds.slice(),
      this.#launchTexts,
    );
    this.bytes += count * (onlyNumbers ? 8 : 9) + 64 * (this.#launchTexts?.size ?? 0);
    const oddities = this.#oddities;
    this.bytes += 64 * oddities.nameless.length;
    this.reset();
    return { metrics, oddities };
  }

  /** Forgets the launch at hand. */
  reset(): void {
    for (let position = 0; position < this.#count; position += 1) this.#positions[this.#ids[position] ?? 0] = 0;
    this.#count = 0;
    this.#launchTexts = null;
    this.#oddities = noOddities();
  }

  #layout(ids: Uint32Array): Layout {
    for (let at = 0; at < this.#layouts.length; at += 1) {
      const layout = this.#layouts[at];
      if (layout !== undefined && sameIds(layout.ids, ids)) {
        this.#layouts.splice(at, 1);
        this.#layouts.unshift(layout);
        return layout;
      }
    }
    const layout = new Layout(ids.slice(), this.#names.size);
    this.bytes += layout.bytes;
    this.#layouts.unshift(layout);
    this.#layouts.length = Math.min(this.#layouts.length, LAYOUTS_REMEMBERED);
    return layout;
  }
}

function classify(value: number): number {
  if (Number.isFinite(value)) return HOLDS.number;
  return Number.isNaN(value) ? HOLDS.nan : HOLDS.infinite;
}

function sameIds(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

function grow<T extends Uint32Array | Float64Array | Uint8Array>(array: T, length: number): T {
  const larger = new (array.constructor as new (length: number) => T)(Math.max(length, array.length * 2));
  larger.set(array);
  return larger;
}
