import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { expect, it } from "vitest";
import { openApiText } from "../../openapi/document.ts";
import { PROBLEM_CODES } from "../../src/model/problem.ts";
import { openApi } from "../helpers/openapi.ts";

it("is what the routes are (npm run generate writes it anew)", async () => {
  const committed = readFileSync(new URL("../../openapi/openapi.json", import.meta.url), "utf8");
  expect(committed).toBe(await openApiText());
});

it("is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(openApi));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe("3.1");
});

it("documents every operation: an id, a summary, problems", () => {
  const operations = Object.values(openApi.paths).flatMap((methods) => Object.values(methods)) as {
    operationId?: string;
    summary?: string;
    responses: object;
  }[];
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
  for (const operation of operations) {
    expect(operation.operationId).toBeTruthy();
    expect(operation.summary).toBeTruthy();
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["400", "401", "403", "500", "default"]));
  }
});

it("lists every code of a problem", () => {
  const { properties } = openApi.components.schemas.Problem as { properties: { code: { enum: string[] } } };
  expect(properties.code.enum).toEqual([...PROBLEM_CODES]);
});

it("refers to nothing that is not there", () => {
  const references = [...JSON.stringify(openApi).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
  for (const reference of new Set(references))
    expect(openApi.components.schemas).toHaveProperty(reference?.replace("#/components/schemas/", "") ?? "");
});
