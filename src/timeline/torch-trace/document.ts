import { type ByteSource, BytesError } from "../../base/bytes.ts";
import type { TimelineLimits } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { NOT_NEEDED } from "./categories.ts";
import type { Zero } from "./clock.ts";
import { EventScanner } from "./event.ts";
import { TraceEvents } from "./events.ts";
import { hex, JsonFault, SHORT, spaceEnd, ValueSkipper } from "./json-bytes.ts";
import { Metadata } from "./metadata.ts";
import { brokenJson, cutFile, emptyFile, noTrace, notJson } from "./refused.ts";
import { ByteWindow } from "./window.ts";

/** Events of a trace have some hundred bytes, with call stacks and shapes some ten thousand. Larger ones are left out. */
const LARGEST_EVENT = 4 * 1024 ** 2;
/** `distributedInfo` lists every process group with its ranks. */
const LARGEST_METADATA = 16 * 1024 ** 2;
const LONGEST_KEY = 1024 ** 2;

const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, COLON, QUOTE] = [
  0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a, 0x22,
];

/**
 * A trace as one JSON document: an object with `traceEvents` anywhere among its keys, or the array of events by itself.
 * Events are cut by bytes; no more than one of them is held at a time.
 */
export class TraceDocument {
  readonly metadata = new Metadata();
  readonly events: TraceEvents;
  readonly #window: ByteWindow;
  readonly #skipper = new ValueSkipper();
  readonly #scanner = new EventScanner(this.#skipper);
  /** Complete ones so far. */
  #count = 0;
  #hasPhase = false;
  #needsComma = false;

  constructor(source: ByteSource, limits: TimelineLimits, zero: Zero | null) {
    this.#window = new ByteWindow(source, limits.maxBytes);
    this.events = new TraceEvents(limits, zero);
  }

  get bytesRead(): number {
    return this.#window.bytesRead;
  }

