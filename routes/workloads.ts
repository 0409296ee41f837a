import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { type FleetPorts, workersNow } from "../src/fleet/workers.ts";
import { workloadsOf } from "../src/fleet/workloads.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { knownWorkloadSchema } from "../src/model/worker.ts";

const pageSchema = z
  .object({ items: z.array(knownWorkloadSchema), next_cursor: z.null().describe("there is one page") })
  .meta({ id: "WorkloadPage" });

export const workloadRoutes =
  (ports: FleetPorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/workloads",
      {
        config: { role: "reader" },
        schema: {
          operationId: "listWorkloads",
          tags: ["workers"],
          summary: "Workloads that workers declare, by name",
          description: "One name that stands for different things on different workers has an entry for each.",
          response: { 200: json("All workloads", pageSchema), ...problemResponses() },
        },
      },
      async (_request, reply) =>
        reply
          .header("cache-control", "no-cache")
          .send({ items: workloadsOf(await workersNow(ports)), next_cursor: null }),
    );
  };
