import { offsetsOf } from "../analysis/timeline/clocks.ts";
import { laneTimes } from "../analysis/timeline/exclusive.ts";
import { gapsOf } from "../analysis/timeline/gaps.ts";
import { gpuUsesOf, KERNEL } from "../analysis/timeline/lanes.ts";
import { shortened } from "../analysis/timeline/refusal.ts";
import type { ProfileResult } from "../model/result.ts";
import { GPU_ROW_KINDS, type GpuRows, NONE, type Timeline } from "../model/timeline.ts";
import { Tracks } from "./tracks.ts";
import { fields, Verdicts } from "./verdicts.ts";

/** Shorter gaps are not written: between almost any two launches there is one. */
const SHORTEST_GAP_NS = 10_000;
/** Characters after which a piece is handed on. */
const PIECE = 64 * 1024;
/** Threads by number: gaps first, then so many for each stream or thread. */
const IDLE_THREAD = 1;
const THREADS_EACH = 10;
/** Characters of a text that is written for each launch or range: a small recording may hold many with one long text. */
const LONGEST_TEXT = 500;
/** Real names of kernels reach some thousand characters: written whole so far where they take no more than this in all. */
const LONGEST_NAME = 4096;
const NAMES_IN_ALL = 16 * 1024 * 1024;

/** As Kineto calls them. */
const CATEGORY = { kernel: "kernel", memcpy: "gpu_memcpy", memset: "gpu_memset", graph: "cuda_graph" } as const;

/**
 * Timelines with their result as JSON in the Trace Event Format, which chrome://tracing and ui.perfetto.dev open: a
 * process for each GPU as one process or rank used it, a thread for each stream, and ranges of the host. Each launch has
 * stage and verdict of its cluster. In pieces of bounded size and without end to end memory: no object is made for a row.
 *
 * Format: "Trace Event Format" (Google, document 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): `X` complete events and
 * `M` metadata; `ts` and `dur` in microseconds. Names and numbers of processes and threads are our own, and nothing that
 * tells of the machine is in it: a `Timeline` has nothing of it.
 */
export function* traceEvents(timelines: readonly Timeline[], result: ProfileResult): Generator<string> {
  const ends = timelines.map((timeline) => laneTimes(timeline).end_ns);
  const origins = originsOf(timelines, ends);
  let piece = `{"displayTimeUnit":"ns","otherData":${JSON.stringify({ producer: "profile-kernel", target: result.target })},"traceEvents":[`;
  let isFirst = true;
  for (const [position, timeline] of timelines.entries()) {
    for (const event of eventsOf(timeline, ends[position] ?? timeline.rows.end_ns, result, {
      origin: origins[position] ?? 0,
      // Far from the next timeline's: a file holds less processes than this.
      firstProcess: position * 10_000 + 1,
      several: timelines.length > 1 ? position : null,
    })) {
      piece += isFirst ? `\n${event}` : `,\n${event}`;
      isFirst = false;
      if (piece.length < PIECE) continue;
      yield piece;
      piece = "";
    }
  }
  yield `${piece}\n]}\n`;
}

interface Place {
  /** Nanosecond of the timeline that is 0 in the trace. */
  readonly origin: number;
  readonly firstProcess: number;
  /** Position of the timeline where there are several. */
  readonly several: number | null;
}

function* eventsOf(timeline: Timeline, ends: Float64Array, result: ProfileResult, place: Place): Generator<string> {
  const { uses, useOfLane } = gpuUsesOf(timeline);
  const processOf = (use: number): number => place.firstProcess + use;
  for (const [use, { rank, device, process }] of uses.entries()) {
    const owner = rank !== null ? `rank ${rank}, ` : place.several !== null ? `timeline ${place.several}, ` : "";
    const own = uses.length > 1 && rank === null && process !== null ? `, process ${use + 1}` : "";
    yield named("process_name", processOf(use), 0, `${owner}GPU${device === null ? "" : ` ${device}`}${own}`);
    yield sorted("process_sort_index", processOf(use), 0, processOf(use));
  }
  yield* gpuEvents(timeline, ends, new Verdicts(timeline, result), place, processOf, useOfLane);
  yield* idleEvents(timeline, ends, place, processOf);
  yield* rangeEvents(timeline, place, processOf(uses.length));
}

