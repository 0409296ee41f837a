import type { Launch } from "../../src/model/launch.ts";
import type { Absence, MetricSet } from "../../src/model/metrics.ts";
import type { Report } from "../../src/model/report.ts";

export type MetricValues = Readonly<Record<string, number | string | null>>;

/** Metrics by hand: numbers, texts, NaN as a report may hold it, null for "listed without a value". */
export class HandMadeMetrics implements MetricSet {
  readonly #values: MetricValues;
  readonly #resolution: number;
  /** Every name that somebody asked for. */
  readonly asked = new Set<string>();

  constructor(values: MetricValues, resolution = 0) {
    this.#values = values;
    this.#resolution = resolution;
  }

  number(name: string): number | null {
    this.asked.add(name);
    const value = this.#values[name];
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }

  text(name: string): string | null {
    this.asked.add(name);
    const value = this.#values[name];
    return typeof value === "string" ? value : null;
  }

  absence(name: string): Absence | null {
    const value = this.#values[name];
    if (value === undefined) return "absent";
    if (value === null) return "no_data";
    if (typeof value === "string") return "not_a_number";
    if (Number.isNaN(value)) return "nan";
    return Number.isFinite(value) ? null : "infinite";
  }

  resolution(): number {
    return this.#resolution;
  }

  names(): Iterable<string> {
    return Object.keys(this.#values);
  }
}

/** A launch of a kernel called `kernel`, 132 blocks of 128 threads, with these metrics. */
export function launchOf(metrics: MetricValues | MetricSet = {}, rest: Partial<Launch> = {}): Launch {
  return {
    index: 0,
    kind: "kernel",
    names: { mangled: "_Z6kernelv", function: "kernel", demangled: "kernel()", display: "kernel()", simplified: false },
    grid: [132, 1, 1],
    block: [128, 1, 1],
    process_id: 1,
    context_id: 1,
    stream_id: 7,
    device: 0,
    rank: null,
    nvtx: [],
    created_at_unix_s: null,
    failure: null,
    metrics: isMetricSet(metrics) ? metrics : new HandMadeMetrics(metrics),
    hints: [],
    ...rest,
  };
}

const isMetricSet = (metrics: MetricValues | MetricSet): metrics is MetricSet => typeof metrics.number === "function";

/** A complete report of ncu 2025.3.1 with these launches. */
export function reportOf(launches: readonly Launch[], rest: Partial<Report> = {}): Report {
  return {
    format: "ncu-rep",
    compression: "none",
    bytes_read: 0,
    tool: { name: "ncu", version: "2025.3.1.0" },
    cuda_version: "13.0",
    driver_version: null,
    devices: [{ index: 0, name: "NVIDIA H200" }],
    launches,
    partial: false,
    partial_at_byte: null,
    findings: [],
    ...rest,
  };
}

/** What every launch on an H200 says of its device. */
export const H200_DEVICE: MetricValues = {
  device__attribute_display_name: "NVIDIA H200",
  device__attribute_compute_capability_major: 9,
  device__attribute_compute_capability_minor: 0,
  device__attribute_multiprocessor_count: 132,
  device__attribute_max_gpu_frequency_khz: 1_980_000,
  device__attribute_max_mem_frequency_khz: 3_201_000,
  device__attribute_max_shared_memory_per_multiprocessor: 233_472,
  device__attribute_max_registers_per_multiprocessor: 65_536,
  device__attribute_max_warps_per_multiprocessor: 64,
  device__attribute_max_blocks_per_multiprocessor: 32,
  launch__sm_count: 132,
};
