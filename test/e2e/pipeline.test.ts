import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTimeline } from "../../src/timeline/detect.ts";
import {
  benchmark,
  type CaptureRig,
  ENDLESS,
  expectNoProcessLeft,
  expectNothingLeft,
  processesOf,
  STAND_IN_NSYS,
  startCaptureRig,
  submitTo,
  untilFailure,
  untilProgress,
  untilVerdict,
  type WorkerProcess,
} from "../helpers/capture.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture } from "../helpers/fixtures.ts";
import { untilFinal } from "../helpers/service.ts";
import { until } from "../helpers/until.ts";

const COLLECTIVE = "tiny-collective.nsys.sqlite.gz";
const SECRET = "hunter2-of-the-environment";
const NSYS = { NSYS: STAND_IN_NSYS };

/** A program whose recording and whose counters are those of fixtures. */
const recorded = (
  name: string,
  timelines = COLLECTIVE,
  env: Record<string, string> = {},
  fields: Record<string, unknown> = {},
) => benchmark(name, { env: { STAND_IN_TIMELINES: timelines, ...env } }, fields);

const hangs = (name: string) => recorded(name, "hangs", {}, { argv: ENDLESS });

let rig: CaptureRig;
const call: CaptureRig["call"] = (...asked) => rig.call(...asked);
const submit = (workload: string, more: object = {}) => submitTo(call, workload, "full pipeline", more);