function* gpuEvents(
  timeline: Timeline,
  ends: Float64Array,
  verdicts: Verdicts,
  place: Place,
  processOf: (use: number) => number,
  useOfLane: Uint32Array,
): Generator<string> {
  const { rows, lanes, names } = timeline;
  const tracks = lanes.map(() => new Tracks());
  const seen = new Set<number>();
  const longest = longestName(timeline);
  const quoted = names.map(({ display }) => JSON.stringify(shortened(display, longest)));
  const streams = lanes.map(({ stream }) => (stream === null ? null : shortened(stream, LONGEST_TEXT)));
  const places = lanes.map(({ device }, lane) => fields({ device, stream: streams[lane] }));
  for (let row = 0; row < rows.count; row += 1) {
    const lane = Number(rows.lane[row]);
    const [start, end] = [Number(rows.start_ns[row]), Number(ends[row])];
    const track = tracks[lane]?.place(start, end) ?? 0;
    const pid = processOf(Number(useOfLane[lane]));
    const tid = (lane + 1) * THREADS_EACH + track;
    if (!seen.has(tid)) {
      seen.add(tid);
      const stream = streams[lane];
      const overlap = track === 0 ? "" : `, overlapping ${track}`;
      yield named("thread_name", pid, tid, `${stream == null ? "no stream" : `stream ${stream}`}${overlap}`);
      yield sorted("thread_sort_index", pid, tid, tid);
    }
    const kind = GPU_ROW_KINDS[Number(rows.kind[row])] ?? "kernel";
    const args = `${rowArguments(rows, row, (end - start) / 1000, verdicts)},${places[lane] ?? ""}`;
    yield complete(
      quoted[Number(rows.name[row])] ?? '""',
      CATEGORY[kind],
      pid,
      tid,
      start - place.origin,
      end - start,
      clean(args),
    );
  }
}

/** Characters of a name: the same for all launches of a timeline, so that names which differ early stay apart. */
function longestName({ rows, names }: Timeline): number {
  let all = 0;
  for (let row = 0; row < rows.count; row += 1) {
    all += Math.min(LONGEST_NAME, names[Number(rows.name[row])]?.display.length ?? 0);
    if (all > NAMES_IN_ALL) return LONGEST_TEXT;
  }
  return LONGEST_NAME;
}

/** Without the commas of what was left out. */
const clean = (args: string): string => args.replace(/^,+|,+$/g, "");

function rowArguments(rows: GpuRows, row: number, us: number, verdicts: Verdicts): string {
  const graph = rows.in_graph[row] === 1 ? ',"in_graph":true' : "";
  if (rows.kind[row] === KERNEL) {
    const [name, shape] = [Number(rows.name[row]), Number(rows.shape[row])];
    return verdicts.argumentsOf(name, shape, us) + graph;
  }
  const bytes = Number(rows.bytes[row]);
  return fields({ stage: "memcpy", family: "memory", bytes: Number.isNaN(bytes) ? null : bytes }) + graph;
}

function* idleEvents(
  timeline: Timeline,
  ends: Float64Array,
  { origin }: Place,
  processOf: (use: number) => number,
): Generator<string> {
  if (!timeline.has_starts) return;
  const { gaps } = gapsOf(timeline, ends, { mask: null, occurrenceOf: null, occurrences: 0 });
  const seen = new Set<number>();
  for (let gap = 0; gap < gaps.count; gap += 1) {
    const [start, end] = [Number(gaps.start_ns[gap]), Number(gaps.end_ns[gap])];
    if (end - start < SHORTEST_GAP_NS) continue;
    const pid = processOf(Number(gaps.use[gap]));
    if (!seen.has(pid)) {
      seen.add(pid);
      yield named("thread_name", pid, IDLE_THREAD, `idle for ${SHORTEST_GAP_NS / 1000} us or more`);
      yield sorted("thread_sort_index", pid, IDLE_THREAD, IDLE_THREAD);
    }
    yield complete('"idle"', "idle", pid, IDLE_THREAD, start - origin, end - start, "");
  }
}

