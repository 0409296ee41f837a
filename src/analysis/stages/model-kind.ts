import { modelKey } from "../../model/model-name.ts";
import type { StageContext } from "./context.ts";

/** What the architecture of a model says about its kernels; null where it is not known. */
export type ModelKind = Pick<StageContext, "isMoe" | "isMla">;

/** By `config.json` on the model's public page: experts (`n_routed_experts`, `num_local_experts`, `num_experts`), latent attention (`kv_lora_rank`). */
const KINDS: readonly (readonly [is: RegExp, isMoe: boolean, isMla: boolean])[] = [
  // Distilled into other architectures: dense ones.
  [/^deepseekr1distill/, false, false],
  [/^deepseek(?:coder)?v2|^deepseekv3|^deepseekr1|^deepseekproverv2671b/, true, true],
  [/^deepseekmoe/, true, false],
  [/^deepseek(?:llm|coder|math)/, false, false],
  [/^kimik2|^kimilinear|^kimivl|^moonlight/, true, true],
  [/^glm5/, true, true],
  [/^longcatflash/, true, true],
  [/^minicpm3/, false, true],
  // `Qwen3-235B-A22B`: so many parameters of them active.
  [/^qwen.*ba\d+b|^qwen15moe/, true, false],
  [/^qwen3coder480b|^qwen3next/, true, false],
  [/^qwen2(?:5)?(?:instruct|coder|math|vl)?\d+b/, false, false],
  [/^qwen3(?:06|17|4|8|14|32)b/, false, false],
  [/^mixtral|^gptoss|^dbrx|^grok|^olmoe|^phi35moe|^minimaxm[12]/, true, false],
  [/^(?:meta)?llama4/, true, false],
  [/^glm4[56]/, true, false],
  [/^(?:meta)?llama[23]/, false, false],
  [/^mistral(?:7b|nemo)|^gemma|^opt\d|^gpt2/, false, false],
];

/** The kind of a model by its name, in any spelling (`DeepSeek V3`, `deepseek-ai/DeepSeek-V3`). Unknown names say nothing. */
export function modelKind(model: string | null): ModelKind {
  const key = model === null ? "" : modelKey(model);
  const known = KINDS.find(([is]) => is.test(key));
  return known === undefined ? {} : { isMoe: known[1], isMla: known[2] };
}
