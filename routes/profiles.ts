import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { profileRequestSchema, profileSchema, profileStateSchema } from "../src/model/profile.ts";
import { listProfilePage } from "../src/profiles/list.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { submitProfile } from "../src/profiles/submit.ts";
import { asker } from "./asker.ts";
import { RETRY_AFTER_S, text } from "./parameters.ts";

const pageSchema = z
  .object({ items: z.array(profileSchema), next_cursor: z.string().nullable().describe("null: this is the last page") })
  .meta({ id: "ProfilePage" });

const listQuery = z.strictObject({
  state: profileStateSchema.optional(),
  model: text(256).optional().describe("any spelling: `DeepSeek V3` finds `deepseek-ai/DeepSeek-V3`"),
  engine: text(64).optional(),
  target: text(4096).optional(),
  session: text(256).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: text(512).optional().describe("`next_cursor` of the page before, with the same filter"),
});

export const profileRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.post(
      "/profiles",
      {
        config: { role: "submitter" },
        schema: {
          operationId: "submitProfile",
          tags: ["profiles"],
          summary: "Ask for a profile",
          body: profileRequestSchema,
          response: {
            202: json("Taken in; poll `Location`", profileSchema),
            ...problemResponses(
              "malformed_json",
              "validation_failed",
              "use_benchmark_serving",
              "no_such_workload",
              "no_live_worker",
              "no_such_report",
              "content_too_large",
              "unsupported_media_type",
            ),
          },
          ...HEADERS({ 202: ["location", "retry-after"] }),
        },
      },
      async (request, reply) => {
        const profile = await submitProfile(ports, asker(request), request.body);
        return reply
          .code(202)
          .header("location", `/profiles/${profile.id}`)
          .header("retry-after", RETRY_AFTER_S)
          .send(profile);
      },
    );

    app.get(
      "/profiles",
      {
        config: { role: "reader" },
        schema: {
          operationId: "listProfiles",
          tags: ["profiles"],
          summary: "Profiles, newest first",
          querystring: listQuery,
          response: {
            200: json("A page", pageSchema),
            ...problemResponses("invalid_query"),
          },
          ...HEADERS({ 200: ["link"] }),
        },
      },
      async (request, reply) => {
        const page = await listProfilePage(ports, request.query);
        if (page.next_cursor !== null) {
          const query = new URLSearchParams(request.url.split("?", 2)[1] ?? "");
          query.set("cursor", page.next_cursor);
          reply.header("link", `</profiles?${query}>; rel="next"`);
        }
        return reply.header("cache-control", "no-cache").send(page);
      },
    );
  };
