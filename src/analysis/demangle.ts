import { BUILTIN, BUILTIN_D, OPERATORS, STD } from "./mangled-words.ts";
import {
  type Argument,
  LONGEST_TEXT,
  MARKS,
  PACK,
  PARAMETER,
  resolved,
  UNRESOLVED,
  Unknown,
} from "./template-marks.ts";

const DEEPEST = 256;

/** The text before and behind a declarator: `void (` and `)(int)` of a function type. */
interface Type {
  readonly left: string;
  readonly right: string;
}

interface Name {
  readonly text: string;
  /** Those of the last component; null: no template. */
  readonly args: readonly Argument[] | null;
  readonly qualifiers: string;
}

/**
 * A mangled name (Itanium C++ ABI, section 5.1) as the demangler of the C++ library prints it, without parameters and
 * with `void` for the return type that only templates have. Null for what kernels hardly use: expressions
 * and floats as template arguments, conversions, member pointers.
 */
export function demangledKernel(mangled: string): string | null {
  if (!mangled.startsWith("_Z") || mangled.length > LONGEST_TEXT) return null;
  try {
    const { text, args } = new Demangler(mangled).name();
    if (UNRESOLVED.test(text)) return null;
    return args === null ? text : `void ${text}`;
  } catch (error) {
    if (error instanceof Unknown) return null;
    throw error;
  }
}

class Demangler {
  readonly #text: string;
  #at = 2;
  #depth = 0;
  readonly #known: Type[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  name(): Name {
    if (this.#depth++ > DEEPEST) throw new Unknown();
    const name = this.#next("N") ? this.#nested() : this.#next("Z") ? this.#local() : this.#unscoped();
    this.#depth--;
    return name;
  }

