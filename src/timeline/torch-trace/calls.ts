import { NONE } from "../../model/timeline.ts";
import { NumberColumn } from "./column.ts";
import { IdTable } from "./id-table.ts";
import { CALL_CAPTURE_BEGIN, CALL_CAPTURE_END, CALL_GRAPH_LAUNCH, CALL_LAUNCH, CALL_OTHER } from "./names.ts";

interface CaptureEvent {
  readonly start_ns: number;
  readonly isBegin: boolean;
  readonly thread: number;
  readonly process: number;
}

interface Interval {
  readonly from_ns: number;
  readonly to_ns: number;
}

/** API calls by correlation id, as what GPU rows are joined to, before or behind them in the file. */
export class CallTable {
  readonly #slots = new IdTable();
  readonly #key = NumberColumn.wide();
  readonly #start = NumberColumn.wide();
  readonly #end = NumberColumn.wide();
  readonly #thread = NumberColumn.whole();
  readonly #process = NumberColumn.whole();
  readonly #role = NumberColumn.small();
  /** Launch calls with this id: more than one where files were merged. */
  readonly #launches = NumberColumn.whole();
  readonly #isAmbiguous = new Set<number>();
  readonly #captures: CaptureEvent[] = [];
  captureCalls = 0;
  /** Launch calls without correlation id: nothing can be said about their rows. */
  launchesWithoutId = 0;
  graphLaunchesWithoutId = 0;
  calls = 0;

  /** Slots: calls with an id, each id once. */
  get count(): number {
    return this.#start.length;
  }

  /** @param id of the join, see joinKey; NaN: none. `process`: a number that tells processes apart. */
  add(id: number, role: number, start_ns: number, end_ns: number, thread: number, process: number): void {
    this.calls++;
    if (role === CALL_CAPTURE_BEGIN || role === CALL_CAPTURE_END) {
      if (role === CALL_CAPTURE_BEGIN) this.captureCalls++;
      this.#captures.push({ start_ns, isBegin: role === CALL_CAPTURE_BEGIN, thread, process });
    }
    const isLaunch = role === CALL_LAUNCH || role === CALL_GRAPH_LAUNCH;
    if (Number.isNaN(id)) {
      if (role === CALL_LAUNCH) this.launchesWithoutId++;
      if (role === CALL_GRAPH_LAUNCH) this.graphLaunchesWithoutId++;
      return;
    }
    const slot = this.#slots.get(id);
    if (slot === NONE) {
      this.#slots.set(id, this.#start.length);
      this.#key.push(id);
      this.#start.push(start_ns);
      this.#end.push(end_ns);
      this.#thread.push(thread);
      this.#process.push(process);
      this.#role.push(isLaunch ? role : CALL_OTHER);
      this.#launches.push(isLaunch ? 1 : 0);
      return;
    }
    this.#addAgain(slot, isLaunch ? role : CALL_OTHER, start_ns, end_ns, thread, process);
  }

  /** A call of the runtime and the driver's inside it are one; calls apart from each other make the id ambiguous. */
  #addAgain(slot: number, role: number, start_ns: number, end_ns: number, thread: number, process: number): void {
    const [start, end] = [this.#start.at(slot), this.#end.at(slot)];
    const isInside = start_ns >= start && start_ns <= end;
    const isAround = start >= start_ns && start <= end_ns;
    if (process !== this.#process.at(slot) || !(isInside || isAround)) this.#isAmbiguous.add(slot);
    else if (isAround && !isInside) {
      this.#start.set(slot, start_ns);
      this.#end.set(slot, end_ns);
      this.#thread.set(slot, thread);
    }
    const known = this.#role.at(slot);
    if (role !== CALL_OTHER && (known === CALL_OTHER || this.#isAmbiguous.has(slot))) {
      this.#launches.set(slot, this.#launches.at(slot) + 1);
    }
    this.#role.set(slot, Math.max(known, role));
  }

  /** Position of the call with this id; NONE where there is none. */
  slotOf(id: number): number {
    return Number.isNaN(id) ? NONE : this.#slots.get(id);
  }

  /** False where calls of several processes, or several calls of one, have the id. */
  isKnown(slot: number): boolean {
    return !this.#isAmbiguous.has(slot);
  }

  isGraphLaunch(slot: number): boolean {
    return this.#role.at(slot) === CALL_GRAPH_LAUNCH;
  }

  /** Id by which the call is joined. */
  key(slot: number): number {
    return this.#key.at(slot);
  }

  start_ns(slot: number): number {
    return this.#start.at(slot);
  }

  thread(slot: number): number {
    return this.#thread.at(slot);
  }

  launches(slot: number): number {
    return this.#launches.at(slot);
  }

  /**
   * Whether the call falls into a stream capture of its process, by any thread: torch captures what its autograd threads
   * launch too. The stream of a call is not recorded.
   */
  captureTest(): (slot: number) => boolean {
    const byProcess = this.#captureIntervals();
    return (slot) => {
      const start_ns = this.#start.at(slot);
      const intervals = byProcess.get(this.#process.at(slot)) ?? [];
      let [low, high] = [0, intervals.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((intervals[middle] as Interval).to_ns < start_ns) low = middle + 1;
        else high = middle;
      }
      const interval = intervals[low];
      return interval !== undefined && interval.from_ns <= start_ns;
    };
  }

  /** Of each process, disjoint and in order of time. A capture without end lasts to the end of the file, or from its start. */
  #captureIntervals(): Map<number, Interval[]> {
    const intervals = new Map<number, Interval[]>();
    const open = new Map<number, number>();
    const add = (process: number, from_ns: number, to_ns: number): void => {
      const of = intervals.get(process) ?? [];
      // They come in order of their ends; those that overlap become one.
      let first = from_ns;
      for (let last = of.at(-1); last !== undefined && last.to_ns >= first; last = of.at(-1)) {
        first = Math.min(first, last.from_ns);
        of.pop();
      }
      of.push({ from_ns: first, to_ns });
      intervals.set(process, of);
    };
    for (const { start_ns, isBegin, thread, process } of this.#captures.toSorted((a, b) => a.start_ns - b.start_ns)) {
      if (isBegin) open.set(thread, start_ns);
      else {
        add(process, open.get(thread) ?? Number.NEGATIVE_INFINITY, start_ns);
        open.delete(thread);
      }
    }
    for (const { thread, process } of this.#captures) {
      const from_ns = open.get(thread);
      if (from_ns === undefined) continue;
      open.delete(thread);
      add(process, from_ns, Number.POSITIVE_INFINITY);
    }
    return intervals;
  }
}

const ID_BITS = 2 ** 40;
const MOST_PROCESSES = 4096;

/** Ids are told apart by the label a merger gave their process; NaN where the id is missing, 0 or too large. */
export const joinKey = (label: number, id: number): number =>
  id > 0 && id < ID_BITS && label < MOST_PROCESSES ? label * ID_BITS + id : Number.NaN;
