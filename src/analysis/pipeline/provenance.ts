import type { Provenance } from "../../model/result.ts";
import type { AnalysisInput } from "../kernels.ts";
import type { TimelineInput } from "./input.ts";

/** Where the times of a result come from; the GPUs too where no report tells them. */
export function timelineProvenance(
  timelines: readonly TimelineInput[],
  reports: readonly AnalysisInput[],
): Pick<Provenance, "timelines"> & Partial<Pick<Provenance, "gpus">> {
  return {
    timelines: timelines.map(({ timeline, id, sha256 }) => ({
      id,
      sha256,
      format: timeline.format,
      compression: timeline.compression,
      rows: timeline.rows.count,
      tool: timeline.tool.name,
      tool_version: timeline.tool.version,
      schema_version: timeline.schema_version,
      cuda_version: timeline.cuda_version,
      driver_version: timeline.driver_version,
      ranks: [...new Set(timeline.lanes.flatMap(({ rank }) => rank ?? []))].sort((a, b) => a - b),
    })),
    ...(reports.length === 0 ? { gpus: gpusOf(timelines) } : {}),
  };
}

/** Each GPU that work ran on, as far as the timelines list it. */
function gpusOf(timelines: readonly TimelineInput[]): Provenance["gpus"] {
  const found = new Map<string, Provenance["gpus"][number]>();
  for (const { timeline } of timelines) {
    const used = new Set(timeline.lanes.map(({ device }) => device));
    for (const gpu of timeline.gpus) {
      if (!used.has(gpu.index)) continue;
      found.set(`${gpu.name}|${gpu.compute_capability}|${gpu.sm_count}`, {
        name: gpu.name,
        uuid: null,
        compute_capability: gpu.compute_capability,
        sm_count: gpu.sm_count,
        sm_clock_hz: { min: null, max: null },
        sm_clock_max_hz: null,
        dram_clock_hz: { min: null, max: null },
        catalogue_id: null,
      });
    }
  }
  return [...found.values()];
}
