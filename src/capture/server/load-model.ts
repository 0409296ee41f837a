import { err, ok, type Result } from "../../base/result.ts";
import { getPage, type HttpClient, HttpFailure } from "./load-http.ts";

/** The model that an engine serves. */
export interface ServedModel {
  /** Name that requests have to give. */
  readonly id: string;
  /** Prompt and output together; null: not told. */
  readonly maxModelLen: number | null;
}

/** Asks /v1/models. The error says what came instead. @throws the signal's reason */
export async function askModel(
  client: HttpClient,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Result<ServedModel, string>> {
  let text: string;
  try {
    const page = await getPage(client, "/v1/models", timeoutMs, signal);
    if (page.status !== 200) return err(`GET /v1/models answered ${page.status}`);
    text = page.text;
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    return err(`GET /v1/models: ${error.message}`);
  }
  const first = firstModel(text);
  return first === null ? err(`GET /v1/models lists no model: ${text.slice(0, 200)}`) : ok(first);
}

function firstModel(text: string): ServedModel | null {
  try {
    const { data } = JSON.parse(text) as { data?: { id?: unknown; max_model_len?: unknown }[] };
    const model = data?.[0];
    if (typeof model?.id !== "string") return null;
    return { id: model.id, maxModelLen: typeof model.max_model_len === "number" ? model.max_model_len : null };
  } catch {
    return null;
  }
}
