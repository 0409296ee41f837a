import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";

export interface Health {
  /** What has to be so for traffic to make sense, by name. */
  checks(): Promise<Readonly<Record<string, boolean>>>;
}

const alive = z.object({ status: z.literal("ok") }).meta({ id: "Alive" });
const readiness = z
  .object({ status: z.enum(["ok", "unavailable"]), checks: z.record(z.string(), z.boolean()) })
  .meta({ id: "Readiness" });

export const healthRoutes =
  (health: Health): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/livez",
      {
        config: { role: null },
        schema: {
          operationId: "livez",
          tags: ["service"],
          summary: "The process answers",
          security: [],
          response: {
            200: json("It does", alive),
            ...problemResponses(),
          },
        },
      },
      async () => ({ status: "ok" as const }),
    );

    app.get(
      "/readyz",
      {
        config: { role: null },
        schema: {
          operationId: "readyz",
          tags: ["service"],
          summary: "The process may take traffic",
          security: [],
          response: {
            ...problemResponses(),
            200: json("It may", readiness),
            503: json("It may not: a check is false", readiness),
          },
        },
      },
      async (_request, reply) => {
        const checks = await health.checks();
        const ready = Object.values(checks).every(Boolean);
        if (!ready) reply.header("retry-after", 5);
        return reply
          .code(ready ? 200 : 503)
          .header("cache-control", "no-store")
          .send({ status: ready ? "ok" : "unavailable", checks });
      },
    );
  };
