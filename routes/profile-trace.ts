import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses } from "../src/http/problems.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getTraceSource, makeTrace } from "../src/profiles/trace.ts";
import { idParams } from "./parameters.ts";

const JSON_TYPE = "application/json";

export const profileTraceRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/profiles/:id/trace.json",
      {
        config: { role: "reader" },
        // Making it takes as long as an analysis.
        exposeHeadRoute: false,
        schema: {
          operationId: "getTrace",
          tags: ["profiles"],
          summary: "The timelines of the profile for chrome://tracing and ui.perfetto.dev",
          description:
            "Trace Event Format: launches, copies, gaps of 10 us and more, ranges of the host; each launch with its stage and, where its kernel is listed in the result, share and verdict of its cluster. Made anew for each request.",
          params: idParams,
          response: {
            200: {
              description: "The trace",
              content: { [JSON_TYPE]: { schema: z.looseObject({ traceEvents: z.array(z.looseObject({})) }) } },
            },
            304: z.undefined().describe("Not changed: `If-None-Match` names this version"),
            ...problemResponses("not_found", "not_ready"),
          },
          ...HEADERS({ 200: ["etag"], 409: ["retry-after"] }),
        },
      },
      async (request, reply) => {
        const source = await getTraceSource(ports, request.params.id);
        const tag = `"${source.sha256}-trace"`;
        reply.headers({ etag: tag, "cache-control": "private, max-age=300", vary: "accept-encoding" });
        if (matchesTag(request.headers["if-none-match"], tag)) return reply.code(304).send();
        const gzip = /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i.test(
          request.headers["accept-encoding"] ?? "",
        );
        const gone = new AbortController();
        reply.raw.once("close", () => gone.abort());
        const made = await makeTrace(ports, source, gzip, gone.signal);
        if (made === null) return reply.hijack() as never;
        reply.headers({ "content-length": made.bytes, ...(gzip ? { "content-encoding": "gzip" } : {}) });
        return reply.type(JSON_TYPE).send(made.stream as never);
      },
    );
  };
