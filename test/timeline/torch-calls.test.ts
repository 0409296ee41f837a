import { describe, expect, test } from "vitest";
import { annotation, call, kernel, rangesOf, rowsOf, type TraceEvent, timelineOf } from "./torch-build.ts";

const operator = (name: string, id: number, beside: TraceEvent = {}): TraceEvent => ({
  ph: "X",
  cat: "cpu_op",
  name,
  pid: 100,
  tid: 100,
  ts: 1,
  dur: 1,
  args: { "Input Dims": [[1, 2]], "External id": id, "Call stack": "/home/someone/x.py" },
  ...beside,
});

describe("calls", () => {
  test("stand before or behind the row they launched", async () => {
    const timeline = await timelineOf([
      call("cudaLaunchKernel", 10, 5, 1),
      kernel("a", 20, 1, { correlation: 1 }),
      kernel("b", 30, 1, { correlation: 2 }),
      call("cuLaunchKernelEx", 11, 5, 2, { cat: "cuda_driver", tid: 101 }),
    ]);
    expect(rowsOf(timeline).map(({ name, call_ns }) => [name, call_ns])).toStrictEqual([
      ["a", 0],
      ["b", 1000],
    ]);
    expect([...timeline.rows.thread].map((at) => timeline.threads[at]?.thread)).toStrictEqual(["100", "101"]);
    expect(timeline.recording).toMatchObject({ launch_calls: 2, launch_calls_without_row: 0, kernels_without_call: 0 });
  });

  test("which of them launch a kernel", async () => {
    const names = [
      "cudaLaunchKernel",
      "cudaLaunchKernelExC",
      "cudaLaunchKernel_ptsz",
      "cudaLaunchCooperativeKernel",
      "cuLaunchKernel",
      "cuLaunchKernelEx",
      "hipLaunchKernel",
      "hipModuleLaunchKernel",
      "hipExtModuleLaunchKernel",
      "cudaLaunch_v3020",
      "cudaLaunchHostFunc",
      "cudaStreamIsCapturing",
      "cudaFuncGetAttributes",
      "cudaGraphInstantiate",
      "hipStreamGetCaptureInfo",
    ];
    const timeline = await timelineOf([
      ...names.map((name, at) => call(name, 10 + at, 0.5, at + 1)),
      kernel("k", 100, 1, { correlation: 1 }),
    ]);
    expect(timeline.recording).toMatchObject({ launch_calls: 10, launch_calls_without_row: 9, graph_launch_calls: 0 });
    expect(timeline.calls.count).toBe(names.length);
  });

  test("a call of the runtime and the driver's inside it are one launch", async () => {
    const timeline = await timelineOf([
      call("cuLaunchKernel", 12, 2, 1, { cat: "cuda_driver" }),
      call("cudaLaunchKernel", 10, 5, 1),
      kernel("a", 20, 1, { correlation: 1 }),
    ]);
    expect(timeline.recording.launch_calls).toBe(1);
    // From the first time in the file, 12 µs.
    expect(rowsOf(timeline)).toMatchObject([{ call_ns: -2000 }]);
  });

  test("what is captured is not launched", async () => {
    const timeline = await timelineOf([
      call("cudaLaunchKernel", 5, 1, 1),
      call("cudaStreamBeginCapture", 10, 1),
      call("cudaLaunchKernel", 12, 1, 2),
      call("cudaLaunchKernel", 13, 1, 3, { tid: 200 }),
      call("cudaLaunchKernel", 14, 1, 4),
      call("cudaStreamEndCapture", 20, 1),
      call("cudaLaunchKernel", 25, 1, 5),
      kernel("before", 6, 1, { correlation: 1 }),
      kernel("beside", 15, 1, { correlation: 4 }),
    ]);
    expect(timeline.recording).toMatchObject({ stream_capture_calls: 1, launch_calls: 3, launch_calls_without_row: 1 });
  });

  test("a capture without its begin or end", async () => {
    const timeline = await timelineOf([
      call("cudaLaunchKernel", 5, 1, 1),
      call("cudaStreamEndCapture_v10000", 10, 1),
      call("cudaLaunchKernel", 15, 1, 2),
      call("cudaStreamBeginCapture_v10010", 20, 1),
      call("cudaLaunchKernel", 25, 1, 3),
      kernel("k", 30, 1),
    ]);
    expect(timeline.recording).toMatchObject({ stream_capture_calls: 1, launch_calls: 1, launch_calls_without_row: 1 });
  });

  test("none recorded: nothing is said about them", async () => {
    const { recording } = await timelineOf([kernel("k", 30, 1, { correlation: 4 })]);
    expect(recording).toMatchObject({
      launch_calls: null,
      launch_calls_without_row: null,
      kernels_without_call: null,
      graph_launch_calls: null,
      stream_capture_calls: null,
      shared_correlations: 0,
    });
  });

  test("more than the limit are not read, and none is held", async () => {
    const { readText } = await import("./torch-build.ts");
    const events = [
      kernel("k", 30, 1, { correlation: 1 }),
      ...[1, 2, 3].map((at) => call("cudaLaunchKernel", at, 1, at)),
    ];
    const result = await readText(JSON.stringify(events), { maxBytes: 1e6, maxRows: 10, maxHostRows: 2 });
    expect(result).toMatchObject({ ok: true, value: { calls: { count: 0 }, recording: { launch_calls: null } } });
  });
});

