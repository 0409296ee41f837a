import { expect, it } from "vitest";
import { modelKind } from "../../../src/analysis/stages/model-kind.ts";

it.each([
  ["DeepSeek V3", true, true],
  ["deepseek-ai/DeepSeek-V3.1", true, true],
  ["deepseek-ai/DeepSeek-R1-0528", true, true],
  ["deepseek-ai/DeepSeek-V2-Lite", true, true],
  ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", false, false],
  ["moonshotai/Kimi-K2-Instruct", true, true],
  ["kimi k2", true, true],
  ["Qwen/Qwen3-235B-A22B", true, false],
  ["Qwen/Qwen3-30B-A3B-Instruct-2507", true, false],
  ["mistralai/Mixtral-8x7B-v0.1", true, false],
])("%s: experts %s, latent attention %s", (model, isMoe, isMla) => {
  expect(modelKind(model)).toEqual({ isMoe, isMla });
});

it("unknown models say nothing", () => {
  for (const model of [null, "", "in-house-7b", "Qwen/Qwen3-8B", "deepseek", "meta-llama/Llama-3.1-8B"])
    expect(modelKind(model)).toEqual({});
});
