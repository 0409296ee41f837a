import { launchResults } from "../../src/analysis/index.ts";
import type { Launch } from "../../src/model/launch.ts";
import type { MetricSet } from "../../src/model/metrics.ts";
import type { Report } from "../../src/model/report.ts";
import type { KernelResult } from "../../src/model/result.ts";
import { launchOf, type MetricValues, reportOf } from "./metric-set.ts";

/** The result of one launch with these metrics. */
export function judge(
  metrics: MetricValues | MetricSet,
  launch: Partial<Launch> = {},
  report: Partial<Report> = {},
): KernelResult {
  const [result] = launchResults({ report: reportOf([launchOf(metrics, launch)], report), id: null, sha256: null });
  if (result === undefined) throw new Error("no result");
  return result;
}

export const COMPUTE = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
export const MEMORY = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
export const DURATION = "gpu__time_duration.sum";
