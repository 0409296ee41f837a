import type { FastifyReply, FastifyRequest } from "fastify";
import type { Keys } from "../access/keys.ts";
import { ANYONE, hasRole } from "../access/roles.ts";
import { isLoopback } from "../config.ts";
import { sendProblem } from "./problems.ts";

const CHALLENGE = 'Bearer realm="profile-kernel"';

/**
 * The one place where access is decided. Sets `request.principal`, or answers and returns the reply.
 */
export async function decideAccess(
  keys: Keys,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | null> {
  const { role, rawArtifacts } = request.routeOptions.config;
  if (role === null || request.is404) {
    request.principal = ANYONE;
    return null;
  }
  if (await keys.isOpen()) {
    if (!comesFromThisMachine(request)) {
      reply.header("www-authenticate", CHALLENGE);
      return sendProblem(
        request,
        reply,
        "unauthenticated",
        "There are no API keys yet, so only requests to this machine by its own name are answered.",
        {
          hint: "Send it to localhost, or make a key.",
        },
      );
    }
    request.principal = ANYONE;
    return null;
  }
  const principal = await keys.authenticate(request.headers.authorization);
  if (!principal) {
    reply.header(
      "www-authenticate",
      `${CHALLENGE}${request.headers.authorization === undefined ? "" : ', error="invalid_token"'}`,
    );
    return sendProblem(request, reply, "unauthenticated", "No API key that is valid was sent.", {
      hint: "Send the header `Authorization: Bearer pk_<id>_<secret>`.",
    });
  }
  request.principal = principal;
  const needed = role ?? (request.method === "GET" || request.method === "HEAD" ? "reader" : "admin");
  if (!hasRole(principal, needed)) return missing(request, reply, `the role ${needed}`, needed);
  if (rawArtifacts && !principal.rawArtifacts)
    return missing(request, reply, "the permission raw_artifacts", "raw_artifacts");
  return null;
}

function missing(request: FastifyRequest, reply: FastifyReply, what: string, scope: string): FastifyReply {
  reply.header("www-authenticate", `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`);
  return sendProblem(request, reply, "role_missing", `The key lacks ${what}.`, { hint: `Use a key that has ${what}.` });
}

/**
 * While the service is open, a page in a browser on this machine must not be able to use it: neither under a name that
 * was made to point here (the Host header tells), nor across sites (the Origin header tells).
 */
function comesFromThisMachine({ headers: { host, origin } }: FastifyRequest): boolean {
  return isOwnName(`http://${host ?? ""}`) && (origin === undefined || isOwnName(origin));
}

/** What was asked last: nearly every request of a service has the same Host. */
let lastAsked = { origin: "", own: false };

function isOwnName(origin: string): boolean {
  if (origin !== lastAsked.origin) {
    lastAsked = { origin, own: URL.canParse(origin) && isLoopback(new URL(origin).hostname) };
  }
  return lastAsked.own;
}
