import type { Finding } from "../../model/finding.ts";
import type { KernelNames } from "../../model/launch.ts";
import type { Timeline } from "../../model/timeline.ts";
import { percent, roundHalfUp } from "../format.ts";
import type { LaneTimes } from "./exclusive.ts";
import type { Judged } from "./judge-recording.ts";
import { KERNEL } from "./lanes.ts";
import { are, counted, finding, shortened } from "./refusal.ts";
import type { Steps } from "./steps.ts";
import * as limit from "./thresholds.ts";

/** What checks of single events look at. */
export interface EventInput {
  readonly timeline: Timeline;
  /** Rows that count; null: all. */
  readonly mask: Uint8Array | null;
  readonly lanes: LaneTimes;
  readonly steps: Steps;
  readonly isCollective: ((names: KernelNames) => boolean) | null;
}

const inMicroseconds = (ns: number): string => `${roundHalfUp(ns / 1000, 1)} us`;

/** Name, place and time of a row, for evidence. */
function evidenceOf({ rows, names, lanes }: Timeline, row: number, prefix: string): Finding["evidence"] {
  const lane = lanes[Number(rows.lane[row])];
  return {
    [`${prefix}_name`]: shortened(names[Number(rows.name[row])]?.display ?? ""),
    [`${prefix}_start_us`]: Number(rows.start_ns[row]) / 1000,
    [`${prefix}_duration_us`]: (Number(rows.end_ns[row]) - Number(rows.start_ns[row])) / 1000,
    [`${prefix}_stream`]: lane?.stream ?? null,
    [`${prefix}_device`]: lane?.device ?? null,
    [`${prefix}_row`]: row,
  };
}

interface Sums {
  /** Of all rows, as recorded. */
  readonly all_ns: number;
  readonly kernels: number;
  readonly recorded_ns: number;
  readonly exclusive_ns: number;
}

function sumsOf({ timeline: { rows }, mask, lanes }: EventInput): Sums {
  let [all, kernels, recorded, exclusive] = [0, 0, 0, 0];
  for (let row = 0; row < rows.count; row += 1) {
    if (mask !== null && mask[row] === 0) continue;
    const ns = Number(rows.end_ns[row]) - Number(rows.start_ns[row]);
    all += ns;
    if (rows.kind[row] !== KERNEL) continue;
    kernels += 1;
    recorded += ns;
    exclusive += Number(lanes.exclusive_ns[row]);
  }
  return { all_ns: all, kernels, recorded_ns: recorded, exclusive_ns: exclusive };
}

