import { err, ok, type Result } from "../../base/result.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type HostInterval, HostIntervals } from "./host-intervals.ts";
import { counted, shortened, type TimelineRefusal, type TimelineRefusalCode } from "./refusal.ts";
import type { Steps } from "./steps.ts";
import { startsReason } from "./times.ts";

/**
 * A part of a timeline: all ranges of the name, one step, or microseconds from the first GPU activity. Ranges and steps
 * hold what was launched inside them; times hold what starts inside them. Activities are taken whole.
 */
export type TimelineWindow =
  | { readonly nvtx: string }
  | { readonly step: number }
  | { readonly from_us: number; readonly to_us: number };

export interface Selection {
  /** 1: the row is in the window; null: all are. */
  readonly mask: Uint8Array | null;
  /** For each row its occurrence of the window, where a window has several; -1 outside. */
  readonly occurrenceOf: ((row: number) => number) | null;
  readonly occurrences: number;
}

const refuse = (
  code: TimelineRefusalCode,
  message: string,
  hint: string,
  evidence: TimelineRefusal["evidence"] = {},
): { ok: false; error: TimelineRefusal } => err({ code, message, hint, evidence });

/** Running numbers that tools append to the names of ranges: torch's emit_nvtx writes `, op_id = 12`. */
const withoutNumber = (text: string): string => text.replace(/, (?:op_id|seq) = \d{1,20}.*$/s, "");

const NAMES_LISTED = 20;

/** The most frequent names of ranges, running numbers taken off, for a message. */
function commonRanges({ ranges, texts }: Timeline): string {
  const counts = new Map<number, number>();
  for (let range = 0; range < ranges.count; range += 1) {
    const text = Number(ranges.text[range]);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const byName = new Map<string, number>();
  for (const [text, count] of counts) {
    const name = withoutNumber(shortened(texts[text] ?? "", 80));
    byName.set(name, (byName.get(name) ?? 0) + count);
  }
  return [...byName]
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : a > b ? 1 : 0))
    .slice(0, NAMES_LISTED)
    .map(([name]) => name)
    .join(", ");
}

/** Intervals that overlap are one occurrence: ranges of a name nest in a recursion. Per process, in order of start. */
function merged(timeline: Timeline, intervals: readonly HostInterval[]): HostInterval[] {
  const last = new Map<string, { at: number }>();
  const result: HostInterval[] = [];
  for (const interval of intervals) {
    const process = timeline.threads[interval.thread]?.process ?? "";
    const at = last.get(process)?.at;
    const before = at === undefined ? undefined : result[at];
    if (at !== undefined && before !== undefined && interval.start_ns < before.end_ns)
      result[at] = { ...before, end_ns: Math.max(before.end_ns, interval.end_ns) };
    else last.set(process, { at: result.push(interval) - 1 });
  }
  return result;
}

function rangesNamed(timeline: Timeline, name: string): { closed: HostInterval[]; open: number } {
  const { ranges, texts } = timeline;
  const matches = new Map<number, boolean>();
  const closed: HostInterval[] = [];
  let open = 0;
  for (let range = 0; range < ranges.count; range += 1) {
    const text = Number(ranges.text[range]);
    let isNamed = matches.get(text);
    if (isNamed === undefined) {
      const full = texts[text] ?? "";
      isNamed = full === name || withoutNumber(full) === name;
      matches.set(text, isNamed);
    }
    if (!isNamed) continue;
    const [start_ns, end_ns] = [Number(ranges.start_ns[range]), Number(ranges.end_ns[range])];
    if (Number.isNaN(end_ns)) open += 1;
    else closed.push({ start_ns, end_ns, thread: Number(ranges.thread[range]) });
  }
  return { closed, open };
}

/** Rows launched inside of intervals of the host. */
function launchedIn(
  timeline: Timeline,
  occurrenceOf: (row: number) => number,
  occurrences: number,
  what: string,
): Result<Selection, TimelineRefusal> {
  const { rows } = timeline;
  const mask = new Uint8Array(rows.count);
  let [selected, called] = [0, 0];
  for (let row = 0; row < rows.count; row += 1) {
    if (!Number.isNaN(Number(rows.call_ns[row]))) called += 1;
    if (occurrenceOf(row) < 0) continue;
    mask[row] = 1;
    selected += 1;
  }
  if (selected > 0) return ok({ mask, occurrenceOf, occurrences });
  if (called === 0)
    return refuse(
      "timeline_window_invalid",
      `${what} cannot be a window: the timeline does not record which call launched an activity`,
      "Give the window as from_us and to_us, or record CUDA API calls as well (nsys --trace=cuda,nvtx).",
    );
  return refuse(
    "timeline_window_empty",
    `no GPU activity was launched inside ${what}`,
    "Choose a window in which the GPU works.",
    {
      occurrences,
      activities: rows.count,
      with_launch_call: called,
    },
  );
}