  #next(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false;
    this.#at += expected.length;
    return true;
  }

  #expect(expected: string): void {
    if (!this.#next(expected)) throw new Unknown();
  }

  #peek(): string {
    const character = this.#text[this.#at];
    if (character === undefined) throw new Unknown();
    return character;
  }

  #remember(type: Type): Type {
    if (type.left.length + type.right.length > LONGEST_TEXT) throw new Unknown();
    this.#known.push(type);
    return type;
  }

  #unscoped(): Name {
    let text: string;
    let isKnown = false;
    if (this.#next("St")) text = `std::${this.#unqualified("")}`;
    else if (this.#peek() === "S") {
      text = this.#substitution().left;
      isKnown = true;
    } else text = this.#unqualified("");
    if (this.#peekOrEnd() !== "I") return { text, args: null, qualifiers: "" };
    if (!isKnown) this.#remember({ left: text, right: "" });
    const args = this.#templateArguments();
    return { text: text + printed(args), args, qualifiers: "" };
  }

  #peekOrEnd(): string {
    return this.#text[this.#at] ?? "";
  }

  #nested(): Name {
    let qualifiers = "";
    for (; ; this.#at++) {
      const character = this.#peek();
      if (character === "K") qualifiers = ` const${qualifiers}`;
      else if (character === "V") qualifiers = ` volatile${qualifiers}`;
      else if (character !== "r") break;
    }
    if (this.#next("R")) qualifiers += " &";
    else if (this.#next("O")) qualifiers += " &&";
    let text = "";
    let last = "";
    let args: readonly Argument[] | null = null;
    while (!this.#next("E")) {
      const character = this.#peek();
      let isNew = true;
      if (character === "I") {
        args = this.#templateArguments();
        text += printed(args);
      } else if (character === "S" && this.#text[this.#at + 1] !== "t") {
        text = this.#substitution().left;
        args = null;
        isNew = false;
      } else if (character === "T") {
        text = this.#templateParameter();
      } else if (this.#next("St")) {
        text = "std";
        isNew = false;
      } else {
        last = this.#unqualified(last);
        text = text === "" ? last : `${text}::${last}`;
        args = null;
      }
      if (isNew && this.#peek() !== "E") this.#remember({ left: text, right: "" });
    }
    return { text, args, qualifiers };
  }

  #local(): Name {
    const scope = this.#encoding();
    this.#expect("E");
    if (this.#next("s") || this.#next("d")) throw new Unknown();
    const { text, args, qualifiers } = this.name();
    if (this.#next("__")) {
      this.#digits();
      this.#expect("_");
    } else if (this.#peekOrEnd() === "_" && /\d/.test(this.#text[this.#at + 1] ?? "")) this.#at += 2;
    return { text: `${scope}::${text}`, args, qualifiers };
  }

  /** A function with its parameters and without its return type. */
  #encoding(): string {
    const { text, behind } = this.#encodingParts();
    return text + behind;
  }

  #encodingParts(): { readonly text: string; readonly behind: string } {
    const { text, args, qualifiers } = this.name();
    // `main` has no parameters in a mangled name, variables have none at all.
    if (this.#peek() === "E") return { text, behind: "" };
    // Templates have a return type in front.
    if (args !== null) this.#type();
    return { text, behind: `(${resolved(this.#parameters(), args ?? [])})${qualifiers}` };
  }

  /** Up to an E, which is not taken. */
  #parameters(): string {
    const types: string[] = [];
    while (this.#peek() !== "E") {
      types.push(whole(this.#type()));
    }
    return types.length === 1 && types[0] === "void" ? "" : types.join(", ");
  }

  #digits(): number {
    const digits = /^\d{1,6}/.exec(this.#text.slice(this.#at, this.#at + 6))?.[0];
    if (digits === undefined) throw new Unknown();
    this.#at += digits.length;
    return Number(digits);
  }

  /** `_` is the first, `0_` the second. */
  #ordinal(): number {
    if (this.#next("_")) return 1;
    const number = this.#digits() + 2;
    this.#expect("_");
    return number;
  }

  #unqualified(enclosing: string): string {
    this.#next("L");
    let name = this.#component(enclosing);
    while (this.#next("B")) name += `[abi:${this.#source()}]`;
    return name;
  }

  #component(enclosing: string): string {
    if (/\d/.test(this.#peek())) {
      const name = this.#source();
      return /^_GLOBAL_[._$]N/.test(name) ? "(anonymous namespace)" : name;
    }
    if (this.#next("Ul")) {
      const parameters = this.#parameters()
        .replace(PACK, "$1...")
        .replace(PARAMETER, (_, position: string) => `auto:${Number(position) + 1}`);
      this.#expect("E");
      return `{lambda(${parameters})#${this.#ordinal()}}`;
    }
    if (this.#next("Ut")) return `{unnamed type#${this.#ordinal()}}`;
    const code = this.#text.slice(this.#at, this.#at + 2);
    this.#at += 2;
    if (/^[CD][0-5]$/.test(code) && enclosing === "") throw new Unknown();
    if (/^C[1-5]$/.test(code)) return enclosing;
    if (/^D[0-5]$/.test(code)) return `~${enclosing}`;
    const operator = Object.hasOwn(OPERATORS, code) ? OPERATORS[code] : undefined;
    if (operator === undefined) throw new Unknown();
    return `operator${operator}`;
  }

  #source(): string {
    const length = this.#digits();
    const name = this.#text.slice(this.#at, this.#at + length);
    if (length === 0 || name.length < length) throw new Unknown();
    this.#at += length;
    return name;
  }

  #substitution(): Type {
    this.#expect("S");
    const letter = this.#peek();
    const std = Object.hasOwn(STD, letter) ? STD[letter] : undefined;
    if (std !== undefined) {
      this.#at++;
      return { left: std, right: "" };
    }
    const id = /^[0-9A-Z]{0,4}_/.exec(this.#text.slice(this.#at, this.#at + 5))?.[0];
    if (id === undefined) throw new Unknown();
    this.#at += id.length;
    const known = this.#known[id === "_" ? 0 : Number.parseInt(id, 36) + 1];
    if (known === undefined) throw new Unknown();
    return known;
  }

  #templateParameter(): string {
    this.#expect("T");
    return `${MARKS.parameter}${this.#ordinal() - 1}${MARKS.end}`;
  }

  #templateArguments(): readonly Argument[] {
    this.#expect("I");
    const args: Argument[] = [];
    while (!this.#next("E")) args.push(this.#templateArgument());
    return args;
  }

  #templateArgument(): Argument {
    if (this.#next("L")) return this.#literal();
    if (this.#next("XadL_Z")) {
      const { text, behind } = this.#encodingParts();
      this.#expect("EE");
      return behind === "" || text.endsWith(">") ? `&${text}` : `&(${text}${behind})`;
    }
    if (!this.#next("J")) return whole(this.#type());
    const pack: string[] = [];
    while (!this.#next("E")) {
      const argument = this.#templateArgument();
      if (typeof argument !== "string") throw new Unknown();
      pack.push(argument);
    }
    return pack;
  }

  #literal(): string {
    const code = this.#peek();
    const type = whole(this.#type());
    const value = /^n?\d{1,40}E/.exec(this.#text.slice(this.#at, this.#at + 42))?.[0];
    if (value === undefined || "fdeg".includes(code)) throw new Unknown();
    this.#at += value.length;
    const number = value.slice(0, -1).replace("n", "-");
    if (code === "b") return number === "0" ? "false" : "true";
    return Object.hasOwn(BUILTIN, code) ? number : `(${type})${number}`;
  }

  #type(): Type {
    if (this.#depth++ > DEEPEST) throw new Unknown();
    const type = this.#anyType();
    this.#depth--;
    return type;
  }

  #anyType(): Type {
    const code = this.#peek();
    const builtin = Object.hasOwn(BUILTIN, code) ? BUILTIN[code] : undefined;
    if (builtin !== undefined) {
      this.#at++;
      return { left: builtin, right: "" };
    }
    switch (code) {
      case "P":
      case "R":
      case "O":
        this.#at++;
        return this.#remember(pointer(this.#type(), code === "P" ? "*" : code === "R" ? "&" : "&&"));
      case "r":
      case "V":
      case "K": {
        const codes = /^r?V?K?/.exec(this.#text.slice(this.#at, this.#at + 3))?.[0] ?? "";
        this.#at += codes.length;
        const { left, right } = this.#type();
        if (right !== "" || codes.includes("r")) throw new Unknown();
        const words = `${codes.includes("K") ? " const" : ""}${codes.includes("V") ? " volatile" : ""}`;
        return this.#remember({ left: left + words, right });
      }
      case "A": {
        this.#at++;
        const length = this.#digits();
        this.#expect("_");
        const { left, right } = this.#type();
        return this.#remember({ left, right: `[${length}]${right}` });
      }
      case "F": {
        this.#at++;
        this.#next("Y");
        const { left, right } = this.#type();
        const parameters = this.#parameters();
        this.#expect("E");
        return this.#remember({ left, right: `(${parameters})${right}` });
      }
      case "T": {
        const parameter = this.#remember({ left: this.#templateParameter(), right: "" });
        return this.#peekOrEnd() === "I" ? this.#specialised(parameter) : parameter;
      }
      case "D":
        return this.#dType();
      case "S":
        if (this.#text[this.#at + 1] !== "t") {
          const known = this.#substitution();
          return this.#peekOrEnd() === "I" ? this.#specialised(known) : known;
        }
    }
    if (!/[\dNZSL]/.test(code)) throw new Unknown();
    return this.#remember({ left: this.name().text, right: "" });
  }

  #specialised({ left, right }: Type): Type {
    return this.#remember({ left: left + printed(this.#templateArguments()), right });
  }

  #dType(): Type {
    if (this.#next("Dp"))
      return this.#remember({ left: `${MARKS.pack}${whole(this.#type())}${MARKS.packEnd}`, right: "" });
    if (this.#next("DF16b")) return { left: "std::bfloat16_t", right: "" };
    if (this.#next("DF16_")) return { left: "_Float16", right: "" };
    const code = this.#text.slice(this.#at, this.#at + 2);
    const builtin = Object.hasOwn(BUILTIN_D, code) ? BUILTIN_D[code] : undefined;
    if (builtin === undefined) throw new Unknown();
    this.#at += 2;
    return { left: builtin, right: "" };
  }
}

const whole = ({ left, right }: Type): string => left + right;

const printed = (args: readonly Argument[]): string => `<${args.flat().join(", ")}>`;

function pointer({ left, right }: Type, mark: "*" | "&" | "&&"): Type {
  if (right === "" || right.startsWith(")")) return { left: `${left} ${mark}`, right };
  return { left: `${left}(${mark}`, right: `)${right}` };
}