describe("graphs", () => {
  test("kernels of a graph launch share its id", async () => {
    const timeline = await timelineOf([
      call("cudaGraphLaunch", 10, 5, 1),
      kernel("a", 20, 1, { correlation: 1 }),
      kernel("b", 21, 1, { correlation: 1 }),
      kernel("c", 22, 1, { correlation: 7 }),
      kernel("d", 23, 1, { correlation: 7 }),
      call("hipGraphLaunch", 30, 5, 2),
    ]);
    expect(rowsOf(timeline).map(({ in_graph }) => in_graph)).toStrictEqual([true, true, false, false]);
    expect(timeline.recording).toMatchObject({
      graph_launch_calls: 2,
      graph_launch_calls_without_row: 1,
      graph_kernels_min: null,
      kernels_without_call: 2,
      shared_correlations: 1,
      launch_calls: 0,
    });
  });

  test("ten launches, kernels for one", async () => {
    const calls = Array.from({ length: 10 }, (_, at) => call("cudaGraphLaunch", 10 + at, 0.5, at + 1));
    const { recording } = await timelineOf([...calls, kernel("a", 50, 1, { correlation: 4 })]);
    expect(recording).toMatchObject({ graph_launch_calls: 10, graph_launch_calls_without_row: 9 });
  });

  test("replays of one graph with fewer kernels than others, where the graph is named", async () => {
    const replay = (correlation: number, graph: number, kernels: number): TraceEvent[] => [
      call("cudaGraphLaunch", 10 * correlation, 1, correlation),
      ...Array.from({ length: kernels }, (_, at) =>
        kernel("k", 10 * correlation + at + 1, 0.5, { correlation, "graph id": graph, "graph node id": at + 1 }),
      ),
    ];
    const { recording, rows } = await timelineOf([
      ...replay(1, 4, 3),
      ...replay(2, 4, 1),
      ...replay(3, 5, 2),
      ...replay(4, 5, 2),
    ]);
    expect(recording).toMatchObject({ graph_kernels_min: 1, graph_kernels_max: 3, shared_correlations: 0 });
    expect(rows.in_graph.every((flag) => flag === 1)).toBe(true);
  });
});

describe("operators", () => {
  test("are found by External id, in either spelling, before or behind the row", async () => {
    const timeline = await timelineOf([
      operator("aten::mm", 3),
      kernel("a", 20, 1, { correlation: 10, "External id": 3 }),
      kernel("b", 21, 1, { correlation: 11, "external id": 4 }),
      kernel("c", 22, 1, { correlation: 12, "External id": 99 }),
      kernel("d", 23, 1, { correlation: 13, "External id": 5 }),
      operator("aten::add", 4, { cat: "Operator" }),
      operator("aten::x", 5),
      operator("aten::y", 5),
    ]);
    expect(rowsOf(timeline).map(({ op }) => op)).toStrictEqual(["aten::mm", "aten::add", null, null]);
  });

  test("an External id that is only the correlation id again names none", async () => {
    const timeline = await timelineOf([
      operator("aten::mm", 3),
      operator("aten::add", 4),
      kernel("a", 20, 1, { correlation: 3, "External id": 3 }),
      kernel("b", 21, 1, { correlation: 4, "External id": 4 }),
    ]);
    expect(rowsOf(timeline).map(({ op }) => op)).toStrictEqual([null, null]);
  });

  test("ids far from each other", async () => {
    const ids = Array.from({ length: 3000 }, (_, at) => 1 + at * 300_007);
    const timeline = await timelineOf([
      ...ids.map((id, at) => operator(`op${at}`, id)),
      ...ids.map((id, at) => kernel("k", 10 + at, 0.5, { correlation: 5, "External id": id })),
    ]);
    expect(rowsOf(timeline).map(({ op }) => op)).toStrictEqual(ids.map((_, at) => `op${at}`));
  });
});

describe("ranges", () => {
  test("annotations of the host, steps of 2021, and the GPU's only without a twin", async () => {
    const timeline = await timelineOf([
      annotation("outer", 10, 20),
      annotation("inner", 10, 5),
      operator("ProfilerStep#5", 9, { cat: "Operator", ts: 40, dur: 10 }),
      annotation("inner", 11, 2, { cat: "gpu_user_annotation", pid: 0, tid: 7 }),
      annotation("only the GPU's", 50, 2, { cat: "gpu_user_annotation", pid: 0, tid: 7 }),
      { ph: "X", cat: "user_annotation", name: "open", pid: 100, tid: 100, ts: 60 },
      kernel("k", 12, 1, { correlation: 5, "External id": 9 }),
    ]);
    expect(rangesOf(timeline)).toStrictEqual(["outer", "inner", "ProfilerStep#5", "only the GPU's", "open"]);
    expect([...timeline.ranges.end_ns]).toStrictEqual([20_000, 5000, 40_000, 42_000, Number.NaN]);
    const threads = [...timeline.ranges.thread].map((at) => timeline.threads[at]);
    expect(threads.map((thread) => thread?.thread)).toStrictEqual(["100", "100", "100", null, "100"]);
    expect(rowsOf(timeline)).toMatchObject([{ op: null }]);
  });
});