/** Rows of one stream that run past their followers: a few wrong ones, or two programs in one. */
function impossible({ timeline, lanes: { impossible: found } }: EventInput, sums: Sums): Judged {
  const { count, first, worst, clipped_ns, kernel_clipped_ns } = found;
  const { shared_correlations } = timeline.recording;
  const shared = shared_correlations ?? 0;
  const pastShare = found.kernel_count / Math.max(1, sums.kernels);
  const overlapShare = (sums.recorded_ns - kernel_clipped_ns - sums.exclusive_ns) / Math.max(1, sums.recorded_ns);
  const merged =
    (found.kernel_count > 1 && pastShare > limit.MERGED_PAST_SHARE) ||
    (shared >= limit.MERGED_SHARED_IDS_LEAST && shared > limit.MERGED_SHARED_IDS_SHARE * sums.kernels) ||
    (shared > 0 &&
      ((found.kernel_count > 1 && pastShare > limit.MERGED_PAST_SHARE_WITH_SHARED_IDS) ||
        overlapShare > limit.MERGED_OVERLAP_SHARE_WITH_SHARED_IDS));
  const kernelShare = kernel_clipped_ns / Math.max(1, sums.recorded_ns);
  const clippedShare = Math.max(kernelShare, clipped_ns / Math.max(1, sums.all_ns));
  const findings: Finding[] = [];
  if (count > 0 && first !== null && worst !== null)
    findings.push(
      finding(
        "impossible_durations",
        "warning",
        `${counted(count, "GPU activity ends", "GPU activities end")} after the end of the next one on ${count === 1 ? "its" : "their"} stream; for sums ${count === 1 ? "it was" : "they were"} clipped at the start of the next one, which took ${inMicroseconds(clipped_ns)} off`,
        {
          count,
          kernels: found.kernel_count,
          clipped_us: clipped_ns / 1000,
          clipped_share_of_kernel_time: kernelShare,
          ...evidenceOf(timeline, first, "first"),
          ...evidenceOf(timeline, worst, "worst"),
        },
      ),
    );
  if (merged)
    return {
      findings,
      refusal: {
        code: "timeline_merged_ranks",
        message: `kernels of one stream come from several programs (${found.kernel_count} of ${sums.kernels} end after the next one, ${percent(overlapShare)} of the time overlaps${shared > 0 ? `, ${counted(shared, "correlation id is", "correlation ids are")} used by several kernels` : ""}): several ranks were merged into one file and cannot be told apart`,
        hint: "Give one timeline for each rank: several may be given at once.",
        evidence: {
          kernels: sums.kernels,
          kernels_past_next: found.kernel_count,
          overlap_share: overlapShare,
          shared_correlations,
          ...(first === null ? {} : evidenceOf(timeline, first, "first")),
        },
      },
    };
  if (clippedShare <= limit.CLIPPED_SHARE_REFUSED || worst === null) return { findings };
  return {
    findings,
    refusal: {
      code: "timeline_degenerate",
      message: `${counted(count, "GPU activity has an impossible duration", "GPU activities have impossible durations")} that make${count === 1 ? "s" : ""} ${percent(clippedShare)} of the recorded ${kernelShare === clippedShare ? "kernel" : "GPU"} time: ${count === 1 ? "it" : "each"} ends after the end of the next one on its stream`,
      hint: "Record again; the evidence names the first and the worst event. A window without them can be ranked.",
      evidence: { ...findings[0]?.evidence },
    },
  };
}

/** Of kernels: durations that count, those of one name or of all but it. */
function medianNs({ timeline: { rows }, mask, lanes }: EventInput, keep: (row: number) => boolean): number | null {
  const durations: number[] = [];
  for (let row = 0; row < rows.count; row += 1)
    if (rows.kind[row] === KERNEL && (mask === null || mask[row] === 1) && keep(row))
      durations.push(Number(lanes.end_ns[row]) - Number(rows.start_ns[row]));
  const sorted = Float64Array.from(durations).sort();
  return sorted.length === 0 ? null : Number(sorted[Math.floor((sorted.length - 1) / 2)]);
}

function oneEvent(input: EventInput): Judged {
  const { timeline, mask, lanes, isCollective } = input;
  const { rows, names } = timeline;
  let [largest, largestNs, total, count] = [-1, -1, 0, 0];
  for (let row = 0; row < rows.count; row += 1) {
    if (rows.kind[row] !== KERNEL || (mask !== null && mask[row] === 0)) continue;
    const ns = Number(lanes.end_ns[row]) - Number(rows.start_ns[row]);
    count += 1;
    total += ns;
    if (ns > largestNs) {
      largest = row;
      largestNs = ns;
    }
  }
  const share = total > 0 ? largestNs / total : 0;
  if (largest < 0 || share <= limit.ONE_EVENT_SHARE || count === 1) return {};
  const name = Number(rows.name[largest]);
  const like = medianNs(input, (row) => row !== largest && rows.name[row] === name);
  const others = medianNs(input, (row) => row !== largest);
  const isFar =
    like !== null
      ? largestNs > limit.ONE_EVENT_OVER_MEDIAN * like
      : count > limit.ONE_EVENT_LEAST_OTHERS && largestNs > limit.ONE_EVENT_OVER_OTHERS * (others ?? 0);
  if (!isFar) return {};
  const evidence = {
    share,
    kernels: count,
    median_of_its_name_us: like === null ? null : like / 1000,
    median_of_others_us: others === null ? null : others / 1000,
    ...evidenceOf(timeline, largest, "event"),
  };
  const event = names[name];
  const message = `one launch of ${shortened(event?.display ?? "")} holds ${percent(share)} of the kernel time (${inMicroseconds(largestNs)}; ${like === null ? `the other kernels have a median of ${inMicroseconds(others ?? 0)}` : `its other launches have a median of ${inMicroseconds(like)}`})`;
  if (event !== undefined && isCollective?.(event) === true)
    return {
      findings: [
        finding(
          "collective_holds_the_time",
          "warning",
          `${message}: a collective waits for its peers on the GPU, so this is waiting more than work`,
          evidence,
        ),
      ],
    };
  return {
    refusal: {
      code: "timeline_degenerate",
      message,
      hint: "If the event is wrong, record again; if it is right, rank a window without it: from_us and to_us, a step, or an NVTX range.",
      evidence,
    },
  };
}

