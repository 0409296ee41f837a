import type { CaptureRecord } from "../model/capture.ts";
import type { Dim3 } from "../model/launch.ts";
import type { Timing } from "../model/result.ts";

/**
 * Times of every launch that a capture's survey saw. The launches with counters were picked by it, some of each cluster,
 * so their own times say nothing about how the time of a kernel is spread over its clusters.
 */
export interface Survey {
  /** By name key. */
  readonly kernels: ReadonlyMap<string, Timing>;
  /**
   * Summed time, in microseconds, of the cluster that a measured group belongs to; null where the survey does not tell:
   * same kernel and shape, and the nearest median within 25 % (DESIGN: how counters join).
   */
  weight(kernel: string, grid: Dim3 | null, block: Dim3 | null, medianUs: number): number | null;
}

const SAME_WITHIN = 1.25;

/** The survey of a capture; null where there was none. */
export function surveyOf(plan: CaptureRecord["plan"]): Survey | null {
  if (plan === null || plan.kernels === null || plan.kernels.length === 0) return null;
  const clusters = plan.clusters ?? [];
  return {
    kernels: new Map(plan.kernels.map(({ kernel, ...times }) => [kernel, { source: "ncu_survey" as const, ...times }])),
    weight(kernel, grid, block, medianUs) {
      const shape = `${grid?.join("x")}|${block?.join("x")}`;
      const ratio = (other: number): number => Math.max(other / medianUs, medianUs / other);
      const near = clusters
        .filter((cluster) => cluster.kernel === kernel && `${cluster.grid}|${cluster.block}` === shape)
        .sort((a, b) => ratio(a.median_us) - ratio(b.median_us))[0];
      return near !== undefined && ratio(near.median_us) <= SAME_WITHIN ? near.total_us : null;
    },
  };
}
