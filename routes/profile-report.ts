import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getProfileReport } from "../src/profiles/result.ts";
import { idParams } from "./parameters.ts";
import { BYTES } from "./raw-body.ts";
import { RAW_FILE, sendRawFile } from "./raw-file.ts";

export const profileReportRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.get(
      "/profiles/:id/report",
      {
        config: { role: "reader", rawArtifacts: true, produces: [BYTES] },
        schema: {
          operationId: "getReportBytes",
          tags: ["profiles"],
          summary: "A report of the profile, byte for byte",
          description:
            "Needs the permission `raw_artifacts` beside the role: reports hold command lines, paths and compiled code.",
          params: idParams,
          querystring: z.strictObject({
            index: z.coerce.number().int().min(0).default(0).describe("which report, in the order of the request"),
          }),
          ...RAW_FILE,
        },
      },
      async (request, reply) => {
        const file = await getProfileReport(ports, request.params.id, request.query.index);
        return sendRawFile(ports, request, reply, { file, name: "report" }) as never;
      },
    );
  };
