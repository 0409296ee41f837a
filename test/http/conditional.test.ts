import { expect, it } from "vitest";
import { byteRange, matchesTag } from "../../src/http/conditional.ts";

it.each([
  [undefined, null],
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=2-5", { start: 2, end: 5 }],
  ["bytes=5-", { start: 5, end: 9 }],
  ["bytes=-3", { start: 7, end: 9 }],
  ["bytes=-30", { start: 0, end: 9 }],
  ["bytes=8-100", { start: 8, end: 9 }],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=5-2", null],
  ["bytes=0-1,3-4", null],
  ["bytes=-", null],
  ["lines=0-1", null],
  ["bytes=a-b", null],
] as const)("Range: %s of 10 bytes", (header, expected) => {
  expect(byteRange(header, 10)).toEqual(expected);
});

it("finds no range in an empty file", () => {
  expect(byteRange("bytes=0-", 0)).toBe("unsatisfiable");
  expect(byteRange("bytes=-1", 0)).toBe("unsatisfiable");
});

it.each([
  [undefined, false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ["*", true],
  ['"b"', false],
  ["a", false],
])("If-None-Match: %s", (header, expected) => {
  expect(matchesTag(header, '"a"')).toBe(expected);
});
