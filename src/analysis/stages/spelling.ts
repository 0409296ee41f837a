/** More of a name is not read; the longest of real timelines has about 5,000 characters, its head tells the kernel. */
const LONGEST = 8192;
/** Template arguments are read this far: they begin with what was instantiated. */
const ARGUMENTS = 2048;
/** Identifiers are read this far: patterns may look for two words with anything between, and need an end to that. */
const IDENTIFIER = 256;
/** Nesting of wrappers (`device_kernel<enable_sm90<kernel<…>>>`) that is followed. */
const WRAPPERS = 4;

/** A kernel name taken apart, so that rules can ask the function's own name first. */
export interface Spelling {
  /** The name as given, trimmed; mangled names stay mangled. */
  readonly text: string;
  /** Namespaces of the function joined by `::`, with `::` behind; "" without any. Unnamed namespaces are left out. */
  readonly space: string;
  /** Last identifier of the function. */
  readonly base: string;
  /** From the `<` (in a mangled name: the `I`) of the function's template arguments on; "" without any. */
  readonly args: string;
  /** The printed name ends before the name does. What is not in it may still be in the name. */
  readonly isCut: boolean;
}

const UNNAMED = /\(anonymous namespace\)::|<unnamed>::|\{anonymous\}::|\(anonymous class\)::|_GLOBAL__N_\w*::/g;
const UNNAMED_AHEAD = /^(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::/;

/** Takes a printed (demangled, simplified, plain) or mangled name apart; any text is one. Linear in its length. */
export function spellingOf(name: string): Spelling {
  let text = (name.length > LONGEST ? name.slice(0, LONGEST) : name).trim();
  // `.kd`: kernel descriptor of AMD; `[clone …]`: compilers' copies.
  if (text.endsWith(".kd")) text = text.slice(0, -3);
  if (text.endsWith("]")) {
    const clone = text.indexOf(" [clone ");
    if (clone > 0) text = text.slice(0, clone);
  }
  const mangled = text.startsWith("_Z") ? mangledSpelling(text, name.length > LONGEST) : null;
  return mangled ?? printedSpelling(text, name.length > LONGEST);
}

function printedSpelling(text: string, isLong: boolean): Spelling {
  const isCut = isLong || text.endsWith("...") || text.endsWith("…") || opensMoreThanItCloses(text);
  const body = startOfPath(text);
  const end = endOfPath(text, body);
  const path = text.slice(body, end);
  const { space, base } = pathOf(isCut ? path.replace(/(?:\.{3}|…)$/, "") : path);
  const args = text[end] === "<" ? text.slice(end, end + ARGUMENTS) : "";
  return { text, space, base, args, isCut };
}

/** Splits `a::b::f`. */
function pathOf(path: string): { space: string; base: string } {
  let plain = path;
  if (path.includes("::")) {
    if (path.includes("nonymous") || path.includes("unnamed") || path.includes("GLOBAL__N")) {
      plain = path.replace(UNNAMED, "");
    }
  }
  const last = plain.lastIndexOf("::");
  const base = (last < 0 ? plain : plain.slice(last + 2, last + 2 + IDENTIFIER)).slice(0, IDENTIFIER).trim();
  return { space: last < 0 ? "" : plain.slice(Math.max(0, last + 2 - IDENTIFIER), last + 2), base };
}

const BEFORE_VOID = ["static ", "__global__ ", "void "] as const;

/** Where the qualified name begins: behind the return type. `__global__` functions return void, plainly or by a template. */
function startOfPath(text: string): number {
  let at = 0;
  for (const word of BEFORE_VOID) if (text.startsWith(word, at)) at += word.length;
  if (at > 0) return at;
  // `std::enable_if<…, void>::type name`, `std::enable_if_t<…> name`: a template in front of a blank outside brackets.
  if (!text.includes(">::") && !text.includes("_t<")) return 0;
  if (!/^(?:typename )?(?:std|cuda|cute|thrust|c10)::(?:enable_if|conditional)/.test(text)) return 0;
  let depth = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === 60 || code === 40) depth += 1;
    else if (code === 41) depth -= 1;
    else if (code === 62 && text.charCodeAt(position - 1) !== 40 && text.charCodeAt(position - 1) !== 41) depth -= 1;
    else if (code === 32 && depth <= 0 && position > 9) return position + 1;
  }
  return 0;
}

/** Where the qualified name ends: at its template arguments or parameters. */
function endOfPath(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 40 && code !== 60 && code !== 123) continue;
    const unnamed = UNNAMED_AHEAD.exec(text.slice(at, at + 24));
    if (unnamed === null) return at;
    at += unnamed[0].length - 1;
  }
  return text.length;
}

/** `>` also compares and points, so only what stays open counts. */
function opensMoreThanItCloses(text: string): boolean {
  if (!text.includes("(") && !text.includes("<")) return false;
  let round = 0;
  let angle = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // Letters and most others, at once.
    if (code > 62 || code < 40) continue;
    if (code === 40) round += 1;
    else if (code === 41) round -= 1;
    else if (code === 60) angle += 1;
    else if (code === 62) angle -= 1;
  }
  return round > 0 || angle > 0;
}

/** Identifiers of a mangled name from `at` on, as far as the name is one (nested) name. */
interface Identifiers {
  readonly names: string[];
  readonly end: number;
  /** An identifier is longer than what is left. */
  readonly isCut: boolean;
}

const digit = (code: number): boolean => code >= 48 && code <= 57;

