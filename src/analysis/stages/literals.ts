/** Literals shorter than this are too common to tell anything. */
export const SHORTEST = 3;

/**
 * Literals of which a text must hold at least one for the pattern to match; null where the pattern demands none of
 * `SHORTEST` characters. Lower case, without `_` and `:`, as `Table` reads texts. Knows what the tables of rules use:
 * literals, classes, groups, alternation, look-arounds, quantifiers, anchors.
 */
export function requiredLiterals(pattern: RegExp): readonly string[] | null {
  return new Reader(pattern.source).alternatives();
}

const shortest = (literals: readonly string[]): number => Math.min(...literals.map(({ length }) => length));

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Of `a|b|c`, to the end or the parenthesis that closes the group: one literal for each branch, or null. */
  alternatives(): readonly string[] | null {
    let all: string[] | null = [];
    for (;;) {
      const branch = this.#sequence();
      all = branch === null || all === null ? null : [...all, ...branch];
      if (this.#source[this.#at] !== "|") return all;
      this.#at += 1;
    }
  }

  /** The most telling part of a branch that cannot be left out. */
  #sequence(): readonly string[] | null {
    let best: readonly string[] | null = null;
    let run = "";
    const offer = (literals: readonly string[] | null): void => {
      if (literals === null || literals.length === 0 || shortest(literals) < SHORTEST) return;
      if (best === null || shortest(literals) > shortest(best)) best = literals;
    };
    const endRun = (): void => {
      offer([run.toLowerCase().replace(/[_:]/g, "")]);
      run = "";
    };
    while (this.#at < this.#source.length) {
      const character = this.#source[this.#at] as string;
      if (character === "|" || character === ")") break;
      if (character === "(") {
        endRun();
        const [literals, isLookAround] = this.#group();
        if (this.#quantifier() !== "optional" && !isLookAround) offer(literals);
      } else if (character === "^" || character === "$") {
        endRun();
        this.#at += 1;
      } else {
        const literal = this.#literal();
        const quantifier = this.#quantifier();
        if (literal !== null && quantifier !== "optional") run += literal;
        if (literal === null || quantifier !== "once") endRun();
      }
    }
    endRun();
    return best;
  }

  #group(): [literals: readonly string[] | null, isLookAround: boolean] {
    const kind = /^\((?:\?(?::|<?[=!]))?/.exec(this.#source.slice(this.#at, this.#at + 4))?.[0] ?? "(";
    this.#at += kind.length;
    const literals = this.alternatives();
    this.#at += 1;
    return [literals, /[=!]$/.test(kind)];
  }

  /** One character; null for a class, `.` or an escape that stands for several. */
  #literal(): string | null {
    const source = this.#source;
    const character = source[this.#at] as string;
    if (character === "[") {
      const end = source.indexOf("]", this.#at + 1);
      this.#at = end < 0 ? source.length : end + 1;
      return null;
    }
    this.#at += 1;
    if (character === ".") return null;
    if (character !== "\\") return character;
    const escaped = source[this.#at] as string;
    this.#at += 1;
    return /\w/.test(escaped) ? null : escaped;
  }

  #quantifier(): "once" | "optional" | "repeated" {
    const found = /^(?:[?*+]|\{\d+(?:,\d*)?\})\??/.exec(this.#source.slice(this.#at, this.#at + 12))?.[0];
    if (found === undefined) return "once";
    this.#at += found.length;
    return /^[?*]|^\{0/.test(found) ? "optional" : "repeated";
  }
}
