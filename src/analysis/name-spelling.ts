/** More is no kernel name (those of template-heavy libraries reach some thousand characters); it is left as it is. */
const LONGEST = 65_536;
/** Brackets of real names nest some ten deep. */
const DEEPEST = 256;
/** Template arguments that stand in for `T1` may double a text at each level: a name may grow so far, then `T1` stays. */
const GROWTH = 32;

const WORD = /[\w$.\u0080-\uffff]+/y;
const BLANKS = / +/y;
/** Behind a parameter list: the function is the scope of what follows. */
const SCOPE = /(?: ?(?:const|volatile|noexcept)\b| ?&&?)* ?::/y;
const OPERATOR =
  / ?(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|&&|\|\||\+\+|--|[-+*/%^&|~!=<>]=?|,|(?:new|delete)(?: ?\[\])?(?![\w$]))/y;
const INTEGER_CAST =
  /\((?:(?:un)?signed |)(?:bool|char|signed|unsigned|short|int|long long|long|__int128|wchar_t|char(?:8|16|32)_t)\)(?=-?\d)/y;
const INSTANCE = / ?\(instance (\d{1,9})\)\]/y;
const CLONE_OR_QUALIFIER = /^(?:const|volatile|noexcept|&&?| |\[clone [^[\]]*\]|\(\.[\w.$]*\))*$/;
const SUFFIXED = /^(\d{1,20})(?:ull|ul|u|ll|l)$/i;

class TooDeep extends Error {}

export interface Respelled {
  readonly text: string;
  /** Whether `T1` stood for something: where packs come before it, nobody can tell for which argument from the text. */
  readonly hasParameters: boolean;
}

/** Type and name that are being put together. `before`: what stands before the qualified name: a return type. */
interface Item {
  before: string;
  name: string;
  isConst: boolean;
  isVolatile: boolean;
  /** Template arguments of the name so far. */
  args: readonly string[] | null;
  /** Last character, without making a rope of text flat. */
  last: string;
}

const emptyItem = (): Item => ({ before: "", name: "", isConst: false, isVolatile: false, args: null, last: "" });

/**
 * A demangled name in the spelling of the C++ library's demangler without the blanks that tell nothing, and without the
 * function's own parameters. nvcc's demangler (ncu, nsys) differs in `<unnamed>`, `[lambda(int) (instance 1)]`,
 * `operator ()`, `const float`, `(int)8`, in return types within template arguments and in parameters of enclosing
 * functions by `T1`, which stands for the first template argument of that function. One pass.
 */
export function respelled(text: string): Respelled {
  const name = text
    .replaceAll("<unnamed>", "(anonymous namespace)")
    .replaceAll("{anonymous}", "(anonymous namespace)")
    .replaceAll("decltype(nullptr)", "std::nullptr_t")
    .replace(/\s+/g, " ")
    .trim();
  if (name.length > LONGEST) return { text: name, hasParameters: false };
  try {
    const spelling = new Spelling(name);
    return { text: spelling.kernel(), hasParameters: spelling.hasParameters };
  } catch (error) {
    if (error instanceof TooDeep) return { text: name, hasParameters: false };
    throw error;
  }
}

class Spelling {
  readonly #text: string;
  readonly #closing: Int32Array;
  #at = 0;
  #depth = 0;
  hasParameters = false;
  #budget: number;

  constructor(text: string) {
    this.#text = text;
    this.#closing = closingParentheses(text);
    this.#budget = GROWTH * text.length + 1024;
  }

