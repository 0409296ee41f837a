import { byNumberDescending, byText, inOrder } from "../../base/order.ts";
import { err, ok, type Result } from "../../base/result.ts";
import type { Finding } from "../../model/finding.ts";
import type { Timeline } from "../../model/timeline.ts";
import { exactSumUs } from "./exact.ts";
import { laneTimes } from "./exclusive.ts";
import { type JudgeOptions, judgeFacts, type TimelineJudgement } from "./judge.ts";
import type { Source } from "./launches.ts";
import { idleFinding, idleOf } from "./rank-idle.ts";
import { type Denominators, rankKernels } from "./rank-kernels.ts";
import { phaseTimes } from "./rank-phases.ts";
import { rankSums } from "./rank-sums.ts";
import { hotKernelsMissed } from "./rank-window.ts";
import type { RankedActivity, TimelineRanking } from "./ranking.ts";
import { finding, type TimelineRefusal } from "./refusal.ts";
import { stepsOf } from "./steps.ts";
import { startsReason, type TimelineTimes, timesOf } from "./times.ts";
import { selectRows, type TimelineWindow } from "./window.ts";

export interface RankOptions extends JudgeOptions {
  /** Kernels to list; all where not given. Sums, shares and findings are of all either way. */
  readonly topN?: number | undefined;
  readonly window?: TimelineWindow | null | undefined;
}

/** Why there is no ranking, with what was found before that was clear. */
export interface RankFailure extends TimelineRefusal {
  /** Position of the timeline it is about; null: all of them. */
  readonly timeline: number | null;
  readonly findings: readonly Finding[];
}

interface Judged extends Source {
  readonly times: TimelineTimes;
  readonly judgement: TimelineJudgement;
}

const failure = (refusal: TimelineRefusal, timeline: number | null, findings: readonly Finding[] = []) =>
  err<RankFailure>({ ...refusal, timeline, findings });

/** Findings of all timelines. Of several it says of which one is; what is the same of more than one is said once. */
function findingsOf(judged: readonly Judged[]): Finding[] {
  if (judged.length === 1) return [...(judged[0]?.judgement.findings ?? [])];
  const byContent = new Map<string, { readonly finding: Finding; readonly timelines: number[] }>();
  for (const [position, { judgement }] of judged.entries())
    for (const one of judgement.findings) {
      const key = JSON.stringify(one);
      const same = byContent.get(key);
      if (same === undefined) byContent.set(key, { finding: one, timelines: [position] });
      else same.timelines.push(position);
    }
  return [...byContent.values()].map(({ finding: one, timelines }) => ({
    ...one,
    evidence: {
      ...one.evidence,
      ...(timelines.length === 1 ? { timeline: timelines[0] ?? null } : { timelines: timelines.join(", ") }),
    },
  }));
}

/** The same activities at the same times: one recording in two files, packed and unpacked say. */
function isSame({ rows, zero_unix_ns, lanes, names }: Timeline, other: Timeline): boolean {
  if (rows.count === 0 || rows.count !== other.rows.count || zero_unix_ns !== other.zero_unix_ns) return false;
  if (JSON.stringify(lanes) !== JSON.stringify(other.lanes)) return false;
  if (names.length !== other.names.length) return false;
  if (names.some(({ display }, position) => display !== other.names[position]?.display)) return false;
  return (
    rows.start_ns.every((start, row) => start === other.rows.start_ns[row]) &&
    rows.end_ns.every((end, row) => end === other.rows.end_ns[row])
  );
}

/** Whether timelines can be added up: ranks of one run, each once, seen by one tool. */
function notComparable(timelines: readonly Timeline[]): TimelineRefusal | null {
  const hint = "Give the timelines of one run, one for each rank, all recorded by the same tool.";
  const code = "timeline_not_comparable";
  if (timelines.length === 0) return { code, message: "no timeline was given", hint, evidence: {} };
  const formats = [...new Set(timelines.map(({ format }) => format))].sort();
  if (formats.length > 1) {
    const message = `the timelines are of different formats (${formats.join(", ")}): recordings of one run would be counted twice`;
    return { code, message, hint, evidence: { formats: formats.join(", ") } };
  }
  const ranks = timelines.flatMap(({ lanes }) => [...new Set(lanes.flatMap(({ rank }) => rank ?? []))]);
  const twice = ranks.find((rank, position) => ranks.indexOf(rank) < position);
  if (twice !== undefined)
    return { code, message: `rank ${twice} is in more than one of the timelines`, hint, evidence: { rank: twice } };
  const repeated = timelines.findIndex((one, position) =>
    timelines.slice(0, position).some((other) => isSame(one, other)),
  );
  if (repeated >= 0) {
    const message = "two of the timelines hold the same recording: its launches would be counted twice";
    return { code, message, hint, evidence: { timeline: repeated } };
  }
  return null;
}