/** Reads length-prefixed identifiers (Itanium C++ ABI 5.1), past substitutions (`St`, `S1_`) and internal linkage (`L`). */
function identifiersAt(text: string, from: number): Identifiers {
  const names: string[] = [];
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (digit(code)) {
      let length = 0;
      while (digit(text.charCodeAt(at)) && length < LONGEST) length = length * 10 + text.charCodeAt(at++) - 48;
      const name = text.slice(at, at + length);
      if (length === 0 || name.length < length) return { names: [...names, name], end: text.length, isCut: true };
      names.push(name.slice(0, IDENTIFIER));
      at += length;
      if (text[at] === "B" && digit(text.charCodeAt(at + 1))) at += 1;
    } else if (code === 83) {
      const substitution = /^S(?:[tabsiod]|[0-9A-Z]*_)/.exec(text.slice(at, at + 8));
      if (substitution === null) break;
      at += substitution[0].length;
    } else if (code === 76 && digit(text.charCodeAt(at + 1))) at += 1;
    else break;
  }
  return { names, end: at, isCut: false };
}

function mangledSpelling(text: string, isLong: boolean): Spelling | null {
  const nested = text.startsWith("_ZN");
  const { names, end, isCut } = identifiersAt(text, nested ? 3 : 2);
  // Outside `N…E` one identifier is the function, and what follows are its parameters.
  const path = nested ? names : names.slice(0, 1);
  const base = path.at(-1);
  if (base === undefined || base === "") return null;
  const space = path
    .slice(0, -1)
    .filter((name) => !name.startsWith("_GLOBAL__N"))
    .map((name) => `${name}::`)
    .join("");
  const start = nested ? end : text.indexOf(base) + base.length;
  const args = text[start] === "I" ? text.slice(start, start + ARGUMENTS) : "";
  return {
    text,
    space,
    base,
    args,
    isCut: isLong || isCut || /(?:\.{3}|…)$/.test(text) || (nested && !text.includes("E", end)),
  };
}

/** The first type among template arguments, which launchers (`device_kernel<…>`, `Kernel2<…>`) are named for; null without. */
export function launchedOf({ text, args, isCut }: Spelling): Spelling | null {
  let rest = args;
  for (let depth = 0; depth < WRAPPERS && rest !== ""; depth += 1) {
    const inner = rest.startsWith("I") ? mangledArgument(rest) : printedArgument(rest);
    if (inner === null) return null;
    if (!/^(?:enable_\w+|\w*[Ww]rapper)$/.test(inner.base)) return { ...inner, text, isCut };
    rest = inner.args;
  }
  return null;
}

const NOT_A_TYPE = /^<\s*(?:(?:\([\w: ]{1,64}\))?-?\d+\w*|true|false)\s*,\s*/;

function printedArgument(args: string): Omit<Spelling, "text" | "isCut"> | null {
  let rest = args;
  for (let skipped = NOT_A_TYPE.exec(rest); skipped !== null; skipped = NOT_A_TYPE.exec(rest)) {
    rest = `<${rest.slice(skipped[0].length)}`;
  }
  const path = /^<\s*([\w:]+(?:\.{3}|…)?)/.exec(rest)?.[1];
  if (path === undefined) return null;
  const behind = rest.slice(rest.indexOf(path) + path.length);
  return { ...pathOf(path.replace(/(?:\.{3}|…)$/, "")), args: behind.startsWith("<") ? behind : "" };
}

function mangledArgument(args: string): Omit<Spelling, "text" | "isCut"> | null {
  // `I`, literals (`Li1E`), then the type: `N…` or one identifier.
  const start = /^I(?:L[a-z]\d+E)*N?/.exec(args)?.[0] ?? "I";
  const { names, end } = identifiersAt(args, start.length);
  // Outside `N…E` the next identifier is the next argument.
  const path = start.endsWith("N") ? names : names.slice(0, 1);
  const base = path.at(-1);
  if (base === undefined) return null;
  return {
    space: path
      .slice(0, -1)
      .map((name) => `${name}::`)
      .join(""),
    base,
    args: names.length === path.length && args[end] === "I" ? args.slice(end) : "",
  };
}

/** `fusedAddRMSNorm` and `fused_add_rms_norm` alike: `_fused_add_rms_norm_`. */
export function wordsOf(base: string): string {
  const split = /[A-Z]/.test(base)
    ? base
        .replaceAll("MoE", "Moe")
        .replace(/([a-z\d])([A-Z])/g, "$1_$2")
        .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
        .toLowerCase()
    : base;
  return `_${split}_`;
}

/** Words inside names of vendors and models: `flash` in FlashInfer, `gemm` in Gemma. */
const VENDORS = /flashinfer|deepgemm|gemma(?=rms|norm|fused|layer|qk)/g;

/** Without separators: `fusedaddrmsnorm`. Names of vendors and models come off. */
export function flatOf(base: string): string {
  const flat = withoutUnderscores(base.toLowerCase());
  return flat.includes("flashinfer") || flat.includes("deepgemm") || flat.includes("gemma")
    ? flat.replace(VENDORS, "")
    : flat;
}

/** `replaceAll` takes longer. */
function withoutUnderscores(text: string): string {
  let next = text.indexOf("_");
  if (next < 0) return text;
  let kept = "";
  let from = 0;
  for (; next >= 0; next = text.indexOf("_", from)) {
    kept += text.slice(from, next);
    from = next + 1;
  }
  return kept + text.slice(from);
}
