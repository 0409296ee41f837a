import type { TimelineLimits } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { CALL, GPU_ANNOTATION, isGpuRow, KERNEL, MEMCPY, OPERATOR, PROFILER_RANGE } from "./categories.ts";
import { Clock, OtherZero, type Zero } from "./clock.ts";
import { DroppedRows, type DropReason } from "./dropped.ts";
import type { EventScanner } from "./event.ts";
import * as slot from "./event.ts";
import { GpuSide } from "./gpu.ts";
import { HostSide } from "./host.ts";
import { copyName, SET_NAME } from "./names.ts";
import { tooManyNames, tooManyRows } from "./refused.ts";
import { decodeText, LONGEST_NAME, TextPool } from "./texts.ts";
import { MicrosecondReader, readWhole, TIME_ABSENT, TIME_NO_NUMBER, TIME_OUTSIDE, TIME_READ } from "./time.ts";

const MOST_NAME_BYTES = 512 * 1024 ** 2;

/** The mark of torch's profiler for a step; in 2021 it is an operator. */
const STEP_MARK = /^ProfilerStep#\d+$/;

/** Turns events that were found into rows. */
export class TraceEvents {
  readonly clock: Clock;
  readonly host: HostSide;
  readonly gpu: GpuSide;
  readonly dropped = new DroppedRows();
  /** Names of kernels, copies and sets. */
  readonly names = new TextPool();
  profilerRanges = 0;
  hasKernels = false;
  readonly #copyNames = new Map<string, number>();
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

  /** @param at where the event begins in `bytes`; its values are where the scanner found them */
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
    this.dropped.add("malformed", () => what);
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
    const text = (of: number): string => textOf(event, bytes, of);
    const isKernel = event.category === KERNEL;
    gpu.add(
      {
        kind: isKernel ? "kernel" : event.category === MEMCPY ? "memcpy" : "memset",
        start_ns,
        end_ns,
        name,
        ...(isKernel
          ? { shape: gpu.shape(text(slot.GRID), text(slot.BLOCK), text(slot.SHARED_MEMORY), text(slot.REGISTERS)) }
          : { bytes: wholeOf(event, bytes, slot.BYTES) }),
      },
      { pid: text(slot.PID), tid: text(slot.TID), device: text(slot.DEVICE), stream: text(slot.STREAM) },
      {
        correlation: wholeOf(event, bytes, slot.CORRELATION),
        external: wholeOf(event, bytes, slot.EXTERNAL_ID),
        graph: wholeOf(event, bytes, slot.GRAPH_ID),
        graphNode: wholeOf(event, bytes, slot.GRAPH_NODE_ID),
      },
    );
  }

  /** Position of the name; negative where there is none to use. */
  #gpuName(event: EventScanner, bytes: Buffer): number {
    const raw = rawString(event, bytes, slot.NAME);
    if (raw === null || raw === "") return -1;
    let position: number;
    if (event.category === KERNEL) position = this.names.add(raw);
    else if (event.category === MEMCPY) {
      position = this.#copyNames.get(raw) ?? this.names.add(copyName(raw));
      if (this.#copyNames.size < 1024) this.#copyNames.set(raw, position);
    } else position = this.names.add(SET_NAME);
    if (this.names.bytes > MOST_NAME_BYTES) throw new Refused(tooManyNames(MOST_NAME_BYTES));
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
    const id = wholeOf(event, bytes, slot.EXTERNAL_ID);
    if (Number.isNaN(id)) return;
    const { label } = host.thread(textOf(event, bytes, slot.PID), textOf(event, bytes, slot.TID));
    host.addOperator(id, text, label);
  }

  /** A call or an annotation. */
  #addHostRow(event: EventScanner, bytes: Buffer): void {
    const { host } = this;
    const isCall = event.category === CALL;
    if (isCall ? host.isWithoutCalls : host.isWithoutRanges) return;
    const start_ns = this.#start(event, bytes);
    if (Number.isNaN(start_ns)) return;
    // One without duration was not closed when the profiler stopped.
    const end_ns = event.has(slot.DUR) ? this.#end(event, bytes, start_ns) : Number.NaN;
    if (event.has(slot.DUR) && Number.isNaN(end_ns)) return;
    const text = this.#text(event, bytes);
    if (text < 0) {
      this.#drop("malformed", event, bytes);
      return;
    }
    if (event.category === GPU_ANNOTATION) {
      host.addGpuRange(start_ns, end_ns, text);
      return;
    }
    const thread = host.thread(textOf(event, bytes, slot.PID), textOf(event, bytes, slot.TID));
    if (isCall) host.addCall(start_ns, end_ns, text, thread, wholeOf(event, bytes, slot.CORRELATION));
    else host.addRange(start_ns, end_ns, text, thread);
  }

  #text(event: EventScanner, bytes: Buffer): number {
    const raw = rawString(event, bytes, slot.NAME);
    return raw === null ? -1 : this.host.texts.add(raw);
  }

  /** Start of the event from the timeline's zero; NaN where it has none, which is counted. */
  #start(event: EventScanner, bytes: Buffer): number {
    const time = this.#time;
    const read = event.has(slot.TS)
      ? time.read(bytes, event.starts[slot.TS] as number, event.ends[slot.TS] as number)
      : TIME_ABSENT;
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
    const read = event.has(slot.DUR)
      ? time.read(bytes, event.starts[slot.DUR] as number, event.ends[slot.DUR] as number)
      : TIME_ABSENT;
    if (read !== TIME_READ) return this.#drop(reasonOf(read), event, bytes);
    if (time.isNegative) return this.#drop("ends_before_start", event, bytes);
    const end_ns = start_ns + this.clock.duration_ns(time.us, time.ns);
    return Number.isSafeInteger(end_ns) ? end_ns : this.#drop("outside_int64", event, bytes);
  }

  #drop(reason: DropReason, event: EventScanner, bytes: Buffer): number {
    this.dropped.add(reason, () => {
      const raw = rawString(event, bytes, slot.NAME);
      return raw === null ? "an event without a name" : (decodeText(raw) ?? "an event with an unreadable name");
    });
    return Number.NaN;
  }
}

function reasonOf(read: number): DropReason {
  if (read === TIME_OUTSIDE) return "outside_int64";
  return read === TIME_NO_NUMBER ? "malformed" : "no_time";
}

/** The bytes of a value as latin-1; empty where the event has none. */
function textOf(event: EventScanner, bytes: Buffer, of: number): string {
  return event.has(of) ? bytes.toString("latin1", event.starts[of], event.ends[of]) : "";
}

const wholeOf = (event: EventScanner, bytes: Buffer, of: number): number =>
  event.has(of) ? readWhole(bytes, event.starts[of] as number, event.ends[of] as number) : Number.NaN;

/** What is between the quotes of a string; null where there is no string or a longer one than a name is. */
function rawString(event: EventScanner, bytes: Buffer, of: number): string | null {
  if (!event.has(of)) return null;
  const [start, end] = [event.starts[of] as number, event.ends[of] as number];
  if (bytes[start] !== 0x22 || end - start - 2 > LONGEST_NAME) return null;
  return bytes.toString("latin1", start + 1, end - 1);
}