function judgeAll(timelines: readonly Timeline[], options: RankOptions): Result<Judged[], RankFailure> {
  const window = options.window ?? null;
  const judged: Judged[] = [];
  const refused: { refusal: TimelineRefusal; timeline: number }[] = [];
  for (const [position, timeline] of timelines.entries()) {
    const steps = stepsOf(timeline, options.stepPatterns);
    const times = timesOf(timeline);
    const selected = timeline.rows.count === 0 ? ok(null) : selectRows(timeline, steps, window);
    if (!selected.ok) refused.push({ refusal: selected.error, timeline: position });
    // A rank without the window adds nothing to it, but has to be trusted all the same.
    const none = { mask: selected.ok ? null : new Uint8Array(timeline.rows.count), occurrenceOf: null, occurrences: 0 };
    const selection = (selected.ok ? selected.value : null) ?? none;
    const lanes = laneTimes(timeline, selection.mask);
    const judgement = judgeFacts(timeline, { times, lanes, steps, mask: selection.mask }, options);
    judged.push({ timeline, steps, selection, lanes, times, judgement });
  }
  const findings = findingsOf(judged);
  const untrusted = judged.findIndex(({ judgement }) => judgement.refusal !== null);
  const refusal = judged[untrusted]?.judgement.refusal;
  if (refusal) return failure(refusal, untrusted, findings);
  const [first] = refused;
  if (first !== undefined && refused.length === timelines.length)
    return failure(first.refusal, first.timeline, findings);
  return ok(judged);
}

function activitiesOf(views: readonly TimelineTimes[], { busy_us, wall_us }: Denominators): RankedActivity[] {
  const found = new Map<
    string,
    { kind: RankedActivity["kind"]; name: string; count: number; ns: number; bytes: number | null }
  >();
  for (const view of views)
    for (const [kind, list] of [
      ["memcpy", view.copies],
      ["memset", view.sets],
      ["graph", view.graphs],
    ] as const)
      for (const { name, count, ns, bytes } of list) {
        const key = `${kind}\n${name}`;
        const entry = found.get(key) ?? { kind, name, count: 0, ns: 0, bytes: null };
        found.set(key, entry);
        entry.count += count;
        entry.ns += ns;
        if (bytes !== null) entry.bytes = (entry.bytes ?? 0) + bytes;
      }
  const share = (us: number, whole: number | null): number | null => (whole === null || whole <= 0 ? null : us / whole);
  return [...found.values()]
    .map(({ kind, name, count, ns, bytes }) => {
      const us = ns / 1000;
      return {
        kind,
        name,
        count,
        total_us: us,
        bytes,
        share_of_busy: share(us, busy_us),
        share_of_wall: share(us, wall_us),
      };
    })
    .sort(
      inOrder<RankedActivity>(
        byNumberDescending((entry) => entry.total_us),
        byText((entry) => entry.kind),
        byText((entry) => entry.name),
      ),
    );
}

const sumUs = (values: readonly (number | null)[]): number | null => {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return total / 1000;
};

/**
 * Ranks the kernels of a run by exclusive time: kernel, shape, duration cluster. One timeline for each rank. Withheld
 * where a timeline cannot be trusted (`judgeTimeline`) or the window is not there. Times are microseconds; a field that
 * cannot be known is null with its reason. Linear in rows but for sorting durations.
 */
export function rankTimeline(
  timelines: readonly Timeline[],
  options: RankOptions = {},
): Result<TimelineRanking, RankFailure> {
  const incomparable = notComparable(timelines);
  if (incomparable !== null) return failure(incomparable, null);
  const window = options.window ?? null;
  const topN = options.topN ?? Number.POSITIVE_INFINITY;
  const judgedAll = judgeAll(timelines, options);
  if (!judgedAll.ok) return judgedAll;
  const judged = judgedAll.value;
  const findings = findingsOf(judged);
  const times = judged.map((one) => one.times);
  if (timelines.every(({ sums }) => sums !== null)) {
    if (window !== null) {
      const refusal = selectRowsOfSummary(timelines[0], window);
      if (refusal !== null) return failure(refusal, null, findings);
    }
    const ranking = rankSums(timelines, times, topN);
    return ok({ ...ranking, window, findings: [...ranking.findings, ...findings] });
  }
  return rankRows(judged, times, window, topN, findings);
}

