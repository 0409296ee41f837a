import { requiredLiterals, SHORTEST } from "./literals.ts";
import type { Part, Rule, Subject } from "./rule.ts";

/** Three letters of five bits; digits fall on letters, which only costs a test more. */
const SLOTS = 1 << 15;
const UNDERSCORE = 95;
const COLON = 58;

/** What is read for a part: those made of the function's name come from `base`, and where `path` is read it holds all. */
function readFor(part: Part, hasPath: boolean): Part {
  const isName = part === "flat" || part === "words" || part === "base";
  if (hasPath && (isName || part === "space")) return "path";
  return isName ? "base" : part;
}

/** Rules that may hold for one text, by the three-letter pieces in it. */
interface Filter {
  readonly reads: Part;
  /** For each piece a position in `masks`; 0: no rule asks for it. */
  readonly slots: Uint16Array;
  /** Bits of rules, `width` words a mask. */
  readonly masks: Int32Array;
}

/** For so few names it takes longer to read the rules for their literals than to try one after the other. */
const FEW = 64;

const holds = ({ on, is, not }: Rule, subject: Subject): boolean => {
  const text = subject.part(on);
  return is.test(text) && not?.test(text) !== true;
};

/**
 * Rules in order. Of many names, a pattern is tried only where the text holds a literal that it cannot do without: most
 * names hold those of two or three rules, and trying a hundred patterns on each would take longer than all the rest.
 */
export class Table {
  readonly #rules: readonly Rule[];
  #asked = 0;
  #index: Index | null = null;

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  /** The first rule that holds; null where none does. */
  find(subject: Subject): Rule | null {
    if (this.#asked < FEW) {
      this.#asked += 1;
      return this.#rules.find((rule) => holds(rule, subject)) ?? null;
    }
    this.#index ??= new Index(this.#rules);
    return this.#index.find(subject);
  }
}

/** Rules by the literals that their patterns demand. */
class Index {
  readonly #rules: readonly Rule[];
  readonly #width: number;
  readonly #filters: readonly Filter[];
  /** Rules that no literal rules out. */
  readonly #always: Int32Array;
  readonly #found: Int32Array;

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#width = Math.ceil(rules.length / 32);
    this.#always = new Int32Array(this.#width);
    this.#found = new Int32Array(this.#width);
    const hasPath = rules.some(({ on }) => on === "path");
    const wanted = new Map<Part, Map<number, number[]>>();
    for (const [index, { on, is }] of rules.entries()) {
      const literals = requiredLiterals(is);
      if (literals === null) this.#always[index >> 5] = (this.#always[index >> 5] ?? 0) | (1 << (index & 31));
      for (const literal of literals ?? []) {
        const reads = readFor(on, hasPath);
        const pieces = wanted.get(reads) ?? new Map<number, number[]>();
        wanted.set(reads, pieces);
        const piece = pieceOf(literal);
        pieces.set(piece, [...(pieces.get(piece) ?? []), index]);
      }
    }
    this.#filters = [...wanted].map(([reads, pieces]) => this.#filterOf(reads, pieces));
  }

  #filterOf(reads: Part, pieces: ReadonlyMap<number, readonly number[]>): Filter {
    const slots = new Uint16Array(SLOTS);
    const masks = new Int32Array((pieces.size + 1) * this.#width);
    let mask = 0;
    for (const [piece, indices] of pieces) {
      mask += this.#width;
      slots[piece] = mask;
      for (const index of indices) masks[mask + (index >> 5)] = (masks[mask + (index >> 5)] ?? 0) | (1 << (index & 31));
    }
    return { reads, slots, masks };
  }

  find(subject: Subject): Rule | null {
    const found = this.#found;
    for (let word = 0; word < this.#width; word += 1) found[word] = this.#always[word] as number;
    for (const filter of this.#filters) this.#collect(filter, subject.part(filter.reads));
    for (let word = 0; word < this.#width; word += 1) {
      for (let bits = found[word] as number; bits !== 0; bits &= bits - 1) {
        const rule = this.#rules[(word << 5) + (31 - Math.clz32(bits & -bits))] as Rule;
        if (holds(rule, subject)) return rule;
      }
    }
    return null;
  }

  #collect({ slots, masks }: Filter, text: string): void {
    const width = this.#width;
    const found = this.#found;
    let piece = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === UNDERSCORE || code === COLON) continue;
      piece = ((piece << 5) | (code & 31)) & (SLOTS - 1);
      const mask = slots[piece] as number;
      if (mask === 0) continue;
      for (let word = 0; word < width; word += 1)
        found[word] = (found[word] as number) | (masks[mask + word] as number);
    }
  }
}

/** In nearly every name. */
const COMMON = /^(?:ker|ern|rne|nel)/;

/** The first piece of a literal that tells something. */
function pieceOf(literal: string): number {
  let start = 0;
  while (start + SHORTEST < literal.length && COMMON.test(literal.slice(start))) start += 1;
  let piece = 0;
  for (let at = start; at < start + SHORTEST; at += 1) piece = (piece << 5) | (literal.charCodeAt(at) & 31);
  return piece;
}
