import { clusterByDuration } from "../src/analysis/clusters.ts";
import { reportedDuration } from "../src/analysis/duration.ts";
import { nameKey } from "../src/analysis/names.ts";
import { targetMatcher } from "../src/analysis/target.ts";
import { timingOf } from "../src/analysis/timing.ts";
import { openFile } from "../src/base/file-source.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import type { Grouped, ReportSummary } from "../src/capture/measure.ts";
import { isFullPipeline } from "../src/capture/ncu/kernel-filter.ts";
import type { SurveyCluster, SurveyLaunch } from "../src/capture/plan.ts";
import type { SeenLaunch } from "../src/capture/sample.ts";
import { baseName } from "../src/model/kernel-name.ts";
import type { Launch } from "../src/model/launch.ts";
import { DEFAULT_READ_LIMITS, type ReadFailure } from "../src/model/report.ts";
import { readReport } from "../src/report/detect.ts";

/** Counters that stand for all: where these are NaN in every launch, none was taken. */
const PROBES = ["gpu__time_duration.sum", "sm__cycles_active.avg", "sm__throughput.avg.pct_of_peak_sustained_elapsed"];

/**
 * Reads a report of this host.
 * @param target a target as requests give it; only launches that it means are surveyed, all of them for a full pipeline.
 */
export async function summarize(path: string, target: string): Promise<Result<ReportSummary, ReadFailure>> {
  const report = await readReport(openFile(path), {
    limits: DEFAULT_READ_LIMITS,
    wantMetric: (name) => PROBES.includes(name) || name.startsWith("gpu__time_duration"),
  });
  if (!report.ok) return report;
  const { launches } = report.value;
  const matches = isFullPipeline(target) ? ok(() => true) : targetMatcher(target);
  if (!matches.ok) return err({ code: "malformed", message: matches.error, hint: "give another target", evidence: {} });

  const counts = new Map<string, number>();
  const mangledCounts = new Map<string, number>();
  const matching: SeenLaunch[] = [];
  for (const launch of launches) {
    const functionName = functionOf(launch);
    const ordinal = (counts.get(functionName) ?? 0) + 1;
    counts.set(functionName, ordinal);
    const { mangled } = launch.names;
    const mangledOrdinal = mangled === null ? 0 : (mangledCounts.get(mangled) ?? 0) + 1;
    if (mangled !== null) mangledCounts.set(mangled, mangledOrdinal);
    if (launch.failure !== null || !matches.value(launch.names)) continue;
    const duration = reportedDuration(launch);
    const { grid, block } = launch;
    matching.push({
      functionName,
      kernel: nameKey(launch.names).key,
      ordinal,
      grid,
      block,
      duration_ns: duration !== null && duration.ns > 0 ? duration.ns : null,
      mangled: mangled === null ? null : { name: mangled, ordinal: mangledOrdinal },
    });
  }
  return ok({
    launches: launches.length,
    failedLaunches: launches.filter(({ failure }) => failure !== null).length,
    kernels: [...counts.keys()],
    allCountersNaN: launches.length > 0 && launches.every(hasNoNumber),
    matching,
  });
}

/** Launches of a survey by what they have in common. */
export const group = (launches: readonly SurveyLaunch[]): Grouped => ({
  clusters: clustersOf(launches),
  times: timesOf(launches),
});

const functionOf = ({ names }: Launch): string => names.function ?? baseName(names.display);

const hasNoNumber = ({ metrics }: Launch): boolean =>
  PROBES.some((name) => metrics.absence(name) === "nan") && PROBES.every((name) => metrics.number(name) === null);

/** Kernel, then shape, then durations that belong together. */
function clustersOf(launches: readonly SurveyLaunch[]): SurveyCluster[] {
  const shapes = new Map<string, SurveyLaunch[]>();
  for (const launch of launches) {
    const key = JSON.stringify([launch.functionName, launch.kernel, launch.grid, launch.block]);
    const shape = shapes.get(key);
    if (shape) shape.push(launch);
    else shapes.set(key, [launch]);
  }
  return [...shapes.values()].flatMap((shape) =>
    clusterByDuration(shape, ({ duration_ns }) => duration_ns).map((cluster) => ({
      kernel: shape[0]?.kernel ?? "",
      launches: cluster,
    })),
  );
}

/** A pattern may match hundreds of kernels; those that hold the least time are left out. */
const MAX_KERNELS = 200;

function timesOf(launches: readonly SurveyLaunch[]): Grouped["times"] {
  const durations = new Map<string, number[]>();
  for (const { kernel, duration_ns } of launches) {
    const same = durations.get(kernel);
    if (same) same.push(duration_ns / 1000);
    else durations.set(kernel, [duration_ns / 1000]);
  }
  return [...durations]
    .flatMap(([kernel, times]) => {
      const { n, total_us, mean_us, median_us, p90_us, min_us, max_us, spread } = timingOf(times, "ncu_survey");
      if (total_us === null || mean_us === null || median_us === null) return [];
      return {
        kernel,
        n,
        total_us,
        mean_us,
        median_us,
        p90_us: p90_us ?? 0,
        min_us: min_us ?? 0,
        max_us: max_us ?? 0,
        spread,
      };
    })
    .sort((a, b) => b.total_us - a.total_us || (a.kernel < b.kernel ? -1 : 1))
    .slice(0, MAX_KERNELS);
}
