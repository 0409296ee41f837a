import { randomUUID } from "node:crypto";
import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import Fastify, { type FastifyInstance, LogController } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Keys } from "../access/keys.ts";
import { RefusedError } from "../model/refusal.ts";
import type { Logger } from "../observe/logger.ts";
import type { Metrics } from "../observe/metrics.ts";
import { accepts } from "./accept.ts";
import { decideAccess } from "./access.ts";
import { onError, rawProblem } from "./errors.ts";
import { KnownRoutes } from "./known-routes.ts";
import { openApiOptions } from "./openapi.ts";
import { sendProblem } from "./problems.ts";
import { JSON_TYPE } from "./route-config.ts";
import { validatorCompiler } from "./validation.ts";

export interface HttpOptions {
  readonly logger: Logger;
  readonly keys: Keys;
  readonly metrics: Metrics;
  readonly version: string;
  /** True from the first sign of the end on: clients are told not to send another request on their connection. */
  isDraining(): boolean;
}

/** JSON bodies only: reports are streamed past this limit. */
const BODY_LIMIT_BYTES = 1024 * 1024;
const MAX_URL_BYTES = 8 * 1024;
/** For reports, which may take their time over a thin line; header fields have Node's own limit of a minute. */
const REQUEST_LIMIT_MS = 60 * 60 * 1000;
/** A connection on which nothing moves: longer than the longest wait for a state. */
const IDLE_LIMIT_MS = 120_000;

/** The HTTP side without its routes: errors, access, documents, metrics, limits. */
export async function createHttpApp(options: HttpOptions): Promise<FastifyInstance> {
  const { logger, keys, metrics, version } = options;
  const known = new KnownRoutes();
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_LIMIT_MS,
    connectionTimeout: IDLE_LIMIT_MS,
    // Longer ids are no ids: the schema of the route says so, with 404.
    routerOptions: { maxParamLength: MAX_URL_BYTES },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // No logger of its own for each request: the few lines there are name the request themselves.
    childLoggerFactory: (parent) => parent,
    genReqId: ({ headers }) => requestId(headers["x-request-id"]),
    clientErrorHandler(error, socket) {
      if (socket.writable) socket.end(rawProblem(error.code));
      else socket.destroy();
    },
    frameworkErrors: (error, request, reply) => {
      sendProblem(request, reply as never, "bad_request", error.message);
    },
  }).withTypeProvider<ZodTypeProvider>();

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler(onError);
  app.decorateRequest("principal", null as never);
  app.decorateRequest("wasAskedToWait", false);
  app.addHook("onRoute", (route) => known.add(route));

  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id).header("x-content-type-options", "nosniff");
    if (options.isDraining()) reply.header("connection", "close");
    if (request.url.length > MAX_URL_BYTES)
      return sendProblem(request, reply, "uri_too_long", `The URI is longer than ${MAX_URL_BYTES} bytes.`);
    const refused = await decideAccess(keys, request, reply);
    if (refused) return refused;
    const produces = request.routeOptions.config.produces ?? [JSON_TYPE];
    if (!accepts(request.headers.accept, produces) && !request.is404) {
      return sendProblem(request, reply, "not_acceptable", `What this route answers with: ${produces.join(", ")}.`);
    }
    return undefined;
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    const { method } = request;
    metrics.answered(route, method, reply.statusCode, request.wasAskedToWait ? null : reply.elapsedTime / 1000);
    request.log.debug(
      { request: request.id, method, route, status: reply.statusCode, ms: reply.elapsedTime },
      "answered",
    );
    done();
  });

  app.setNotFoundHandler((request, reply) => {
    const allowed = known.methods(request.url);
    if (allowed.length === 0)
      return sendProblem(request, reply, "not_found", "There is nothing at this path.", {
        hint: "GET /openapi.json lists all paths.",
      });
    reply.header("allow", allowed.join(", "));
    return sendProblem(
      request,
      reply,
      "method_not_allowed",
      `${request.method} is not possible here; what works: ${allowed.join(", ")}.`,
    );
  });

  const parseJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, { parseAs: "string" }, (request, body, done) => {
    const coding = request.headers["content-encoding"] ?? "identity";
    if (coding !== "identity") {
      done(
        new RefusedError(
          "unsupported_media_type",
          `Content-Encoding ${coding.slice(0, 100)} is not taken here; send JSON as it is.`,
        ),
      );
    } else if (body === "") done(null, undefined);
    else parseJson(request, body as string, done);
  });

  await app.register(swagger, openApiOptions(version));
  await app.register(swaggerUi, { routePrefix: "/docs", uiConfig: { deepLinking: true } });
  return app as unknown as FastifyInstance;
}

const REQUEST_ID = /^[\w.:-]{1,128}$/;

const requestId = (given: string | string[] | undefined): string =>
  typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
