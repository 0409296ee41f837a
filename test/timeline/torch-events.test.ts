import { describe, expect, test } from "vitest";
import { annotation, call, kernel, rangesOf, rowsOf, timelineOf, timelineOfText } from "./torch-build.ts";

describe("where events stand", () => {
  const events = [kernel("a", 10, 2), kernel("b", 20.5, 1.25)];
  const list = JSON.stringify(events);

  test.each([
    ["a bare list", list],
    ["first key", `{"traceEvents":${list},"schemaVersion":1}`],
    ["last key", `{"schemaVersion":1,"stackFrames":{"1":{"name":"}]\\"","x":[[],{}]}},"traceEvents":${list}}`],
    ["byte order mark and white space", `\ufeff \n{\n"traceEvents" :\n ${JSON.stringify(events, null, 2)} \n}\n`],
    ["a comma behind the last event", `{"traceEvents":[${events.map((event) => JSON.stringify(event)).join(",")},]}`],
  ])("%s", async (_, text) => {
    const timeline = await timelineOfText(text);
    expect(rowsOf(timeline).map(({ name, start_ns, duration_ns }) => [name, start_ns, duration_ns])).toStrictEqual([
      ["a", 0, 2000],
      ["b", 10_500, 1250],
    ]);
    expect(timeline.bytes_read).toBe(Buffer.byteLength(text));
  });

  test("keys of an event in any order, and what surrounds them", async () => {
    const text = `[{"args":{"correlation":5,"stream":7,"device":0,"occupancy":{"x":[1,{"device":9}]}},"dur":1,"ts":5,"tid":7,"pid":0,"name":"k","cat":"kernel","ph":"X"},
      {"ph":"i","s":"t","cat":"kernel","name":"no row","ts":1},
      {"cat":"kernel","ph":"f","name":"no row","ts":1},
      {"ph":"X","cat":"python_function","name":"/home/someone/x.py(1): f","ts":"?","dur":{}, "args":{"a":"\\\\\\""}}]`;
    const timeline = await timelineOfText(text);
    expect(rowsOf(timeline)).toMatchObject([{ name: "k", device: 0, stream: "7" }]);
    expect(timeline.recording.dropped).toStrictEqual([]);
    expect(timeline.texts).toStrictEqual([]);
  });
});

