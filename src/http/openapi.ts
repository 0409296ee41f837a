import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";

/** What zod cannot say about a route, given in its schema under these names and moved to their place in the document. */
interface Extras {
  "x-request-body"?: unknown;
  "x-response-headers"?: Record<string, Record<string, unknown>>;
}

type Operation = Extras & { requestBody?: unknown; responses?: Record<string, { headers?: unknown }> };

/** The document is made of the schemas that check the requests: OpenAPI 3.1. */
export const openApiOptions = (version: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: "3.1.0",
    info: {
      title: "profile-kernel",
      version,
      description:
        "Nsight Compute reports in, ranked roofline verdicts out.\n\nUpload a report, submit a profile about it, wait for it with `?wait=`, read its result. " +
        "Every answer that is not a success is a problem document (RFC 9457) with a `code` from a closed list. " +
        "Missing numbers are null with a reason, never 0. Fields may be added; clients ignore those they do not know.",
    },
    servers: [{ url: "/" }],
    tags: [
      { name: "reports", description: "Uploaded reports" },
      { name: "profiles", description: "Requests and their results" },
      { name: "service", description: "Health, metrics, description" },
    ],
    components: {
      securitySchemes: {
        key: {
          type: "http",
          scheme: "bearer",
          description:
            "`pk_<id>_<secret>`. Not needed while the service has no keys: then it listens on loopback only.",
        },
      },
    },
    security: [{ key: [] }, {}],
  },
  transform: jsonSchemaTransform as never,
  transformObject: (document) => withExtras(jsonSchemaTransformObject(document as never) as never) as never,
});

function withExtras<T extends { paths?: Record<string, Record<string, Operation>> }>(document: T): T {
  for (const operations of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(operations)) {
      const { "x-request-body": body, "x-response-headers": headers } = operation;
      delete operation["x-request-body"];
      delete operation["x-response-headers"];
      if (body !== undefined) operation.requestBody = body;
      for (const [status, names] of Object.entries(headers ?? {})) {
        const response = operation.responses?.[status];
        if (response) response.headers = names;
      }
    }
  }
  return document;
}
