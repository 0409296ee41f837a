import type { FastifyReply, FastifyRequest } from "fastify";
import { type Problem, type ProblemCode, problemSchema } from "../model/problem.ts";
import type { RefusalDetails } from "../model/refusal.ts";

/** Status and title of each code: RFC 9457. The status never depends on anything but the code. */
export const PROBLEMS: Readonly<Record<ProblemCode, { readonly status: number; readonly title: string }>> = {
  malformed_json: { status: 400, title: "The body is not JSON" },
  bad_request: { status: 400, title: "The request cannot be understood" },
  invalid_query: { status: 400, title: "A query parameter is wrong" },
  validation_failed: { status: 422, title: "The request is well-formed but wrong" },
  use_benchmark_serving: { status: 422, title: "Use the engine's benchmark for end-to-end throughput" },
  no_such_workload: { status: 422, title: "There is no such workload" },
  no_live_worker: { status: 422, title: "No worker can do this" },
  no_such_gpu: { status: 422, title: "There is no such GPU" },
  no_such_report: { status: 422, title: "There is no such report" },
  report_unreadable: { status: 422, title: "The file is not a report that can be read" },
  unauthenticated: { status: 401, title: "An API key is needed" },
  role_missing: { status: 403, title: "The key may not do this" },
  not_found: { status: 404, title: "There is no such thing" },
  method_not_allowed: { status: 405, title: "The method does not fit the path" },
  not_acceptable: { status: 406, title: "No acceptable media type" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  not_ready: { status: 409, title: "Not there yet" },
  not_cancelable: { status: 409, title: "The profile has ended" },
  superseded: { status: 409, title: "Another attempt has taken over, or the profile has ended" },
  lease_ended: { status: 409, title: "The lease has ended" },
  content_too_large: { status: 413, title: "The body is too large" },
  uri_too_long: { status: 414, title: "The URI is too long" },
  unsupported_media_type: { status: 415, title: "The media type is not taken" },
  range_not_satisfiable: { status: 416, title: "The range is outside the file" },
  headers_too_large: { status: 431, title: "The header fields are too large" },
  internal: { status: 500, title: "Something went wrong inside" },
  unavailable: { status: 503, title: "Not available at the moment" },
  quota_exceeded: { status: 507, title: "No space is left for this" },
};

export const PROBLEM_TYPE = "application/problem+json";

/** The document that describes a code; served under `/problems/<code in kebab-case>`. */
export const problemType = (code: ProblemCode): string => `/problems/${code.replaceAll("_", "-")}`;

export function problem(code: ProblemCode, detail: string, instance: string, details: RefusalDetails = {}): Problem {
  const { status, title } = PROBLEMS[code];
  return {
    type: problemType(code),
    title,
    status,
    code,
    detail,
    instance,
    ...(details.hint === undefined ? {} : { hint: details.hint }),
    ...(details.errors === undefined ? {} : { errors: details.errors.map((error) => ({ ...error })) }),
  };
}

/** Answers with a problem document. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  code: ProblemCode,
  detail: string,
  details: RefusalDetails = {},
): FastifyReply {
  const document = problem(code, detail, pathOf(request.url), details);
  if (details.retryAfterS !== undefined) reply.header("retry-after", details.retryAfterS);
  return reply.code(document.status).header("content-type", PROBLEM_TYPE).send(JSON.stringify(document));
}

/** The path without the query, and not longer than makes sense in an answer. */
const pathOf = (url: string): string => (url.split("?", 1)[0] ?? "/").slice(0, 256);

/** Any route may answer with these. */
const EVERYWHERE = [
  "bad_request",
  "unauthenticated",
  "role_missing",
  "not_acceptable",
  "internal",
  "unavailable",
] as const;

const documented = (description: string) => ({ description, content: { [PROBLEM_TYPE]: { schema: problemSchema } } });

/** The `response` entries of a route for the problems it may answer with, beside those that any route may. */
export function problemResponses(...codes: readonly ProblemCode[]) {
  const byStatus = new Map<number, Set<string>>();
  for (const code of [...codes, ...EVERYWHERE]) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(`\`${code}\``));
  }
  return {
    ...Object.fromEntries([...byStatus].map(([status, names]) => [status, documented([...names].join(" or "))])),
    default: documented("Any other problem, such as `uri_too_long`"),
  };
}
