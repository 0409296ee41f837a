import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { profileResultSchema } from "../../src/model/result.ts";
import { AnalysisThreads } from "../../workers/analysis-threads.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";

const folder = temporaryFolder();
const open: AnalysisThreads[] = [];
afterAll(() => Promise.all(open.map((threads) => threads.close())));

function threadsWith(limits: { timeoutMs?: number; memoryMb?: number } = {}): AnalysisThreads {
  const threads = new AnalysisThreads({ timeoutMs: 60_000, memoryMb: 2048, ...limits });
  open.push(threads);
  return threads;
}

function task(bytes: Uint8Array, target = "full pipeline") {
  const path = join(folder, `${Math.random()}.ncu-rep`);
  writeFileSync(path, bytes);
  const reports = [{ id: "r", sha256: "s", path }];
  return {
    target,
    top_n: 10,
    max_decompressed_bytes: 1e9,
    model: null,
    capture: null,
    reports,
    timelines: [],
    folder: null,
    window: null,
  };
}

const FULL = fixture(`${H200}h200-full.ncu-rep.gz`);
const SMALL = fixture(`${H200}h200-graph-nodes.ncu-rep.gz`);
const never = (): AbortSignal => new AbortController().signal;

it("answers with a result, again and again the same bytes", async () => {
  const threads = threadsWith();
  const first = await threads.run(task(FULL), never());
  const second = await threads.run(task(FULL), never());
  expect(first).toEqual(second);
  const result = profileResultSchema.parse(JSON.parse(first.kind === "result" ? first.body : ""));
  expect(result.provenance.reports).toMatchObject([{ id: "r", sha256: "s", launches: 19 }]);
});

it("answers with the reader's own words where it cannot read", async () => {
  const threads = threadsWith();
  for (const [bytes, code, reason] of [
    [Buffer.from("PK\u0003\u0004 not a report"), "report_unreadable", "wrong_kind"],
    [Buffer.alloc(0), "report_unreadable", "empty"],
  ] as const) {
    const outcome = await threads.run(task(bytes), never());
    expect(outcome).toMatchObject({
      kind: "failure",
      failure: { code, retryable: false, evidence: { reason, report_id: "r" } },
    });
  }
  expect(await threads.run(task(SMALL, "nobody"), never())).toMatchObject({
    kind: "failure",
    failure: { code: "no_matching_kernel" },
  });
  const bomb = { ...task(FULL), max_decompressed_bytes: 1000 };
  expect(await threads.run(bomb, never())).toMatchObject({
    kind: "failure",
    failure: { code: "report_unreadable", evidence: { reason: "too_large" } },
  });
});

it("ends what takes too long, and what is no longer wanted", async () => {
  const slow = threadsWith({ timeoutMs: 1 });
  expect(await slow.run(task(FULL), never())).toMatchObject({
    kind: "failure",
    failure: { code: "analysis_timeout", retryable: true },
  });

  const threads = threadsWith();
  const unwanted = new AbortController();
  const running = threads.run(task(FULL), unwanted.signal);
  unwanted.abort();
  expect(await running).toEqual({ kind: "aborted" });
  expect(await threads.run(task(FULL), unwanted.signal)).toEqual({ kind: "aborted" });
  expect(await threads.run(task(SMALL), never())).toMatchObject({ kind: "result" });
});

it("outlives a thread that runs out of memory or breaks down", async () => {
  const small = threadsWith({ memoryMb: 8 });
  expect(await small.run(task(FULL), never())).toMatchObject({
    kind: "failure",
    failure: { code: "analysis_crashed", message: "The analysis needed more than 8 MB of memory.", retryable: true },
  });
  const threads = threadsWith();
  const gone = { ...task(SMALL), reports: [{ id: "r", sha256: "s", path: join(folder, "gone") }] };
  expect(await threads.run(gone, never())).toMatchObject({ kind: "failure", failure: { code: "analysis_crashed" } });
  expect(await threads.run(task(SMALL), never())).toMatchObject({ kind: "result" });
});
