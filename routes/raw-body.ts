import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { RefusedError } from "../src/model/refusal.ts";

export const BYTES = "application/octet-stream";

/** How long the rest of a refused upload is read, so that the client gets to see the answer. */
const DRAIN_LIMIT_MS = 10_000;

/** For a route whose body is a file: the entry that describes it in OpenAPI. */
export const RAW_BODY = {
  "x-request-body": {
    required: true,
    content: { [BYTES]: { schema: { type: "string", contentMediaType: BYTES } } },
  },
};

/** Leaves the bodies of this plugin's routes unread, whatever their type: the handlers stream them. */
export function leaveBodiesUnread(
  app: Pick<FastifyInstance, "removeAllContentTypeParsers" | "addContentTypeParser">,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
}

export interface RawBody {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** `Content-Length`, where the client says it. */
  readonly declaredBytes: number | null;
}

/** Hands the bytes of the body to `take`, and reads away what it left. */
export async function withRawBody<T>(
  { raw, headers }: FastifyRequest,
  take: (body: RawBody) => Promise<T>,
): Promise<T> {
  const declared = Number(headers["content-length"] ?? Number.NaN);
  try {
    // A refusal must not destroy the connection: the client has yet to read why.
    const bytes = raw.iterator({ destroyOnReturn: false });
    return await take({ bytes, declaredBytes: Number.isFinite(declared) ? declared : null });
  } finally {
    if (!raw.readableEnded) drain(raw);
  }
}

function drain(body: IncomingMessage): void {
  const timer = setTimeout(() => body.socket.destroySoon(), DRAIN_LIMIT_MS).unref();
  body
    .once("close", () => clearTimeout(timer))
    .once("end", () => clearTimeout(timer))
    .resume();
}

/** RFC 9530, section 2; RFC 8941, section 3.3.5: `sha-256=:<base64 of 32 bytes>:`. */
const SHA_256 = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/i;

/**
 * SHA-256 that the header Content-Digest announces, hex; null where it is not given.
 * @throws RefusedError `bad_request` where it is given without a SHA-256: what it says could not be checked.
 */
export function announcedSha256({ headers }: FastifyRequest): string | null {
  const given = headers["content-digest"];
  if (given === undefined) return null;
  const [, base64] = SHA_256.exec(String(given)) ?? [];
  if (base64) return Buffer.from(base64, "base64").toString("hex");
  throw new RefusedError("bad_request", "Content-Digest holds no SHA-256 that can be read.", {
    hint: "Send `Content-Digest: sha-256=:<base64>:` (RFC 9530), or leave it out.",
  });
}
