import { ROLES, type Role } from "../hardware/roles.ts";
import type { MetricSet } from "../model/metrics.ts";

/** Where a number came from: the launch and the metrics that were read for it. */
export interface Source {
  launch: number;
  metrics: string[];
}

/**
 * Reads metrics for one field and remembers which it used, so that the sources of a number are what the code read and
 * not what somebody wrote down beside it.
 */
export class Reading {
  readonly used = new Set<string>();
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
    else this.used.add(name);
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
        this.used.add(name);
        return { name, value };
      }
    }
    this.#missed.push(ROLES[role][0]);
    return null;
  }

  /** A number of another field: its sources become sources of this one, its reason the reason of this one. */
  of<T>(path: string, value: T | null): T | null {
    if (value === null) this.#because ??= this.#sheet.nullReasons[path] ?? `${path} is not known`;
    else for (const name of this.#sheet.sources[path]?.metrics ?? []) this.used.add(name);
    return value;
  }

  /** Says why the field is null; returns null. */
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
  readonly sources: Record<string, Source> = {};
  readonly nullReasons: Record<string, string> = {};
  readonly #metrics: MetricSet;
  readonly #launch: number;
  readonly #withheld: string | null;

  /** `withheld`: why nothing of this launch counts (it failed); every field is then null for this reason. */
  constructor(metrics: MetricSet, launch: number, withheld: string | null) {
    this.#metrics = metrics;
    this.#launch = launch;
    this.#withheld = withheld;
  }

  get withheld(): string | null {
    return this.#withheld;
  }

  /** Computes a field and keeps its sources, or its reason where it is null. */
  field<T>(path: string, compute: (read: Reading) => T | null): T | null {
    const reading = new Reading(this);
    const value = compute(reading);
    if (value === null) {
      this.nullReasons[path] = this.#withheld ?? reading.reason;
    } else if (reading.used.size > 0) {
      this.sources[path] = { launch: this.#launch, metrics: [...reading.used] };
    }
    return value;
  }

  /** Metric as it is, without record: for what carries no number into the result. */
  number(name: string): number | null {
    return this.#withheld === null ? this.#metrics.number(name) : null;
  }

  text(name: string): string | null {
    return this.#withheld === null ? this.#metrics.text(name) : null;
  }

  resolution(name: string): number {
    return this.#metrics.resolution(name);
  }

  /** Why a metric has no number, in words. */
  absence(name: string): string {
    return `${name} ${ABSENCES[this.#metrics.absence(name) ?? "absent"]}`;
  }
}
