import { Agent, type IncomingMessage, request } from "node:http";

/** Why there is no answer. */
export class HttpFailure extends Error {
  override readonly name = "HttpFailure";
  /** `timeout`, `connection_refused`, `connection_reset`, `connection_failed`, `answer_too_large`. */
  readonly kind: string;

  constructor(kind: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface HttpClient {
  /**
   * Sends one request and has its answer read, all within the request's time limit; it is sent once, whatever happens.
   * @throws HttpFailure where there is no whole answer; the signal's reason where that was aborted
   */
  send<T>(options: HttpRequest, read: (answer: IncomingMessage) => Promise<T>): Promise<T>;
  /** Closes the connections that are kept. */
  close(): void;
}

/** Connections to an engine at `http://host:port`, as many at a time as are asked for, kept open between requests. */
export function openHttp(baseUrl: string): HttpClient {
  const { hostname, port } = new URL(baseUrl);
  const agent = new Agent({ keepAlive: true });

  return {
    async send({ method, path, body, timeoutMs, signal }, read) {
      signal.throwIfAborted();
      const payload = body === undefined ? null : Buffer.from(JSON.stringify(body));
      const sent = request({
        agent,
        hostname,
        port,
        path,
        method,
        headers: payload ? { "content-type": "application/json", "content-length": payload.length } : {},
      });
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        sent.destroy();
      }, timeoutMs);
      const stop = () => sent.destroy();
      signal.addEventListener("abort", stop);
      try {
        const answer = await new Promise<IncomingMessage>((resolve, reject) => {
          sent.once("response", resolve);
          // Stays: a socket may fail again while the answer is read.
          sent.on("error", reject);
          sent.end(payload ?? undefined);
        });
        try {
          return await read(answer);
        } finally {
          // A reader that stopped early leaves the connection with half an answer in it.
          if (!answer.complete) sent.destroy();
        }
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (late) throw new HttpFailure("timeout", `no answer within ${timeoutMs / 1000} s`, { cause: error });
        if (error instanceof HttpFailure) throw error;
        throw connectionFailure(error);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", stop);
      }
    },
    close: () => agent.destroy(),
  };
}

const KINDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection_refused",
  ECONNRESET: "connection_reset",
  EPIPE: "connection_reset",
};

function connectionFailure(error: unknown): HttpFailure {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  return new HttpFailure(KINDS[code] ?? "connection_failed", error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

/** The body as text. @throws HttpFailure above `maxBytes` */
export async function readText(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new HttpFailure("answer_too_large", `the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

const MAX_PAGE_BYTES = 8 * 1024 * 1024;

export interface Page {
  readonly status: number;
  readonly text: string;
}

/** GET of a small page. @throws as `send` does */
export const getPage = (client: HttpClient, path: string, timeoutMs: number, signal: AbortSignal): Promise<Page> =>
  client.send({ method: "GET", path, timeoutMs, signal }, async (answer) => ({
    status: answer.statusCode ?? 0,
    text: await readText(answer, MAX_PAGE_BYTES),
  }));
