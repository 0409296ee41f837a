import { expect, it } from "vitest";
import { accepts } from "../../src/http/accept.ts";

it.each([
  [undefined, true],
  ["", true],
  ["*/*", true],
  ["application/json", true],
  ["APPLICATION/JSON; charset=utf-8", true],
  ["application/*", true],
  ["text/html, */*;q=0.1", true],
  ["text/html", false],
  ["application/json;q=0", false],
  ["*/*, application/json;q=0", false],
  ["application/*;q=0, */*", false],
  ["application/jsonx", false],
] as const)("Accept: %s", (header, expected) => {
  expect(accepts(header, ["application/json"])).toBe(expected);
});
