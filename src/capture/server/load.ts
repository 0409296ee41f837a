import type { ServerWorkload } from "../../model/workload.ts";
import { type CompletionAnswer, readCompletion } from "./load-answer.ts";
import { type HttpClient, HttpFailure, openHttp, readText } from "./load-http.ts";
import { askModel, type ServedModel } from "./load-model.ts";
import { promptsOf, requestBody } from "./load-prompts.ts";

export interface LoadOptions {
  /** `http://127.0.0.1:8000` */
  readonly baseUrl: string;
  readonly workload: ServerWorkload;
  /** Prompts in each request. */
  readonly batch: number;
  /** Requests at a time; the next begins when one is answered. */
  readonly inFlight: number;
  /** The same seed sends the same prompts: give each load of one engine a seed of its own, or prefill is skipped. */
  readonly seed: number;
  /** Requests to send; null: until aborted. */
  readonly requests: number | null;
  /** Ends the load and closes its connections: engines abort a request whose client has gone. */
  readonly signal: AbortSignal;
  /** Fires before the engine is ended: a request that fails from then on was interrupted, and none follows it. */
  readonly ending?: AbortSignal;
  /** Where it was asked for before. */
  readonly model?: ServedModel;
  /** Told of each completed request: how many by now, and how long this one took. */
  onCompleted?(completed: number, tookMs: number): void;
}

export interface LoadResult {
  readonly completed: number;
  readonly failed: number;
  /** Failed requests by kind: `http_503`, `timeout`, `connection_refused`, `stream_error`, … */
  readonly errors: Readonly<Record<string, number>>;
  /** Requests that were in flight when the load was aborted. */
  readonly interrupted: number;
  /** Prompts of the completed requests. */
  readonly prompts: number;
  /** As the engine counted them; null: it did not say for each request. */
  readonly completionTokens: number | null;
  /** What was not as it should be, in words, each with its first example. */
  readonly problems: readonly string[];
}

/** A larger body is refused before it is built: about 28 MB of JSON. */
const MAX_TOKENS_PER_REQUEST = 4_000_000;
/** An engine that refuses everything is not asked for ever. */
const MAX_FAILURES_IN_A_ROW = 10;
const MODEL_TIMEOUT_MS = 30_000;
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Sends completions to an engine in a closed loop. No request is sent twice: a repeated one would add launches that
 * nobody asked for to the window. Never throws; what went wrong is in the result.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { workload, batch, inFlight, seed, signal } = options;
  const { load } = workload;
  const counts = openCounts(batch, load.output_tokens);
  const client = openHttp(options.baseUrl);
  try {
    const model = options.model ?? (await learnModel(client, counts, signal));
    if (model === null || !fits(model, batch, load, counts)) return counts.result();

    let next = 0;
    const loop = async (): Promise<void> => {
      while (!signal.aborted && (options.requests === null || next < options.requests) && !counts.isHopeless()) {
        const body = requestBody(model.id, promptsOf(seed, next++, batch, load), load);
        const began = performance.now();
        if (await sendOne(client, load, body, counts, options))
          options.onCompleted?.(counts.completed(), performance.now() - began);
        else if (options.ending?.aborted) return;
      }
    };
    await Promise.all(Array.from({ length: inFlight }, loop));
    return counts.result();
  } finally {
    client.close();
  }
}

async function learnModel(client: HttpClient, counts: Counts, signal: AbortSignal): Promise<ServedModel | null> {
  const model = await askModel(client, MODEL_TIMEOUT_MS, signal).catch(() => null);
  if (model === null) return null;
  if (model.ok) return model.value;
  counts.problem(model.error);
  return null;
}

