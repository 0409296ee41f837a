import type { KernelNames } from "../../model/launch.ts";
import { FAMILY_OF_STAGE } from "../../model/words.ts";
import { refined, type StageContext } from "./context.ts";
import type { StageMatch } from "./match.ts";
import { type Rule, Subject } from "./rule.ts";
import { ATEN_FUNCTIONS, ATEN_FUNCTOR_CHARACTERS, ATEN_FUNCTORS, ATEN_SHELL } from "./rules/aten.ts";
import { ENTRY_POINTS, LAUNCHERS } from "./rules/entry-points.ts";
import { INDUCTOR } from "./rules/inductor.ts";
import { NAMESPACES, NAMESPACES_LAST } from "./rules/namespaces.ts";
import { PREFIXES } from "./rules/prefixes.ts";
import { LAUNCHED_STRUCTURES, STRUCTURES } from "./rules/structures.ts";
import { FALL_BACKS, WORDS } from "./rules/words.ts";
import { launchedOf, type Spelling, spellingOf } from "./spelling.ts";
import { Table } from "./table.ts";

export type { StageContext } from "./context.ts";
export type { StageMatch } from "./match.ts";

const NAMESPACE_TABLE = new Table(NAMESPACES);
const STRUCTURE_TABLE = new Table(STRUCTURES);
const LAUNCHED_TABLE = new Table([...STRUCTURES, ...LAUNCHED_STRUCTURES]);
const NAME_TABLE = new Table([ATEN_SHELL, ...PREFIXES, ...WORDS]);
const LAST_SPACE_TABLE = new Table(NAMESPACES_LAST);
const FALL_BACK_TABLE = new Table(FALL_BACKS);
const WORD_TABLE = new Table(WORDS);
const INDUCTOR_TABLE = new Table(INDUCTOR);
const ATEN_TABLE = new Table(ATEN_FUNCTIONS);
const FUNCTOR_TABLE = new Table(ATEN_FUNCTORS);

/** Of a cut name: the rest could add to it, or (`deniable`) deny it. */
const CUT = { factor: 0.9, deniable: 0.6 };
/** Of words that stand in a namespace instead of the function's name. */
const SPACE_FACTOR = 0.6;
const UNKNOWN_CONFIDENCE = 0.1;

/**
 * The stage of a kernel by its name, refined by what else is known of the launch. Of several spellings the longest
 * decides; where it says nothing the others are asked. Any text has an answer: an unknown name is `other`, confidence 0.1.
 */
export function stageOf(names: KernelNames | string, context?: StageContext): StageMatch {
  const match = typeof names === "string" ? byName(names) : byNames(names);
  return context === undefined ? match : refined(match, context, byName);
}

function byNames({ demangled, mangled, display, function: base }: KernelNames): StageMatch {
  let best: StageMatch | null = null;
  const spellings = new Set([demangled ?? "", display, mangled ?? "", base ?? ""]);
  for (const name of [...spellings].sort((a, b) => b.length - a.length)) {
    const match = byName(name);
    if (match.confidence >= 0.5) return match;
    if (best === null || match.confidence > best.confidence) best = match;
  }
  return best ?? byName("");
}

const rounded = (confidence: number): number => Math.round(confidence * 1000) / 1000;

const matched = (rule: Rule, isCut: boolean): StageMatch => ({
  stage: rule.stage,
  family: FAMILY_OF_STAGE[rule.stage],
  rule: rule.id,
  confidence: isCut ? rounded(rule.sure * (rule.deniable ? CUT.deniable : CUT.factor)) : rule.sure,
  alternatives: rule.also ?? [],
});

const unknown = (rule: string): StageMatch => ({
  stage: "other",
  family: "other",
  rule,
  confidence: UNKNOWN_CONFIDENCE,
  alternatives: [],
});

function byName(name: string): StageMatch {
  const spelling = spellingOf(name);
  const { base, args, isCut } = spelling;
  if (args !== "" && LAUNCHERS.has(base)) return byLaunched(spelling);
  return entryPoint(spelling) ?? byRules(spelling) ?? bySpace(spelling) ?? unknown(isCut ? "unknown.cut" : "unknown");
}