describe("times", () => {
  test("since 1970, to the nanosecond", async () => {
    const text = `[{"ph":"X","cat":"kernel","name":"a","ts":1623142623529248.001,"dur":0.001,"args":{}},
      {"ph":"X","cat":"kernel","name":"b","ts":1623142623529248.002,"dur":1e-2,"args":{}},
      {"ph":"X","cat":"kernel","name":"c","ts":1.623142623529249e15,"dur":2.4320000000000004,"args":{}}]`;
    expect(rowsOf(await timelineOfText(text)).map((row) => [row.start_ns, row.duration_ns])).toStrictEqual([
      [0, 1],
      [1, 10],
      [999, 2432],
    ]);
  });

  test("the zero is the base and the first time", async () => {
    const text =
      '{"traceEvents":[{"ph":"X","cat":"kernel","name":"a","ts":4909914216285.224,"dur":1}],"baseTimeNanoseconds":1775078550000000001}';
    expect((await timelineOfText(text)).zero_unix_ns).toBe(1_775_078_550_000_000_001n + 4_909_914_216_285_224n);
  });

  test.each([
    ["whole microseconds", "12", "3.0", 1000],
    ["a fraction somewhere", "12", "3.5", 1],
  ])("%s", async (_, ts, dur, tick) => {
    const text = `[{"ph":"X","cat":"kernel","name":"a","ts":${ts},"dur":${dur}}]`;
    expect((await timelineOfText(text)).tick_ns).toBe(tick);
  });

  test("an early time of the host does not make those of the GPU inexact", async () => {
    const timeline = await timelineOfText(
      `[${JSON.stringify(annotation("early", 1, 1))},{"ph":"X","cat":"kernel","name":"a","ts":1623142623529248.123,"dur":1.001,"args":{}},
        {"ph":"X","cat":"kernel","name":"b","ts":1623142623529250.124,"dur":1,"args":{}}]`,
    );
    expect(rowsOf(timeline).map((row) => [row.start_ns, row.duration_ns])).toStrictEqual([
      [0, 1001],
      [2001, 1000],
    ]);
    expect(timeline.recording.dropped).toStrictEqual([{ reason: "outside_int64", count: 1, first: "early" }]);
  });

  test.each([
    ["0", "1", "no_time"],
    ["0.0", "1", "no_time"],
    ["-5", "1", "no_time"],
    ["null", "1", "no_time"],
    ["NaN", "1", "no_time"],
    ["5", "NaN", "no_time"],
    ["5", "null", "no_time"],
    ["5", "-1", "ends_before_start"],
    ["5", "-0.001", "ends_before_start"],
    ["5", "18446744073709551.615", "outside_int64"],
    ["5", "9223372036854775.808", "outside_int64"],
    ["9223372036854775808", "1", "outside_int64"],
    ["5", "18446744073709551615", "outside_int64"],
    ["5", "1e400", "outside_int64"],
    ["5", "1e99999999999", "outside_int64"],
    ["5", "Infinity", "outside_int64"],
    ["5", `1${"0".repeat(5000)}`, "outside_int64"],
    ["5", '"long"', "malformed"],
    ["5", "true", "malformed"],
    ["5", "[1]", "malformed"],
    ["1.2.3", "1", "malformed"],
  ])("start %s and duration %s are left out as %s", async (ts, dur, reason) => {
    const text = `[{"ph":"X","cat":"kernel","name":"bad","ts":${ts},"dur":${dur}},{"ph":"X","cat":"kernel","name":"good","ts":100,"dur":1}]`;
    const timeline = await timelineOfText(text);
    expect(rowsOf(timeline)).toMatchObject([{ name: "good", duration_ns: 1000 }]);
    expect(timeline.recording.dropped).toStrictEqual([{ reason, count: 1, first: "bad" }]);
    expect(timeline.recording.has_kernel_table).toBe(true);
  });

  test.each([
    ["1e-99999999999", 0],
    ["0.0004", 0],
    ["0.0005", 1],
    ["1.9999", 2000],
    ["-0.0", 0],
    ["0e5", 0],
    ["12e-4", 1],
    ['"3.25"', 3250],
    ["0000000000000000000012", 12_000],
  ])("a duration of %s microseconds is %s ns", async (dur, ns) => {
    const timeline = await timelineOfText(`[{"ph":"X","cat":"kernel","name":"a","ts":7,"dur":${dur}}]`);
    expect(rowsOf(timeline)).toMatchObject([{ duration_ns: ns }]);
  });
});

describe("events that say too little or too much are counted, not guessed", () => {
  test.each([
    ["a time twice", '{"ph":"X","cat":"kernel","name":"bad","ts":1,"ts":2,"dur":1}'],
    ["a category twice", '{"ph":"X","cat":"kernel","cat":"kernel","name":"bad","ts":1,"dur":1}'],
    ["no phase", '{"cat":"kernel","name":"bad","ts":1,"dur":1}'],
    ["begin without end", '{"ph":"B","cat":"kernel","name":"bad","ts":1,"dur":1}'],
    [
      "a name with an escape that is none",
      '{"ph":"X","cat":"kernel","name":"bad\\\\x","ts":1,"dur":1}'.replace("\\\\", "\\"),
    ],
    ["no name", '{"ph":"X","cat":"kernel","ts":1,"dur":1}'],
    ["a name that is no text", '{"ph":"X","cat":"kernel","name":5,"ts":1,"dur":1}'],
    ["a name longer than names are", `{"ph":"X","cat":"kernel","name":"${"n".repeat(70_000)}","ts":1,"dur":1}`],
    ["a number among the events", "5"],
    ["a list among the events", '[{"ph":"X","cat":"kernel","name":"nested","ts":1,"dur":1}]'],
  ])("%s", async (_, event) => {
    const timeline = await timelineOfText(`[${event},${JSON.stringify(kernel("good", 9, 1))}]`);
    expect(rowsOf(timeline).map(({ name }) => name)).toStrictEqual(["good"]);
    expect(timeline.recording.dropped).toMatchObject([{ reason: "malformed", count: 1 }]);
  });

  test("a bandwidth that Kineto printed as inf or nan does not cost the copy", async () => {
    const text = `[{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoD (Device -> Device)","pid":0,"tid":7,"ts":1,"dur":0,
      "args":{"memory bandwidth (GB/s)":inf,"x":-nan,"device":0,"stream":7,"bytes":4}}]`;
    const timeline = await timelineOfText(text);
    expect(rowsOf(timeline)).toMatchObject([{ name: "[CUDA memcpy Device-to-Device]", duration_ns: 0 }]);
    expect(timeline.rows.bytes[0]).toBe(4);
  });
});

