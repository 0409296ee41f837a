import type { Finding } from "../../model/finding.ts";
import type { Timeline } from "../../model/timeline.ts";
import { percent } from "../format.ts";
import { counted, finding, shortened, type TimelineRefusal } from "./refusal.ts";
import { GRAPH_TIME_REFUSED, MISSING_REFUSED, MISSING_TOLERATED } from "./thresholds.ts";
import { startsReason, type TimelineTimes } from "./times.ts";

/** What one check says. */
export interface Judged {
  readonly findings?: readonly Finding[];
  readonly refusal?: TimelineRefusal;
  /** Why nothing is said about idle time. */
  readonly idle_reason?: string;
  /** Why nothing is said about phases. */
  readonly phase_reason?: string;
}

const GRAPH_HINT =
  "Record again with the kernels of graphs (nsys profile --cuda-graph-trace=node gives each a row), or run the engine eager.";

/** Formats that tell the tool's version and the GPU at all: printed tables of nsys stats do not. */
const tellsOrigin = ({ format }: Timeline): boolean => format === "nsys-sqlite" || format === "torch-trace";

function origin(timeline: Timeline): Judged {
  const findings: Finding[] = [];
  const { tool, gpus, lanes, format } = timeline;
  if (!tellsOrigin(timeline)) return {};
  // Traces of torch name no version of torch itself, so there its absence says nothing.
  if (tool.name === "nsys" && tool.version === null && timeline.schema_version === null)
    findings.push(
      finding(
        "no_version_recorded",
        "info",
        "the export names no version of its tool: it is older than nsys 2022.1, or its metadata was taken out",
      ),
    );
  const named = gpus.filter(({ name }) => name !== null && name !== "");
  if (named.length === 0)
    findings.push(
      finding("gpu_not_recorded", "info", "the timeline does not name its GPU: no peaks and no roofline from it", {
        gpus_listed: gpus.length,
      }),
    );
  const listed = new Set(gpus.flatMap(({ index }) => index ?? []));
  const unlisted = [...new Set(lanes.flatMap(({ device }) => device ?? []))].filter((device) => !listed.has(device));
  if (format === "torch-trace" && listed.size > 0 && unlisted.length > 0)
    findings.push(
      finding(
        "device_id_not_in_deviceProperties",
        "warning",
        "GPU activities name a device that the trace's list of GPUs does not hold: the list counts otherwise, so which GPU it was is not known",
        {
          devices: unlisted.sort((a, b) => a - b).join(", "),
          listed: [...listed].sort((a, b) => a - b).join(", "),
        },
      ),
    );
  return { findings };
}

function cut({ recording }: Timeline): Judged {
  if (!recording.is_cut) return {};
  const message =
    "the file was shortened to a window by its publisher: launch calls and GPU activities are each cut by their own times, so which of them match says nothing";
  return { findings: [finding("cut_to_a_window", "warning", message)] };
}

/** Words of nsys' DIAGNOSTIC_EVENT about lost events; it says the same of NVTX, OpenGL and others, which concern no kernel. */
const LOST_EVENTS = /not all cuda events|cuda\b.*\b(?:lost|dropped|discarded|incomplete|missing)\b/i;

function toolMessages({ recording }: Timeline): Judged {
  const lost = recording.tool_messages.filter((text) => LOST_EVENTS.test(text.slice(0, 1000)));
  const [first] = lost;
  if (first === undefined) return {};
  const message = `the tool itself says: ${shortened(first.trim(), 300)}`;
  const evidence = { count: lost.length, first: shortened(first.trim(), 300) };
  return { findings: [finding("tool_warns_cuda_events_incomplete", "warning", message, evidence)] };
}

function starts(timeline: Timeline): Judged {
  const reason = timeline.sums === null ? startsReason(timeline) : null;
  if (reason === null) return {};
  const message =
    "start times are absent or too coarse: durations and their sums can be used; union, span, order and idle time cannot";
  return { findings: [finding("starts_not_usable", "warning", message, { rows: timeline.rows.count })] };
}

