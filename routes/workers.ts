import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { type FleetPorts, getWorker, heartbeat, workersNow } from "../src/fleet/workers.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { workerIdSchema, workerRegistrationSchema, workerSchema } from "../src/model/worker.ts";

const workerParams = z.object({ id: workerIdSchema });

const pageSchema = z
  .object({ items: z.array(workerSchema), next_cursor: z.null().describe("there is one page") })
  .meta({ id: "WorkerPage" });

export const workerRoutes =
  (ports: FleetPorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.put(
      "/workers/:id",
      {
        config: { role: "worker" },
        schema: {
          operationId: "putWorker",
          tags: ["workers"],
          summary: "Register a worker, and its heartbeat",
          params: workerParams,
          body: workerRegistrationSchema,
          response: {
            200: json("Known now", workerSchema),
            ...problemResponses(
              "malformed_json",
              "validation_failed",
              "not_found",
              "content_too_large",
              "unsupported_media_type",
            ),
          },
        },
      },
      async (request) => heartbeat(ports, request.params.id, request.body),
    );

    app.get(
      "/workers",
      {
        config: { role: "reader" },
        schema: {
          operationId: "listWorkers",
          tags: ["workers"],
          summary: "Workers with their GPUs, tools and workloads, by id",
          description: "A worker that stops sending heartbeats is shown as `lost`, for a week.",
          response: { 200: json("All workers", pageSchema), ...problemResponses() },
        },
      },
      async (_request, reply) =>
        reply.header("cache-control", "no-cache").send({ items: await workersNow(ports), next_cursor: null }),
    );

    app.get(
      "/workers/:id",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getWorker",
          tags: ["workers"],
          summary: "A worker",
          params: workerParams,
          response: { 200: json("The worker", workerSchema), ...problemResponses("not_found") },
        },
      },
      async (request, reply) =>
        reply.header("cache-control", "no-cache").send(await getWorker(ports, request.params.id)),
    );
  };
