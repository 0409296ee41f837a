import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { HEADERS } from "../src/http/documented-headers.ts";
import { unsupportedMediaType } from "../src/http/errors.ts";
import { problemResponses } from "../src/http/problems.ts";
import { json } from "../src/http/responses.ts";
import { uploadedReportSchema } from "../src/model/profile.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getReport, uploadReport } from "../src/profiles/reports.ts";
import { asker } from "./asker.ts";
import { idParams } from "./parameters.ts";
import { BYTES, leaveBodiesUnread, RAW_BODY, withRawBody } from "./raw-body.ts";
import { detectUpload } from "./upload-kinds.ts";

/** Wrapped bytes are not the report. Any other type is taken: the bytes say what they are, and clients seldom know. */
const WRAPPED = /^\s*(multipart\/|application\/json\b)/i;
export const reportRoutes =
  (ports: ProfilePorts): FastifyPluginAsyncZod =>
  async (app) => {
    leaveBodiesUnread(app);

    app.post(
      "/reports",
      {
        config: { role: "submitter", consumes: [BYTES] },
        schema: {
          operationId: "uploadReport",
          tags: ["reports"],
          summary: "Upload a report or a timeline",
          description:
            "The body is the file itself: `.ncu-rep`, `.ncu-repz`, a CSV page of `ncu --csv` (`raw` or `details`); or a timeline: the SQLite of `nsys export`, what `nsys stats` printed, JSON of torch's profiler. As it is or compressed with gzip or zstd. " +
            "What it is, is seen from its bytes. The same bytes again give the same id, with 200. A `.nsys-rep` is refused with the command that exports it.",
          ...RAW_BODY,
          response: {
            200: json("These bytes were there before", uploadedReportSchema),
            201: json("Stored", uploadedReportSchema),
            ...problemResponses("report_unreadable", "content_too_large", "unsupported_media_type", "quota_exceeded"),
          },
          ...HEADERS({ 200: ["location"], 201: ["location"] }),
        } as object,
      },
      async (request, reply) => {
        if (WRAPPED.test(request.headers["content-type"] ?? "")) return unsupportedMediaType(request, reply);
        const { report, existed } = await withRawBody(request, (body) =>
          uploadReport(ports, asker(request), { ...body, detect: detectUpload }),
        );
        return reply
          .code(existed ? 200 : 201)
          .header("location", report.links.self)
          .send(report);
      },
    );

    app.get(
      "/reports/:id",
      {
        config: { role: "reader" },
        schema: {
          operationId: "getReport",
          tags: ["reports"],
          summary: "What is known of an uploaded report or timeline",
          params: idParams,
          response: {
            200: json("The report or timeline", uploadedReportSchema),
            ...problemResponses("not_found"),
          },
        },
      },
      async (request) => getReport(ports, request.params.id),
    );
  };
