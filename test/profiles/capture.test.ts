import { afterAll, beforeAll, expect, it } from "vitest";
import { profileById } from "../../src/db/profiles.ts";
import { heartbeat } from "../../src/fleet/workers.ts";
import type { CaptureOrder, Outcome } from "../../src/model/capture.ts";
import type { ProfileState } from "../../src/model/profile.ts";
import { beginAnalysis, finishAnalysis } from "../../src/profiles/analysis.ts";
import { cancelProfile } from "../../src/profiles/cancel.ts";
import { tellCapture } from "../../src/profiles/capture.ts";
import { putArtifact } from "../../src/profiles/capture-artifacts.ts";
import { finishCapture } from "../../src/profiles/capture-outcome.ts";
import type { ProfilePorts } from "../../src/profiles/ports.ts";
import { detectReport } from "../../src/report/detect.ts";
import { onBothDatabases } from "../helpers/databases.ts";
import { FAILURE, outcome, registration } from "../helpers/fake-worker.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { eventsOf, OPERATOR, openTestPorts, type TestPorts } from "../helpers/ports.ts";

const REPORT = fixture(`${H200}ranges-kernels.ncu-rep.gz`);
const OTHER = fixture(`${H200}ranges-nvtx-include.ncu-rep.gz`);

await onBothDatabases((database) => {
  let test: TestPorts;
  beforeAll(async () => {
    test = await openTestPorts(database);
    for (const id of ["w1", "w2"]) await heartbeat(test.ports, id, registration());
    await heartbeat(test.ports, "elsewhere", registration({ pool: "p2", workloads: [] }));
  });
  afterAll(() => test.close());

  const submit = () => test.submit({ source: { kind: "workload", name: "tiny" } });
  const begin = (id: string, worker_id = "w1") => tellCapture(test.ports, id, { type: "begin", worker_id });
  const state = (id: string, attempt: number, to: Exclude<CaptureState, "queued">, worker_id = "w1") =>
    tellCapture(test.ports, id, {
      type: "state",
      worker_id,
      attempt,
      lease_token: 7,
      state: to,
      progress: { phase: to, done: null, total: null, message: null },
    });
  const put = (id: string, attempt: number, name = "report-1", bytes = REPORT, ports: ProfilePorts = test.ports) =>
    putArtifact(ports, id, {
      bytes: (async function* () {
        yield bytes;
      })(),
      declaredBytes: bytes.length,
      name,
      attempt,
      workerId: "w1",
      sha256: null,
    });
  const finish = (id: string, attempt: number, more: Partial<Outcome> = {}) =>
    finishCapture(test.ports, id, outcome("w1", attempt, more), detectReport);
  const rowOf = async (id: string) => {
    const row = await profileById(test.database.kysely, id);
    if (!row) throw new Error("no row");
    return row;
  };
  const used = async () =>
    (await test.database.kysely.selectFrom("storage_usage").selectAll().executeTakeFirstOrThrow()).bytes;

  it("waits in the queue of its pool, and is told what to do", async () => {
    const profile = await submit();
    expect(profile).toMatchObject({
      state: "queued",
      // A workload that is named says what it runs.
      request: { model: "deepseek-ai/DeepSeek-V3", engine: "vllm" },
      capture: { pool: "default", workload: "tiny", worker_id: null, attempts: 0 },
      links: { log: `/profiles/${profile.id}/log` },
    });
    expect(await test.queues.capture("default").presence(profile.id)).toBe("waiting");
    expect(await test.queues.analysis.presence(profile.id)).toBe("missing");
    const order: CaptureOrder = await begin(profile.id);
    expect(order).toEqual({ attempt: 1, request: profile.request, workload: "tiny", session_id: null });
    expect(await beginAnalysis(test.ports, profile.id)).toBeNull();
  });

  it("writes an event for each change of state, and none for progress", async () => {
    const { id } = await submit();
    await begin(id);
    for (const to of ["warming_up", "capturing", "capturing", "warming_up", "capturing"] as const)
      await state(id, 1, to);
    await tellCapture(test.ports, id, {
      type: "progress",
      worker_id: "w1",
      attempt: 1,
      lease_token: null,
      progress: { phase: "capturing", done: 3, total: 8, message: "x".repeat(9_000) },
    });
    const row = await rowOf(id);
    expect(JSON.parse(row.progress ?? "")).toEqual({
      phase: "capturing",
      done: 3,
      total: 8,
      message: "x".repeat(1_024),
    });
    expect(row.started_at_ms).not.toBeNull();
    await put(id, 1);
    expect(await finish(id, 1)).toMatchObject({ state: "analyzing", progress: { phase: "analysis" } });
    const attempt = await beginAnalysis(test.ports, id);
    expect(attempt).toMatchObject({ attempt: 2, capture: { ended: "completed", record: { worker_id: "w1" } } });
    if (attempt) await finishAnalysis(test.ports, attempt, "{}");
    expect(await eventsOf(test, id)).toEqual(
      ["queued", "waiting_for_gpu", "warming_up", "capturing", "warming_up", "capturing", "analyzing", "succeeded"].map(
        (name) => `profile.${name}`,
      ),
    );
  });

  it("listens to the newest attempt only, and to the worker that began it", async () => {
    const { id } = await submit();
    await begin(id);
    await state(id, 1, "capturing");
    expect((await begin(id, "w2")).attempt).toBe(2);
    const old = /^The profile is in the hands of attempt 2, of worker w2\.$/;
    for (const late of [
      () => state(id, 1, "warming_up"),
      () => put(id, 1),
      () => finish(id, 1, { ended: "failed", failure: FAILURE }),
    ]) {
      await expect(late()).rejects.toMatchObject({ code: "superseded", message: expect.stringMatching(old) });
    }
    await expect(state(id, 2, "capturing", "w1")).rejects.toMatchObject({ code: "superseded" });
    await state(id, 2, "capturing", "w2");
    expect(await rowOf(id)).toMatchObject({ state: "capturing", attempt: 2, capture_attempts: 2, worker_id: "w2" });
    expect(await eventsOf(test, id)).toEqual([
      "profile.queued",
      "profile.waiting_for_gpu",
      "profile.capturing",
      "profile.waiting_for_gpu",
      "profile.capturing",
    ]);
  });

  it("is begun by registered workers of its pool only", async () => {
    const { id } = await submit();
    await expect(begin(id, "nobody")).rejects.toMatchObject({ code: "validation_failed" });
    await expect(begin(id, "elsewhere")).rejects.toThrow("this worker is of pool p2, the profile of pool default");
    const uploaded = await test.submit();
    await expect(begin(uploaded.id)).rejects.toThrow("the profile is about uploaded reports");
    await expect(state(id, 1, "capturing")).rejects.toThrow("nobody has begun it");
    expect((await rowOf(id)).attempt).toBe(0);
  });

  it("gives up a profile whose worker is lost again and again", async () => {
    const { id } = await submit();
    for (let attempt = 1; attempt <= 3; attempt++) expect((await begin(id)).attempt).toBe(attempt);
    await expect(begin(id)).rejects.toMatchObject({ code: "superseded", message: expect.stringContaining("failed") });
    const row = await rowOf(id);
    expect(row.state).toBe("failed");
    expect(JSON.parse(row.failure ?? "")).toMatchObject({
      code: "worker_lost",
      retryable: true,
      evidence: { attempts: 3, last_worker: "w1", pool: "default" },
    });
    // Beginning again while it waits changes no state.
    expect(await eventsOf(test, id)).toEqual(["profile.queued", "profile.waiting_for_gpu", "profile.failed"]);
  });

  it("counts analyses apart from captures", async () => {
    const { id } = await submit();
    for (let attempt = 1; attempt <= 3; attempt++) await begin(id);
    await put(id, 3);
    await finish(id, 3);
    for (let analysis = 1; analysis <= 5; analysis++)
      expect(await beginAnalysis(test.ports, id)).toMatchObject({ attempt: 3 + analysis });
    expect(await beginAnalysis(test.ports, id)).toBeNull();
    expect(JSON.parse((await rowOf(id)).failure ?? "")).toMatchObject({
      code: "analysis_crashed",
      evidence: { attempts: 5 },
    });
  });

  const inState: Record<string, (id: string) => Promise<unknown>> = {
    queued: async () => {},
    waiting_for_gpu: (id) => begin(id),
    warming_up: async (id) => state(id, (await begin(id)).attempt, "warming_up"),
    capturing: async (id) => state(id, (await begin(id)).attempt, "capturing"),
    analyzing: async (id) => {
      await begin(id);
      await put(id, 1);
      await finish(id, 1);
    },
  };
  type CaptureState = Extract<ProfileState, "queued" | "waiting_for_gpu" | "warming_up" | "capturing">;

  it.each(Object.keys(inState))("is canceled while it is %s, and its worker is told", async (from) => {
    const { id } = await submit();
    await inState[from]?.(id);
    expect((await rowOf(id)).state).toBe(from);
    expect((await cancelProfile(test.ports, OPERATOR, id)).state).toBe("canceled");
    expect(await test.queues.capture("default").presence(id)).toBe("missing");
    await expect(begin(id)).rejects.toMatchObject({
      code: "superseded",
      message: "The profile is canceled; nothing more is captured for it.",
    });
    if (from === "queued" || from === "analyzing") return;
    await expect(state(id, 1, "capturing")).rejects.toMatchObject({ code: "superseded" });
    await expect(finish(id, 1, { ended: "failed", failure: FAILURE })).rejects.toMatchObject({ code: "superseded" });
    // What was complete is kept; not for ever.
    await put(id, 1);
    await put(id, 1, "log");
    const later = { ...test.ports, now: () => Date.now() + 601_000 };
    await expect(put(id, 1, "log", REPORT, later)).rejects.toMatchObject({ code: "superseded" });
  });

  it("keeps the same bytes once and the newest of a name, and counts them against the quota", async () => {
    const { id } = await submit();
    await begin(id);
    await put(id, 1);
    const before = await used();
    await put(id, 1, "survey-1", OTHER);
    await put(id, 1, "report-2", OTHER);
    await put(id, 1, "survey-1", OTHER);
    expect((await used()) - before).toBe(OTHER.length);
    const full = { ...test.ports, limits: { ...test.ports.limits, reportQuotaBytes: await used() } };
    await expect(put(id, 1, "log", Buffer.from("new"), full)).rejects.toMatchObject({ code: "quota_exceeded" });
    // Two names for the same bytes make one report: its launches count once.
    await put(id, 1, "report-1", OTHER);
    await put(id, 1, "report-3", Buffer.from(REPORT));
    await finish(id, 1, { reports: ["report-3", "report-1", "report-2"] });
    const attempt = await beginAnalysis(test.ports, id);
    expect(attempt?.reports).toHaveLength(2);
    expect((await used()) - before).toBe(OTHER.length);
    await expect(put(id, 1, "report-1")).rejects.toMatchObject({ code: "superseded" });
    await put(id, 1, "log", Buffer.from("complete"));
  });

  it("takes the same outcome again, and none of another attempt", async () => {
    const { id } = await submit();
    await begin(id);
    await begin(id);
    await put(id, 2);
    const first = await finish(id, 2);
    expect(await finish(id, 2)).toEqual(first);
    await beginAnalysis(test.ports, id);
    expect(await finish(id, 2)).toMatchObject({ state: "analyzing" });
    await expect(finish(id, 1)).rejects.toMatchObject({ code: "superseded" });
    const failed = await submit();
    await begin(failed.id);
    const failure = { ended: "failed", failure: FAILURE, reports: [] } as const;
    for (let time = 0; time < 2; time++)
      expect(await finish(failed.id, 1, { ...failure, reports: [] })).toMatchObject({
        state: "failed",
        failure: FAILURE,
      });
    expect(await eventsOf(test, failed.id)).toEqual(["profile.queued", "profile.waiting_for_gpu", "profile.failed"]);
  });

  it("refuses an outcome that contradicts itself, and the profile goes on", async () => {
    const { id } = await submit();
    await begin(id);
    await put(id, 1, "log");
    const pointers = async (more: Partial<Outcome>): Promise<string[]> =>
      finish(id, 1, more).then(
        () => [],
        (error) => error.details.errors.map(({ pointer }: { pointer: string }) => pointer),
      );
    expect(await pointers({})).toEqual(["/reports/0"]);
    expect(await pointers({ reports: [] })).toEqual(["/reports"]);
    expect(await pointers({ reports: ["log"], failure: FAILURE })).toEqual(["/failure", "/reports/0"]);
    expect(await pointers({ ended: "failed", reports: [] })).toEqual(["/failure"]);
    expect(await pointers({ record: outcome("w2", 2).record, reports: [], ended: "failed", failure: FAILURE })).toEqual(
      ["/record/worker_id", "/record/attempt"],
    );
    expect((await rowOf(id)).state).toBe("waiting_for_gpu");
  });

  it("fails a profile whose report is none", async () => {
    const { id } = await submit();
    await begin(id);
    await put(id, 1, "report-1", Buffer.from("\x7fELF and so on"));
    expect(await finish(id, 1)).toMatchObject({
      state: "failed",
      failure: { code: "report_unreadable", evidence: { artifact: "report-1" } },
    });
    // Where the capture says why it ended early, that is the reason.
    const early = await submit();
    await begin(early.id);
    await put(early.id, 1, "report-1", Buffer.from("\x7fELF and so on"));
    expect(await finish(early.id, 1, { ended: "partial", failure: FAILURE })).toMatchObject({
      state: "failed",
      failure: { code: FAILURE.code },
    });
  });

  it("ends each profile once, whoever races for it", async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, async () => (await submit()).id));
    const nothing = (): null => null;
    await Promise.all(
      ids.flatMap((id) => [
        ...["w1", "w2"].map(async (worker) => {
          const begun = await begin(id, worker).catch(nothing);
          if (!begun) return;
          await state(id, begun.attempt, "capturing", worker).catch(nothing);
          const end = outcome(worker, begun.attempt, { ended: "failed", failure: FAILURE, reports: [] });
          await Promise.all([1, 2].map(() => finishCapture(test.ports, id, end, detectReport).catch(nothing)));
        }),
        cancelProfile(test.ports, OPERATOR, id).catch(nothing),
      ]),
    );
    for (const id of ids) {
      const final = (await eventsOf(test, id)).filter((type) => /succeeded|failed|canceled/.test(type));
      expect(final).toHaveLength(1);
      expect(`profile.${(await rowOf(id)).state}`).toBe(final[0]);
    }
  });
});
