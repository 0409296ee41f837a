import { NONE, type Timeline } from "../../model/timeline.ts";

/** An interval of the host, in the timeline's time. */
export interface HostInterval {
  readonly start_ns: number;
  readonly end_ns: number;
  /** Position in `threads`. */
  readonly thread: number;
}

/** Which of some intervals of the host a time lies in; they do not overlap within one key. */
interface Track {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly positions: Uint32Array;
}

const trackOf = (list: readonly { interval: HostInterval; position: number }[]): Track => ({
  starts: Float64Array.from(list, ({ interval }) => interval.start_ns),
  ends: Float64Array.from(list, ({ interval }) => interval.end_ns),
  positions: Uint32Array.from(list, ({ position }) => position),
});

const overlaps = ({ starts, ends }: Track): boolean => {
  for (let at = 1; at < starts.length; at += 1) if (Number(starts[at]) < Number(ends[at - 1])) return true;
  return false;
};

/** Position of the interval that holds a time; -1 for none. */
function find({ starts, ends, positions }: Track, time: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Number(starts[middle]) <= time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time <= Number(ends[low - 1]) ? Number(positions[low - 1]) : -1;
}

/**
 * Says for a GPU row which interval of the host (step, range) its launch call lies in. Work of an interval ends after
 * it, so only the call tells. Threads of the process are not told apart (a backward pass is launched by another thread
 * than the one that marks the step), unless intervals of one process overlap.
 */
export class HostIntervals {
  /** Whether intervals of one thread overlap: no row can be assigned then. */
  readonly ambiguous: boolean;
  readonly #timeline: Timeline;
  readonly #tracks: ReadonlyMap<string, Track>;
  readonly #byThread: boolean;
  /** The only process with intervals; null for several. */
  readonly #only: Track | null;

  /** @param intervals in order of start. */
  constructor(timeline: Timeline, intervals: readonly HostInterval[]) {
    this.#timeline = timeline;
    let tracks = this.#build(intervals, false);
    this.#byThread = [...tracks.values()].some(overlaps);
    if (this.#byThread) tracks = this.#build(intervals, true);
    this.#tracks = tracks;
    this.ambiguous = this.#byThread && [...tracks.values()].some(overlaps);
    const processes = new Set(timeline.threads.map(({ process }) => process));
    this.#only = !this.#byThread && tracks.size === 1 && processes.size <= 1 ? ([...tracks.values()][0] ?? null) : null;
  }

  /** Position of the interval in which the row was launched; -1 where in none or where no launch call is recorded. */
  of(row: number): number {
    const call = Number(this.#timeline.rows.call_ns[row]);
    if (Number.isNaN(call) || this.ambiguous) return -1;
    const track = this.#only ?? this.#tracks.get(this.#key(Number(this.#timeline.rows.thread[row]), this.#byThread));
    return track === undefined ? -1 : find(track, call);
  }

  #key(thread: number, byThread: boolean): string {
    const process = thread === NONE ? "" : (this.#timeline.threads[thread]?.process ?? "");
    return byThread ? `${process}\n${thread}` : process;
  }

  #build(intervals: readonly HostInterval[], byThread: boolean): Map<string, Track> {
    const lists = new Map<string, { interval: HostInterval; position: number }[]>();
    for (const [position, interval] of intervals.entries()) {
      const key = this.#key(interval.thread, byThread);
      const list = lists.get(key);
      if (list === undefined) lists.set(key, [{ interval, position }]);
      else list.push({ interval, position });
    }
    return new Map([...lists].map(([key, list]) => [key, trackOf(list)]));
  }
}
