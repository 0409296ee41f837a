import type { IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { HttpFailure, readText } from "./load-http.ts";

/** What an engine said to one request of completions. */
export interface CompletionAnswer {
  /** `usage.completion_tokens`: the sum over all prompts of the request. Null: the answer has no usage. */
  readonly completionTokens: number | null;
  /** By the index of the prompt. */
  readonly finishReasons: ReadonlyMap<number, string>;
  /** An error inside an answer that began well. */
  readonly error: string | null;
  /** False where the stream ended without `[DONE]`. */
  readonly whole: boolean;
}

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const MAX_LINE_CHARS = 16 * 1024 * 1024;

/** Reads an answer to its end: a stream of events, or one JSON object from an engine that does not stream. */
export async function readCompletion(answer: IncomingMessage): Promise<CompletionAnswer> {
  const state = newState();
  if (!(answer.headers["content-type"] ?? "").includes("text/event-stream")) {
    takeJson(state, await readText(answer, MAX_ANSWER_BYTES));
    return { ...state, whole: true };
  }
  let whole = false;
  for await (const line of linesOf(answer)) {
    // Comments begin with a colon and keep the connection alive.
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
    if (data === "[DONE]") whole = true;
    else if (data !== "") takeJson(state, data);
  }
  return { ...state, whole };
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    const parts = decoder.write(chunk).split(/\r?\n/);
    parts[0] = rest + (parts[0] ?? "");
    rest = parts.pop() ?? "";
    if (bytes > MAX_ANSWER_BYTES || rest.length > MAX_LINE_CHARS)
      throw new HttpFailure("answer_too_large", `the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    yield* parts;
  }
  if (rest !== "") yield rest;
}

interface State {
  completionTokens: number | null;
  readonly finishReasons: Map<number, string>;
  error: string | null;
}

const newState = (): State => ({ completionTokens: null, finishReasons: new Map(), error: null });

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function takeJson(state: State, text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    state.error ??= `not JSON: ${text.slice(0, 200)}`;
    return;
  }
  if (!isObject(value)) return;
  if (value.error !== undefined && value.error !== null) state.error ??= JSON.stringify(value.error).slice(0, 500);
  if (isObject(value.usage) && typeof value.usage.completion_tokens === "number")
    state.completionTokens = value.usage.completion_tokens;
  for (const choice of Array.isArray(value.choices) ? value.choices : []) {
    if (isObject(choice) && typeof choice.finish_reason === "string")
      state.finishReasons.set(typeof choice.index === "number" ? choice.index : 0, choice.finish_reason);
  }
}