/** Listed base names. With a namespace or arguments around it the name may be another's, so structure is asked first. */
function entryPoint(spelling: Spelling): StageMatch | null {
  const listed = ENTRY_POINTS.get(spelling.base);
  if (listed === undefined) return null;
  const [stage, sure, ...alternatives] = listed;
  const within = spelling.space === "" ? null : NAMESPACE_TABLE.find(new Subject(spelling));
  if (within !== null) return matched(within, spelling.isCut);
  return {
    stage,
    family: FAMILY_OF_STAGE[stage],
    rule: `base.${spelling.base}`,
    confidence: spelling.isCut ? rounded(sure * CUT.factor) : sure,
    alternatives,
  };
}

/** `cutlass::device_kernel<…>` and its like: structure of the arguments, then the type that is launched. */
function byLaunched(spelling: Spelling): StageMatch {
  const structure = LAUNCHED_TABLE.find(new Subject(spelling));
  if (structure !== null) return matched(structure, spelling.isCut);
  const launched = launchedOf(spelling);
  const inner = launched === null ? null : (entryPoint(launched) ?? byRules(launched));
  const own = bySpace(spelling) ?? (ENTRY_POINTS.has(spelling.base) ? entryPoint(spelling) : null);
  if (inner === null || (own !== null && own.confidence > inner.confidence)) return own ?? unknown("unknown.launched");
  // Whether a CUTLASS GEMM is grouped stands among the arguments of the type: what a cut name does not show may be there.
  const isBare = spelling.isCut && inner.stage === "gemm" && (launched?.args.length ?? 0) < 24;
  return isBare
    ? {
        ...inner,
        confidence: rounded(inner.confidence * CUT.deniable),
        alternatives: [...inner.alternatives, "moe_expert"],
      }
    : inner;
}

/** The inner namespaces read as the function: `moe::gemm2::kernel`. */
function bySpace(spelling: Spelling): StageMatch | null {
  const inner = spelling.space.split("::").slice(0, -1).slice(-2).join("_");
  if (inner === "") return null;
  const rule = NAME_TABLE.find(new Subject({ ...spelling, base: inner, space: "", args: "" }));
  if (rule === null || rule === ATEN_SHELL) return null;
  const { confidence, ...match } = matched(rule, spelling.isCut);
  return { ...match, rule: `space:${match.rule}`, confidence: rounded(confidence * SPACE_FACTOR) };
}

function byRules(spelling: Spelling): StageMatch | null {
  const subject = new Subject(spelling);
  const { base, space, args, isCut } = spelling;
  if (base.startsWith("triton_")) {
    const inductor = INDUCTOR_TABLE.find(subject);
    if (inductor !== null) return matched(inductor, isCut);
  }
  if (space.startsWith("at::") || space.startsWith("c10::")) return byAten(subject);
  const rule =
    (space === "" ? null : NAMESPACE_TABLE.find(subject)) ??
    (args === "" ? null : STRUCTURE_TABLE.find(subject)) ??
    NAME_TABLE.find(subject) ??
    (space === "" ? null : LAST_SPACE_TABLE.find(subject)) ??
    FALL_BACK_TABLE.find(subject);
  if (rule === ATEN_SHELL) return byAten(subject);
  return rule === null ? null : matched(rule, isCut);
}

function byAten(subject: Subject): StageMatch {
  const { spelling } = subject;
  const { args, base, isCut } = spelling;
  const named = ATEN_TABLE.find(subject);
  if (named !== null) return matched(named, isCut);
  const isShell = ATEN_SHELL.is.test(base);
  if (!isShell) {
    const word = WORD_TABLE.find(subject);
    if (word !== null) return matched(word, isCut);
  }
  if (args === "") return matched(ATEN_SHELL, isCut);
  const head = new Subject({ ...spelling, args: args.slice(0, ATEN_FUNCTOR_CHARACTERS) });
  return matched(FUNCTOR_TABLE.find(head) ?? ATEN_POINTWISE, isCut);
}

/** A functor of arithmetic. */
const ATEN_POINTWISE: Rule = {
  id: "aten.pointwise",
  stage: "elementwise",
  on: "args",
  is: /^/,
  sure: 0.7,
  deniable: true,
};