const DROP_WORDS = {
  no_time: "have no time (start or end 0: the tool could not collect it)",
  ends_before_start: "end before they start",
  outside_int64: "have a time outside of 64 bits: a wrapped negative number",
  malformed: "are malformed",
} as const;

function dropped({ recording, rows }: Timeline): Judged {
  const findings = recording.dropped
    .filter(({ count }) => count > 0)
    .map(({ reason, count, first }) =>
      finding(
        "rows_dropped",
        "warning",
        `${counted(count, "GPU activity", "GPU activities")} ${DROP_WORDS[reason]} and were left out, the first: ${shortened(first)}`,
        { reason, count, first: shortened(first) },
      ),
    );
  const total = recording.dropped.reduce((sum, { count }) => sum + count, 0);
  const share = total / Math.max(1, total + rows.count);
  if (share <= MISSING_REFUSED) return { findings };
  return {
    findings,
    refusal: {
      code: "timeline_incomplete",
      message: `${total} of ${total + rows.count} GPU activities (${percent(share)}) had no usable times and were left out`,
      hint: "Record again, with a profiler that fits the driver; the findings name the first activity of each kind.",
      evidence: { dropped: total, of: total + rows.count },
    },
  };
}

function noKernels(timeline: Timeline, times: TimelineTimes): Judged {
  if (times.kernels > 0 || times.graphs.length > 0) return {};
  const { recording, tool, cuda_version, driver_version } = timeline;
  const copies = [...times.copies, ...times.sets].reduce((sum, { count }) => sum + count, 0);
  const where = recording.has_kernel_table ? "its place for kernels is empty" : "it has no place for kernels";
  const calls = recording.launch_calls ?? timeline.calls.count;
  const said =
    recording.profiler_ranges > 0
      ? `it holds ${counted(recording.profiler_ranges, "range")} of a profiler of counters, which are no timeline`
      : calls > 0
        ? `it holds ${counted(calls, "launch call")}, so kernels ran and were not recorded`
        : copies > 0
          ? `it holds ${counted(copies, "copy or set", "copies and sets")}`
          : "nothing of CUDA was recorded";
  return {
    refusal: {
      code: "timeline_no_kernels",
      message: `the timeline holds no kernel: ${where}, and ${said}`,
      hint: "See that the program launched kernels inside the recorded window, that no other profiler held CUPTI, that workers are spawned and not forked, and that profiler, CUPTI and driver fit each other (versions in the evidence). That a profiler ended with success proves nothing.",
      evidence: {
        launch_calls: recording.launch_calls,
        api_calls: timeline.calls.count,
        copies_and_sets: copies,
        kernel_table: recording.has_kernel_table ? "empty" : "absent",
        profiler_ranges: recording.profiler_ranges,
        tool: tool.name,
        tool_version: tool.version,
        cuda_version,
        driver_version,
      },
    },
  };
}

/** Whole graphs in place of their kernels. */
function graphLevel(timeline: Timeline, times: TimelineTimes): Judged {
  const { recording } = timeline;
  const ns = times.graphs.reduce((sum, graph) => sum + graph.ns, 0);
  const rows = times.graphs.reduce((sum, graph) => sum + graph.count, 0);
  const calls = recording.graph_launch_calls ?? 0;
  const missing = recording.graph_launch_calls_without_row ?? 0;
  const isGraphMode = /graph/i.test(recording.graph_trace_mode ?? "");
  const unrecorded =
    calls > 0 && !recording.is_cut && (missing === calls || (isGraphMode && missing > MISSING_REFUSED * calls));
  if (rows === 0 && !unrecorded) return {};
  const share = ns / Math.max(1, ns + times.kernel_sum_ns);
  const evidence = {
    graphs: rows,
    graph_us: ns / 1000,
    share: rows > 0 ? share : null,
    graph_launch_calls: calls,
    graph_trace_mode: recording.graph_trace_mode,
  };
  const message =
    rows > 0
      ? `${counted(rows, "graph launch", "graph launches")} were recorded at graph level, without kernels: ${percent(share)} of the time of kernels and graphs`
      : `${missing} of ${calls} graph launches have no row at all${isGraphMode ? ", and the tool traced at graph level" : ""}: their kernels were not recorded`;
  if (share > GRAPH_TIME_REFUSED || times.kernels === 0 || unrecorded)
    return { refusal: { code: "timeline_graph_level_only", message, hint: GRAPH_HINT, evidence } };
  const phase_reason = "some graph launches are recorded without their kernels, others with them";
  return {
    findings: [finding("graph_level_rows", "warning", `${message}. ${GRAPH_HINT}`, evidence)],
    phase_reason,
  };
}

