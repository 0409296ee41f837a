import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";

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
      { name: "workers", description: "GPU hosts: who is there, what they can run, and what they tell" },
      { name: "leases", description: "The exclusive right to GPUs, for captures and for benchmarks" },
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
  transformObject: (document) => finish(jsonSchemaTransformObject(document as never) as Document) as never,
});

/** What zod cannot say about a route: given in its schema under these names and moved to its place here. */
interface Operation {
  "x-request-body"?: unknown;
  "x-response-headers"?: Record<string, unknown>;
  requestBody?: unknown;
  responses?: Record<string, { headers?: unknown }>;
}

interface Document {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown> };
}

function finish(document: Document): Document {
  for (const operation of Object.values(document.paths ?? {}).flatMap((operations) => Object.values(operations))) {
    const { "x-request-body": body, "x-response-headers": headers } = operation;
    delete operation["x-request-body"];
    delete operation["x-response-headers"];
    if (body !== undefined) operation.requestBody = body;
    for (const [status, fields] of Object.entries(headers ?? {})) {
      const response = operation.responses?.[status];
      if (response) response.headers = fields;
    }
  }
  return withPlainNames(document);
}

const SCHEMAS = "#/components/schemas/";
/** What the transform adds to the name of a schema that describes input. */
const INPUT = /Input$/;

/**
 * Every schema comes twice, as input and as output. Keeps those that a path reaches, gives input its plain name where
 * the output of that name is not used, and opens the objects of answers: fields may be added to them later.
 */
function withPlainNames(document: Document): Document {
  const all = document.components?.schemas ?? {};
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const name of references(value)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(all[name]);
    }
  };
  visit(document.paths);
  const plain = (name: string): string => {
    const short = name.replace(INPUT, "");
    return used.has(short) ? name : short;
  };
  const schemas = [...used]
    .sort()
    .map((name) => [plain(name), INPUT.test(name) ? all[name] : withoutClosedObjects(all[name])]);
  const whole = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } };
  return JSON.parse(JSON.stringify(whole), (key, value: unknown) =>
    key === "$ref" && typeof value === "string" && value.startsWith(SCHEMAS)
      ? SCHEMAS + plain(value.slice(SCHEMAS.length))
      : value,
  );
}

function references(value: unknown): string[] {
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "$ref" && typeof item === "string" && item.startsWith(SCHEMAS)
      ? [item.slice(SCHEMAS.length)]
      : references(item),
  );
}

const withoutClosedObjects = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "additionalProperties" && value === false ? undefined : value,
  );
