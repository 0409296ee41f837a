import { visibleText } from "./visible-text.ts";

/** Template text of a kernel may run to many thousand characters; nobody reads further than this. */
const LONGEST = 4096;

/**
 * A kernel name for a table or a legend: the demangled name without return type, parameter list, namespaces and the
 * casts of template values (`void at::native::f<(int)4, at::Half>(T1*)` becomes `f<4, Half>`). Nothing invisible is
 * left in it. A name in another form is kept as it is.
 */
export function shortKernelName(display: string): string {
  const plain = display
    .slice(0, LONGEST)
    .replace(/^void /, "")
    .replaceAll("(anonymous namespace)::", "")
    .replaceAll("<unnamed>::", "")
    .replace(/\([A-Za-z_][\w: ]{0,80}\)(?=-?\d)/g, "");
  const bare = bareFunction(plain).replace(/(?<![\w])(?:[A-Za-z_]\w{0,200}::)+/g, "");
  return visibleText(bare === "" ? display.slice(0, LONGEST) : bare);
}

/**
 * Cuts off the parameter list (from the first parenthesis outside template brackets) and, where there was a list or a
 * template, the return type (up to the last blank outside them). `operator()` keeps its own parentheses.
 */
function bareFunction(name: string): string {
  let depth = 0;
  let start = 0;
  let decorated = false;
  let end = name.length;
  for (let i = 0; i < name.length; i++) {
    const character = name[i];
    if (character === "<") depth++;
    else if (character === ">") depth--;
    else if (depth === 0 && character === " ") start = i + 1;
    else if (depth === 0 && character === "(" && i > 0 && !name.slice(0, i).endsWith("operator")) {
      decorated = true;
      end = i;
      break;
    }
    if (character === "<") decorated = true;
  }
  return name.slice(decorated && start < end && !name.includes("operator") ? start : 0, end);
}
