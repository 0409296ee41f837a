/**
 * The form in which spellings of one model agree: without the organisation before a slash, lower case, letters and
 * digits only. `DeepSeek V3` and `deepseek-ai/DeepSeek-V3` both give `deepseekv3`.
 */
export function modelKey(model: string): string {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/[^\p{L}\p{N}]/gu, "") || model.toLowerCase();
}
