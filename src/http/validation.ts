import type { FastifySchemaCompiler } from "fastify";
import type { z } from "zod";
import type { RefusalItem } from "../model/refusal.ts";

/** What a schema found wrong; Fastify adds `validationContext`: where the input came from. */
export class InvalidInputError extends Error {
  override readonly name = "InvalidInputError";
  readonly code = "INVALID_INPUT";
  readonly issues: readonly z.core.$ZodIssue[];
  readonly input: unknown;
  validationContext?: string;

  constructor(issues: readonly z.core.$ZodIssue[], input: unknown) {
    super("invalid input");
    this.issues = issues;
    this.input = input;
  }
}

/** Checks input with the zod schema of the route; what passed has its defaults. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const result = schema.safeParse(data);
    return result.success ? { value: result.data } : { error: new InvalidInputError(result.error.issues, data) };
  };

/** One item for each wrong field: where it is, what was given, what would work. */
export function refusalItems({ issues, input, validationContext }: InvalidInputError): RefusalItem[] {
  const inBody = validationContext === "body";
  const code = inBody ? "validation_failed" : "invalid_query";
  return issues
    .flatMap((issue) => flatten(issue, input, []))
    .map(({ path, detail }) => ({
      pointer: inBody ? path.map((key) => `/${escapePointer(String(key))}`).join("") : `?${path.map(String).join(".")}`,
      code,
      detail,
    }));
}

interface Item {
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

/** RFC 6901, section 3. */
const escapePointer = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

function flatten(issue: z.core.$ZodIssue, input: unknown, prefix: readonly PropertyKey[]): Item[] {
  const path = [...prefix, ...issue.path];
  const given = show(at(input, path));
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => ({
        path: [...path, key],
        detail: `given: ${show(at(input, [...path, key]))}; there is no such field here`,
      }));
    case "invalid_type":
      return [{ path, detail: `given: ${given}; expected ${issue.expected}` }];
    case "invalid_value":
      return [{ path, detail: `given: ${given}; expected ${oneOf(issue.values)}` }];
    case "invalid_union":
      return union(issue, input, path, given);
    case "too_small":
      return [{ path, detail: `given: ${given}; expected ${sized(issue.origin)} of at least ${issue.minimum}` }];
    case "too_big":
      return [{ path, detail: `given: ${given}; expected ${sized(issue.origin)} of at most ${issue.maximum}` }];
    default:
      return [{ path, detail: `given: ${given}; ${issue.message}` }];
  }
}

/** Of the alternatives, the one that came furthest says what is wrong. */
function union(
  issue: z.core.$ZodIssueInvalidUnion,
  input: unknown,
  path: readonly PropertyKey[],
  given: string,
): Item[] {
  if ("options" in issue && issue.options !== undefined)
    return [{ path, detail: `given: ${given}; expected ${oneOf(issue.options)}` }];
  const alternatives = issue.errors.map((errors) => errors.flatMap((inner) => flatten(inner, input, path)));
  const [best] = alternatives.toSorted((a, b) => a.length - b.length);
  return best ?? [{ path, detail: `given: ${given}; ${issue.message}` }];
}

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`;

const SIZED: Readonly<Record<string, string>> = {
  string: "a text with a length",
  array: "a list with a length",
  record: "an object with a size",
};
const sized = (origin: string): string => SIZED[origin] ?? "a number";

const at = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      value !== null && typeof value === "object" && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    input,
  );

const MAX_SHOWN = 120;

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = jsonOf(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Values of a request may be nested deeper than the stack allows to write them. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return Array.isArray(value) ? "a deeply nested list" : "a deeply nested object";
  }
}
