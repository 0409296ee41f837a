import type { Clock } from "./clock.ts";
import type { Database, Table } from "./database.ts";
import { quoted } from "./database.ts";
import { readIntegers } from "./integers.ts";
import type { Thread, Threads } from "./threads.ts";

const BEGIN = "(?:cuda|cu)StreamBeginCapture";
const END = "(?:cuda|cu)StreamEndCapture";

interface Event {
  readonly time: number;
  readonly thread: Thread;
  readonly isBegin: boolean;
}

interface Interval {
  readonly from: number;
  readonly to: number;
}

/**
 * When threads were capturing streams into graphs: what they launch then runs no kernel. API calls do not name their
 * stream, so a thread counts as capturing from the begin of a capture to its end.
 */
export class Captures {
  calls = 0;
  readonly #ofThread = new Map<number, Interval[]>();

  constructor(database: Database, calls: Table, names: Table | null, threads: Threads, clock: Clock) {
    if (names === null || !names.columns.has("value")) return;
    const ids = new Map<number, boolean>();
    const found = database.rows(
      `SELECT id, CAST(substr(CAST(value AS BLOB), 1, 64) AS TEXT) FROM ${quoted(names.name)}
       WHERE typeof(id) = 'integer' AND value GLOB 'cu*Stream*Capture*' LIMIT 100`,
    );
    for (const [id, name] of found) {
      const isBegin = new RegExp(`^${BEGIN}`).test(String(name));
      if (isBegin || new RegExp(`^${END}`).test(String(name))) ids.set(id as number, isBegin);
    }
    if (ids.size === 0) return;
    const events: Event[] = [];
    const where = `nameId IN (${[...ids.keys()].map((id) => BigInt(id).toString()).join(", ")})`;
    readIntegers(database, calls, { integers: ["start", "nameId", "globalTid", "returnValue"], where }, (row) => {
      if (row === null) return;
      const time = clock.read(row, 0);
      const isBegin = ids.get(row.values[1] as number) ?? false;
      const failed = (row.values[3] as number) > 0;
      if (!Number.isFinite(time) || failed) return;
      if (isBegin) this.calls++;
      events.push({ time, thread: threads.of(row, 2), isBegin });
    });
    events.sort((a, b) => a.time - b.time || Number(a.isBegin) - Number(b.isBegin));
    this.#pair(events);
  }

  isCapturing(thread: number, time: number): boolean {
    const intervals = this.#ofThread.get(thread);
    return intervals?.some(({ from, to }) => from <= time && time <= to) ?? false;
  }

  /** An end belongs to the last open begin of its thread, else of its process: a capture may be ended by another thread. */
  #pair(events: readonly Event[]): void {
    const open: Event[] = [];
    for (const event of events) {
      if (event.isBegin) {
        open.push(event);
        continue;
      }
      let at = open.findLastIndex(({ thread }) => thread === event.thread);
      if (at < 0) at = open.findLastIndex(({ thread }) => thread.process === event.thread.process);
      const [begin] = at < 0 ? [] : open.splice(at, 1);
      const from = begin?.time ?? Number.NEGATIVE_INFINITY;
      this.#add((begin ?? event).thread.position, { from, to: event.time });
    }
    for (const { thread, time } of open) this.#add(thread.position, { from: time, to: Number.POSITIVE_INFINITY });
  }

  #add(thread: number, interval: Interval): void {
    const known = this.#ofThread.get(thread);
    if (known === undefined) this.#ofThread.set(thread, [interval]);
    else known.push(interval);
  }
}
