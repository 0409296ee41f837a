import type { IncomingMessage } from "node:http";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { HEADERS } from "../src/http/documented-headers.ts";
import { unsupportedMediaType } from "../src/http/errors.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { uploadedReportSchema } from "../src/model/profile.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getReport, uploadReport } from "../src/profiles/reports.ts";
import { detectReport } from "../src/report/detect.ts";
import { asker } from "./asker.ts";
import { idParams } from "./parameters.ts";

const BYTES = "application/octet-stream";
/** Wrapped bytes are not the report. Any other type is taken: the bytes say what they are, and clients seldom know. */
const WRAPPED = /^\s*(multipart\/|application\/json\b)/i;
/** How long the rest of a refused upload is read, so that the client gets to see the answer. */
const DRAIN_LIMIT_MS = 10_000;

export const reportRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));

    app.post(
      "/reports",
      {
        config: { role: "submitter", consumes: [BYTES] },
        schema: {
          operationId: "uploadReport",
          tags: ["reports"],
          summary: "Upload a report",
          description:
            "The body is the file itself: `.ncu-rep`, `.ncu-repz`, or a CSV page of `ncu --csv` (`raw` or `details`), as it is or compressed with gzip or zstd. " +
            "What it is, is seen from its bytes. The same bytes again give the same report, with 200.",
          "x-request-body": {
            required: true,
            content: { [BYTES]: { schema: { type: "string", contentMediaType: BYTES } } },
          },
          response: {
            200: json("These bytes were there before", uploadedReportSchema),
            201: json("Stored", uploadedReportSchema),
            ...problemResponses("report_unreadable", "content_too_large", "unsupported_media_type", "quota_exceeded"),
          },
          ...HEADERS({ 200: ["location"], 201: ["location"] }),
        } as object,
      },
      async (request, reply) => {
        const { raw, headers } = request;
        if (WRAPPED.test(headers["content-type"] ?? "")) return unsupportedMediaType(request, reply);
        const declared = Number(headers["content-length"] ?? Number.NaN);
        try {
          const { report, existed } = await uploadReport(ports, asker(request), {
            // A refusal must not destroy the connection: the client has yet to read why.
            bytes: raw.iterator({ destroyOnReturn: false }),
            declaredBytes: Number.isFinite(declared) ? declared : null,
            detect: detectReport,
          });
          return reply
            .code(existed ? 200 : 201)
            .header("location", report.links.self)
            .send(report);
        } finally {
          if (!raw.readableEnded) drain(raw);
        }
      },
    );

    app.get(
      "/reports/:id",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getReport",
          tags: ["reports"],
          summary: "What is known of an uploaded report",
          params: idParams,
          response: {
            200: json("The report", uploadedReportSchema),
            ...problemResponses("not_found"),
          },
        },
      },
      async (request) => getReport(ports, request.params.id),
    );
  };

function drain(body: IncomingMessage): void {
  const timer = setTimeout(() => body.socket.destroySoon(), DRAIN_LIMIT_MS).unref();
  body
    .once("close", () => clearTimeout(timer))
    .once("end", () => clearTimeout(timer))
    .resume();
}