describe("a full pipeline of a program", () => {
  let worker: WorkerProcess;
  beforeAll(async () => {
    rig = await startCaptureRig();
    worker = await rig.startWorker({
      env: NSYS,
      workloads: [
        recorded("tiny", COLLECTIVE, { PASSPHRASE: SECRET }, { model: "Tiny-Pipeline" }),
        recorded("hung", COLLECTIVE, { STAND_IN_STOPS: "pointer_walk" }, { limits: { stall_s: 1 } }),
        recorded("no-kernels", "no-kernels"),
        recorded("damaged", "damaged"),
        recorded("no-recording", "none"),
        recorded("not-permitted", COLLECTIVE, { STAND_IN_SCENARIO: "not-permitted" }),
        recorded("budget", "h200-pipeline.nsys.sqlite.gz", {}, { ncu: { max_launches: 1000 } }),
        hangs("hangs"),
      ],
    });
  });
  afterAll(() => rig.close());

  it("is recorded, ranked and measured, and its result holds the plan", async () => {
    const body = { target: "full pipeline", model: "Tiny-Pipeline", engine: "none", top_n: 5 };
    const { status, body: submitted } = await call("POST", "/profiles", { json: body });
    expect(status).toBe(202);
    const { result, record, profile } = await untilVerdict(call, submitted.id);
    expect(profile.capture).toMatchObject({ workload: "tiny", attempts: 1 });
    const trace = await call("GET", profile.links.trace ?? "");
    expect(trace.status).toBe(200);
    expect(JSON.stringify(trace.body)).toContain("memory-bound");
    expect(result).toMatchObject({ kind: "pipeline", target: "full pipeline", partial: false, kernels_total: 5 });
    expect(result.timeline).not.toBeNull();
    expect(result.plan).toMatchObject({ kernels: 5, launches: 4, names: 4, ordinals: [1], timeline: { tool: "nsys" } });
    expect(result.plan.steps.map(({ step }: { step: string }) => step)).toEqual([
      "timeline",
      "export",
      "rank",
      "counters",
    ]);
    expect(record.pipeline).toEqual(result.plan);
    expect(record.tools).toEqual({ ncu: "2025.3.1.0", nsys: expect.stringMatching(/^2025\.3\.2/) });
    expect(record.runs.map(({ tool, purpose }) => `${tool} ${purpose}`)).toEqual([
      "nsys timeline",
      "nsys export",
      "ncu counters",
    ]);
    const verdicts = new Map(
      result.kernels.map(({ target, roofline }: { target: string; roofline: string | null }) => [target, roofline]),
    );
    expect(verdicts.get("stream_add")).toBe("memory-bound");
    expect(verdicts.get("fma_chain")).toBe("compute-bound");
    const collective = result.kernels.find(({ target }: { target: string }) => /^nccl/.test(target));
    expect(collective).toMatchObject({ pipeline_stage: "comm", roofline: null });
    expect(collective.fraction_of_pipeline).toBeGreaterThan(0);
    expect(record.runs.at(-1)?.argv.join(" ")).not.toContain("nccl");
    await expectNothingLeft(call, worker);

    // The timeline can be had, and reads as it was recorded, without what the tool wrote of the machine.
    const file = await call("GET", `/profiles/${submitted.id}/timeline`);
    expect(file.status).toBe(200);
    const bytes = gunzipSync(file.body);
    for (const part of [SECRET, "STAND_IN_TIMELINES", worker.folder]) expect(bytes.includes(part)).toBe(false);
    const folder = temporaryFolder();
    const [mine, theirs] = [join(folder, "mine.sqlite"), join(folder, "theirs.sqlite")];
    writeFileSync(mine, bytes);
    writeFileSync(theirs, fixture(`timelines/${COLLECTIVE}`));
    const [got, original] = [await readTimeline(mine, folder), await readTimeline(theirs, folder)];
    if (!got.ok || !original.ok) throw new Error("unreadable");
    expect({ ...got.value, bytes_read: 0 }).toEqual({ ...original.value, bytes_read: 0 });
    expect((await call("GET", `/profiles/${submitted.id}/report`)).status).toBe(200);
    expect((await call("GET", `/profiles/${submitted.id}/timeline?index=1`)).status).toBe(404);
  });

  it("goes on without a kernel that hangs, and says so", async () => {
    const { result, record, findings } = await untilVerdict(call, await submit("hung"));
    expect(result.partial).toBe(true);
    expect(findings).toContain("kernel_hung");
    expect(record.runs.filter(({ purpose }) => purpose === "counters")).toHaveLength(2);
    const hung = result.kernels.find(({ target }: { target: string }) => target === "pointer_walk");
    expect(hung).toMatchObject({ roofline: null });
    expect(hung.fraction_of_pipeline).toBeGreaterThan(0);
    expect(result.plan.left_out).toContainEqual(expect.objectContaining({ reason: "hang" }));
    expect(result.kernels.filter(({ detail }: { detail: { launch: unknown } }) => detail.launch !== null)).toHaveLength(
      3,
    );
    await expectNothingLeft(call, worker);
  });

  it("fails with the reason where there is no timeline to trust", async () => {
    const empty = await untilFailure(call, await submit("no-kernels"), "timeline_no_kernels");
    expect(empty.evidence).toBeDefined();
    await untilFailure(call, await submit("damaged"), "timeline_unreadable");
    await untilFailure(call, await submit("no-recording"), "nsys_failed");
    await expectNothingLeft(call, worker);
  });

  it("stands on its timeline where no counters can be taken", async () => {
    const { result, record } = await untilVerdict(call, await submit("not-permitted"));
    expect(result).toMatchObject({ kind: "pipeline", partial: true, kernels_total: 5 });
    expect(result.kernels.every(({ roofline }: { roofline: string | null }) => roofline === null)).toBe(true);
    expect(result.findings.map(({ code }: { code: string }) => code)).toContain("counters_not_permitted");
    expect(record.pipeline?.chosen).toEqual([]);
    expect(record.pipeline?.left_out.map(({ because }) => because)).toContain(
      "no counters were taken: counters_not_permitted",
    );
    await expectNothingLeft(call, worker);
  });

  it("measures what the time allows, and says what it left out", async () => {
    // The launches of 30 kernels take longer than three times the program. The counters are those of another program.
    const { result } = await untilVerdict(call, await submit("budget", { max_duration_s: 18, top_n: 30 }));
    expect(result.plan.launches).toBeLessThan(36);
    expect(result.plan.reason).toMatch(/budget|the least that is aimed at|times the program's time/);
    expect(result.plan.left_out.map(({ reason }: { reason: string }) => reason)).toContain("launch_limit");
    expect(result).toMatchObject({ kernels_total: 79, partial: true });
    await expectNothingLeft(call, worker);
  });

  it("leaves nothing when it is canceled while nsys runs", async () => {
    const id = await submit("hangs");
    await untilProgress(call, id, ({ phase }) => phase === "timeline");
    await until(() => processesOf(worker).some(({ command }) => command.includes("nsys.mjs profile")));
    expect((await call("POST", `/profiles/${id}/cancel`)).status).toBeLessThan(300);
    expect((await untilFinal(call, id)).state).toBe("canceled");
    await expectNothingLeft(call, worker);
  });

  it("is taken up by another worker where one dies while nsys runs", async () => {
    const id = await submit("hangs");
    await until(() => processesOf(worker).some(({ command }) => command.includes("nsys.mjs profile")));
    await worker.end("SIGKILL");
    await expectNoProcessLeft(worker);
    const other = await rig.startWorker({ id: "w2", env: NSYS, workloads: [recorded("hangs")] });
    const { record, profile } = await untilVerdict(call, id);
    expect(profile.capture).toMatchObject({ worker_id: "w2", attempts: 2 });
    expect(record.pipeline?.launches).toBe(4);
    await expectNothingLeft(call, other);
  });

  it("is refused with the fields that do not fit", async () => {
    const ask = (more: object) =>
      call("POST", "/profiles", {
        json: { target: "full pipeline", source: { kind: "workload", name: "hangs" }, ...more },
      });
    const wrong = await ask({ ncu: { set: "full", sections: ["Occupancy"], metrics: ["a.sum"] } });
    expect(wrong).toMatchObject({ status: 422 });
    expect(wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/ncu/set",
      "/ncu/sections",
      "/ncu/metrics",
    ]);
  });
});

describe("a host without nsys", () => {
  beforeAll(async () => {
    rig = await startCaptureRig();
  });
  afterAll(() => rig.close());

  it("says so before anything starts", async () => {
    const worker = await rig.startWorker({ env: { NSYS: "/nonexistent/nsys" }, workloads: [recorded("tiny")] });
    expect(worker.log()).toContain("no full pipelines on this host");
    const failure = await untilFailure(call, await submit("tiny"), "tool_missing");
    expect(failure.hint).toContain("NSYS");
    await expectNothingLeft(call, worker);
  });
});
