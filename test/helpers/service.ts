import { readConfig } from "../../src/config.ts";
import { type RunningService, startService } from "../../src/main.ts";
import { FINAL_STATES, type Profile, type UploadedReport } from "../../src/model/profile.ts";
import { expectDocumented } from "./openapi.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are checked against the document, and tests look into any part
type Loose = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON, text or bytes otherwise, null where there is none. */
  readonly body: Loose;
}

interface Sent {
  readonly json?: unknown;
  readonly body?: Uint8Array | string | ReadableStream<Uint8Array>;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export type Client = (method: string, path: string, sent?: Sent) => Promise<Answer>;

/** Calls a service; every answer is checked against the committed OpenAPI document. */
export function clientOf(url: string, always: Record<string, string> = {}): Client {
  return async (method, path, { json, body, headers = {}, signal } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...always, ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(json === undefined ? (body === undefined ? {} : { body, duplex: "half" }) : { body: JSON.stringify(json) }),
      ...(signal ? { signal } : {}),
    } as RequestInit);
    const answer = { status: response.status, headers: response.headers, body: await bodyOf(response) };
    expectDocumented(method, path, { ...answer, body: answer.body instanceof Uint8Array ? "" : answer.body });
    return answer;
  };
}

async function bodyOf(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length === 0) return null;
  if (type.includes("octet-stream")) return bytes;
  const text = new TextDecoder().decode(bytes);
  return type.includes("json") ? JSON.parse(text) : text;
}

export interface TestService extends RunningService {
  readonly call: Client;
}

/** Starts a service in this process on a free port. Settings are those of the environment variables. */
export async function startTestService(settings: Record<string, string>): Promise<TestService> {
  const service = await startService(
    readConfig({ PORT: "0", LOG_LEVEL: "silent", RECONCILE_INTERVAL_S: "1", ...settings }),
  );
  return { ...service, call: clientOf(service.url) };
}

export async function upload(call: Client, bytes: Uint8Array): Promise<UploadedReport> {
  const { status, body } = await call("POST", "/reports", { body: bytes });
  if (status !== 201 && status !== 200) throw new Error(`upload: ${status} ${JSON.stringify(body)}`);
  return body;
}

export async function submit(call: Client, reportId: string, more: object = {}): Promise<Profile> {
  const { status, body } = await call("POST", "/profiles", {
    json: { target: "full pipeline", source: { kind: "report", report_ids: [reportId] }, ...more },
  });
  if (status !== 202) throw new Error(`submit: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Long-polls until the profile is in a final state. */
export async function untilFinal(call: Client, id: string): Promise<Profile> {
  for (;;) {
    const { body } = await call("GET", `/profiles/${id}?wait=30`);
    if (FINAL_STATES.has(body.state)) return body;
  }
}
