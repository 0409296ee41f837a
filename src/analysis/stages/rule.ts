import type { Stage } from "../../model/words.ts";
import { flatOf, type Spelling, wordsOf } from "./spelling.ts";

/**
 * What a pattern is held against. `text`: the name as printed. `space`: namespaces. `path`: namespaces and function.
 * `base`: function. `flat`: function in lower case without separators or vendor. `words`: function as `_word_word_`.
 * `args`: template arguments.
 */
export type Part = "text" | "space" | "path" | "base" | "flat" | "words" | "args";

/** One line of a table of rules; the first that holds decides. */
export interface Rule {
  /** Stable name, unique over all tables. */
  readonly id: string;
  readonly stage: Stage;
  readonly on: Part;
  readonly is: RegExp;
  /** Held against the same part: the rule does not hold where this does. */
  readonly not?: RegExp;
  /** Further labels that could be meant, the likeliest first. */
  readonly also?: readonly Stage[];
  /** 0..1: how often the name alone is enough. */
  readonly sure: number;
  /** What a longer name could deny: held against a cut name, the rule is less sure. */
  readonly deniable?: boolean;
}

/** A name with its parts, each made when first asked for. */
export class Subject {
  readonly spelling: Spelling;
  #flat: string | undefined;
  #words: string | undefined;

  constructor(spelling: Spelling) {
    this.spelling = spelling;
  }

  part(part: Part): string {
    const { spelling } = this;
    switch (part) {
      case "flat":
        this.#flat ??= flatOf(spelling.base);
        return this.#flat;
      case "words":
        this.#words ??= wordsOf(spelling.base);
        return this.#words;
      case "path":
        return spelling.space + spelling.base;
      default:
        return spelling[part];
    }
  }
}
