import { NONE, type Timeline } from "../../model/timeline.ts";

/** Ranges of a thread in order of start. */
interface Track {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly texts: Uint32Array;
  /** For each the innermost range that was open when it began; -1: none. */
  readonly parents: Int32Array;
}

function trackOf({ ranges }: Timeline, positions: readonly number[]): Track {
  const column = (from: Float64Array): Float64Array => Float64Array.from(positions, (at) => Number(from[at]));
  const [starts, ends] = [column(ranges.start_ns), column(ranges.end_ns)];
  const parents = new Int32Array(positions.length).fill(-1);
  const open: number[] = [];
  for (let at = 0; at < positions.length; at += 1) {
    while (open.length > 0 && Number(ends[open.at(-1) ?? 0]) <= Number(starts[at])) open.pop();
    parents[at] = open.at(-1) ?? -1;
    // One that never closes holds nothing.
    if (!Number.isNaN(ends[at])) open.push(at);
  }
  return { starts, ends, texts: Uint32Array.from(positions, (at) => Number(ranges.text[at])), parents };
}

/** Ranges open around a launch, of one thread, are no more than this. */
const DEEPEST = 64;

/** Texts of the ranges that were open on the launching thread when a row was launched, outermost first. */
export class LaunchRanges {
  readonly #timeline: Timeline;
  readonly #tracks: ReadonlyMap<number, Track>;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    const lists = new Map<number, number[]>();
    for (let range = 0; range < timeline.ranges.count; range += 1) {
      const thread = Number(timeline.ranges.thread[range]);
      const list = lists.get(thread) ?? [];
      lists.set(thread, list);
      list.push(range);
    }
    this.#tracks = new Map([...lists].map(([thread, list]) => [thread, trackOf(timeline, list)]));
  }

  /** Empty where the launch call or its thread is not recorded. */
  of(row: number): string[] {
    const { rows, texts } = this.#timeline;
    const [call, thread] = [Number(rows.call_ns[row]), Number(rows.thread[row])];
    const track = thread === NONE || Number.isNaN(call) ? undefined : this.#tracks.get(thread);
    if (track === undefined) return [];
    const found: string[] = [];
    let at = lastAtOrBefore(track.starts, call);
    while (at >= 0 && found.length < DEEPEST) {
      if (Number(track.ends[at]) >= call) found.push(texts[Number(track.texts[at])] ?? "");
      at = Number(track.parents[at]);
    }
    return found.reverse();
  }
}

/** -1: all are later. */
function lastAtOrBefore(starts: Float64Array, time: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(starts[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
