import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { MAX_WAIT_S, preferredWait } from "../src/http/prefer.ts";
import { problemResponses } from "../src/http/problems.ts";
import { FINAL_STATES, profileRequestSchema, profileSchema, profileStateSchema } from "../src/model/profile.ts";
import { cancelProfile } from "../src/profiles/cancel.ts";
import { getProfile, waitForProfile } from "../src/profiles/get.ts";
import { listProfilePage } from "../src/profiles/list.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { submitProfile } from "../src/profiles/submit.ts";
import { profileTag, profileView } from "../src/profiles/view.ts";
import { asker } from "./asker.ts";
import { idParams, text } from "./parameters.ts";

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

const waitQuery = z.strictObject({
  wait: z.coerce
    .number()
    .min(0)
    .max(86_400)
    .optional()
    .describe(`seconds to wait for the next change of state, at most ${MAX_WAIT_S} at a time`),
});

/** Seconds after which asking again makes sense: an analysis takes about that long. */
const RETRY_AFTER_S = 1;

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
            202: {
              description: "Taken in; poll `Location`",
              content: { "application/json": { schema: profileSchema } },
            },
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
            200: { description: "A page", content: { "application/json": { schema: pageSchema } } },
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

    app.get(
      "/profiles/:id",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getProfile",
          tags: ["profiles"],
          summary: "A profile, at once or when its state changes",
          description:
            "`?wait=30` or `Prefer: wait=30` answers as soon as the state changes, at the latest after that many seconds. A profile that has failed is a 200 as well: see `failure`.",
          params: idParams,
          querystring: waitQuery,
          response: {
            200: { description: "The profile", content: { "application/json": { schema: profileSchema } } },
            304: z.undefined().describe("Not changed: `If-None-Match` names this version"),
            ...problemResponses("not_found", "invalid_query"),
          },
          ...HEADERS({ 200: ["etag", "retry-after", "preference-applied"] }),
        },
      },
      async (request, reply) => {
        const preferred = preferredWait(request.headers.prefer);
        const wait = Math.min(request.query.wait ?? preferred ?? 0, MAX_WAIT_S);
        request.wasAskedToWait = wait > 0;
        const gone = new AbortController();
        if (wait > 0) reply.raw.once("close", () => gone.abort());
        const { id } = request.params;
        const row = wait > 0 ? await waitForProfile(ports, id, wait, gone.signal) : await getProfile(ports, id);
        if (preferred !== null) reply.header("preference-applied", `wait=${wait}`);
        const tag = profileTag(row);
        reply.headers({ etag: tag, vary: "Prefer", "cache-control": "no-cache" });
        if (matchesTag(request.headers["if-none-match"], tag)) return reply.code(304).send();
        if (!FINAL_STATES.has(row.state)) reply.header("retry-after", RETRY_AFTER_S);
        return reply.send(profileView(row));
      },
    );

    app.post(
      "/profiles/:id/cancel",
      {
        config: { role: "submitter" },
        schema: {
          operationId: "cancelProfile",
          tags: ["profiles"],
          summary: "Cancel a profile",
          description:
            "Cancelling a canceled profile changes nothing and is no error; one that has succeeded or failed answers 409.",
          params: idParams,
          response: {
            202: { description: "Canceled", content: { "application/json": { schema: profileSchema } } },
            ...problemResponses("not_found", "not_cancelable"),
          },
        },
      },
      async (request, reply) => reply.code(202).send(await cancelProfile(ports, asker(request), request.params.id)),
    );
  };
