import { err, ok, type Result } from "../../base/result.ts";
import { COLLECTIVE_WORDS, DEEP_EP_NAMES, isCollective } from "../../model/collective.ts";
import { baseName } from "../../model/kernel-name.ts";
import type { Failure } from "../../model/profile.ts";
import { FULL_PIPELINE } from "../../model/words.ts";

export { isCollective } from "../../model/collective.ts";

/** Which kernels ncu is to look at. */
export interface KernelFilter {
  /** Options of ncu. */
  readonly argv: readonly string[];
  /** What ncu compares with (`--kernel-name-base`). */
  readonly base: "function" | "mangled";
  /** The name that must be equal; null for a pattern. */
  readonly exact: string | null;
  /** The pattern as ncu gets it (ECMAScript syntax, found anywhere); null for a name. */
  readonly pattern: string | null;
  /** False: ncu matches more than the target means (a whole name is given to it as function name); the analysis takes the rest away. */
  readonly complete: boolean;
}

/** For ncu: everything but collectives. Negative look-ahead works in ncu 2025.3.1 (measured). */
const NO_COLLECTIVES = `^(?!.*(?:${bothCases(COLLECTIVE_WORDS)}))(?!(?:${DEEP_EP_NAMES})$)`;

const LONGEST = 4096;

/** All kernels that may be replayed. */
export const PIPELINE_FILTER: KernelFilter = {
  argv: ["--kernel-name-base", "function", "-k", `regex:${NO_COLLECTIVES}.*`],
  base: "function",
  exact: null,
  pattern: `${NO_COLLECTIVES}.*`,
  complete: true,
};

export const isFullPipeline = (target: string): boolean =>
  target
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, " ") === FULL_PIPELINE;

/**
 * The filter for a target: a function name, a mangled name, a demangled name, `/pattern/` (with `i` for any case) or
 * `full pipeline`. ncu prints and compares demangled names in a shortened form (`--rename-kernels`), and its ordinals count
 * the launches of a function name, so mangled and demangled names are given to it by their function name. Refused: collectives (`replay_impossible`), and what cannot be given to ncu.
 */
export function kernelFilter(target: string): Result<KernelFilter, Failure> {
  const text = target.trim();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is refused
  if (text === "" || text.length > LONGEST || /[\u0000-\u001f\u007f]/.test(text)) {
    return refused(target, `a kernel name of 1 to ${LONGEST} characters without control characters`);
  }
  if (isFullPipeline(text)) return ok(PIPELINE_FILTER);
  if (text.startsWith("/")) return byPattern(text);
  if (isCollective(text)) return err(collective(text));
  const name = baseName(text);
  // A mangled name in no known form.
  if (name.startsWith("_Z")) return ok(byName(name, "mangled", true));
  if (name.startsWith("-") || /^(?:regex|exclude):/.test(name))
    return refused(text, "a name that does not begin with - or regex:");
  return ok(byName(name, "function", name === text));
}

const byName = (name: string, base: KernelFilter["base"], complete: boolean): KernelFilter => ({
  argv: ["--kernel-name-base", base, "-k", name],
  base,
  exact: name,
  pattern: null,
  complete,
});

function byPattern(text: string): Result<KernelFilter, Failure> {
  const parts = /^\/(.+)\/(i?)$/.exec(text);
  if (parts === null) return refused(text, "/pattern/ or /pattern/i");
  const [, pattern = "", flags = ""] = parts;
  // RE2 syntax of targets that ncu's engine does not have, or reads as something else.
  if (/\(\?(?!:)|\\[AzQEpPCabB]|\[\[:/.test(pattern.replaceAll("\\\\", ""))) {
    return refused(
      text,
      "a pattern without inline flags, named groups, \\A, \\z, \\Q, \\p, \\b and [[:classes:]] where it goes to Nsight Compute",
    );
  }
  try {
    new RegExp(pattern);
  } catch (error) {
    return refused(text, `a regular expression (${error instanceof Error ? error.message : String(error)})`);
  }
  const whole = `${NO_COLLECTIVES}.*(?:${flags === "i" ? bothCases(pattern) : pattern})`;
  return ok({
    argv: ["--kernel-name-base", "function", "-k", `regex:${whole}`],
    base: "function",
    exact: null,
    pattern: whole,
    complete: true,
  });
}

/** The same pattern for letters of either case: ncu's patterns have no flag for that. */
function bothCases(pattern: string): string {
  let out = "";
  let inClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string;
    if (character === "\\") {
      out += character + (pattern[++at] ?? "");
      continue;
    }
    if (character === "[") inClass = true;
    else if (character === "]") inClass = false;
    const range = inClass ? /^([a-z])-([a-z])|^([A-Z])-([A-Z])/.exec(pattern.slice(at, at + 3)) : null;
    if (range !== null) {
      out += `${range[0].toLowerCase()}${range[0].toUpperCase()}`;
      at += 2;
    } else if (/[a-zA-Z]/.test(character)) {
      const both = character.toLowerCase() + character.toUpperCase();
      out += inClass ? both : `[${both}]`;
    } else out += character;
  }
  return out;
}

function refused(target: string, expected: string): Result<never, Failure> {
  return err({
    code: "ncu_usage",
    message: `The target cannot be given to Nsight Compute: expected ${expected}, found ${JSON.stringify(target.slice(0, 200))}.`,
    hint: "Give the function name of the kernel, as `ncu` prints it under Available Kernels.",
    retryable: false,
    evidence: { target: target.slice(0, 200) },
  });
}

const collective = (target: string): Failure => ({
  code: "replay_impossible",
  message: `${target.slice(0, 200)} waits for other GPUs inside the kernel. Counters take several passes, and a second pass, or a peer whose launch the profiler holds back, would wait for ever.`,
  hint: "Its time, and how much of that is waiting, come from a timeline: profile the full pipeline, or give a timeline of nsys or torch.",
  retryable: false,
  evidence: { target: target.slice(0, 200) },
});
