import type { ServerWorkload } from "../../model/workload.ts";

/** Mulberry32 (Tommy Ettinger, public domain): 32 bits of state, numbers in [0, 1), the same on every host. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Spreads numbers of requests over the seeds: 2^32 divided by the golden ratio, odd. */
const SPREAD = 0x9e3779b1;

/**
 * Prompts of one request as token ids, all of the same length: exact, without tokenizer or chat template. They depend on
 * the seed and the request's number only, and differ between requests: equal ones would hit the engine's prefix cache
 * and skip prefill.
 */
export function promptsOf(
  seed: number,
  requestNumber: number,
  batch: number,
  { prompt_tokens, vocabulary }: ServerWorkload["load"],
): number[][] {
  const random = mulberry32((seed ^ Math.imul(requestNumber + 1, SPREAD)) >>> 0);
  return Array.from({ length: batch }, () =>
    Array.from({ length: prompt_tokens }, () => Math.floor(random() * vocabulary)),
  );
}

/** Body of one request to /v1/completions. vLLM and SGLang take one list of token ids as well as a list of lists. */
export function requestBody(
  model: string,
  prompts: readonly (readonly number[])[],
  { output_tokens, body }: ServerWorkload["load"],
): Record<string, unknown> {
  return {
    // Before the rest: they may not change what is counted.
    ...body,
    model: body.model ?? model,
    prompt: prompts.length === 1 ? prompts[0] : prompts,
    max_tokens: output_tokens,
    min_tokens: output_tokens,
    ignore_eos: true,
    temperature: body.temperature ?? 0,
    stream: true,
    stream_options: { include_usage: true },
  };
}