function emptySteps({ timeline, mask, steps: { steps, of } }: EventInput): Judged {
  const { rows, recording, threads } = timeline;
  if (steps.length === 0 || mask !== null || recording.is_cut) return {};
  const filled = new Uint32Array(steps.length);
  const launching = new Set<number>();
  let [kernels, called, lastThread] = [0, 0, -1];
  for (let row = 0; row < rows.count; row += 1) {
    if (rows.kind[row] !== KERNEL) continue;
    kernels += 1;
    if (!Number.isNaN(Number(rows.call_ns[row]))) called += 1;
    const thread = Number(rows.thread[row]);
    if (thread !== lastThread) launching.add(thread);
    lastThread = thread;
    const step = of(row);
    if (step >= 0) filled[step] = Number(filled[step]) + 1;
  }
  if (called < limit.CALLS_KNOWN_LEAST * kernels) return {};
  // Marks of a process that launches nothing (a scheduler beside its workers) say nothing about kernels.
  const processes = new Set([...launching].map((thread) => threads[thread]?.process ?? null));
  const own = steps.flatMap(({ thread }, step) => (processes.has(threads[thread]?.process ?? null) ? [step] : []));
  const none = own.filter((step) => filled[step] === 0);
  const empty = none.length;
  if (empty === 0) return {};
  const first = steps[none[0] ?? 0];
  const evidence = {
    count: empty,
    of: own.length,
    first: shortened(first?.text ?? ""),
    first_start_us: first === undefined ? null : first.start_ns / 1000,
  };
  const message = `${empty} of ${own.length} steps ${are(empty)} without a kernel`;
  if (own.length >= limit.STEPS_FEWEST && empty > limit.STEPS_EMPTY_REFUSED * own.length)
    return {
      refusal: {
        code: "timeline_incomplete",
        message: `${message}: the profiler lost the kernels of most steps`,
        hint: "Record again, with fewer steps in the window; totals of this timeline say nothing about a step.",
        evidence,
      },
    };
  return { findings: [finding("steps_without_kernels", "warning", message, evidence)] };
}

function sharedCorrelations({ timeline: { recording } }: EventInput): Judged {
  const count = recording.shared_correlations ?? 0;
  if (count === 0) return {};
  const message = `${counted(count, "correlation id is", "correlation ids are")} used by several kernels without a graph launch in the file: replays of graphs that were launched before the window, or two ranks merged`;
  return { findings: [finding("correlation_id_several_kernels_no_graph", "info", message, { count })] };
}

/** Kernels none of which took any time, as rows or as sums by name: their order would be that of their names. */
function noTime(kernels: number, recordedNs: number, { format, tick_ns }: Timeline): Judged {
  if (kernels === 0 || recordedNs > 0) return {};
  return {
    refusal: {
      code: "timeline_degenerate",
      message: `${kernels === 1 ? "the one kernel launch has" : `all ${kernels} kernel launches have`} a duration of 0: nothing can be ranked by time`,
      hint: "Record again, with a profiler that fits the driver: it wrote launches without their times.",
      evidence: { kernels, format, tick_ns },
    },
  };
}

/** What single events say, in the order of what they break. */
export function judgeEvents(input: EventInput): Judged[] {
  const { timeline } = input;
  if (timeline.rows.count === 0) {
    const totals = timeline.sums ?? [];
    const launches = totals.reduce((sum, one) => sum + one.launches, 0);
    return [
      noTime(
        launches,
        totals.reduce((sum, one) => sum + one.total_ns, 0),
        timeline,
      ),
    ];
  }
  const sums = sumsOf(input);
  return [
    noTime(sums.kernels, sums.recorded_ns, timeline),
    impossible(input, sums),
    oneEvent(input),
    emptySteps(input),
    sharedCorrelations(input),
  ];
}
