import type { TimelineLimits } from "../../model/timeline.ts";
import type { Dropped } from "../dropped.ts";
import { HostRowsBuilder, type Pool } from "../rows.ts";
import type { Captures } from "./captures.ts";
import type { Clock } from "./clock.ts";
import type { Database, Table } from "./database.ts";
import type { GpuRowsReader } from "./gpu-rows.ts";
import { MALFORMED, OUTSIDE, readIntegers } from "./integers.ts";
import type { Strings } from "./strings.ts";
import type { Threads } from "./threads.ts";

const COLUMNS = ["start", "end", "globalTid", "correlationId", "nameId", "returnValue"] as const;
const [START, END, THREAD, CORRELATION, NAME, RETURNED] = [0, 1, 2, 3, 4, 5] as const;

/** Runtime and driver; `cudaLaunchHostFunc` runs on the host. */
const LAUNCH = /^(?:cuda|cu)Launch(?!HostFunc)/;
const GRAPH_LAUNCH = /^(?:cuda|cu)GraphLaunch/;

interface CallName {
  /** Position in the texts. */
  readonly text: number;
  readonly launches: "kernel" | "graph" | null;
}

/**
 * Reads the API calls of the host, joins GPU rows to them by process and correlation id, and counts launches. A call that
 * launches nothing is no launch: one that failed, or one inside a stream capture, as long as no GPU row names it.
 */
export class CallsReader {
  readonly builder = new HostRowsBuilder();
  isTooMany = false;
  readonly counts = {
    launch_calls: 0,
    launch_calls_without_row: 0,
    graph_launch_calls: 0,
    graph_launch_calls_without_row: 0,
  };
  readonly #names = new Map<number, CallName>();
  readonly #strings: Strings;
  readonly #texts: Pool<string>;
  readonly #threads: Threads;
  readonly #clock: Clock;
  readonly #dropped: Dropped;

  constructor(strings: Strings, texts: Pool<string>, threads: Threads, clock: Clock, dropped: Dropped) {
    this.#strings = strings;
    this.#texts = texts;
    this.#threads = threads;
    this.#clock = clock;
    this.#dropped = dropped;
  }

  read(database: Database, table: Table, gpu: GpuRowsReader, captures: Captures, limits: TimelineLimits): void {
    let start = 0;
    let thread = 0;
    this.builder.reserve(Math.min(database.expectedRows(table), limits.maxHostRows));
    const join = (at: number): void => gpu.builder.setCall(at, start, thread);
    readIntegers(database, table, { integers: COLUMNS }, (row) => {
      if (row === null) return this.#dropped.add("malformed", "an API call");
      const { values } = row;
      const name = this.#nameOf(values[NAME] as number);
      start = this.#clock.read(row, START);
      const end = this.#clock.read(row, END);
      const fault = faultOf(start, end);
      if (fault !== null) return this.#dropped.add(fault, this.#texts.items[name.text] ?? "an API call");
      const { position, process } = this.#threads.of(row, THREAD);
      thread = position;
      const correlation = values[CORRELATION] as number;
      const found = gpu.correlations.find(process, correlation, join);
      if (name.launches !== null) {
        const launchesNothing = (values[RETURNED] as number) > 0 || captures.isCapturing(position, start);
        if (found > 0 || !launchesNothing) this.#countLaunch(name.launches, found);
      }
      this.#keep(start, end, name.text, position, limits.maxHostRows);
    });
  }

  #countLaunch(launches: "kernel" | "graph", found: number): void {
    const { counts } = this;
    if (launches === "kernel") {
      counts.launch_calls++;
      if (found === 0) counts.launch_calls_without_row++;
    } else {
      counts.graph_launch_calls++;
      if (found === 0) counts.graph_launch_calls_without_row++;
    }
  }

  #keep(start: number, end: number, text: number, thread: number, limit: number): void {
    if (this.isTooMany) return;
    // An end of 0 is that of a call which had not returned.
    if (this.builder.count < limit) this.builder.add(start, end === 0 ? Number.NaN : end, text, thread);
    else this.isTooMany = true;
  }

  #nameOf(id: number): CallName {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const text = this.#strings.get(id) ?? "(API call without a name)";
    // `cudaLaunchKernel_v7000`: the version of the interface. `cuMemFree_v2` is a function's own name.
    const plain = text.replace(/_v\d{4,6}$/, "");
    const launches = GRAPH_LAUNCH.test(plain) ? "graph" : LAUNCH.test(plain) ? "kernel" : null;
    const name: CallName = { text: this.#texts.add(plain), launches };
    this.#names.set(id, name);
    return name;
  }
}

/** What is wrong with the times of a host row; one that never ended is not wrong. */
export function faultOf(start: number, end: number): Parameters<Dropped["add"]>[0] | null {
  if (Number.isNaN(start)) return "no_time";
  if (start === MALFORMED || end === MALFORMED) return "malformed";
  if (start === OUTSIDE || end === OUTSIDE) return "outside_int64";
  return end < start && end !== 0 ? "ends_before_start" : null;
}
