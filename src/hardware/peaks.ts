import type { CatalogueMatch, Figure } from "./catalogue.ts";

/** A peak rate, per second, and where it came from: counters of the launch before published figures. */
export interface Peak {
  readonly value: number;
  readonly source: "launch_counters" | "catalogue";
  /** True for a published figure: it holds at its publisher's clock, not at that of the launch. */
  readonly estimated: boolean;
  readonly citation: string | null;
}

/**
 * Peak of a launch = peak per cycle x clock of that launch. Clocks differ between launches of one report, so the peak
 * of one launch is never used for another.
 */
export function counterPeak(perCycle: number | null, clockHz: number | null, factor = 1): Peak | null {
  if (perCycle === null || clockHz === null) return null;
  const value = factor * perCycle * clockHz;
  return value > 0 ? { value, source: "launch_counters", estimated: false, citation: null } : null;
}

function published(figure: Figure | undefined): Peak | null {
  if (figure === undefined || figure.value === null || figure.value <= 0) return null;
  return { value: figure.value, source: "catalogue", estimated: true, citation: figure.source };
}

/** Published bandwidth of device memory in bytes/s; null where the GPU is unknown or the find does not fit the device. */
export const publishedBandwidth = (gpu: CatalogueMatch | null): Peak | null =>
  gpu === null || gpu.mismatch !== null ? null : published(gpu.entry.hbm_bandwidth);

/** Published dense peak in operations/s. Claimed figures of the catalogue are never looked at. */
export function publishedPeak(gpu: CatalogueMatch | null, precision: string): Peak | null {
  if (gpu === null || gpu.mismatch !== null) return null;
  return published((gpu.entry.peaks_dense as Readonly<Record<string, Figure>>)[precision]);
}
