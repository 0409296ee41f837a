import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { HEADERS } from "../src/http/documented-headers.ts";
import { MAX_WAIT_S, preferredWait } from "../src/http/prefer.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { checkMayChange, chooseGpus, isOwner, type KnownGpu } from "../src/leases/asked.ts";
import type { Leases } from "../src/leases/leases.ts";
import type { TrackedLease } from "../src/leases/store.ts";
import { leaseRenewalSchema, leaseRequestSchema, leaseSchema } from "../src/model/lease.ts";
import { RefusedError } from "../src/model/refusal.ts";
import { asker } from "./asker.ts";
import { idParams } from "./parameters.ts";

export interface LeasePorts {
  readonly leases: Leases;
  /** GPUs of all registered workers. */
  knownGpus(): Promise<readonly KnownGpu[]>;
}

const RETRY_AFTER_S = 1;

const waitQuery = z.strictObject({
  // An empty value would count as 0.
  wait: z
    .preprocess((value) => (value === "" ? Number.NaN : value), z.coerce.number().min(0).max(86_400))
    .optional()
    .describe(`seconds to wait until it is held, at most ${MAX_WAIT_S} at a time`),
});

const pageSchema = z
  .object({ items: z.array(leaseSchema), next_cursor: z.null().describe("there is one page") })
  .meta({ id: "LeasePage" });

/** Without what only the service knows of it. */
const view = (lease: TrackedLease) => leaseSchema.parse(lease);

export const leaseRoutes =
  ({ leases, knownGpus }: LeasePorts): FastifyPluginAsyncZod =>
  async (app) => {
    const find = async (id: string): Promise<TrackedLease> => {
      const lease = await leases.get(id);
      if (lease) return lease;
      throw new RefusedError("not_found", `There is no lease ${id}.`, {
        hint: "One that has ended is remembered for an hour.",
      });
    };

    app.post(
      "/leases",
      {
        config: { role: "submitter" },
        schema: {
          operationId: "requestLease",
          tags: ["leases"],
          summary: "Ask for the exclusive right to GPUs",
          description:
            "All GPUs are taken at once or none, in the order of the requests. `?wait=30` or `Prefer: wait=30` waits that long for them. Until it is held, it is kept alive by asking for it; then by PATCH. It ends when nobody does so within `ttl_s`, also when the client closes the connection before the answer.",
          querystring: waitQuery,
          body: leaseRequestSchema,
          response: {
            201: json("Held", leaseSchema),
            202: json("Waiting its turn; poll `Location`, which keeps its place", leaseSchema),
            ...problemResponses(
              "malformed_json",
              "invalid_query",
              "validation_failed",
              "no_such_gpu",
              "lease_ended",
              "content_too_large",
              "unsupported_media_type",
            ),
          },
          ...HEADERS({
            201: ["location", "preference-applied"],
            202: ["location", "retry-after", "preference-applied"],
          }),
        },
      },
      async (request, reply) => {
        const { kind, holder, ttl_s } = request.body;
        const gpus = chooseGpus(request.body, await knownGpus());
        const gone = whenGone(reply);
        const ms = waitMs(request.query.wait, request, reply);
        const { id } = await leases.request({ kind, gpus, holder, ttlS: ttl_s, owner: request.principal.keyId });
        // Nobody would know its id. What cannot be released now ends after its ttl.
        const giveBack = (): void => void leases.release(id).catch(() => {});
        if (gone.aborted) giveBack();
        else gone.addEventListener("abort", giveBack, { once: true });
        const lease = await leases.wait(id, { ms, signal: gone });
        if (lease.state === "ended") {
          throw new RefusedError("lease_ended", `The lease ${id} was ended by somebody else while it waited.`);
        }
        reply.header("location", `/leases/${id}`);
        if (lease.state === "held") return reply.code(201).send(view(lease));
        return reply.code(202).header("retry-after", RETRY_AFTER_S).send(view(lease));
      },
    );

    app.get(
      "/leases",
      {
        config: { role: "reader" },
        schema: {
          operationId: "listLeases",
          tags: ["leases"],
          summary: "Leases that are held or wait, in the order of their requests",
          response: { 200: json("All of them", pageSchema), ...problemResponses() },
        },
      },
      async (_request, reply) =>
        reply.header("cache-control", "no-cache").send({ items: (await leases.list()).map(view), next_cursor: null }),
    );

    app.get(
      "/leases/:id",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getLease",
          tags: ["leases"],
          summary: "A lease, at once or when it is held",
          description:
            "Asking keeps its place while it waits, if whoever asked for the lease does it. One that has ended is shown for an hour.",
          params: idParams,
          querystring: waitQuery,
          response: { 200: json("The lease", leaseSchema), ...problemResponses("not_found", "invalid_query") },
          ...HEADERS({ 200: ["retry-after", "preference-applied"] }),
        },
      },
      async (request, reply) => {
        const found = await find(request.params.id);
        const ms = waitMs(request.query.wait, request, reply);
        const renew = isOwner(found, asker(request));
        const lease = await leases.wait(found.id, { ms, signal: whenGone(reply), renew });
        if (lease.state === "waiting") reply.header("retry-after", RETRY_AFTER_S);
        return reply.header("vary", "Prefer").header("cache-control", "no-cache").send(view(lease));
      },
    );

    app.patch(
      "/leases/:id",
      {
        config: { role: "submitter" },
        schema: {
          operationId: "renewLease",
          tags: ["leases"],
          summary: "Renew a lease",
          description: "Its ttl starts anew. Only the key that asked for it may, and an admin.",
          params: idParams,
          body: leaseRenewalSchema,
          response: {
            200: json("Renewed", leaseSchema),
            ...problemResponses(
              "malformed_json",
              "validation_failed",
              "not_found",
              "lease_ended",
              "content_too_large",
              "unsupported_media_type",
            ),
          },
        },
      },
      async (request, reply) => {
        const found = await find(request.params.id);
        checkMayChange(found, asker(request));
        const { ttl_s, token } = request.body;
        const lease = await leases.renew(found.id, {
          ...(ttl_s === undefined ? {} : { ttlS: ttl_s }),
          ...(token === undefined ? {} : { token }),
        });
        return reply.send(view(lease));
      },
    );

    app.delete(
      "/leases/:id",
      {
        config: { role: "submitter" },
        schema: {
          operationId: "releaseLease",
          tags: ["leases"],
          summary: "End a lease, or give up its place",
          description:
            "Ending it again changes nothing and is no error. Only the key that asked for it may, and an admin: what runs under the lease of a worker is then stopped.",
          params: idParams,
          response: { 204: z.undefined().describe("It has ended"), ...problemResponses("not_found") },
        },
      },
      async (request, reply) => {
        const found = await find(request.params.id);
        checkMayChange(found, asker(request));
        await leases.release(found.id);
        return reply.code(204).send();
      },
    );
  };

/** How long the client wants to wait, by `?wait=` or the `Prefer` header. */
function waitMs(
  wait: number | undefined,
  request: Pick<FastifyRequest, "headers" | "wasAskedToWait">,
  reply: FastifyReply,
): number {
  const preferred = preferredWait(request.headers.prefer);
  const seconds = Math.min(wait ?? preferred ?? 0, MAX_WAIT_S);
  if (preferred !== null) reply.header("preference-applied", `wait=${seconds}`);
  request.wasAskedToWait = seconds > 0;
  return seconds * 1000;
}

/** Fires when the client closes the connection before it has the answer. */
function whenGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
