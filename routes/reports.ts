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
import { BYTES, leaveBodiesUnread, RAW_BODY, withRawBody } from "./raw-body.ts";

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
          summary: "Upload a report",
          description:
            "The body is the file itself: `.ncu-rep`, `.ncu-repz`, or a CSV page of `ncu --csv` (`raw` or `details`), as it is or compressed with gzip or zstd. " +
            "What it is, is seen from its bytes. The same bytes again give the same report, with 200.",
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
          uploadReport(ports, asker(request), { ...body, detect: detectReport }),
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
