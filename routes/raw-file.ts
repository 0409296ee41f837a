import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { byteRange, matchesTag } from "../src/http/conditional.ts";
import { HEADERS } from "../src/http/documented-headers.ts";
import { problemResponses, sendProblem } from "../src/http/problems.ts";
import type { ProfilePorts } from "../src/profiles/ports.ts";
import { type ReportFile, readReportBytes } from "../src/profiles/result.ts";
import { BYTES } from "./raw-body.ts";

const bytesSchema = z.string().meta({ contentMediaType: BYTES });

/** For a route that hands out a stored file: what it answers. */
export const RAW_FILE = {
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
};

/** Sends a stored file byte for byte, or the part that is asked for. @param name what it is called, without hash and ending. */
export async function sendRawFile(
  ports: ProfilePorts,
  request: FastifyRequest,
  reply: FastifyReply,
  { file, name }: { readonly file: ReportFile; readonly name: string },
): Promise<unknown> {
  const tag = `"${file.sha256}"`;
  reply.headers({ etag: tag, "accept-ranges": "bytes", "cache-control": "private, max-age=31536000, immutable" });
  if (matchesTag(request.headers["if-none-match"], tag)) return reply.code(304).send();

  const unchanged = request.headers["if-range"] === undefined || request.headers["if-range"] === tag;
  const range = unchanged ? byteRange(request.headers.range, file.bytes) : null;
  if (range === "unsatisfiable") {
    reply.header("content-range", `bytes */${file.bytes}`);
    return sendProblem(request, reply, "range_not_satisfiable", `The file has ${file.bytes} bytes.`);
  }
  reply.headers({
    "content-type": BYTES,
    "content-disposition": `attachment; filename*=UTF-8''${fileName(name, file)}`,
    "repr-digest": `sha-256=:${Buffer.from(file.sha256, "hex").toString("base64")}:`,
    "content-length": range ? range.end - range.start + 1 : file.bytes,
  });
  if (range) reply.code(206).header("content-range", `bytes ${range.start}-${range.end}/${file.bytes}`);
  // Answers to HEAD read no file.
  return reply.send(
    request.method === "HEAD" ? Readable.from([]) : await readReportBytes(ports, file, range ?? undefined),
  );
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "ncu-rep": ".ncu-rep",
  "ncu-csv-raw": ".csv",
  "ncu-csv-details": ".csv",
  "nsys-sqlite": ".sqlite",
  "nsys-stats": ".txt",
  "torch-trace": ".json",
  gzip: ".gz",
  zstd: ".zst",
};

const fileName = (name: string, { sha256, format, compression }: ReportFile): string =>
  `${name}-${sha256.slice(0, 12)}${EXTENSIONS[format ?? ""] ?? ""}${EXTENSIONS[compression ?? ""] ?? ""}`;