  kernel(): string {
    const item = this.#item(null, false);
    const rest = this.#text.slice(this.#at).trim();
    const isFunction = rest.startsWith("(");
    let behind = rest;
    if (isFunction) {
      const end = this.#closing[this.#text.length - rest.length] ?? -1;
      behind = end < 0 ? "" : this.#text.slice(end + 1);
    }
    if (CLONE_OR_QUALIFIER.test(behind)) behind = "";
    // Kernels return void (CUDA C++ Programming Guide, "__global__"); SFINAE says so in many words.
    const isType = item.before !== "" && (isFunction || item.before.includes("<"));
    return (isType ? `void ${item.name}` : whole(item)) + behind;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  /** Items between commas up to one of `)`, `>`, `]`, `}`, which is taken where it is the one. */
  #list(closing: string, env: readonly string[] | null, isLambda: boolean): string[] {
    if (++this.#depth > DEEPEST) throw new TooDeep();
    const items: string[] = [];
    for (;;) {
      this.#match(BLANKS);
      const item = whole(this.#item(env, isLambda, closing));
      const character = this.#text[this.#at];
      if (item !== "" || character === "," || items.length > 0) items.push(item);
      if (character === ",") {
        this.#at++;
        continue;
      }
      if (character === closing) this.#at++;
      break;
    }
    this.#depth--;
    return items;
  }

  /** One type, value or function name. `env`: what T1, T2 stand for. `closing` is undefined at the top. */
  #item(env: readonly string[] | null, isLambda: boolean, closing?: string, isAddress = false): Item {
    const text = this.#text;
    const item = emptyItem();
    let isBlank = false;
    while (this.#at < text.length) {
      const character = text[this.#at] as string;
      if (character === " ") {
        this.#at++;
        isBlank = true;
        continue;
      }
      const wasBlank = isBlank;
      isBlank = false;
      if (isWordCharacter(character)) {
        this.#word(item, env, isLambda, wasBlank);
        continue;
      }
      if (closing !== undefined) {
        if (character === ",") break;
        if (character === ")" || character === "]" || character === "}" || (character === ">" && closing === ">"))
          break;
      }
      if (character === ":" && text[this.#at + 1] === ":") {
        this.#at += 2;
        item.name += "::";
        item.last = ":";
      } else if (character === "(") {
        if (text.startsWith("(anonymous namespace)", this.#at)) {
          this.#at += 21;
          this.#start(item, wasBlank);
          append(item, "(anonymous namespace)", "n");
        } else if (!isNameEnd(item.last) && this.#match(INTEGER_CAST) !== null) {
          if (text.startsWith("(bool)", this.#at - 6) && /^[01](?![\w$.])/.test(text.slice(this.#at, this.#at + 2)))
            append(item, text[this.#at++] === "1" ? "true" : "false", "e");
        } else {
          const open = this.#at;
          const end = this.#closing[open] ?? -1;
          SCOPE.lastIndex = end + 1;
          const scope = end >= 0 && isNameEnd(item.last) ? (SCOPE.exec(text)?.[0] ?? null) : null;
          // The function's own parameters.
          if ((closing === undefined || isAddress) && scope === null && isNameEnd(item.last)) break;
          if (item.name === "&" && scope === null && end >= 0) {
            this.#at++;
            append(item, this.#function(env, isLambda), "w");
            this.#at = end + 1;
            continue;
          }
          this.#at++;
          const parts = this.#list(")", scope === null ? env : item.args, scope === null && isLambda);
          const isVoid = scope !== null && parts.length === 1 && parts[0] === "void";
          if (scope === null && item.last !== "") flush(item);
          append(item, `(${isVoid ? "" : parts.filter((one) => one !== "").join(",")})`, ")");
          if (scope !== null) {
            this.#at = end + 1 + scope.length;
            item.before = "";
            append(item, scope.slice(0, -2).trim() === "" ? "::" : `${scope.slice(0, -2).trim()}::`, ":");
            item.args = null;
          }
        }
      } else if (character === "<" && isNameEnd(item.last) && !wasBlank) {
        this.#at++;
        item.args = this.#list(">", env, isLambda);
        // An empty pack is an argument to nvcc's demangler.
        append(item, `<${item.args.filter((one) => one !== "").join(",")}>`, ">");
      } else if (character === "[" && text.startsWith("[lambda(", this.#at)) {
        this.#start(item, wasBlank);
        this.#at += 8;
        const parameters = this.#list(")", null, true).join(",");
        const instance = this.#match(INSTANCE);
        if (instance === null) append(item, `[lambda(${parameters})`, ")");
        else append(item, `{lambda(${parameters})#${/\d+/.exec(instance)?.[0]}}`, "}");
      } else if (character === "{" && text.startsWith("{lambda(", this.#at)) {
        this.#start(item, wasBlank);
        this.#at += 8;
        append(item, `{lambda(${this.#list(")", null, false).join(",")})`, ")");
        const number = this.#match(/#\d{1,9}\}/y);
        if (number !== null) append(item, number, "}");
      } else if (character === "[" || character === "{") {
        const from = this.#at;
        const end = text.indexOf(character === "[" ? "]" : "}", from);
        this.#at = end < 0 ? text.length : end + 1;
        const group = text.slice(from, this.#at).replace(/^\[(unnamed \w+) \(instance (\d{1,9})\)\]$/, "{$1#$2}");
        if (/^\[\w*\]$/.test(group) && !isWordCharacter(item.last)) flush(item);
        if (wasBlank && item.last !== "" && character === "[" && !/^\[\d*\]$/.test(group)) item.name += " ";
        append(item, group, "}");
      } else if (character === "*" || character === "&") {
        this.#at++;
        flush(item);
        reference(item, character, text[this.#at] === "&" && character === "&" && this.#at++ > 0);
      } else {
        this.#at++;
        if (character === ">" || character === "<") append(item, character, character === ">" ? "=" : "<");
        else append(item, character, character);
      }
    }
    flush(item);
    return item;
  }

  /**
   * A function whose address is an argument: `&(float ns::f<float>(float))` is `&ns::f<float>` to nvcc's demangler, which
   * leaves out what tells overloads apart; so those that are no templates keep their parameters.
   */
  #function(env: readonly string[] | null, isLambda: boolean): string {
    const { name, last } = this.#item(env, isLambda, ")", true);
    if (last === ">" || this.#text[this.#at] !== "(") return name;
    this.#at++;
    return `(${name}(${this.#list(")", env, isLambda).join(",")}))`;
  }

  /** A component that does not follow `::` begins a name; what was before it may be a return type. */
  #start(item: Item, wasBlank: boolean): void {
    if (item.last === "" || item.last === ":") return;
    if (!isNameEnd(item.last) && !"*&".includes(item.last)) return;
    item.before += item.name + (wasBlank && isNameEnd(item.last) ? " " : "");
    item.name = "";
    item.args = null;
  }

  #word(item: Item, env: readonly string[] | null, isLambda: boolean, wasBlank: boolean): void {
    const word = this.#match(WORD) ?? "";
    if (word === "const" || word === "volatile") {
      if (word === "const") item.isConst = true;
      else item.isVolatile = true;
      return;
    }
    this.#start(item, wasBlank);
    if (word === "operator") {
      const symbol = this.#match(OPERATOR);
      const conversion = symbol === null ? (this.#match(/ [^()<,]{1,256}(?=\()/y) ?? "") : "";
      append(item, word + (symbol === null ? conversion : /\w/.test(symbol) ? symbol : symbol.trim()), "r");
      return;
    }
    if (word[0] === "T" && /^T\d{1,4}$/.test(word) && item.last !== ":") {
      if (isLambda) {
        this.hasParameters = true;
        append(item, `auto:${word.slice(1)}`, "o");
        return;
      }
      if (env !== null) this.hasParameters = true;
      const argument = env?.[Number(word.slice(1)) - 1];
      if (argument !== undefined && this.#budget >= argument.length) {
        this.#budget -= argument.length;
        append(item, argument, argument.at(-1) ?? "");
        return;
      }
    }
    const number = "<,(-".includes(item.last) ? SUFFIXED.exec(word)?.[1] : undefined;
    append(item, number ?? word, "w");
  }
}

function isWordCharacter(character: string): boolean {
  const code = character.charCodeAt(0);
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 36 ||
    code === 46 ||
    code >= 128
  );
}
const isNameEnd = (last: string): boolean =>
  isWordCharacter(last) || last === ">" || last === "}" || last === ")" || last === "]";
const whole = (item: Item): string => item.before + item.name;

function append(item: Item, text: string, last: string): void {
  item.name += text;
  item.last = last;
}

/** Writes `const` behind the type that it is about. */
function flush(item: Item): void {
  if (!item.isConst && !item.isVolatile) return;
  const [isConst, isVolatile] = [item.isConst, item.isVolatile];
  item.isConst = false;
  item.isVolatile = false;
  if (item.last === "") return;
  const blank = item.last === "*" || item.last === "&" ? "" : " ";
  const words = [isConst && "const", isVolatile && "volatile"].filter((one) => one !== false && !hasWord(item, one));
  if (words.length > 0) append(item, blank + words.join(" "), "w");
}

/** Whether an argument in place of `T1` brings the qualifier itself. */
const hasWord = ({ name }: Item, word: unknown): boolean =>
  typeof word === "string" && (name.endsWith(` ${word}`) || name.endsWith(`*${word}`));

/** References to references collapse. */
function reference(item: Item, mark: string, isDouble: boolean): void {
  if (mark === "&" && item.last === "&") {
    if (!isDouble && item.name.endsWith("&&")) item.name = item.name.slice(0, -1);
    return;
  }
  append(item, isDouble ? "&&" : mark, mark);
}

/** For each opening parenthesis the one that closes it; -1 elsewhere. */
function closingParentheses(text: string): Int32Array {
  const closing = new Int32Array(text.length).fill(-1);
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 40) open.push(at);
    else if (code === 41) {
      const start = open.pop();
      if (start !== undefined) closing[start] = at;
    }
  }
  return closing;
}
