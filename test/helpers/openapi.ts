import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }>; headers?: Record<string, unknown> }>;
}

/** The committed document. */
export const openApi = JSON.parse(readFileSync(new URL("../../openapi/openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
};

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
// Objects of answers are open in the document, for fields of later versions. Here a field nobody documented is an error.
ajv.addSchema({ $id: "openapi", components: closed(openApi.components) });

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (value === null || typeof value !== "object") return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, closed(item)]));
  return copy.type === "object" && "properties" in copy && !("additionalProperties" in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

const validators = new Map<string, ValidateFunction>();

function validatorOf(key: string, schema: object): ValidateFunction {
  const known = validators.get(key);
  if (known) return known;
  const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"openapi#/components/');
  const validate = ajv.compile(JSON.parse(text));
  validators.set(key, validate);
  return validate;
}

const templates = Object.keys(openApi.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{[^}]+\}/g, "[^/]+")}$`),
}));

/** Throws unless the document describes this answer: path, method, status, media type, headers and body. */
export function expectDocumented(
  method: string,
  path: string,
  answer: { status: number; headers: Headers; body: unknown },
): void {
  const { status, headers, body } = answer;
  const found = templates.find(({ pattern }) => pattern.test(path.split("?", 1)[0] ?? ""));
  const where = `${method} ${found?.template ?? path} ${status}`;
  const type = headers.get("content-type")?.split(";", 1)[0] ?? "";
  const operation = found && openApi.paths[found.template]?.[method === "HEAD" ? "get" : method.toLowerCase()];
  if (!operation) {
    // No path or method of the document: a problem all the same.
    if (status !== 404 && status !== 405) throw new Error(`${where} is not documented`);
    check(where, validatorOf("problem", { $ref: "#/components/schemas/Problem" }), body);
    return;
  }
  const response = operation.responses[String(status)] ?? operation.responses.default;
  if (!response) throw new Error(`${where}: the status is not documented`);
  for (const name of Object.keys(response.headers ?? {})) {
    const optional = name === "preference-applied" || name === "link" || (name === "retry-after" && status === 200);
    if (!optional && !headers.has(name)) throw new Error(`${where}: header ${name} is documented and missing`);
  }
  if (method === "HEAD") return;
  if (response.content === undefined) {
    if (body !== null) throw new Error(`${where}: has a body, and none is documented`);
    return;
  }
  const media = response.content[type];
  if (!media) throw new Error(`${where}: media type ${type} is not documented`);
  check(where, validatorOf(`${where} ${type}`, media.schema), body);
}

function check(where: string, validate: ValidateFunction, body: unknown): void {
  if (!validate(body)) throw new Error(`${where}: ${ajv.errorsText(validate.errors)}`);
}