function graphKernels({ recording, rows }: Timeline, times: TimelineTimes): Judged {
  if (times.kernels === 0 || recording.is_cut) return {};
  const { graph_launch_calls: calls, graph_launch_calls_without_row: missing } = recording;
  const { graph_kernels_min: fewest, graph_kernels_max: most } = recording;
  const findings: Finding[] = [];
  if (calls !== null && missing !== null && calls > 0 && missing / calls > MISSING_TOLERATED) {
    const share = 1 - missing / calls;
    const evidence = { count: missing, of: calls, recorded_share: share };
    const message = `${missing} of ${calls} graph launches have no kernel: ${percent(share)} of them were recorded`;
    if (missing / calls > MISSING_REFUSED)
      return {
        refusal: {
          code: "timeline_incomplete",
          message,
          hint: "Record again with kernels of graphs (nsys profile --cuda-graph-trace=node), or run the engine eager; where the profiler loses replays, a shorter window helps.",
          evidence,
        },
      };
    findings.push(finding("graph_launches_without_kernels", "warning", message, evidence));
  }
  if (fewest !== null && most !== null && fewest < most)
    findings.push(
      finding(
        "graph_replays_differ",
        "warning",
        `replays of one graph were recorded with ${fewest} to ${most} kernels: some kernels are missing, or the window cut a replay`,
        { fewest, most, rows: rows.count },
      ),
    );
  if (findings.length === 0) return {};
  return {
    findings,
    idle_reason: "kernels of graph launches are missing",
    phase_reason: "kernels of graph launches are missing, more of some phases than of others",
  };
}

function launchCalls({ recording }: Timeline, times: TimelineTimes): Judged {
  const { launch_calls: calls, launch_calls_without_row: missing } = recording;
  if (recording.is_cut || times.kernels === 0 || calls === null || missing === null || missing === 0) return {};
  const share = 1 - missing / calls;
  const evidence = { count: missing, of: calls, recorded_share: share };
  const message = `${missing} of ${calls} launch calls have no kernel: ${percent(share)} of the launches were recorded`;
  const few = missing / calls <= MISSING_TOLERATED;
  const findings = [
    finding(
      "launch_calls_without_kernel",
      few ? "info" : "warning",
      few ? `${message}; the end of the window` : message,
      evidence,
    ),
  ];
  if (few) return { findings };
  const idle_reason = "kernels are missing, so idle time would be too long";
  if (missing / calls <= MISSING_REFUSED) return { findings, idle_reason };
  return {
    findings,
    idle_reason,
    refusal: {
      code: "timeline_incomplete",
      message,
      hint: "Record again: a shorter window, larger buffers, or a profiler that fits the driver. Kernels that were not recorded may be those that take the time.",
      evidence,
    },
  };
}

function kinds({ recording }: Timeline): Judged {
  const { managed_copies: managed, batched_copies: batched } = recording;
  const findings: Finding[] = [];
  if (managed > 0)
    findings.push(
      finding(
        "managed_memory_migrations",
        "info",
        `${counted(managed, "copy is a migration", "copies are migrations")} of managed memory: on no stream of the program, and beside kernels`,
        { count: managed },
      ),
    );
  if (batched > 0)
    findings.push(
      finding("batched_copies", "info", `${counted(batched, "row stands", "rows stand")} for several copies each`, {
        count: batched,
      }),
    );
  return { findings };
}

/** What the file says about its own recording, in the order in which a reader wants to know. */
export const RECORDING_CHECKS: readonly ((timeline: Timeline, times: TimelineTimes) => Judged)[] = [
  noKernels,
  graphLevel,
  graphKernels,
  launchCalls,
  dropped,
  toolMessages,
  cut,
  starts,
  origin,
  kinds,
];
