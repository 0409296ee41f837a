import { type HostRows, type HostThread, NONE } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { HostRowsBuilder, Pool } from "../rows.ts";
import { ByteCache, KeyBuffer } from "./byte-cache.ts";
import { CallTable, joinKey } from "./calls.ts";
import { NumberColumn } from "./column.ts";
import { type EventScanner, PID, THREAD_SLOTS, TID, textOf } from "./event.ts";
import { IdTable } from "./id-table.ts";
import { NO_THREAD, readLabel, readPid } from "./lanes.ts";
import { callRole } from "./names.ts";
import { MOST_PLACES, tooManyPlaces } from "./refused.ts";
import { TextPool } from "./texts.ts";

/** Texts of operators, calls and ranges in all; a trace whose every range has a text of its own stays below. */
const MOST_TEXT_BYTES = 256 * 1024 ** 2;

interface Thread {
  /** Position in `threads`. */
  readonly position: number;
  /** Number of the process, for comparing. */
  readonly process: number;
  /** Number of the label that a merger of files put before the pid. */
  readonly label: number;
}

/** The host's side of a trace: API calls, annotations, operators, threads. */
export class HostSide {
  readonly texts = new TextPool();
  readonly threads = new Pool<HostThread>(({ process, thread }) => JSON.stringify([process, thread]));
  readonly labels = new Pool<string | null>((label) => label ?? "");
  calls = new CallTable();
  #callRows = new HostRowsBuilder();
  #ranges = new HostRowsBuilder();
  #gpuRanges = new GpuRanges();
  #rangeTexts = new Set<number>();
  #operators = new IdTable();
  readonly #roles: number[] = [];
  readonly #threads: Thread[] = [];
  readonly #threadCache = new ByteCache();
  readonly #key = new KeyBuffer();
  readonly #processes = new Pool<string | null>((process) => process ?? "");
  readonly #maxRows: number;
  /** True where there were more calls than are read: nothing is known of any of them then. */
  isWithoutCalls = false;
  isWithoutRanges = false;
  isWithoutOperators = false;

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
    this.labels.add(null);
  }

  /** The thread that an event of the host names. */
  thread(event: EventScanner, bytes: Buffer): Thread {
    const key = this.#key;
    event.putKey(key, THREAD_SLOTS, bytes);
    const known = key.isWhole ? this.#threadCache.find(key.bytes, 0, key.length) : NONE;
    if (known !== NONE) return this.#threads[known] as Thread;
    const thread = this.#threadOf(textOf(event, bytes, PID), textOf(event, bytes, TID));
    if (key.isWhole) this.#threadCache.keep(key.bytes, 0, key.length, thread.position);
    return thread;
  }

  #threadOf(pid: string, tid: string): Thread {
    const { label, id } = readPid(pid);
    const name = label === null || id === null ? id : `${label} ${id}`;
    const position = this.threads.add({ process: name, thread: readLabel(tid) });
    if (position >= MOST_PLACES) throw new Refused(tooManyPlaces("threads", MOST_PLACES));
    this.#threads[position] ??= {
      position,
      process: this.#processes.add(name),
      label: this.labels.add(label),
    };
    return this.#threads[position];
  }

  /** Of times and texts that were read already. */
  addCall(start_ns: number, end_ns: number, text: number, thread: Thread, correlation: number): void {
    if (this.isWithoutCalls) return;
    if (this.#callRows.count >= this.#maxRows || this.texts.bytes > MOST_TEXT_BYTES) {
      this.isWithoutCalls = true;
      this.#callRows = new HostRowsBuilder();
      this.calls = new CallTable();
      return;
    }
    this.#callRows.add(start_ns, end_ns, text, thread.position);
    this.#roles[text] ??= callRole(this.texts.items[text] as string);
    const role = this.#roles[text];
    this.calls.add(joinKey(thread.label, correlation), role, start_ns, end_ns, thread.position, thread.process);
  }

  addRange(start_ns: number, end_ns: number, text: number, thread: Thread): void {
    if (!this.#takesRanges()) return;
    this.#ranges.add(start_ns, end_ns, text, thread.position);
    this.#rangeTexts.add(text);
  }

  /** An annotation as the GPU's rows under it span it. Its twin on the host says when it was really entered. */
  addGpuRange(start_ns: number, end_ns: number, text: number): void {
    if (this.#takesRanges()) this.#gpuRanges.add(start_ns, end_ns, text);
  }

  #takesRanges(): boolean {
    if (this.isWithoutRanges) return false;
    if (this.#ranges.count + this.#gpuRanges.length < this.#maxRows && this.texts.bytes <= MOST_TEXT_BYTES) return true;
    this.isWithoutRanges = true;
    this.#ranges = new HostRowsBuilder();
    this.#gpuRanges = new GpuRanges();
    this.#rangeTexts = new Set();
    return false;
  }

  addOperator(id: number, text: number, label: number): void {
    const key = joinKey(label, id);
    if (this.isWithoutOperators || Number.isNaN(key)) return;
    if (this.#operators.count >= this.#maxRows || this.texts.bytes > MOST_TEXT_BYTES) {
      this.isWithoutOperators = true;
      this.#operators = new IdTable();
      return;
    }
    const known = this.#operators.get(key);
    // Two operators of different name with one id: neither can be told to be the one.
    this.#operators.set(key, known === NONE || known === text ? text : AMBIGUOUS);
  }

  /** Position of the text of the operator; NONE where none is known by the id. */
  operator(key: number): number {
    if (Number.isNaN(key)) return NONE;
    const text = this.#operators.get(key);
    return text === AMBIGUOUS ? NONE : text;
  }

  finishCalls(): HostRows {
    return this.#callRows.finish();
  }

  /** Annotations of the GPU are taken only where the host has none of the text. */
  finishRanges(): HostRows {
    const gpu = this.#gpuRanges;
    const none = gpu.length > 0 ? this.threads.add(NO_THREAD) : NONE;
    for (let at = 0; at < gpu.length; at++) {
      const text = gpu.text.at(at);
      if (!this.#rangeTexts.has(text)) this.#ranges.add(gpu.start_ns.at(at), gpu.end_ns.at(at), text, none);
    }
    return this.#ranges.finish();
  }
}

const AMBIGUOUS = NONE - 1;

class GpuRanges {
  readonly start_ns = NumberColumn.wide();
  readonly end_ns = NumberColumn.wide();
  readonly text = NumberColumn.whole();

  get length(): number {
    return this.text.length;
  }

  add(start_ns: number, end_ns: number, text: number): void {
    this.start_ns.push(start_ns);
    this.end_ns.push(end_ns);
    this.text.push(text);
  }
}
