import type { HostThread } from "../../model/timeline.ts";
import { processName } from "./gpu-rows.ts";
import type { IntegerRow } from "./integers.ts";

/** `globalTid` holds the process above its low 24 bits: what is `globalPid` elsewhere. */
const THREAD_BITS = 24n;
const THREAD_MASK = 2n ** THREAD_BITS - 1n;

export interface Thread {
  /** Position in `Threads.list`. */
  readonly position: number;
  /** As `globalPid`; NaN where not recorded. */
  readonly process: number;
}

/** Threads of the host by their global id. */
export class Threads {
  readonly list: HostThread[] = [];
  readonly #exact = new Map<number, Thread>();
  readonly #wide = new Map<string, Thread>();
  #last = 0;
  #lastThread: Thread | null = null;

  of(row: IntegerRow, column: number): Thread {
    const id = row.values[column] as number;
    if (id === this.#last && this.#lastThread !== null && Number.isSafeInteger(id)) return this.#lastThread;
    const isExact = Number.isSafeInteger(id);
    const digits = isExact || !Number.isFinite(id) ? "" : row.digits(column);
    let thread = isExact ? this.#exact.get(id) : this.#wide.get(digits);
    if (thread === undefined) {
      thread = this.#add(isExact ? BigInt(id) : digits === "" ? null : BigInt(digits));
      if (isExact) this.#exact.set(id, thread);
      else this.#wide.set(digits, thread);
    }
    this.#last = id;
    this.#lastThread = thread;
    return thread;
  }

  #add(id: bigint | null): Thread {
    const process = id === null ? Number.NaN : Number(id & ~THREAD_MASK);
    this.list.push({
      process: processName(process),
      thread: id === null ? null : (id & THREAD_MASK).toString(),
    });
    return { position: this.list.length - 1, process };
  }
}
