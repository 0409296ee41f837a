import { ROLES, type Role } from "../hardware/roles.ts";
import type { MetricSet } from "../model/metrics.ts";

/** A number with the metrics it came from, or why there is none. */
export interface Known<T> {
  readonly value: T | null;
  readonly metrics: readonly string[];
  readonly reason: string | null;
}

/**
 * Reads metrics for one number and remembers which it used, so that the sources of a number are what the code read and
 * not what somebody wrote down beside it.
 */
export class Reading {
  readonly used: string[] = [];
  readonly #sheet: Sheet;
  readonly #missed: string[] = [];
  #because: string | null = null;

  constructor(sheet: Sheet) {
    this.#sheet = sheet;
  }

  /** The finite number of a metric, base unit, else null. */
  number(name: string): number | null {
    const value = this.#sheet.number(name);
    if (value === null) this.#missed.push(name);
    else this.#use(name);
    return value;
  }

  /** The number of the first metric of a role that has one. */
  role(role: Role): number | null {
    return this.named(role)?.value ?? null;
  }

  /** As `role`, with the name of the metric. */
  named(role: Role): { name: string; value: number } | null {
    for (const name of ROLES[role]) {
      const value = this.#sheet.number(name);
      if (value !== null) {
        this.#use(name);
        return { name, value };
      }
    }
    this.#missed.push(ROLES[role][0]);
    return null;
  }

  /** A number that is known already: its sources become sources of this one, its reason the reason of this one. */
  of<T>(known: Known<T>): T | null {
    if (known.value === null) this.#because ??= known.reason;
    else for (const name of known.metrics) this.#use(name);
    return known.value;
  }

  /** Says why there is no number; returns null. */
  because(reason: string): null {
    this.#because = reason;
    return null;
  }

  get reason(): string {
    if (this.#because !== null) return this.#because;
    const missed = [...new Set(this.#missed)];
    if (missed.length === 0) return "not known from a report";
    return missed.map((name) => this.#sheet.absence(name)).join("; ");
  }

  #use(name: string): void {
    if (!this.used.includes(name)) this.used.push(name);
  }
}

const ABSENCES = {
  absent: "was not collected",
  no_data: "has no data",
  instances_only: "has instance values and no aggregate",
  nan: "is nan",
  infinite: "is infinite",
  not_available: "is not available on this GPU",
  not_a_number: "holds text",
} as const;

/**
 * What one launch says: its metrics, and for each field of its verdict the metrics it came from or the reason why it is
 * null. Field paths are those of a kernel result (`tflops`, `detail.imbalance`).
 */
export class Sheet {
  readonly #metrics: MetricSet;
  readonly #sources = new Map<string, readonly string[]>();
  readonly #reasons = new Map<string, string>();
  /** Why nothing of this launch counts (it failed): every number is then null for this reason. */
  readonly withheld: string | null;

  constructor(metrics: MetricSet, withheld: string | null) {
    this.#metrics = metrics;
    this.withheld = withheld;
  }

  /** Computes a number that is no field of the result by itself. */
  derive<T>(compute: (read: Reading) => T | null): Known<T> {
    if (this.withheld !== null) return { value: null, metrics: [], reason: this.withheld };
    const reading = new Reading(this);
    const value = compute(reading);
    return value === null
      ? { value, metrics: [], reason: reading.reason }
      : { value, metrics: reading.used, reason: null };
  }

  /** Computes a field of the result. */
  field<T>(path: string, compute: (read: Reading) => T | null): Known<T> {
    return this.show(path, this.derive(compute));
  }

  /** Makes a number a field of the result: keeps its sources, or its reason where it is null. */
  show<T>(path: string, known: Known<T>): Known<T> {
    if (known.value === null) this.#reasons.set(path, known.reason ?? "not known from a report");
    else if (known.metrics.length > 0) this.#sources.set(path, known.metrics);
    return known;
  }

  /** Says why a field is null. */
  missing(path: string, reason: string): void {
    this.#reasons.set(path, this.withheld ?? reason);
  }

  get sources(): ReadonlyMap<string, readonly string[]> {
    return this.#sources;
  }

  get reasons(): ReadonlyMap<string, string> {
    return this.#reasons;
  }

  /** Metric as it is, without record: for what carries no number into the result. */
  number(name: string): number | null {
    return this.withheld === null ? this.#metrics.number(name) : null;
  }

  text(name: string): string | null {
    return this.withheld === null ? this.#metrics.text(name) : null;
  }

  resolution(name: string): number {
    return this.#metrics.resolution(name);
  }

  /** Why a metric has no number, in words. */
  absence(name: string): string {
    return `${name} ${ABSENCES[this.#metrics.absence(name) ?? "absent"]}`;
  }
}
