import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type CaptureRig,
  expectNothingLeft,
  GPU,
  STAND_IN_NSYS,
  server,
  startCaptureRig,
  submitTo,
  untilVerdict,
  type WorkerProcess,
} from "../helpers/capture.ts";

const TIMELINES = { STAND_IN_TIMELINES: "tiny-collective.nsys.sqlite.gz" };
const WINDOW = { open: { path: "/start_profile" }, close: { path: "/stop_profile" } };

let rig: CaptureRig;
let worker: WorkerProcess;
beforeAll(async () => {
  rig = await startCaptureRig();
  const fields = { window: WINDOW, idle_s: 60 };
  worker = await rig.startWorker({
    env: { NSYS: STAND_IN_NSYS },
    workloads: [await server("engine", [], { env: TIMELINES }, fields)],
  });
});
afterAll(() => rig.close());

it("the full pipeline of an engine has a ranking, verdicts and a plan, and leaves the engine warm", {
  timeout: 180_000,
}, async () => {
  const id = await submitTo(rig.call, "engine", "full pipeline", { concurrency: 8 });
  const { result, record } = await untilVerdict(rig.call, id);
  expect(result).toMatchObject({ kind: "pipeline", partial: false, kernels_total: 5 });
  expect(result.plan).toMatchObject({ ordinals: null, launches: 4, timeline: { window: "cuda_profiler_api" } });
  expect(record).toMatchObject({
    engine_session: "warm",
    engine_reused: false,
    concurrency: { requested: 8, in_flight: 1, batch: 8 },
  });
  expect(record.runs.map(({ tool, purpose }) => `${tool} ${purpose}`)).toEqual([
    "nsys timeline",
    "nsys export",
    "ncu shapes",
    "ncu counters",
  ]);
  const verdicts = new Map(
    result.kernels.map(({ target, roofline }: { target: string; roofline: string | null }) => [target, roofline]),
  );
  expect(verdicts.get("stream_add")).toBe("memory-bound");
  expect(verdicts.get("fma_chain")).toBe("compute-bound");
  const collective = result.kernels.find(({ target }: { target: string }) => /^nccl/.test(target));
  expect(collective).toMatchObject({ pipeline_stage: "comm", roofline: null });

  const next = await untilVerdict(rig.call, await submitTo(rig.call, "engine", "stream_add", { concurrency: 8 }));
  expect(next.record).toMatchObject({ engine_session: "warm", engine_reused: true });

  // The warm engine gives way to the timeline of another one, on the same lease.
  const again = await untilVerdict(
    rig.call,
    await submitTo(rig.call, "engine", "full pipeline", { concurrency: 8, force: true }),
  );
  expect(again.record).toMatchObject({ engine_reused: false });
  expect(again.record.lease?.id).toBe(next.record.lease?.id);
  const { body } = await rig.call("POST", "/leases?wait=20", { json: { gpus: [GPU], holder: "a benchmark" } });
  expect(body.state).toBe("held");
  await rig.call("DELETE", `/leases/${body.id}`);
  await expectNothingLeft(rig.call, worker);
});
