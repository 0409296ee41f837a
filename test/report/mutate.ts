import { gzipSync } from "node:zlib";
import { zstdFrame } from "../base/zstd-frames.ts";
import { type BlockPlace, blocksOf } from "./layout.ts";

/** The same numbers for the same seed (mulberry32, public domain by Tommy Ettinger). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Mutation {
  readonly kind: string;
  /** The bytes, in pieces: joining them would cost more memory than reading does. */
  readonly parts: readonly Buffer[];
  /**
   * Launches that the bytes still hold whole, where that is certain; null where a mutation may have hit anything. A
   * reader may not give fewer without saying why.
   */
  readonly launches: number | null;
}

/** Numbers that break arithmetic, allocation or loops. */
const EVIL = [0, 1, 3, 4, 5, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

/**
 * Makes mutations of one report. Bytes that a mutation changes in place are put back by `restore`, so that a report of
 * 30 MB is not copied ten thousand times.
 */
export class Mutator {
  readonly #report: Buffer;
  readonly #blocks: BlockPlace[];
  readonly #launches: number;
  #changed: { at: number; byte: number }[] = [];

  constructor(report: Buffer) {
    this.#report = report;
    this.#blocks = blocksOf(report);
    this.#launches = this.#blocks.reduce((sum, { results }) => sum + results, 0);
  }

  restore(): void {
    for (const { at, byte } of this.#changed.reverse()) this.#report[at] = byte;
    this.#changed = [];
  }

  mutate(seed: number): Mutation {
    const next = random(seed);
    const below = (limit: number): number => Math.floor(next() * limit);
    const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
    const report = this.#report;
    const kind = pick([
      "flip",
      "flip",
      "byte",
      "header",
      "header",
      "length",
      "evil",
      "zeros",
      "cut",
      "drop",
      "double",
      "swap",
      "insert",
      "wrap",
    ]);
    switch (kind) {
      case "flip":
        for (let count = 1 + below(4); count > 0; count -= 1) {
          const at = 4 + below(report.length - 4);
          this.#set(at, (report[at] ?? 0) ^ (1 << below(8)));
        }
        return { kind, parts: [report], launches: null };
      case "byte":
        for (let count = 1 + below(16); count > 0; count -= 1)
          this.#set(4 + below(report.length - 4), pick([0, 1, 0x7f, 0x80, 0xff, below(256)]));
        return { kind, parts: [report], launches: null };
      case "header": {
        // The headers are few bytes among many: hit them on purpose.
        const { start, payload } = pick(this.#blocks);
        for (let count = 1 + below(2); count > 0; count -= 1)
          this.#set(start + below(Math.min(payload - start, 400)), pick([0, 1, 0x7f, 0x80, 0xff, below(256)]));
        return { kind, parts: [report], launches: null };
      }
      case "length": {
        const { start, payload } = pick(this.#blocks);
        this.#setUint32(pick([start, payload]), pick(EVIL));
        return { kind, parts: [report], launches: null };
      }
      case "evil": {
        const { payload, end } = pick(this.#blocks);
        this.#setUint32(payload + below(Math.max(1, Math.min(end - payload, 3000))), pick(EVIL));
        return { kind, parts: [report], launches: null };
      }
      case "zeros": {
        const start = 10 + below(report.length - 10);
        for (let at = start; at < Math.min(report.length, start + pick([1, 8, 64, 4096, 100_000])); at += 1)
          this.#set(at, 0);
        return { kind, parts: [report], launches: null };
      }
      case "cut": {
        const length = below(report.length);
        const launches = this.#blocks.filter(({ end }) => end <= length).reduce((sum, { results }) => sum + results, 0);
        return { kind, parts: [report.subarray(0, length)], launches };
      }
      case "drop": {
        const dropped = pick(this.#blocks);
        return { kind, parts: this.#without(dropped), launches: this.#launches - dropped.results };
      }
      case "double": {
        const { start, end, results } = pick(this.#blocks);
        return { kind, parts: [report, report.subarray(start, end)], launches: this.#launches + results };
      }
      case "swap": {
        const moved = pick(this.#blocks);
        const parts = [...this.#without(moved), report.subarray(moved.start, moved.end)];
        return { kind, parts, launches: this.#launches };
      }
      case "insert": {
        const at = pick([10 + below(report.length - 10), pick(this.#blocks).start, pick(this.#blocks).payload]);
        const inserted = Buffer.from(Array.from({ length: 1 + below(40) }, () => below(256)));
        return { kind, parts: [report.subarray(0, at), inserted, report.subarray(at)], launches: null };
      }
      default: {
        // Damage in the wrapping: only a part of the large reports, since it is compressed each time.
        const inner = report.subarray(0, 2_000_000);
        const wrapped = next() < 0.5 ? gzipSync(inner, { level: 1 }) : zstdFrame(inner);
        for (let count = below(4); count > 0; count -= 1) wrapped[below(wrapped.length)] = below(256);
        const length = wrapped.length - pick([0, 0, 1, below(wrapped.length)]);
        return { kind, parts: [wrapped.subarray(0, length)], launches: null };
      }
    }
  }

  #without({ start, end }: BlockPlace): Buffer[] {
    return [this.#report.subarray(0, start), this.#report.subarray(end)];
  }

  #set(at: number, byte: number): void {
    this.#changed.push({ at, byte: this.#report[at] ?? 0 });
    this.#report[at] = byte;
  }

  #setUint32(at: number, value: number): void {
    for (let byte = 0; byte < 4; byte += 1)
      if (at + byte < this.#report.length) this.#set(at + byte, (value >>> (8 * byte)) & 0xff);
  }
}
