import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getProfileTimeline } from "../src/profiles/result.ts";
import { idParams } from "./parameters.ts";
import { BYTES } from "./raw-body.ts";
import { RAW_FILE, sendRawFile } from "./raw-file.ts";

export const profileTimelineRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/profiles/:id/timeline",
      {
        config: { role: "reader", rawArtifacts: true, produces: [BYTES] },
        schema: {
          operationId: "getTimelineBytes",
          tags: ["profiles"],
          summary: "A timeline of the profile, byte for byte",
          description:
            "Needs the permission `raw_artifacts` beside the role: uploaded timelines hold the environment, command lines and paths of the machine. That of a capture does not: the worker takes them out before it hands the file in.",
          params: idParams,
          querystring: z.strictObject({
            index: z.coerce
              .number()
              .int()
              .min(0)
              .default(0)
              .describe("which timeline, in the order of the request or the outcome"),
          }),
          ...RAW_FILE,
        },
      },
      async (request, reply) => {
        const file = await getProfileTimeline(ports, request.params.id, request.query.index);
        return sendRawFile(ports, request, reply, { file, name: "timeline" }) as never;
      },
    );
  };
