import { RE2JS } from "re2js";
import { err, ok, type Result } from "../base/result.ts";
import { baseName } from "../model/kernel-name.ts";
import type { KernelNames } from "../model/launch.ts";
import { FULL_PIPELINE } from "../model/words.ts";
import { nameKey, normalizeName } from "./names.ts";

/** True for the target that asks for the whole pipeline, whatever its case and dash. */
export const isFullPipeline = (target: string): boolean =>
  target
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, " ") === FULL_PIPELINE;

const EMPTY = "the target is empty";

type Match = (names: KernelNames) => boolean;

const known = (names: KernelNames): string[] =>
  [names.display, names.demangled, names.function, names.mangled].filter(
    (name) => name !== null && name !== "",
  ) as string[];

/** No kernel's name begins with a slash. */
function byPattern(target: string): Result<Match, string> | null {
  if (!target.startsWith("/")) return null;
  const parts = /^\/(.+)\/(i?)$/s.exec(target);
  if (parts === null) return err("a target that begins with / is a pattern: /…/ or /…/i");
  const [, pattern = "", flags = ""] = parts;
  try {
    const compiled = RE2JS.compile(pattern, flags === "i" ? RE2JS.CASE_INSENSITIVE : 0);
    return ok((names) => known(names).some((name) => compiled.matcher(name).find()));
  } catch (error) {
    return err(error instanceof Error ? error.message : String(error));
  }
}

/**
 * A test for the kernels that a target means: a function name (base name), a mangled or demangled name in any spelling,
 * with or without parameters, or `/pattern/` (`/pattern/i` without case), which may match anywhere in any of the names
 * and runs in linear time. The error says what is wrong with a pattern.
 */
export function targetMatcher(target: string): Result<Match, string> {
  const pattern = byPattern(target);
  if (pattern !== null) return pattern;
  const wanted = target.trim();
  if (wanted === "") return err(EMPTY);
  const spelled = normalizeName(wanted);
  return ok(
    (names) =>
      known(names).includes(wanted) ||
      nameKey(names).key === spelled ||
      (names.function ?? baseName(names.display)) === wanted ||
      (names.demangled !== null && names.demangled !== "" && normalizeName(names.demangled) === spelled),
  );
}

/** Why a target cannot be used, or null. Only patterns and emptiness can be wrong; names are not prepared for matching. */
export function targetProblem(target: string): string | null {
  const pattern = byPattern(target);
  if (pattern !== null) return pattern.ok ? null : pattern.error;
  return target.trim() === "" ? EMPTY : null;
}

/** Why there is no result. */
export interface AnalysisFailure {
  readonly code: "no_matching_kernel" | "no_kernels_profiled" | "invalid_target";
  readonly message: string;
  readonly hint: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}
