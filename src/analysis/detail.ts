import type { LaunchVerdict } from "../model/result.ts";
import { missingMetrics } from "./analyses.ts";
import type { LaunchContext } from "./context.ts";
import { furtherCounters } from "./counters.ts";
import type { LaunchAnalysis } from "./verdict.ts";

function launchOf({ launch, sheet }: LaunchContext, reportId: string | null): LaunchVerdict["launch"] {
  const unsaid = "the report does not say";
  const composite = launch.kind === "kernel" ? unsaid : `a ${launch.kind} spans several kernels`;
  const { grid, block, process_id, context_id, stream_id, device, rank } = launch;
  const reasons: [path: string, value: unknown, reason: string][] = [
    ["detail.launch.report_id", reportId, "the report has no id"],
    ["detail.launch.grid", grid, composite],
    ["detail.launch.block", block, composite],
    ["detail.launch.process_id", process_id, unsaid],
    ["detail.launch.context_id", context_id, unsaid],
    ["detail.launch.stream_id", stream_id, unsaid],
    ["detail.launch.device", device, unsaid],
    ["detail.launch.rank", rank, "nothing tells the rank of the process"],
  ];
  for (const [path, value, reason] of reasons) if (value === null) sheet.missing(path, reason);
  return {
    index: launch.index,
    report_id: reportId,
    kind: launch.kind,
    grid: grid === null ? null : [grid[0], grid[1], grid[2]],
    block: block === null ? null : [block[0], block[1], block[2]],
    cluster_size: sheet.field("detail.launch.cluster_size", (read) => read.role("cluster_size")).value,
    process_id,
    context_id,
    stream_id,
    device,
    rank,
    nvtx: launch.nvtx.map(({ name }) => name),
    failure: launch.failure,
  };
}

/** The verdict of a launch in full: its judgement, the launch itself, further counters, sources and reasons. */
export function detailOf({ context, judgement }: LaunchAnalysis, reportId: string | null): LaunchVerdict {
  const { launch, sheet, families } = context;
  const shown = launchOf(context, reportId);
  const sources: LaunchVerdict["sources"] = {};
  for (const [path, metrics] of sheet.sources) sources[path] = { launch: launch.index, metrics: [...metrics] };
  return {
    launch: shown,
    ...judgement,
    counters: furtherCounters(context),
    hints: launch.hints.map((hint) => ({ ...hint, evidence: hint.evidence.map((item) => ({ ...item })) })),
    // A failed launch has nothing that could be missed.
    missing_metrics:
      sheet.withheld === null
        ? missingMetrics((name) => sheet.number(name) !== null || sheet.text(name) !== null, families.present)
        : [],
    sources,
    null_reasons: Object.fromEntries(sheet.reasons),
  };
}
