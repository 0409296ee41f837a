import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import {
  artifactNameSchema,
  artifactSchema,
  captureEventSchema,
  captureOrderSchema,
  outcomeSchema,
} from "../src/model/capture.ts";
import { profileSchema } from "../src/model/profile.ts";
import { workerIdSchema } from "../src/model/worker.ts";
import { tellCapture } from "../src/profiles/capture.ts";
import { putArtifact } from "../src/profiles/capture-artifacts.ts";
import { finishCapture } from "../src/profiles/capture-outcome.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { idParams } from "./parameters.ts";
import { announcedSha256, BYTES, leaveBodiesUnread, RAW_BODY, withRawBody } from "./raw-body.ts";
import { detectUpload } from "./upload-kinds.ts";

/** A record with its plan and findings; more than other bodies may have. */
const OUTCOME_LIMIT_BYTES = 8 * 1024 * 1024;

const JSON_PROBLEMS = [
  "malformed_json",
  "validation_failed",
  "not_found",
  "superseded",
  "content_too_large",
  "unsupported_media_type",
] as const;

/** What a worker sends about the profile that it captures. */
export const profileCaptureRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.post(
      "/profiles/:id/events",
      {
        config: { role: "worker" },
        schema: {
          operationId: "tellCapture",
          tags: ["workers"],
          summary: "A worker begins a capture, or tells how far it is",
          description:
            "`begin` starts a new attempt, which every later call names. `superseded` means: stop, the profile has ended or another attempt has it.",
          params: idParams,
          body: captureEventSchema,
          response: { 200: json("What is to be done", captureOrderSchema), ...problemResponses(...JSON_PROBLEMS) },
        },
      },
      async (request) => tellCapture(ports, request.params.id, request.body),
    );

    app.post(
      "/profiles/:id/outcome",
      {
        config: { role: "worker" },
        bodyLimit: OUTCOME_LIMIT_BYTES,
        schema: {
          operationId: "finishCapture",
          tags: ["workers"],
          summary: "A worker ends a capture",
          description:
            "The reports and timelines that it names are analysed. The same attempt's outcome again changes nothing and answers 200.",
          params: idParams,
          body: outcomeSchema,
          response: { 200: json("The profile", profileSchema), ...problemResponses(...JSON_PROBLEMS) },
        },
      },
      async (request) => finishCapture(ports, request.params.id, request.body, detectUpload),
    );

    await app.register(artifactRoutes(ports));
  };

const artifactRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    leaveBodiesUnread(app);
    app.put(
      "/profiles/:id/artifacts/:name",
      {
        config: { role: "worker", consumes: [BYTES] },
        schema: {
          operationId: "putArtifact",
          tags: ["workers"],
          summary: "A worker hands in a file of its capture",
          description:
            "Streamed and hashed; with the header `Content-Digest: sha-256=:…:` (RFC 9530) checked against it. Of two with the same name the newest stays. " +
            "Taken until ten minutes after the profile has ended, so that a canceled run leaves its files; after the outcome only the log.",
          params: idParams.extend({ name: artifactNameSchema }),
          querystring: z.strictObject({ attempt: z.coerce.number().int().min(1), worker_id: workerIdSchema }),
          ...RAW_BODY,
          response: {
            200: json("Stored", artifactSchema),
            ...problemResponses("invalid_query", "not_found", "superseded", "content_too_large", "quota_exceeded"),
          },
        } as never,
      },
      async (request, reply) => {
        const { id, name } = request.params as { id: string; name: string };
        const { attempt, worker_id } = request.query as { attempt: number; worker_id: string };
        const sha256 = announcedSha256(request);
        const artifact = await withRawBody(request, (body) =>
          putArtifact(ports, id, { ...body, name, attempt, workerId: worker_id, sha256 }),
        );
        return reply.send(artifact);
      },
    );
  };
