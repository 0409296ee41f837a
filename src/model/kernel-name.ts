/** Names of template-heavy libraries reach some thousand characters; more than this is no kernel name. */
const LONGEST = 65_536;

/** Brackets of real names nest some ten deep; deeper ones are not followed, so that the work stays linear. */
const DEEPEST = 512;

/**
 * The base name of a kernel: what `ncu -k` matches by default. Takes a demangled name as printed by Nsight Compute, nsys
 * or c++filt (full or simplified), a mangled name (Itanium C++ ABI, section 5.1) or a plain symbol; namespaces, return
 * type, template arguments, parameters and ABI tags come off. A text in no known form is returned as it is, trimmed.
 */
export function baseName(printed: string): string {
  const text = printed.trim();
  if (text.length > LONGEST) return text;
  if (text.startsWith("_Z")) return mangledBaseName(text) ?? text;
  if (!/[(<]|::/.test(text)) return withoutTag(text);
  const name = new DemangledName(text).last();
  return name === "" ? text : name;
}

/** `name[v1]` is `name` with an ABI tag (numba marks its functions so); `[lambda(int) …]` is a name of its own. */
function withoutTag(name: string): string {
  const bracket = name.indexOf("[");
  return bracket > 0 && name.endsWith("]") ? name.slice(0, bracket) : name;
}

/**
 * `__global__` functions live in namespaces, never in classes (CUDA C++ Programming Guide, "function execution space"),
 * so in a nested name the last identifier before the first template argument list is the function.
 */
function mangledBaseName(mangled: string): string | null {
  const nested = mangled.startsWith("_ZN");
  let at = nested ? 3 : 2;
  let name: string | null = null;
  while (at < mangled.length) {
    if (mangled.startsWith("St", at)) {
      at += 2;
      continue;
    }
    const length = /^L?(\d{1,5})/.exec(mangled.slice(at, at + 6));
    if (!length) break;
    const start = at + length[0].length;
    const end = start + Number(length[1]);
    if (end > mangled.length || end === start) return null;
    name = mangled.slice(start, end);
    at = end;
    if (!nested) break;
  }
  return name;
}

const OPENING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "<": ">" };

/** One pass over a demangled name that remembers the last component of the qualified name outside all brackets. */
class DemangledName {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The last component of the function's qualified name, or "" where there is none. */
  last(): string {
    const text = this.#text;
    let name = "";
    /** Where the component that is being read begins. */
    let start = 0;
    while (this.#at < text.length) {
      const character = text[this.#at] as string;
      if (text.startsWith("operator", this.#at) && this.#atWord(this.#at) && !isWord(text[this.#at + 8])) {
        const from = this.#at;
        this.#skipOperator();
        name = text.slice(from, this.#at).replace(/^operator (?=\W)/, "operator");
        start = this.#at;
      } else if (text.startsWith("::", this.#at)) {
        this.#at += 2;
        start = this.#at;
        name = "";
      } else if (character === " " || character === "*" || character === "&") {
        // A blank ends the return type, or stands before the qualifiers behind a parameter list.
        if (this.#at > start) name = text.slice(start, this.#at);
        this.#at++;
        start = this.#at;
      } else if (character === "(") {
        const component = text.slice(start, this.#at);
        if (component !== "") name = component;
        this.#skipGroup();
        if (name === "decltype" || (name === "" && text.startsWith("::", this.#at))) {
          // decltype(…) is a return type; (anonymous namespace):: is a namespace.
          name = "";
        } else if (!this.#continuesBehindParameters()) return name;
        start = this.#at;
      } else if (character === "<" || character === "[" || character === "{") {
        const from = this.#at;
        const component = text.slice(start, from);
        this.#skipGroup();
        name = component === "" ? text.slice(from, this.#at) : component;
        start = this.#at;
      } else this.#at++;
    }
    return this.#at > start ? text.slice(start) : name;
  }

  /** A parameter list of an enclosing function is followed by `::`, with its qualifiers between. */
  #continuesBehindParameters(): boolean {
    const rest = /^(?: (?:const|volatile|noexcept)| ?&&?)*::/.exec(this.#text.slice(this.#at, this.#at + 64));
    if (!rest) return false;
    this.#at += rest[0].length - 2;
    return true;
  }

  #atWord(at: number): boolean {
    return at === 0 || !isWord(this.#text[at - 1]);
  }

  /** Moves behind `operator` and its symbol: `operator()`, `operator ()`, `operator<<`, `operator new`. */
  #skipOperator(): void {
    const symbol = /^operator ?(?:\(\)|\[\]|[-+*/%^&|~!=<>,]{1,3}|(?:new|delete)(?:\[\])?|[\w:]+(?: ?[*&])*)?/.exec(
      this.#text.slice(this.#at, this.#at + 128),
    );
    this.#at += symbol?.[0].length ?? "operator".length;
  }

  /** Moves behind the bracket that closes the one here; to the end where none does (a name that was cut). */
  #skipGroup(): void {
    const text = this.#text;
    const open: string[] = [];
    while (this.#at < text.length) {
      const character = text[this.#at] as string;
      if (text.startsWith("operator", this.#at) && this.#atWord(this.#at) && !isWord(text[this.#at + 8])) {
        this.#skipOperator();
        continue;
      }
      this.#at++;
      const closing = OPENING[character];
      if (closing !== undefined) open.push(closing);
      else if (character === ">") {
        // `->` and a comparison inside parentheses close nothing.
        if (open.at(-1) === ">" && text[this.#at - 2] !== "-") open.pop();
      } else if (character === ")" || character === "]" || character === "}") {
        // A `<` that was a comparison never closes: the outer bracket closes it too.
        const match = open.lastIndexOf(character);
        if (match >= 0) open.length = match;
      }
      if (open.length === 0) return;
      if (open.length > DEEPEST) this.#at = text.length;
    }
  }
}

const isWord = (character: string | undefined): boolean => character !== undefined && /\w/.test(character);
