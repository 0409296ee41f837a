import { type GpuRowKind, NONE, type Recording, type TimelineLimits } from "../../model/timeline.ts";
import { Dropped } from "../dropped.ts";
import { Refused } from "../refused.ts";
import { ByteCache } from "./byte-cache.ts";
import { CALL, GPU_ANNOTATION, isGpuRow, KERNEL, MEMCPY, MEMSET, OPERATOR, PROFILER_RANGE } from "./categories.ts";
import { Clock, OtherZero, type Zero } from "./clock.ts";
import { CORRELATION, DUR, type EventScanner, EXTERNAL_ID, isName, NAME, TS, textOf, wholeOf } from "./event.ts";
import { GpuSide } from "./gpu.ts";
import { HostSide } from "./host.ts";
import { copyName, SET_NAME } from "./names.ts";
import { tooManyNames, tooManyRows } from "./refused.ts";
import { decodeText, TextPool } from "./texts.ts";
import { MicrosecondReader, TIME_ABSENT, TIME_NO_NUMBER, TIME_OUTSIDE, TIME_READ } from "./time.ts";

type DropReason = Recording["dropped"][number]["reason"];
/** Characters of a name that is only shown. */
const LONGEST_FIRST = 200;

const MOST_NAME_BYTES = 256 * 1024 ** 2;

/** The mark of torch's profiler for a step; in 2021 it is an operator. */
const STEP_MARK = /^ProfilerStep#\d+$/;

const KINDS: Readonly<Record<number, GpuRowKind>> = { [KERNEL]: "kernel", [MEMCPY]: "memcpy", [MEMSET]: "memset" };

/** Turns events that were found into rows. */
export class TraceEvents {
  readonly clock: Clock;
  readonly host: HostSide;
  readonly gpu: GpuSide;
  readonly dropped = new Dropped();
  /** Names of kernels, copies and sets. */
  readonly names = new TextPool();
  profilerRanges = 0;
  hasKernels = false;
  readonly #copyNames = new ByteCache();
  readonly #isStepMark: boolean[] = [];
  readonly #time = new MicrosecondReader();
  readonly #limits: TimelineLimits;
  readonly #mayMoveZero: boolean;

  constructor(limits: TimelineLimits, zero: Zero | null) {
    this.#limits = limits;
    this.#mayMoveZero = zero === null;
    this.clock = new Clock(zero);
    this.host = new HostSide(limits.maxHostRows);
    this.gpu = new GpuSide(this.host);
  }

  /** @param bytes where the scanner found the event */
  add(event: EventScanner, bytes: Buffer): void {
    const { category } = event;
    if (category === PROFILER_RANGE) {
      this.profilerRanges++;
      return;
    }
    if (category === KERNEL) this.hasKernels = true;
    if (!event.isComplete || !event.isUnambiguous) this.#drop("malformed", event, bytes);
    else if (isGpuRow(category)) this.#addGpuRow(event, bytes);
    else if (category === OPERATOR) this.#addOperator(event, bytes);
    else this.#addHostRow(event, bytes);
  }

  /** An event that is too large to be looked at, or an element of the array that is no event. */
  addUnreadable(what: string): void {
    this.dropped.add("malformed", what);
  }

  #addGpuRow(event: EventScanner, bytes: Buffer): void {
    const { gpu } = this;
    const start_ns = this.#start(event, bytes);
    if (Number.isNaN(start_ns)) return;
    const end_ns = this.#end(event, bytes, start_ns);
    if (Number.isNaN(end_ns)) return;
    const name = this.#gpuName(event, bytes);
    if (name < 0) {
      this.#drop("malformed", event, bytes);
      return;
    }
    if (gpu.rows.count >= this.#limits.maxRows) throw new Refused(tooManyRows(this.#limits.maxRows));
    gpu.add(KINDS[event.category] as GpuRowKind, start_ns, end_ns, name, event, bytes);
  }

