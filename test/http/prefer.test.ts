import { expect, it } from "vitest";
import { preferredWait } from "../../src/http/prefer.ts";

it.each([
  [undefined, null],
  ["wait=30", 30],
  ["respond-async, wait=10", 10],
  ['Wait = "5"; x=y', 5],
  ["wait=100", 60],
  ["wait=0", 0],
  ["wait", null],
  ["wait=abc", null],
  ["wait=-1", null],
  ["wait=1.5", null],
  ["nowait=3", null],
  [["return=minimal", "wait=7"], 7],
])("Prefer: %s", (header, expected) => {
  expect(preferredWait(header)).toBe(expected);
});