function selectRowsOfSummary(timeline: Timeline | undefined, window: TimelineWindow): TimelineRefusal | null {
  if (timeline === undefined) return null;
  const selected = selectRows(timeline, stepsOf(timeline), window);
  return selected.ok ? null : selected.error;
}

function rankRows(
  judged: readonly Judged[],
  times: readonly TimelineTimes[],
  window: TimelineWindow | null,
  topN: number,
  findings: readonly Finding[],
): Result<TimelineRanking, RankFailure> {
  const views = judged.map((one) => {
    const { timeline, selection, lanes } = one;
    const isWhole = selection.mask === null && lanes.impossible.count === 0;
    return isWhole ? one.times : timesOf(timeline, { mask: selection.mask, end_ns: lanes.end_ns });
  });
  const null_reasons: Record<string, string> = {};
  const starts = judged.map(({ timeline }) => startsReason(timeline)).find((reason) => reason !== null) ?? null;
  const idleReason =
    starts ?? judged.map(({ judgement }) => judgement.idle_reason).find((reason) => reason !== null) ?? null;
  const gaps = starts === null ? idleOf(judged) : null;
  const idle = idleReason === null && gaps !== null ? gaps.idle : null;
  const busy_us = sumUs(views.map(({ busy }) => busy.ns));
  const wall_us = gaps === null ? null : gaps.wall_ns / 1000;
  const spans = views.flatMap(({ span }) => span.ns ?? []);
  if (starts !== null)
    for (const field of [
      "busy_us",
      "span_us",
      "wall_us",
      "overlap_on_streams",
      "overlap_between_streams_us",
      "kernel_overlap_between_streams_us",
      "kernels.share_of_busy",
      "kernels.share_of_wall",
    ])
      null_reasons[field] = starts;
  if (idleReason !== null) null_reasons.idle = idleReason;
  const phases = phaseTimes(judged);
  if (phases.null_reason !== null) null_reasons.phases = phases.null_reason;
  const kernels = rankKernels(judged, { busy_us, wall_us }, phases.null_reason === null);
  if (kernels.length === 0 && window !== null)
    return failure(
      {
        code: "timeline_window_empty",
        message: "the window holds no kernel, only copies, sets or whole graphs",
        hint: "Choose a window in which kernels run.",
        evidence: { activities: views.reduce((sum, { copies, sets }) => sum + copies.length + sets.length, 0) },
      },
      null,
      findings,
    );
  const recorded = exactSumUs(kernels.map((kernel) => kernel.recorded_us));
  const exclusive = exactSumUs(kernels.map((kernel) => kernel.exclusive_us));
  const clippedNs = views.reduce((sum, view) => sum + view.kernel_sum_ns, 0);
  const overlapUs = Math.max(0, clippedNs - Math.round(exclusive * 1000)) / 1000;
  const first = idle === null || wall_us === null ? null : idleFinding(idle, wall_us);
  const missed = window === null ? null : hotKernelsMissed(judged);
  return ok({
    window,
    times,
    launches: views.reduce((sum, view) => sum + view.kernels, 0),
    busy_us,
    span_us: starts !== null || spans.length === 0 ? null : Math.max(...spans) / 1000,
    wall_us,
    kernels_recorded_us: recorded,
    kernels_exclusive_us: exclusive,
    overlap_between_streams_us: sumUs(views.map((view) => view.overlap_between_streams.ns)),
    kernel_overlap_between_streams_us: sumUs(views.map((view) => view.kernel_overlap_between_streams.ns)),
    overlap_on_streams:
      starts === null ? { pairs: views.reduce((sum, view) => sum + view.overlap_pairs, 0), us: overlapUs } : null,
    idle,
    phases: phases.phases,
    kernels: kernels.slice(0, topN),
    kernels_total: kernels.length,
    sources: starts === null ? judged : [],
    activities: activitiesOf(views, { busy_us, wall_us }),
    null_reasons,
    findings: [
      ...(first === null ? [] : [first]),
      ...(missed === null ? [] : [missed]),
      ...windowAbsent(judged),
      ...findings,
    ],
  });
}

/** Timelines that do not hold the window though others do. */
function windowAbsent(judged: readonly Judged[]): Finding[] {
  const absent = judged.flatMap(({ selection }, position) => (selection.occurrences === 0 ? [position] : []));
  if (absent.length === 0) return [];
  const message = `${absent.length} of ${judged.length} timelines do not hold the window and add nothing to it`;
  return [finding("window_not_in_all_timelines", "warning", message, { timelines: absent.join(", ") })];
}