/** NVTX ranges and annotations of the host; one that was never closed lasts until the last activity. */
function* rangeEvents({ ranges, texts, threads, rows }: Timeline, { origin, several }: Place, pid: number) {
  if (ranges.count === 0) return;
  yield named("process_name", pid, 0, `host${several === null ? "" : `, timeline ${several}`}`);
  yield sorted("process_sort_index", pid, 0, pid);
  let last = 0;
  for (let row = 0; row < rows.count; row += 1) last = Math.max(last, Number(rows.end_ns[row]));
  const tracks = new Map<number, Tracks>();
  const seen = new Set<number>();
  for (let at = 0; at < ranges.count; at += 1) {
    const thread = Number(ranges.thread[at]);
    const start = Number(ranges.start_ns[at]);
    const closed = Number(ranges.end_ns[at]);
    const end = Number.isNaN(closed) ? Math.max(last, start) : closed;
    const own = tracks.get(thread) ?? new Tracks();
    tracks.set(thread, own);
    const track = own.place(start, end);
    const tid = (thread === NONE || threads[thread] === undefined ? 0 : thread + 1) * THREADS_EACH + track;
    if (!seen.has(tid)) {
      seen.add(tid);
      yield named("thread_name", pid, tid, `ranges of thread ${Math.floor(tid / THREADS_EACH)}`);
      yield sorted("thread_sort_index", pid, tid, tid);
    }
    const text = shortened(texts[Number(ranges.text[at])] ?? "", LONGEST_TEXT);
    const args = Number.isNaN(closed) ? '"never_closed":true' : "";
    yield complete(JSON.stringify(text), "user_annotation", pid, tid, start - origin, end - start, args);
  }
}

/** Where the trace begins: in torch's traces a time of 0 means that there is none. */
const BEGIN_NS = 1000;

/** Time of each timeline that is 0 in the trace; the earliest activity or range begins at BEGIN_NS. */
function originsOf(timelines: readonly Timeline[], ends: readonly Float64Array[]): number[] {
  const extents = timelines.map(({ rows, ranges }, position): readonly [number, number] | null => {
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let row = 0; row < rows.count; row += 1) {
      first = Math.min(first, Number(rows.start_ns[row]));
      last = Math.max(last, Number(ends[position]?.[row]));
    }
    if (ranges.count > 0) first = Math.min(first, Number(ranges.start_ns[0]));
    return first === Number.POSITIVE_INFINITY ? null : [first, Math.max(first, last)];
  });
  const { offsets } = offsetsOf(timelines, extents);
  const zero = extents.reduce(
    (least, extent, at) => (extent === null ? least : Math.min(least, extent[0] + (offsets[at] ?? 0))),
    Number.POSITIVE_INFINITY,
  );
  return offsets.map((offset) => (zero === Number.POSITIVE_INFINITY ? 0 : zero - offset - BEGIN_NS));
}

const named = (what: string, pid: number, tid: number, name: string): string =>
  `{"name":"${what}","ph":"M","pid":${pid},"tid":${tid},"args":{"name":${JSON.stringify(name)}}}`;

const sorted = (what: string, pid: number, tid: number, index: number): string =>
  `{"name":"${what}","ph":"M","pid":${pid},"tid":${tid},"args":{"sort_index":${index}}}`;

const complete = (
  name: string,
  cat: string,
  pid: number,
  tid: number,
  start: number,
  ns: number,
  args: string,
): string =>
  `{"name":${name},"cat":"${cat}","ph":"X","ts":${inUs(start)},"dur":${inUs(ns)},"pid":${pid},"tid":${tid},"args":{${args}}}`;

/** Nanoseconds as microseconds, exact: 1234567 is 1234.567. */
function inUs(ns: number): string {
  const whole = Math.floor(ns / 1000);
  const rest = Math.round(ns - whole * 1000);
  return rest === 0 ? String(whole) : `${whole}.${String(rest).padStart(3, "0")}`;
}