function fits(model: ServedModel, batch: number, load: ServerWorkload["load"], counts: Counts): boolean {
  const { prompt_tokens, output_tokens } = load;
  if (model.maxModelLen !== null && prompt_tokens + output_tokens > model.maxModelLen) {
    counts.problem(
      `prompt_tokens ${prompt_tokens} and output_tokens ${output_tokens} are more than the model takes (max_model_len ${model.maxModelLen})`,
    );
    return false;
  }
  if (batch * prompt_tokens > MAX_TOKENS_PER_REQUEST) {
    counts.problem(
      `${batch} prompts of ${prompt_tokens} tokens are more than one request carries (${MAX_TOKENS_PER_REQUEST} tokens)`,
    );
    return false;
  }
  return true;
}

/** True where the request was completed. */
async function sendOne(
  client: HttpClient,
  load: ServerWorkload["load"],
  body: Record<string, unknown>,
  counts: Counts,
  { signal, ending }: Pick<LoadOptions, "signal" | "ending">,
): Promise<boolean> {
  const request = { method: "POST", path: load.path, body, timeoutMs: load.timeout_s * 1000, signal } as const;
  try {
    return await client.send(request, async (answer) => {
      if (answer.statusCode !== 200) {
        counts.failed(`http_${answer.statusCode}`, await readText(answer, MAX_ERROR_BYTES));
        return false;
      }
      return counts.answered(await readCompletion(answer));
    });
  } catch (error) {
    if (signal.aborted || ending?.aborted) counts.interrupted();
    else if (error instanceof HttpFailure) counts.failed(error.kind, error.message);
    else counts.failed("client_error", error instanceof Error ? error.message : String(error));
    return false;
  }
}

interface Counts {
  answered(answer: CompletionAnswer): boolean;
  failed(kind: string, message: string): void;
  interrupted(): void;
  problem(text: string): void;
  completed(): number;
  isHopeless(): boolean;
  result(): LoadResult;
}

function openCounts(batch: number, outputTokens: number): Counts {
  const errors = new Map<string, number>();
  const examples = new Map<string, string>();
  const odd = new Map<string, number>();
  let completed = 0;
  let failed = 0;
  let inARow = 0;
  let interrupted = 0;
  let tokens: number | null = 0;

  const fail = (kind: string, message: string): void => {
    failed++;
    inARow++;
    errors.set(kind, (errors.get(kind) ?? 0) + 1);
    if (!examples.has(kind)) examples.set(kind, message.replaceAll(/\s+/g, " ").trim().slice(0, 300));
  };
  const problem = (text: string): void => {
    odd.set(text, (odd.get(text) ?? 0) + 1);
  };

  return {
    failed: fail,
    problem,
    interrupted: () => interrupted++,
    completed: () => completed,
    isHopeless: () => inARow >= MAX_FAILURES_IN_A_ROW,
    answered({ completionTokens, finishReasons, error, whole }) {
      if (error !== null) {
        fail("stream_error", error);
        return false;
      }
      if (!whole) {
        fail("stream_incomplete", "the stream ended without [DONE]");
        return false;
      }
      completed++;
      inARow = 0;
      const expected = batch * outputTokens;
      if (completionTokens === null) problem("the answer has no usage.completion_tokens");
      else if (completionTokens !== expected)
        problem(`usage.completion_tokens is ${completionTokens}, expected ${expected}`);
      tokens = tokens === null || completionTokens === null ? null : tokens + completionTokens;
      const reasons = [...finishReasons.values()];
      const other = reasons.find((reason) => reason !== "length");
      if (other !== undefined) problem(`finish_reason is ${other}, expected length`);
      if (reasons.length !== batch) problem(`${reasons.length} of ${batch} prompts have a finish_reason`);
      return true;
    },
    result: () => ({
      completed,
      failed,
      errors: Object.fromEntries([...errors].sort(([a], [b]) => (a < b ? -1 : 1))),
      interrupted,
      prompts: completed * batch,
      completionTokens: completed === 0 ? null : tokens,
      problems: [
        ...[...errors].map(([kind, count]) => `${count} failed with ${kind}: ${examples.get(kind)}`),
        ...[...odd].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`)),
        ...(inARow >= MAX_FAILURES_IN_A_ROW ? [`given up after ${inARow} failures in a row`] : []),
      ],
    }),
  };
}
