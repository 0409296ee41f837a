import { Readable } from "node:stream";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses } from "../src/http/problems.ts";
import { getLog, readArtifactBytes } from "../src/profiles/capture-artifacts.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { idParams } from "./parameters.ts";

const TEXT = "text/plain";

export const profileLogRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/profiles/:id/log",
      {
        config: { role: "reader", rawArtifacts: true, produces: [TEXT] },
        schema: {
          operationId: "getLog",
          tags: ["profiles"],
          summary: "What the capture and the programs that it ran have printed",
          description: "Needs the permission `raw_artifacts` beside the role: a log holds what a program prints.",
          params: idParams,
          response: {
            200: { description: "The log", content: { [TEXT]: { schema: z.string() } } },
            304: z.undefined().describe("Not changed: `If-None-Match` names this version"),
            ...problemResponses("not_found", "not_ready"),
          },
          ...HEADERS({ 200: ["etag"], 409: ["retry-after"] }),
        },
      },
      async (request, reply) => {
        const log = await getLog(ports, request.params.id);
        const tag = `"${log.sha256}"`;
        // A worker may complete it while and after the capture runs.
        reply.headers({ etag: tag, "cache-control": "private, no-cache" });
        if (matchesTag(request.headers["if-none-match"], tag)) return reply.code(304).send();
        reply.headers({ "content-type": `${TEXT}; charset=utf-8`, "content-length": log.bytes });
        // Answers to HEAD read no file.
        const body = request.method === "HEAD" ? Readable.from([]) : await readArtifactBytes(ports, log);
        return reply.send(body as never);
      },
    );
  };
