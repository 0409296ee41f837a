import { expect, it } from "vitest";
import { modelKey } from "../../src/model/model-name.ts";
import { type ProfileRequest, profileRequestSchema } from "../../src/model/profile.ts";
import { fingerprint } from "../../src/profiles/fingerprint.ts";
import { resolveRequest } from "../../src/profiles/resolve-request.ts";

const targets = { isFullPipeline: (target: string) => target === "full pipeline", problem: () => null };
const BASE = { target: "k", model: "a/Model", engine: "vllm", source: { kind: "report", report_ids: ["r"] } } as const;
/** Fields that say how to measure go with a workload, not with a report. */
const MEASURED = { source: { kind: "workload", name: "w" } } as const;

function of(change: Partial<ProfileRequest>, hashes = ["h1"]): string {
  const request = resolveRequest(profileRequestSchema.parse({ ...BASE, ...change }), targets);
  return fingerprint(request, request.model === null ? null : modelKey(request.model), hashes);
}

/** Requests for other ranks than 0 are refused for now; two results of two ranks would differ all the same. */
const ofRank = (rank: number): string =>
  fingerprint({ ...resolveRequest(profileRequestSchema.parse({ ...BASE, ...MEASURED }), targets), rank }, "model", [
    "h1",
  ]);

it("is the same for the same question, however it is put", () => {
  const same: Partial<ProfileRequest>[] = [
    {},
    { engine: "VLLM" },
    { model: "model" },
    { concurrency: 1 },
    { top_n: 10 },
    { session: "s", labels: { a: "b" }, force: true, reuse: "never" },
    { source: { kind: "report", report_ids: ["another id of the same bytes"] } },
  ];
  expect(new Set(same.map((change) => of(change))).size).toBe(1);
  expect(of({ ...MEASURED, rank: 0 })).toBe(of(MEASURED));
  expect(of({ ...MEASURED, ncu: { set: "full", metrics: ["m"] } })).toBe(
    of({ ...MEASURED, ncu: { metrics: ["m"], set: "full" } }),
  );
});

it("differs when anything differs that decides the result", () => {
  const different = [
    of({}),
    of({ target: "k2" }),
    of({ target: "full pipeline" }),
    of({ model: "other" }),
    of({ engine: "sglang" }),
    of({ concurrency: 2 }),
    of(MEASURED),
    ofRank(1),
    of({ top_n: 11 }),
    of({ ...MEASURED, gpu: "H200" }),
    of({ ...MEASURED, pool: "p" }),
    of({ ...MEASURED, max_duration_s: 5 }),
    of({ revision: "r2" }),
    of({ ...MEASURED, ncu: { set: "full" } }),
    of({}, ["h2"]),
    of({}, ["h1", "h2"]),
    of({}, ["h2", "h1"]),
  ];
  expect(new Set(different).size).toBe(different.length);
});

it.each([
  ["DeepSeek V3", "deepseekv3"],
  ["deepseek-ai/DeepSeek-V3", "deepseekv3"],
  ["Qwen/Qwen3-8B", "qwen38b"],
  ["通义千问", "通义千问"],
  ["---", "---"],
])("normalises the model %s", (model, key) => {
  expect(modelKey(model)).toBe(key);
});
