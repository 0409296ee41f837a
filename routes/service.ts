import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { PROBLEMS, problemResponses, problemType } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { PROBLEM_CODES } from "../src/model/problem.ts";
import { RefusedError } from "../src/model/refusal.ts";

/** Prometheus text exposition format 0.0.4. */
const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

const problemTypeSchema = z
  .object({ type: z.string(), code: z.enum(PROBLEM_CODES), status: z.number().int(), title: z.string() })
  .meta({ id: "ProblemType" });

/** What the service says about itself. */
export const serviceRoutes =
  (metrics: () => Promise<string>): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/metrics",
      {
        config: { role: "reader", produces: ["text/plain", "application/openmetrics-text"] },
        schema: {
          operationId: "metrics",
          tags: ["service"],
          summary: "Metrics for Prometheus",
          response: {
            200: { description: "Text exposition format 0.0.4", content: { "text/plain": { schema: z.string() } } },
            ...problemResponses(),
          },
        },
      },
      async (_request, reply) => reply.type(PROMETHEUS).send(await metrics()),
    );

    app.get(
      "/openapi.json",
      {
        config: { role: "reader" },
        schema: {
          operationId: "openapi",
          tags: ["service"],
          summary: "This document",
          response: {
            200: json("OpenAPI 3.1", z.record(z.string(), z.unknown())),
            ...problemResponses(),
          },
        },
      },
      async (_request, reply) => reply.send(app.swagger() as never),
    );

    app.get(
      "/problems/:name",
      {
        config: { role: "reader" },
        schema: {
          operationId: "problemType",
          tags: ["service"],
          summary: "What a problem type means",
          params: z.object({ name: z.string().max(64) }),
          response: {
            200: json("The type", problemTypeSchema),
            ...problemResponses("not_found"),
          },
        },
      },
      async (request) => {
        const code = PROBLEM_CODES.find((known) => problemType(known) === `/problems/${request.params.name}`);
        if (!code) throw new RefusedError("not_found", "There is no such problem type.");
        return { type: problemType(code), code, ...PROBLEMS[code] };
      },
    );
  };
