import type { KernelNames } from "../model/launch.ts";

/** What tells one kernel from another. `printed`: a CSV page dropped namespaces, so two kernels may share the key. */
export interface NameKey {
  readonly key: string;
  readonly kind: "demangled" | "mangled" | "printed";
}

/** Position of the parenthesis that opens the one closed at `end`; -1 where none does. */
function openingParenthesis(text: string, end: number): number {
  let depth = 0;
  for (let position = end; position >= 0; position -= 1) {
    if (text[position] === ")") depth += 1;
    else if (text[position] === "(") depth -= 1;
    if (depth === 0) return position;
  }
  return -1;
}

/** The name without its parameter list: the last parentheses, unless they are part of the name. */
function withoutParameters(name: string): string {
  const clone = name.endsWith("]") ? name.lastIndexOf(" [clone ") : -1;
  let text = (clone < 0 ? name : name.slice(0, clone)).replace(/ const$/, "");
  if (!text.endsWith(")")) return text;
  const open = openingParenthesis(text, text.length - 1);
  // `(anonymous namespace)` alone, or nothing before the parentheses, is no parameter list.
  if (open <= 0 || text.endsWith("(anonymous namespace)")) return text;
  text = text.slice(0, open).trimEnd();
  return text.endsWith("operator") ? `${text}()` : text;
}

/**
 * One spelling for what tools spell differently: `<unnamed>` and `(anonymous namespace)`, `(int)8` and `8`, `(bool)1`
 * and `true`, `8u` and `8`, blanks around brackets, `const float` and `float const`. Linear in the length of the name.
 */
export function normalizeName(name: string): string {
  return withoutParameters(
    name.replaceAll("<unnamed>", "(anonymous namespace)").replaceAll("{anonymous}", "(anonymous namespace)").trim(),
  )
    .replace(/\(bool\)([01])(?![A-Za-z0-9_])/g, (_, digit: string) => (digit === "1" ? "true" : "false"))
    .replace(/\([A-Za-z_][A-Za-z0-9_: ]{0,63}\)(?=-?\d)/g, "")
    .replace(/([<, (-]\d{1,20})(?:ull|ul|u|ll|l)(?![A-Za-z0-9_])/gi, "$1")
    .replace(/\bconst ([A-Za-z_][A-Za-z0-9_:]{0,127})(?=[ ]?[*&,>])/g, "$1 const")
    .replace(/ {2,}/g, " ")
    .replace(/ ?([<>,*&]) ?/g, "$1");
}

/**
 * The key of a launch's kernel: the demangled name in one spelling and without parameter list. Kernels with unmangled
 * symbols (Triton, nvjet) are known by that symbol alone. A simplified name of a CSV page is its own kind of key.
 */
export function nameKey(names: KernelNames): NameKey {
  if (names.simplified) return { key: normalizeName(names.display), kind: "printed" };
  if (names.demangled !== null && names.demangled !== "")
    return { key: normalizeName(names.demangled), kind: "demangled" };
  if (names.mangled !== null && names.mangled !== "") return { key: names.mangled, kind: "mangled" };
  return { key: normalizeName(names.display), kind: "printed" };
}
