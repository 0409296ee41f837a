import { RE2JS } from "re2js";
import { PHASES } from "../../model/words.ts";

export { PHASES };

/** Phase of a step. `unknown`: the mark does not say, or there is none. */
export type Phase = (typeof PHASES)[number];

/**
 * How an engine marks its steps. `pattern` is RE2 syntax and has to match the whole text of a range. The phase comes
 * from a mode by name, from numbers of requests with prompt tokens and with generation, or is unknown.
 */
export interface StepPattern {
  /** Marks of one engine; of nested marks of two grammars only the inner ones are steps. */
  readonly grammar: string;
  readonly pattern: string;
  /** Group that holds the step's own number, where it has one. */
  readonly number_group?: number;
  readonly mode_group?: number;
  readonly modes?: Readonly<Record<string, Phase>>;
  readonly prompts_group?: number;
  readonly generations_group?: number;
}

/**
 * Forms seen in recorded traces of vLLM (0.11 to 2026, with and without TraceLens' annotations), of SGLang on ROCm and of
 * torch's profiler schedule. SGLang's mode names are those of its ForwardMode; only DECODE was seen [others not verified].
 */
export const DEFAULT_STEP_PATTERNS: readonly StepPattern[] = [
  {
    grammar: "vllm",
    pattern: "execute_(?:\\d+_)?context_(\\d+)\\([^)]*\\)_generation_(\\d+)\\([^)]*\\)",
    prompts_group: 1,
    generations_group: 2,
  },
  {
    grammar: "sglang",
    pattern: "step\\[([A-Z_0-9]+)(?: [^\\]]*)?\\]",
    mode_group: 1,
    modes: {
      EXTEND: "prefill",
      PREFILL: "prefill",
      SPLIT_PREFILL: "prefill",
      DECODE: "decode",
      MIXED: "mixed",
      DRAFT_EXTEND: "draft",
      DRAFT_EXTEND_V2: "draft",
      TARGET_VERIFY: "verify",
    },
  },
  { grammar: "torch", pattern: "ProfilerStep#(\\d+)", number_group: 1 },
];

export interface StepMark {
  readonly grammar: string;
  readonly phase: Phase;
  readonly number: number | null;
}

/** Marks are short; a longer text is none, so that the work on hostile texts stays small. */
const LONGEST_MARK = 512;

/** Text that a pattern begins with, to skip the many texts that are no marks at once. */
function literalPrefix(pattern: string): string {
  const text = /^[A-Za-z0-9_#: -]*/.exec(pattern)?.[0] ?? "";
  // The last character may be repeated or optional by what follows it.
  return /[*+?{|]/.test(pattern.charAt(text.length)) || pattern.includes("|") ? "" : text;
}

const countOf = (text: string | null): number | null => (text === null || text === "" ? null : Number(text));

function phaseOf(pattern: StepPattern, group: (position: number) => string | null): Phase {
  if (pattern.mode_group !== undefined) return pattern.modes?.[group(pattern.mode_group) ?? ""] ?? "unknown";
  if (pattern.prompts_group === undefined || pattern.generations_group === undefined) return "unknown";
  const [prompts, generations] = [countOf(group(pattern.prompts_group)), countOf(group(pattern.generations_group))];
  if (prompts === null || generations === null) return "unknown";
  if (prompts > 0) return generations > 0 ? "mixed" : "prefill";
  return generations > 0 ? "decode" : "unknown";
}

/** Reads a range's text as a step mark; null where it is none. Throws where a pattern is no RE2 expression. */
export function stepReader(patterns: readonly StepPattern[]): (text: string) => StepMark | null {
  const compiled = patterns.map((pattern) => ({
    pattern,
    prefix: literalPrefix(pattern.pattern),
    expression: RE2JS.compile(pattern.pattern),
  }));
  return (text) => {
    if (text.length > LONGEST_MARK) return null;
    for (const { pattern, prefix, expression } of compiled) {
      if (!text.startsWith(prefix)) continue;
      const matcher = expression.matcher(text);
      if (!matcher.matches()) continue;
      const group = (position: number): string | null => matcher.group(position) ?? null;
      const number = pattern.number_group === undefined ? null : countOf(group(pattern.number_group));
      return { grammar: pattern.grammar, phase: phaseOf(pattern, group), number };
    }
    return null;
  };
}
