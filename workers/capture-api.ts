import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type CaptureEvent, type CaptureOrder, captureOrderSchema, type Outcome } from "../src/model/capture.ts";
import { problemSchema } from "../src/model/problem.ts";
import type { WorkerRegistration } from "../src/model/worker.ts";

/** The profile has ended, or another attempt has taken over: whoever works on it stops. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
}

/** The API refused a call; trying the same again cannot help. */
export class ApiRefusedError extends Error {
  override readonly name = "ApiRefusedError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Attempt {
  readonly profileId: string;
  readonly attempt: number;
}

/** The worker's side of the API. Every call throws SupersededError, ApiRefusedError, or what the network says. */
export interface CaptureApi {
  register(registration: WorkerRegistration): Promise<void>;
  event(profileId: string, event: CaptureEvent): Promise<CaptureOrder>;
  /** Hands in a file under a name; doing it again replaces it. */
  artifact(attempt: Attempt, name: string, path: string, signal: AbortSignal): Promise<void>;
  outcome(profileId: string, outcome: Outcome): Promise<void>;
}

const CALL_LIMIT_MS = 15_000;
const LONGEST_ANSWER = 1024 * 1024;

export function openCaptureApi(apiUrl: string, apiKey: string | undefined, workerId: string): CaptureApi {
  const base = apiUrl.replace(/\/+$/, "");
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };

  const call = async (method: string, path: string, init: RequestInit & { duplex?: "half" }): Promise<unknown> => {
    const response = await fetch(`${base}${path}`, { method, redirect: "error", ...init });
    const text = (await response.text()).slice(0, LONGEST_ANSWER);
    if (response.ok) return text === "" ? null : JSON.parse(text);
    throw refusal(response.status, text, `${method} ${path}`);
  };
  const send = (method: string, path: string, body: unknown): Promise<unknown> =>
    call(method, path, {
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_LIMIT_MS),
    });

  return {
    async register(registration) {
      await send("PUT", `/workers/${workerId}`, registration);
    },
    async event(profileId, event) {
      return captureOrderSchema.parse(await send("POST", `/profiles/${profileId}/events`, event));
    },
    async artifact({ profileId, attempt }, name, path, signal) {
      const { size } = await stat(path);
      const digest = await sha256(path);
      await call("PUT", `/profiles/${profileId}/artifacts/${name}?attempt=${attempt}&worker_id=${workerId}`, {
        headers: {
          ...headers,
          "content-type": "application/octet-stream",
          "content-length": String(size),
          "content-digest": `sha-256=:${digest}:`,
        },
        body: Readable.toWeb(createReadStream(path)) as ReadableStream,
        duplex: "half",
        signal,
      });
    },
    async outcome(profileId, outcome) {
      await send("POST", `/profiles/${profileId}/outcome`, outcome);
    },
  };
}

function refusal(status: number, text: string, what: string): Error {
  const { code, detail } = readProblem(text);
  if (code === "superseded") return new SupersededError(detail);
  const message = `${what} was answered with ${status}: ${detail}`;
  // 408, 429 and 5xx are states of the service, not of the call. Its full store (507) is not over in minutes.
  const passing = status === 408 || status === 429 || (status >= 500 && status !== 507);
  return passing ? new Error(message) : new ApiRefusedError(status, message);
}

function readProblem(text: string): { code: string | null; detail: string } {
  try {
    const { code, detail } = problemSchema.parse(JSON.parse(text));
    return { code, detail };
  } catch {
    return { code: null, detail: text.slice(0, 500) };
  }
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("base64");
}

const LONGEST_PAUSE_MS = 10_000;

/**
 * Does a call until it succeeds or cannot: the API may be away for a while, and what was captured must not be lost by
 * that.
 * @throws SupersededError, ApiRefusedError, the reason of `signal`, or the last error once `limitMs` have passed.
 */
export async function untilAnswered<T>(call: () => Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SupersededError || error instanceof ApiRefusedError) throw error;
      if (performance.now() + pauseMs > deadline) throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}
