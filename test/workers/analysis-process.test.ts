import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { analyseInProcess } from "../../workers/analysis-process.ts";
import { fixturePath } from "../helpers/fixtures.ts";

const LIMITS = { timeoutMs: 60_000, memoryMb: 2048 };
const never = (): AbortSignal => new AbortController().signal;

function task(timeline = "timelines/tiny-collective.nsys.sqlite.gz") {
  const timelines = [{ id: "t", sha256: "s", path: fixturePath(timeline) }];
  const question = { target: "full pipeline", top_n: 10, window: null, capture: null };
  return { ...question, max_decompressed_bytes: 1e9, reports: [], timelines, folder: null, model: null };
}

it("answers, and leaves no folder behind", async () => {
  expect(await analyseInProcess(task(), LIMITS, never())).toMatchObject({ kind: "result" });
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith("profile-kernel-analysis-"));
  expect(left).toEqual([]);
});

it("ends what takes too long, needs too much memory or is no longer wanted", async () => {
  expect(await analyseInProcess(task(), { ...LIMITS, timeoutMs: 1 }, never())).toMatchObject({
    failure: { code: "analysis_timeout", retryable: true },
  });
  const large = task("timelines/h200-pipeline.torch-trace.json.gz");
  expect(await analyseInProcess(large, { ...LIMITS, memoryMb: 10 }, never())).toMatchObject({
    failure: { code: "analysis_crashed", message: "The analysis needed more than 10 MB of memory.", retryable: true },
  });
  const unwanted = new AbortController();
  const running = analyseInProcess(task(), LIMITS, unwanted.signal);
  unwanted.abort();
  expect(await running).toEqual({ kind: "aborted" });
  expect(await analyseInProcess(task(), LIMITS, unwanted.signal)).toEqual({ kind: "aborted" });
});
