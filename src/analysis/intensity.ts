import type { LaunchFacts } from "./facts.ts";
import { achievedPath, type Flops, peakPath } from "./flops.ts";
import type { Traffic } from "./memory.ts";

export interface Intensity {
  /** Operations per byte of device memory. */
  readonly intensity: number | null;
  /** Intensity at which the two roofs meet. */
  readonly ridge: number | null;
  /** Position under the roof, 0..1: achieved over min(dense peak, intensity x peak bandwidth). */
  readonly overAttainable: number | null;
}

/** Where a launch stands in the roofline plot of its dominant precision; null without floating-point work. */
export function intensityOf({ sheet }: LaunchFacts, flops: Flops, { bytesPerS, peak }: Traffic): Intensity {
  const { dominant } = flops;
  const ops = dominant === null ? null : (flops.achieved.get(dominant) ?? null);
  const opsPeak = dominant === null ? null : (flops.peaks.get(dominant)?.value ?? null);
  const bytes = "detail.memory.dram_bytes_per_s";
  const bytesPeak = "detail.memory.peak_dram_bytes_per_s";

  const intensity = sheet.field("detail.arithmetic_intensity_flop_per_byte", (read) => {
    if (read.of("detail.dominant_precision", dominant) === null || dominant === null) return null;
    const work = read.of(achievedPath(dominant), ops);
    const moved = read.of(bytes, bytesPerS);
    if (work === null || moved === null) return null;
    return moved > 0 ? work / moved : read.because("no bytes of device memory were moved");
  });
  const ridge = sheet.field("detail.ridge_point_flop_per_byte", (read) => {
    if (read.of("detail.dominant_precision", dominant) === null || dominant === null) return null;
    const roof = read.of(peakPath(dominant), opsPeak);
    const bandwidth = read.of(bytesPeak, peak)?.value ?? null;
    return roof === null || bandwidth === null ? null : roof / bandwidth;
  });
  const overAttainable = sheet.field("detail.achieved_over_attainable", (read) => {
    if (read.of("detail.dominant_precision", dominant) === null || dominant === null) return null;
    const work = read.of(achievedPath(dominant), ops);
    const roof = read.of(peakPath(dominant), opsPeak);
    const bandwidth = read.of(bytesPeak, peak)?.value ?? null;
    const moved = read.of(bytes, bytesPerS);
    if (work === null || roof === null || bandwidth === null || moved === null) return null;
    return work / (moved > 0 ? Math.min(roof, (work / moved) * bandwidth) : roof);
  });
  return { intensity, ridge, overAttainable };
}
