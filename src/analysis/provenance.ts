import { ROLES, type Role } from "../hardware/roles.ts";
import type { LaunchVerdict, Provenance } from "../model/result.ts";
import { deviceOf } from "./context.ts";
import { durationProblem, reportedDuration } from "./duration.ts";
import type { AnalysisInput } from "./kernels.ts";

/** Version of the rules. Raised whenever a verdict may come out differently from the same report. */
export const ANALYSIS_VERSION = "1";

type Gpu = Provenance["gpus"][number];

interface Range {
  min: number | null;
  max: number | null;
}

function widen(range: Range, value: number | null): void {
  if (value === null) return;
  range.min = Math.min(range.min ?? value, value);
  range.max = Math.max(range.max ?? value, value);
}

/** One entry a device, with the clocks over all its complete launches whose duration, if any, is above 0. */
function gpusOf(inputs: readonly AnalysisInput[]): { gpus: Gpu[]; passes: number | null } {
  const gpus = new Map<string, Gpu>();
  const passes: Range = { min: null, max: null };
  for (const { report } of inputs) {
    for (const launch of report.launches) {
      const first = (role: Role): number | null => {
        for (const name of ROLES[role]) {
          const value = launch.metrics.number(name);
          if (value !== null) return value;
        }
        return null;
      };
      const device = deviceOf(launch, report);
      const key = `${device.name}|${device.computeCapability}|${device.smCount}`;
      let gpu = gpus.get(key);
      if (gpu === undefined) {
        const clock = first("sm_clock_max_khz");
        gpu = {
          name: device.name,
          uuid: null,
          compute_capability: device.computeCapability,
          sm_count: device.smCount,
          sm_clock_hz: { min: null, max: null },
          sm_clock_max_hz: clock === null ? null : 1000 * clock,
          dram_clock_hz: { min: null, max: null },
          catalogue_id: device.gpu === null || device.gpu.mismatch !== null ? null : device.gpu.entry.id,
        };
        gpus.set(key, gpu);
      }
      if (launch.failure !== null) continue;
      widen(passes, first("passes"));
      // Clocks are cycles over the duration, so they are as good as that is.
      const duration = reportedDuration(launch);
      if (duration !== null && durationProblem(duration.ns) !== null) continue;
      widen(gpu.sm_clock_hz, first("sm_clock_hz"));
      widen(gpu.dram_clock_hz, first("dram_clock_hz"));
    }
  }
  return { gpus: [...gpus.values()], passes: passes.max };
}

type Peaks = Pick<LaunchVerdict, "memory" | "dominant_precision" | "peak_tflops_by_precision">;

/** Says of which peaks the verdicts were made, and whose published figures stand in. */
function peaksSentence(verdicts: readonly Peaks[]): string {
  const counted = new Set<string>();
  const published = new Map<string, string>();
  const note = (what: string, source: string, citation: string | null): void => {
    if (source === "launch_counters") counted.add(what);
    else published.set(what, citation ?? "catalogue");
  };
  for (const verdict of verdicts) {
    const { peak_dram_source: dram } = verdict.memory;
    if (dram !== null) note("device memory", dram, null);
    const precision = verdict.dominant_precision;
    const peak = precision === null ? undefined : verdict.peak_tflops_by_precision?.[precision];
    if (precision !== null && peak !== undefined) note(precision, peak.source, peak.citation);
  }
  const parts: string[] = [];
  if (counted.size > 0) parts.push(`counters of each launch x its own clock: ${[...counted].sort().join(", ")}`);
  const figures = [...published].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  if (figures.length > 0) {
    parts.push(`published figures, estimated: ${figures.map(([what, who]) => `${what} (${who})`).join(", ")}`);
  }
  return parts.length === 0 ? "no peak is known" : parts.join("; ");
}

/** Where the numbers of a result come from: reports, tool, GPUs, clocks, peaks. */
export function provenanceOf(inputs: readonly AnalysisInput[], verdicts: readonly Peaks[]): Provenance {
  const { gpus, passes } = gpusOf(inputs);
  return {
    reports: inputs.map(({ report, id, sha256 }) => ({
      id,
      sha256,
      format: report.format,
      compression: report.compression,
      launches: report.launches.length,
      partial: report.partial,
      partial_at_byte: report.partial_at_byte,
      tool: report.tool.name,
      tool_version: report.tool.version,
      cuda_version: report.cuda_version,
      driver_version: report.driver_version,
    })),
    timelines: [],
    gpus,
    peaks: peaksSentence(verdicts),
    analysis_version: ANALYSIS_VERSION,
    passes,
    capture: null,
  };
}