  /** Position of the name; negative where there is none to use. */
  #gpuName(event: EventScanner, bytes: Buffer): number {
    if (event.category === MEMSET) return this.names.add(SET_NAME);
    if (!isName(event, bytes, NAME)) return -1;
    const [start, end] = [(event.starts[NAME] as number) + 1, (event.ends[NAME] as number) - 1];
    if (event.category === MEMCPY) return this.#copyName(bytes, start, end);
    const position = this.names.addBytes(bytes, start, end);
    if (this.names.bytes > MOST_NAME_BYTES) throw new Refused(tooManyNames(MOST_NAME_BYTES));
    return position;
  }

  #copyName(bytes: Buffer, start: number, end: number): number {
    const known = this.#copyNames.find(bytes, start, end);
    if (known !== NONE) return known;
    const position = this.names.add(copyName(bytes.toString("latin1", start, end)));
    this.#copyNames.keep(bytes, start, end, position);
    return position;
  }

  #addOperator(event: EventScanner, bytes: Buffer): void {
    const { host } = this;
    const text = this.#text(event, bytes);
    if (text < 0) return;
    this.#isStepMark[text] ??= STEP_MARK.test(host.texts.items[text] as string);
    if (this.#isStepMark[text]) {
      this.#addHostRow(event, bytes);
      return;
    }
    const id = wholeOf(event, bytes, EXTERNAL_ID);
    if (Number.isNaN(id)) return;
    host.addOperator(id, text, host.thread(event, bytes).label);
  }

  /** A call or an annotation. */
  #addHostRow(event: EventScanner, bytes: Buffer): void {
    const { host } = this;
    const isCall = event.category === CALL;
    if (isCall ? host.isWithoutCalls : host.isWithoutRanges) return;
    const start_ns = this.#start(event, bytes);
    if (Number.isNaN(start_ns)) return;
    // One without duration was not closed when the profiler stopped.
    const end_ns = event.has(DUR) ? this.#end(event, bytes, start_ns) : Number.NaN;
    if (event.has(DUR) && Number.isNaN(end_ns)) return;
    const text = this.#text(event, bytes);
    if (text < 0) {
      this.#drop("malformed", event, bytes);
      return;
    }
    if (event.category === GPU_ANNOTATION) {
      host.addGpuRange(start_ns, end_ns, text);
      return;
    }
    const thread = host.thread(event, bytes);
    if (isCall) host.addCall(start_ns, end_ns, text, thread, wholeOf(event, bytes, CORRELATION));
    else host.addRange(start_ns, end_ns, text, thread);
  }

  #text(event: EventScanner, bytes: Buffer): number {
    if (!isName(event, bytes, NAME)) return -1;
    return this.host.texts.addBytes(bytes, (event.starts[NAME] as number) + 1, (event.ends[NAME] as number) - 1);
  }

  /** Start of the event from the timeline's zero; NaN where it has none, which is counted. */
  #start(event: EventScanner, bytes: Buffer): number {
    const time = this.#time;
    const read = event.has(TS) ? time.read(bytes, event.starts[TS] as number, event.ends[TS] as number) : TIME_ABSENT;
    // CUPTI: a time of 0 means that none could be collected.
    if (read === TIME_READ && (time.isNegative || (time.us === 0 && time.ns === 0))) {
      return this.#drop("no_time", event, bytes);
    }
    if (read !== TIME_READ) return this.#drop(reasonOf(read), event, bytes);
    const start_ns = this.clock.relative_ns(time.us, time.ns);
    if (!Number.isNaN(start_ns)) return start_ns;
    if (isGpuRow(event.category) && this.gpu.rows.count === 0 && this.#mayMoveZero) {
      throw new OtherZero({ us: time.us, ns: time.ns });
    }
    return this.#drop("outside_int64", event, bytes);
  }

  #end(event: EventScanner, bytes: Buffer, start_ns: number): number {
    const time = this.#time;
    const read = event.has(DUR)
      ? time.read(bytes, event.starts[DUR] as number, event.ends[DUR] as number)
      : TIME_ABSENT;
    if (read !== TIME_READ) return this.#drop(reasonOf(read), event, bytes);
    if (time.isNegative) return this.#drop("ends_before_start", event, bytes);
    const end_ns = start_ns + this.clock.duration_ns(time.us, time.ns);
    return Number.isSafeInteger(end_ns) ? end_ns : this.#drop("outside_int64", event, bytes);
  }

  #drop(reason: DropReason, event: EventScanner, bytes: Buffer): number {
    this.dropped.add(reason, nameOf(event, bytes).slice(0, LONGEST_FIRST));
    return Number.NaN;
  }
}

function nameOf(event: EventScanner, bytes: Buffer): string {
  if (!isName(event, bytes, NAME)) return "an event without a name";
  return decodeText(textOf(event, bytes, NAME).slice(1, -1)) ?? "an event with an unreadable name";
}

function reasonOf(read: number): DropReason {
  if (read === TIME_OUTSIDE) return "outside_int64";
  return read === TIME_NO_NUMBER ? "malformed" : "no_time";
}
