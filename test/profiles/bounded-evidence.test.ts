import { expect, it } from "vitest";
import { boundedEvidence } from "../../src/profiles/bounded-evidence.ts";
import { FAILURE } from "../helpers/fake-worker.ts";

const LIMIT = 16 * 1024;
const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

it("leaves evidence of a reasonable size as it is", () => {
  expect(boundedEvidence(FAILURE)).toBe(FAILURE);
});

it.each([
  ["a text", { exit_code: 1, log: `${"ü".repeat(100_000)}the end` }],
  ["a list", { exit_code: 1, log: [...Array.from({ length: 5_000 }, (_, index) => `line ${index}`), "the end"] }],
])("keeps the end of %s that is too long", (_, evidence) => {
  const { evidence: kept, ...rest } = boundedEvidence({ ...FAILURE, evidence });
  expect(rest).toEqual({ code: FAILURE.code, message: FAILURE.message, hint: FAILURE.hint, retryable: false });
  expect(kept).toMatchObject({ exit_code: 1, evidence_cut: ["log"] });
  expect(JSON.stringify(kept.log)).toMatch(/the end"\]?$/);
  expect(size(kept)).toBeLessThanOrEqual(LIMIT);
  expect(size(kept)).toBeGreaterThan(LIMIT - 2048);
});

it("drops what has no end, and bounds even the names", () => {
  const nested = { a: { b: "x".repeat(20_000) }, small: 1 };
  expect(boundedEvidence({ ...FAILURE, evidence: nested }).evidence).toEqual({ small: 1, evidence_cut: ["a"] });
  const names = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`name number ${index}`, index]));
  expect(size(boundedEvidence({ ...FAILURE, evidence: names }).evidence)).toBeLessThanOrEqual(LIMIT);
});
