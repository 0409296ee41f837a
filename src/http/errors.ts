import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { RefusedError } from "../model/refusal.ts";
import { PROBLEM_TYPE, problem, sendProblem } from "./problems.ts";
import { InvalidInputError, refusalItems } from "./validation.ts";

/** Turns whatever a hook or handler throws into a problem document. Nothing of the inside is told. */
export function onError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error instanceof RefusedError) return sendProblem(request, reply, error.code, error.message, error.details);
  if (error instanceof InvalidInputError) return invalidInput(error, request, reply);
  const code = "code" in error ? error.code : undefined;
  const status = "statusCode" in error ? (error.statusCode ?? 500) : 500;
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return sendProblem(
      request,
      reply,
      "content_too_large",
      `The body is larger than ${request.routeOptions.bodyLimit} bytes, the most that this route takes.`,
    );
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType(request, reply);
  if (code === "FST_ERR_CTP_INVALID_JSON_BODY" || error instanceof SyntaxError) {
    return sendProblem(request, reply, "malformed_json", `The body is not JSON: ${error.message}`);
  }
  if (status >= 400 && status < 500) return sendProblem(request, reply, "bad_request", error.message);
  if (isAway(error)) {
    request.log.error({ err: error, request: request.id }, "a service that this one needs is away");
    return sendProblem(request, reply, "unavailable", "The database does not answer at the moment.", {
      retryAfterS: 5,
    });
  }
  request.log.error({ err: error, request: request.id }, "unexpected error");
  return sendProblem(
    request,
    reply,
    "internal",
    `Something went wrong inside. The log tells more under request id ${request.id}.`,
  );
}

function invalidInput(error: InvalidInputError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.validationContext === "params") {
    return sendProblem(
      request,
      reply,
      "not_found",
      "There is nothing at this path: an id in it is not of the form that ids have here.",
    );
  }
  const errors = refusalItems(error);
  const where = errors.map(({ pointer }) => pointer || "the body as a whole").join(", ");
  const inBody = error.validationContext === "body";
  return sendProblem(
    request,
    reply,
    inBody ? "validation_failed" : "invalid_query",
    `${inBody ? "Wrong in the body" : "Wrong in the query"}: ${where}.`,
    {
      errors,
    },
  );
}

export function unsupportedMediaType(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const taken = request.routeOptions.config.consumes ?? ["application/json"];
  reply.header("accept-post", taken.join(", "));
  const given = request.headers["content-type"];
  return sendProblem(
    request,
    reply,
    "unsupported_media_type",
    `${given === undefined ? "No Content-Type was given" : `Content-Type ${given.slice(0, 100)} is not taken here`}; what works: ${taken.join(", ")}.`,
  );
}

/** Node's error codes of a lost connection, and Postgres's own: class 08 and 57P01 to 57P03 (errcodes-appendix). */
const AWAY_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "57P01",
  "57P02",
  "57P03",
  "53300",
]);
/** node-postgres gives these no code. */
const AWAY_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

function isAway(error: Error): boolean {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return AWAY_CODES.has(code) || code.startsWith("08") || AWAY_MESSAGES.test(error.message);
}

/**
 * What Node refuses before there is a request, as a whole HTTP answer: header fields over the limit (HPE_HEADER_OVERFLOW),
 * a request that does not arrive in time, anything that is not HTTP.
 */
export function rawProblem(code: string | undefined): string {
  const document =
    code === "HPE_HEADER_OVERFLOW"
      ? problem("headers_too_large", "The header fields together are too large.", "/")
      : code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? problem("request_timeout", "The request did not arrive in time.", "/")
        : problem("bad_request", "This is not an HTTP request that can be understood.", "/");
  const body = JSON.stringify(document);
  return `HTTP/1.1 ${document.status} ${document.title}\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
}