describe("names and texts", () => {
  test.each([
    ["Memcpy DtoD (Device -> Device)", "[CUDA memcpy Device-to-Device]"],
    ["Memcpy HtoD (Pinned -> Device)", "[CUDA memcpy Host-to-Device]"],
    ["Memcpy HtoD (Pageable -> Device)", "[CUDA memcpy Host-to-Device]"],
    ["Memcpy DtoH (Device -> Host)", "[CUDA memcpy Device-to-Host]"],
    ["Memcpy PtoP (Device -> Device)", "[CUDA memcpy Peer-to-Peer]"],
    ["CopyHostToDevice", "[CUDA memcpy Host-to-Device]"],
    ["Memcpy (unknown)", "[CUDA memcpy]"],
  ])("%s", async (recorded, name) => {
    const timeline = await timelineOf([{ ...kernel(recorded, 1, 1), cat: "gpu_memcpy" }]);
    expect(rowsOf(timeline)).toMatchObject([{ kind: "memcpy", name }]);
  });

  test("control characters, halves of characters and bytes that are no UTF-8 do no harm", async () => {
    const text = Buffer.concat([
      Buffer.from('[{"ph":"X","cat":"kernel","ts":1,"dur":1,"name":"a\\u001b[31mred\\u0000\\ud800 '),
      Buffer.from([0x1b, 0x07, 0x0a, 0xff]),
      Buffer.from(' ü\\u00fc"}]'),
    ]);
    const timeline = await timelineOfText(text.toString("latin1"));
    const [row] = rowsOf(timeline);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(row?.name).not.toMatch(/[\u0000-\u001f\u007f-\u009f]|\p{Surrogate}/u);
    expect(row?.name).toContain("[31mred");
  });

  test("paths of the machine stay out of ranges and operators", async () => {
    const timeline = await timelineOf(
      [
        annotation("load /home/someone/models/big.safetensors (17): f", 1, 1),
        annotation("C:\\Users\\someone\\code\\train.py", 2, 1),
        annotation("cwd=/home/someone", 3, 1),
        annotation("/home/some.one", 3.5, 1),
        annotation("## forward / backward ## loss/train tokens/s", 4, 1),
        kernel("k", 5, 1),
      ],
      {
        traceName: "/home/someone/trace.json",
        host_name: "box17",
        username: "someone",
        trace_id: "ABC",
        tw_job: "x",
        mast_job: "y",
      },
    );
    expect(rangesOf(timeline)).toStrictEqual([
      "load big.safetensors (17): f",
      "train.py",
      "cwd=[path]",
      "[path]",
      "## forward / backward ## loss/train tokens/s",
    ]);
    const all = JSON.stringify(timeline, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(all).not.toMatch(/some.?one|box17|trace\.json|ABC/);
  });

  test("a mangled name is known as mangled", async () => {
    const mangled = "_ZN7cutlass13device_kernelINS_4gemmE";
    const [names] = (await timelineOf([kernel(mangled, 1, 1)])).names;
    expect(names).toMatchObject({ mangled, demangled: null, display: mangled, simplified: false });
  });
});

describe("what is beside the events", () => {
  test("shapes, occupancy as an object, and graph ids of 0", async () => {
    const timeline = await timelineOf([
      kernel("a", 1, 1, { "graph id": 0, "graph node id": 0, occupancy: { "est. achieved occupancy %": 50 } }),
      kernel("b", 2, 1, { grid: [0, 1, 1], block: null, "registers per thread": 0 }),
      { ph: "X", cat: "kernel", name: "c", pid: 9, tid: "stream 3", ts: 3, dur: 1, args: { kind: "Dispatch Task" } },
    ]);
    expect(timeline.shapes).toStrictEqual([
      { grid: [4, 1, 1], block: [128, 1, 1], shared_memory_bytes: 0, registers_per_thread: 32 },
      { grid: null, block: null, shared_memory_bytes: 0, registers_per_thread: 0 },
    ]);
    expect([...timeline.rows.shape]).toStrictEqual([0, 1, 0xffffffff]);
    expect(rowsOf(timeline)).toMatchObject([
      { in_graph: false, device: 0, stream: "7" },
      { in_graph: false },
      { in_graph: false, device: 9, stream: "3", process: null },
    ]);
  });

  test("ROCm has no compute capability, an empty name is none", async () => {
    const gpu = { id: 0, name: "", computeMajor: 9, computeMinor: 4, numSms: 304, totalGlobalMem: 206_141_652_992 };
    const timeline = await timelineOf([kernel("a", 1, 1)], {
      deviceProperties: [gpu],
      hip_runtime_version: 70_051_831,
    });
    expect(timeline.gpus).toMatchObject([{ index: 0, name: null, compute_capability: null, sm_count: 304 }]);
    expect(timeline.cuda_version).toBeNull();
  });

  test.each([
    ["nothing", {}],
    [
      "values of other kinds",
      { deviceProperties: "x", distributedInfo: [1], schemaVersion: {}, cuda_runtime_version: "?" },
    ],
    ["lists of other kinds", { deviceProperties: [null, 5, {}], distributedInfo: { rank: -1, world_size: "8" } }],
  ])("%s", async (_, beside) => {
    const timeline = await timelineOf([kernel("a", 1, 1)], beside);
    expect(timeline).toMatchObject({
      world_size: null,
      cuda_version: null,
      zero_unix_ns: null,
      lanes: [{ rank: null }],
    });
    for (const gpu of timeline.gpus) expect(gpu).toMatchObject({ name: null, index: null });
  });

  test("events of a profiler of counters are counted and are no rows", async () => {
    const timeline = await timelineOf([
      { ...kernel("k", 1, 1), cat: "cuda_profiler_range" },
      call("cudaLaunchKernel", 1, 1, 5),
    ]);
    expect(timeline.rows.count).toBe(0);
    expect(timeline.recording).toMatchObject({
      has_kernel_table: false,
      profiler_ranges: 1,
      launch_calls: 1,
      launch_calls_without_row: 1,
    });
  });
});

describe("ranks in one file", () => {
  const labelled = (label: string, rank: number) => [
    call("cudaLaunchKernel", 100 + rank, 1, 5, { pid: `[${label}] 476` }),
    kernel("k", 200 + rank, 50, { correlation: 5, device: rank }, { pid: `[${label}] ${rank}` }),
  ];

  test("labels of a merger keep ids apart", async () => {
    const events = [...labelled("TP00", 0), ...labelled("TP01", 1), ...labelled("TP00-DP01", 2)];
    const timeline = await timelineOf(events, { distributedInfo: { rank: 7, world_size: 8 } });
    expect(rowsOf(timeline)).toMatchObject([
      { process: "TP00", rank: 0, device: 0, call_ns: 0 },
      { process: "TP01", rank: 1, device: 1, call_ns: 1000 },
      { process: "TP00-DP01", rank: null, device: 2, call_ns: 2000 },
    ]);
    expect(timeline.recording).toMatchObject({ launch_calls: 3, shared_correlations: 0, kernels_without_call: 0 });
    expect(timeline.threads.map(({ process }) => process)).toStrictEqual(["TP00 476", "TP01 476", "TP00-DP01 476"]);
  });

  test("without labels nothing is joined by an id that two processes have", async () => {
    const timeline = await timelineOf([
      call("cudaLaunchKernel", 100, 1, 5, { pid: 1 }),
      call("cudaLaunchKernel", 101, 1, 5, { pid: 2 }),
      kernel("k", 200, 50, { correlation: 5 }),
      kernel("k", 210, 50, { correlation: 5 }),
    ]);
    expect(rowsOf(timeline)).toMatchObject([{ call_ns: null }, { call_ns: null }]);
    expect(timeline.recording).toMatchObject({ launch_calls: 2, shared_correlations: 1 });
  });

  test("pids that a merger moved on are processes without a known rank", async () => {
    const timeline = await timelineOf(
      [kernel("a", 1, 1, { device: 0 }), kernel("b", 2, 1, { device: 0 }, { pid: 1_000_000 })],
      { distributedInfo: { rank: 3, world_size: 8 } },
    );
    expect(rowsOf(timeline)).toMatchObject([
      { process: null, rank: 3, device: 0 },
      { process: "1000000", rank: null, device: 0 },
    ]);
  });
});
