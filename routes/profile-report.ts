import { Readable } from "node:stream";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { byteRange, matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses, sendProblem } from "../src/http/problems.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { getProfileReport, type ReportFile, readReportBytes } from "../src/profiles/result.ts";
import { idParams } from "./parameters.ts";

const BYTES = "application/octet-stream";
const bytesSchema = z.string().meta({ contentMediaType: BYTES });

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
          response: {
            200: { description: "The file", content: { [BYTES]: { schema: bytesSchema } } },
            206: { description: "The part that `Range` asks for", content: { [BYTES]: { schema: bytesSchema } } },
            304: z.undefined().describe("Not changed: `If-None-Match` names this version"),
            ...problemResponses("not_found", "invalid_query", "range_not_satisfiable"),
          },
          ...HEADERS({
            200: ["etag", "content-disposition", "repr-digest"],
            206: ["etag", "content-range", "content-disposition", "repr-digest"],
            416: ["content-range"],
          }),
        },
      },
      async (request, reply) => {
        const report = await getProfileReport(ports, request.params.id, request.query.index);
        const tag = `"${report.sha256}"`;
        reply.headers({ etag: tag, "accept-ranges": "bytes", "cache-control": "private, max-age=31536000, immutable" });
        if (matchesTag(request.headers["if-none-match"], tag)) return reply.code(304).send();

        const unchanged = request.headers["if-range"] === undefined || request.headers["if-range"] === tag;
        const range = unchanged ? byteRange(request.headers.range, report.bytes) : null;
        if (range === "unsatisfiable") {
          reply.header("content-range", `bytes */${report.bytes}`);
          return sendProblem(request, reply, "range_not_satisfiable", `The file has ${report.bytes} bytes.`);
        }
        reply.headers({
          "content-type": BYTES,
          "content-disposition": `attachment; filename*=UTF-8''${fileName(report)}`,
          "repr-digest": `sha-256=:${Buffer.from(report.sha256, "hex").toString("base64")}:`,
          "content-length": range ? range.end - range.start + 1 : report.bytes,
        });
        if (range) reply.code(206).header("content-range", `bytes ${range.start}-${range.end}/${report.bytes}`);
        // Answers to HEAD read no file.
        const body =
          request.method === "HEAD" ? Readable.from([]) : await readReportBytes(ports, report, range ?? undefined);
        return reply.send(body as never);
      },
    );
  };

const EXTENSIONS: Readonly<Record<string, string>> = {
  "ncu-rep": ".ncu-rep",
  "ncu-csv-raw": ".csv",
  "ncu-csv-details": ".csv",
  gzip: ".gz",
  zstd: ".zst",
};

const fileName = ({ sha256, format, compression }: ReportFile): string =>
  `report-${sha256.slice(0, 12)}${EXTENSIONS[format ?? ""] ?? ""}${EXTENSIONS[compression ?? ""] ?? ""}`;
