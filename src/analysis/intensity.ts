import type { LaunchContext } from "./context.ts";
import type { Flops } from "./flops.ts";
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
export function intensityOf(
  { sheet }: LaunchContext,
  { work, workPeak }: Flops,
  { bytesPerS, peak }: Traffic,
): Intensity {
  const intensity = sheet.field("detail.arithmetic_intensity_flop_per_byte", (read) => {
    const [ops, moved] = [read.of(work), read.of(bytesPerS)];
    if (ops === null || moved === null) return null;
    return moved > 0 ? ops / moved : read.because("no bytes of device memory were moved");
  });
  const ridge = sheet.field("detail.ridge_point_flop_per_byte", (read) => {
    const [roof, bandwidth] = [read.of(workPeak), read.of(peak)];
    return roof === null || bandwidth === null ? null : roof.value / bandwidth.value;
  });
  const overAttainable = sheet.field("detail.achieved_over_attainable", (read) => {
    const [ops, roof] = [read.of(work), read.of(workPeak)];
    const [moved, bandwidth] = [read.of(bytesPerS), read.of(peak)];
    if (ops === null || roof === null || moved === null || bandwidth === null) return null;
    return ops / (moved > 0 ? Math.min(roof.value, (ops / moved) * bandwidth.value) : roof.value);
  });
  return { intensity: intensity.value, ridge: ridge.value, overAttainable: overAttainable.value };
}
