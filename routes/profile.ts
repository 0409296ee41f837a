import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { MAX_WAIT_S, preferredWait } from "../src/http/prefer.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { FINAL_STATES, profileSchema } from "../src/model/profile.ts";
import { cancelProfile } from "../src/profiles/cancel.ts";
import { getProfile, waitForProfile } from "../src/profiles/get.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { profileTag, profileView } from "../src/profiles/view.ts";
import { asker } from "./asker.ts";
import { idParams, RETRY_AFTER_S } from "./parameters.ts";

const waitQuery = z.strictObject({
  // An empty value would count as 0.
  wait: z
    .preprocess((value) => (value === "" ? Number.NaN : value), z.coerce.number().min(0).max(86_400))
    .optional()
    .describe(`seconds to wait for the next change of state, at most ${MAX_WAIT_S} at a time`),
});

export const singleProfileRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
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
            200: json("The profile", profileSchema),
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
            202: json("Canceled", profileSchema),
            ...problemResponses("not_found", "not_cancelable"),
          },
        },
      },
      async (request, reply) => reply.code(202).send(await cancelProfile(ports, asker(request), request.params.id)),
    );
  };