  /** Throws Refused, OtherZero, and what the source throws but BytesError. */
  async read(): Promise<void> {
    try {
      await this.#document();
    } catch (error) {
      if (error instanceof JsonFault) {
        throw new Refused(brokenJson(error.message, this.#window.place(error.at), this.#count));
      }
      if (!(error instanceof BytesError)) throw error;
      if (error.code === "too_large") {
        throw new Refused({
          code: "too_large",
          message: error.message,
          hint: "Record fewer steps, and give one file a rank.",
          evidence: {},
        });
      }
      throw this.#cut(error.message);
    }
    if (this.#count > 0 && !this.#hasPhase) {
      throw new Refused(noTrace("Expected trace events, found JSON whose objects have no phase (`ph`)."));
    }
  }

  async #document(): Promise<void> {
    const window = this.#window;
    await window.more();
    const { bytes } = window;
    if (window.end >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) window.at = 3;
    const first = await this.#peek();
    if (first === SHORT) throw new Refused(emptyFile());
    if (first === OPEN_BRACKET) await this.#array();
    else if (first === OPEN_BRACE) await this.#object();
    else throw new Refused(notJson(`byte ${hex(first)}`));
    await this.#ending();
  }

  async #object(): Promise<void> {
    const window = this.#window;
    let hasEvents = false;
    window.at++;
    if ((await this.#byte()) === CLOSE_BRACE) window.at++;
    else {
      for (;;) {
        if ((await this.#byte()) !== QUOTE) throw new JsonFault("Expected a key in quotes", window.at);
        const key = ((await this.#value(LONGEST_KEY)) ?? "").slice(1, -1);
        if ((await this.#byte()) !== COLON) throw new JsonFault("Expected `:` behind a key", window.at);
        window.at++;
        const first = await this.#byte();
        if (key === "traceEvents" && first === OPEN_BRACKET) {
          if (hasEvents) throw new JsonFault("Expected one list of events, found a second `traceEvents`", window.at);
          hasEvents = true;
          await this.#array();
        } else if (Metadata.isKept(key)) {
          const text = await this.#value(LARGEST_METADATA);
          if (text !== null) this.metadata.set(key, Buffer.from(text, "latin1").toString("utf8"));
        } else await this.#skip();
        const byte = await this.#byte();
        window.at++;
        if (byte === CLOSE_BRACE) break;
        if (byte !== COMMA) throw new JsonFault("Expected `,` or `}` behind a value", window.at - 1);
      }
    }
    if (!hasEvents) throw new Refused(noTrace("Expected a list `traceEvents`, found a JSON object without one."));
  }

  async #array(): Promise<void> {
    const window = this.#window;
    window.at++;
    this.#needsComma = false;
    while (!this.#takeEvents()) {
      if (window.end - window.at > LARGEST_EVENT) {
        const place = window.place(window.at);
        await this.#skip();
        this.#needsComma = true;
        this.#count++;
        this.events.addUnreadable(`an event of more than ${LARGEST_EVENT} bytes at byte ${place}`);
      } else if (!(await window.more())) throw this.#cut("inside the list of events");
    }
  }

  /** Takes the events that are wholly in the window. True at the end of the list. */
  #takeEvents(): boolean {
    const window = this.#window;
    const { bytes, end } = window;
    for (;;) {
      const at = spaceEnd(bytes, window.at, end);
      window.at = at;
      if (at >= end) return false;
      const byte = bytes[at];
      if (byte === CLOSE_BRACKET) {
        window.at++;
        return true;
      }
      if (this.#needsComma) {
        if (byte !== COMMA) throw new JsonFault("Expected `,` or `]` behind an event", at);
        window.at++;
        this.#needsComma = false;
        continue;
      }
      const isEvent = byte === OPEN_BRACE;
      const after = isEvent ? this.#scanner.scan(bytes, at, end) : this.#skipper.valueEnd(bytes, at, end);
      if (after === SHORT) return false;
      if (isEvent) this.#takeEvent(bytes);
      else this.events.addUnreadable(`an element that is no object at byte ${window.place(at)}`);
      this.#count++;
      window.at = after;
      this.#needsComma = true;
    }
  }

  #takeEvent(bytes: Buffer): void {
    if (this.#scanner.hasPhase) this.#hasPhase = true;
    if (this.#scanner.category !== NOT_NEEDED) this.events.add(this.#scanner, bytes);
  }

  /** Nothing but white space may follow. */
  async #ending(): Promise<void> {
    const byte = await this.#peek();
    if (byte !== SHORT) throw new JsonFault(`Expected the end of the file, found byte ${hex(byte)}`, this.#window.at);
  }

  /** The next byte that is no white space, or SHORT at the end of the file. It stays to be read. */
  async #peek(): Promise<number> {
    const window = this.#window;
    for (;;) {
      window.at = spaceEnd(window.bytes, window.at, window.end);
      if (window.at < window.end) return window.bytes[window.at] as number;
      if (!(await window.more())) return SHORT;
    }
  }

  async #byte(): Promise<number> {
    const byte = await this.#peek();
    if (byte === SHORT) throw this.#cut("inside the outermost object");
    return byte;
  }

  /** The value here as latin-1, moving behind it; null where it is longer than `limit`. */
  async #value(limit: number): Promise<string | null> {
    const window = this.#window;
    for (;;) {
      const after = this.#skipper.valueEnd(window.bytes, window.at, window.end);
      if (after !== SHORT) {
        const text = window.bytes.toString("latin1", window.at, after);
        window.at = after;
        return text;
      }
      if (window.end - window.at > limit) {
        await this.#skip();
        return null;
      }
      if (!(await window.more())) throw this.#cut("inside a value");
    }
  }

  /** Moves behind the value here without holding it. */
  async #skip(): Promise<void> {
    const window = this.#window;
    this.#skipper.startLong();
    for (;;) {
      const { at, rest } = this.#skipper.longEnd(window.bytes, window.at, window.end);
      window.at = at === SHORT ? window.end - rest : at;
      if (at !== SHORT) return;
      if (!(await window.more())) throw this.#cut("inside a value");
    }
  }

  #cut(why: string): Refused {
    return new Refused(cutFile(this.#window.place(this.#window.end), this.#count, why));
  }
}
