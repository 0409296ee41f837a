import { modelKey } from "../../model/model-name.ts";
import type { StageContext } from "./context.ts";

/** What the architecture of a model says about its kernels; null where it is not known. */
export type ModelKind = Pick<StageContext, "isMoe" | "isMla">;

/**
 * Latent attention: model types that vLLM takes for it (`is_deepseek_mla` of its ModelConfig: deepseek_v2, deepseek_v3, kimi_k2).
 * Experts: `n_routed_experts` in the configuration of DeepSeek V3 in Transformers, and names that say so themselves.
 * Models whose architecture was not looked up are left out.
 */
const KINDS: readonly (readonly [is: RegExp, isMoe: boolean, isMla: boolean])[] = [
  // Distilled into Qwen and Llama: dense, without latent attention.
  [/^deepseekr1distill/, false, false],
  [/^deepseekv[23]|^deepseekr1/, true, true],
  [/^kimik2/, true, true],
  // `Qwen3-235B-A22B`: so many parameters of them active.
  [/^qwen.*ba\d+b/, true, false],
  [/^mixtral/, true, false],
];

/** The kind of a model by its name, in any spelling (`DeepSeek V3`, `deepseek-ai/DeepSeek-V3`). Unknown names say nothing. */
export function modelKind(model: string | null): ModelKind {
  const key = model === null ? "" : modelKey(model);
  const known = KINDS.find(([is]) => is.test(key));
  return known === undefined ? {} : { isMoe: known[1], isMla: known[2] };
}
