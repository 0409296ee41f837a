import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { rooflineSvg } from "../src/charts/roofline.ts";
import { stagesSvg } from "../src/charts/stages.ts";
import { timelineSvg } from "../src/charts/timeline.ts";
import { matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { type ProfileResult, profileResultSchema } from "../src/model/result.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getResult } from "../src/profiles/result.ts";
import { idParams } from "./parameters.ts";

/** A result never changes once it is there. */
const FOR_EVER = "private, max-age=31536000, immutable";
const SVG_TYPE = "image/svg+xml";
const NOT_CHANGED = z.undefined().describe("Not changed: `If-None-Match` names this version");

/** Each answers for every result: a picture that a result has nothing for says why. */
const PICTURES = [
  {
    name: "roofline",
    operationId: "getRoofline",
    summary: "The kernels under their roofs, as a picture",
    draw: rooflineSvg,
  },
  {
    name: "stages",
    operationId: "getStagesPicture",
    summary: "The stages of the pipeline by their share of the busy time, as a picture",
    draw: stagesSvg,
  },
  {
    name: "timeline",
    operationId: "getTimelinePicture",
    summary: "When the GPU was busy, with which stage, as a picture",
    draw: timelineSvg,
  },
] as const;

export const profileResultRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/profiles/:id/result",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getResult",
          tags: ["profiles"],
          summary: "The verdicts",
          params: idParams,
          response: {
            200: json("The result", profileResultSchema),
            304: NOT_CHANGED,
            ...problemResponses("not_found", "not_ready"),
          },
          ...HEADERS({ 200: ["etag"], 409: ["retry-after"] }),
        },
      },
      async (request, reply) => {
        const result = await getResult(ports, request.params.id);
        if (notModified(request, reply, `"${result.sha256}"`, FOR_EVER)) return reply.code(304).send();
        return reply.type("application/json; charset=utf-8").send(result.body as never);
      },
    );

    for (const { name, operationId, summary, draw } of PICTURES) {
      app.get(
        `/profiles/:id/${name}.svg`,
        {
          config: { role: "reader", produces: [SVG_TYPE] },
          schema: {
            operationId,
            tags: ["profiles"],
            summary,
            params: idParams,
            response: {
              200: { description: "The picture", content: { [SVG_TYPE]: { schema: z.string() } } },
              304: NOT_CHANGED,
              ...problemResponses("not_found", "not_ready"),
            },
            ...HEADERS({ 200: ["etag"], 409: ["retry-after"] }),
          },
        },
        async (request, reply) => {
          const result = await getResult(ports, request.params.id);
          // Drawn anew by a newer version: the tag holds for a while, not for ever.
          if (notModified(request, reply, `"${result.sha256}-${name}"`, "private, max-age=300"))
            return reply.code(304).send();
          reply.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox");
          return reply.type(SVG_TYPE).send(draw(JSON.parse(result.body) as ProfileResult));
        },
      );
    }
  };

function notModified(request: FastifyRequest, reply: FastifyReply, tag: string, cacheControl: string): boolean {
  reply.headers({ etag: tag, "cache-control": cacheControl });
  return matchesTag(request.headers["if-none-match"], tag);
}
