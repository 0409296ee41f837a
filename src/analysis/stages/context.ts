import { FAMILY_OF_STAGE, type Stage } from "../../model/words.ts";
import type { StageMatch } from "./match.ts";

/** What is known of a launch beside its name. Everything may be left out; null is the same as left out. */
export interface StageContext {
  /** Whether the model routes tokens to experts. */
  readonly isMoe?: boolean | null;
  /** Whether the model has multi-head latent attention (`kv_lora_rank` in its configuration). */
  readonly isMla?: boolean | null;
  /** Texts of the NVTX ranges or annotations around the launch, outermost first. */
  readonly nvtx?: readonly string[];
  /** The framework's operator that launched it (`aten::mm`). */
  readonly op?: string | null;
}

/** From here on a name is not overruled by what stands around it; stages that it excludes are never chosen. */
const FIRM = 0.5;
const MOE: ReadonlySet<Stage> = new Set(["moe_routing", "moe_dispatch", "moe_expert", "moe_combine"]);
const MLA: ReadonlySet<Stage> = new Set(["mla_prefill", "mla_decode"]);

/** What a range says: the stage of a matrix product in it, and of kernels whose name leaves it open. */
interface RangeRule {
  readonly id: string;
  readonly is: RegExp;
  readonly stage: Stage;
  /** Whether a dense matrix product in the range is of that stage too. */
  readonly takesGemm: boolean;
}

/** Module paths of layer-wise annotations (`model.layers.3.mlp.experts`) and words of hand-made ranges. */
const RANGES: readonly RangeRule[] = [
  {
    id: "experts",
    is: /(?:^|[./: ])(?:routed_)?experts?(?:$|[./: \d])|fused_?moe/i,
    stage: "moe_expert",
    takesGemm: true,
  },
  {
    id: "router",
    is: /(?:^|[./: ])(?:moe_)?(?:gate|router|routing)(?:$|[./: ])/i,
    stage: "moe_routing",
    takesGemm: true,
  },
  { id: "sampler", is: /sampl(?:er|ing|e\b)/i, stage: "sampling", takesGemm: false },
  {
    id: "embedding",
    is: /(?:^|[._/: ])(?:embed_tokens|embeddings?|wte)(?:$|[._/: ])/i,
    stage: "embedding",
    takesGemm: false,
  },
  {
    id: "norm",
    is: /(?:^|[._/: ])\w*(?:layer_?norm|rms_?norm|q_norm|k_norm)(?:$|[._/: ])/i,
    stage: "norm",
    takesGemm: false,
  },
  { id: "rotary", is: /rotary|(?:^|[._/: ])rope(?:$|[._/: ])/i, stage: "rope", takesGemm: false },
  { id: "activation", is: /(?:^|[._/: ])act_fn(?:$|[._/: ])/i, stage: "activation", takesGemm: false },
  { id: "all-reduce", is: /all_?reduce|all_?gather|reduce_?scatter/i, stage: "comm", takesGemm: false },
];

const changed = (match: StageMatch, stage: Stage, reason: string, confidence: number): StageMatch => ({
  stage,
  family: FAMILY_OF_STAGE[stage],
  rule: `${match.rule}+${reason}`,
  confidence,
  alternatives: [match.stage, ...match.alternatives.filter((other) => other !== stage)],
});

/** Whether the name leaves room for `stage`. */
const allows = (match: StageMatch, stage: Stage): boolean =>
  match.alternatives.includes(stage) || (match.confidence < FIRM && match.stage !== stage);

/**
 * The second pass: may choose among the alternatives of a name, or name what the name left open; `rule` then says by what
 * (`+nvtx:router`, `+op`, `+moe`, `+no-moe`, `+mla`, `+no-mla`). `byName` gives the stage of an operator's name.
 */
export function refined(match: StageMatch, context: StageContext, byName: (name: string) => StageMatch): StageMatch {
  return byModel(byOperator(byRange(match, context), context, byName), context);
}

function byRange(match: StageMatch, { nvtx = [] }: StageContext): StageMatch {
  // The innermost range that says something.
  for (const text of nvtx.toReversed()) {
    const range = RANGES.find(({ is }) => is.test(text));
    if (range === undefined) continue;
    if (range.stage === match.stage) return match;
    const takes = range.takesGemm && match.stage === "gemm";
    if (!takes && !allows(match, range.stage)) return match;
    return changed(match, range.stage, `nvtx:${range.id}`, Math.max(0.7, Math.min(match.confidence, 0.9)));
  }
  return match;
}

function byOperator(match: StageMatch, { op }: StageContext, byName: (name: string) => StageMatch): StageMatch {
  if (op === undefined || op === null || op === "" || match.rule.includes("+nvtx")) return match;
  const operator = /^aten::(?:mm|addmm|bmm|baddbmm|linear|matmul|mv|_scaled_mm)$/.test(op)
    ? ("gemm" as const)
    : byName(op).stage;
  if (operator === "other" || operator === "elementwise" || operator === match.stage) return match;
  return allows(match, operator) ? changed(match, operator, "op", 0.65) : match;
}

function byModel(match: StageMatch, { isMoe, isMla }: StageContext): StageMatch {
  let result = match;
  if (isMoe === false && MOE.has(result.stage)) {
    const other = result.alternatives.find((stage) => !MOE.has(stage));
    if (other !== undefined) result = changed(result, other, "no-moe", Math.max(0.6, result.confidence));
  }
  if (isMla === false && MLA.has(result.stage)) {
    const other = result.alternatives.find((stage) => !MLA.has(stage));
    if (other !== undefined) result = changed(result, other, "no-mla", Math.max(0.6, result.confidence));
  } else if (isMla === true && (result.stage === "attention_decode" || result.stage === "attention_prefill")) {
    const latent = result.stage === "attention_decode" ? "mla_decode" : "mla_prefill";
    if (result.alternatives.includes(latent)) result = changed(result, latent, "mla", 0.7);
  }
  return result;
}