function byRange(timeline: Timeline, name: string): Result<Selection, TimelineRefusal> {
  const { closed, open } = rangesNamed(timeline, name);
  const what = `the NVTX range ${JSON.stringify(shortened(name))}`;
  if (closed.length === 0) {
    const message =
      open > 0
        ? `${what} is in the timeline ${counted(open, "time")} and never closed`
        : timeline.ranges.count === 0
          ? `${what} is not in the timeline, which has no ranges at all`
          : `${what} is not in the timeline`;
    return refuse(
      "timeline_window_not_found",
      message,
      "Names are compared as a whole and with their case; the evidence lists the most frequent ones.",
      { ranges: timeline.ranges.count, names: commonRanges(timeline) },
    );
  }
  const occurrences = merged(timeline, closed).sort((a, b) => a.start_ns - b.start_ns);
  const intervals = new HostIntervals(timeline, occurrences);
  return launchedIn(timeline, (row) => intervals.of(row), occurrences.length, what);
}

/** A step by the number in its mark, where marks are numbered; else by its place from 0. */
function byStep(
  timeline: Timeline,
  { steps, null_reason, of }: Steps,
  step: number,
): Result<Selection, TimelineRefusal> {
  if (!Number.isSafeInteger(step) || step < 0)
    return refuse(
      "timeline_window_invalid",
      `step is ${step}: expected a whole number from 0 on`,
      "Correct the window.",
    );
  if (null_reason !== null)
    return refuse(
      "timeline_window_not_found",
      `step ${step} is not in the timeline: ${null_reason}`,
      "Give the window as from_us and to_us or by an NVTX range, or add the engine's step marks to the patterns.",
    );
  const numbered = steps.every(({ number }) => number !== null);
  const at = new Set<number>();
  for (const [position, { number }] of steps.entries()) if ((numbered ? number : position) === step) at.add(position);
  if (at.size === 0) {
    const numbers = numbered ? steps.map(({ number }) => number ?? 0) : [0, steps.length - 1];
    const lowest = numbers.reduce((a, b) => Math.min(a, b));
    const highest = numbers.reduce((a, b) => Math.max(a, b));
    return refuse(
      "timeline_window_not_found",
      `step ${step} is not in the timeline, which has ${counted(steps.length, "step")}, ${lowest} to ${highest}`,
      numbered ? "Steps carry the numbers of their marks." : "Steps count from 0 in order of time.",
      { steps: steps.length, lowest, highest },
    );
  }
  const occurrenceOf = (row: number): number => {
    const position = of(row);
    return at.has(position) ? position : -1;
  };
  return launchedIn(timeline, occurrenceOf, at.size, `step ${step}`);
}

function byTime(timeline: Timeline, fromUs: number, toUs: number): Result<Selection, TimelineRefusal> {
  if (!Number.isFinite(fromUs) || !Number.isFinite(toUs) || fromUs >= toUs)
    return refuse(
      "timeline_window_invalid",
      `the window from ${fromUs} to ${toUs} us is none: from_us has to be below to_us`,
      "Both count in microseconds from the first GPU activity.",
    );
  const { rows } = timeline;
  const first = Number(rows.start_ns[0]);
  const mask = new Uint8Array(rows.count);
  let selected = 0;
  for (let row = 0; row < rows.count; row += 1) {
    const us = (Number(rows.start_ns[row]) - first) / 1000;
    if (us < fromUs || us >= toUs) continue;
    mask[row] = 1;
    selected += 1;
  }
  if (selected > 0) return ok({ mask, occurrenceOf: null, occurrences: 1 });
  const lastUs = (Number(rows.start_ns[rows.count - 1]) - first) / 1000;
  return refuse(
    "timeline_window_empty",
    `no GPU activity starts from ${fromUs} to ${toUs} us; activities start from 0 to ${lastUs} us`,
    "Both count in microseconds from the first GPU activity.",
    { activities: rows.count, last_start_us: lastUs },
  );
}

/** The rows of a window. Null as window: all. */
export function selectRows(
  timeline: Timeline,
  steps: Steps,
  window: TimelineWindow | null,
): Result<Selection, TimelineRefusal> {
  if (window === null) return ok({ mask: null, occurrenceOf: null, occurrences: 1 });
  const reason = startsReason(timeline);
  if (reason !== null)
    return refuse("timeline_window_invalid", `a window cannot be taken: ${reason}`, "Rank the whole timeline.");
  if ("nvtx" in window) return byRange(timeline, window.nvtx);
  if ("step" in window) return byStep(timeline, steps, window.step);
  return byTime(timeline, window.from_us, window.to_us);
}
