import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fixture } from "../helpers/fixtures.ts";
import {
  call,
  integrityFaults,
  kernel,
  PROCESS,
  read,
  refusal,
  STRINGS,
  temporaryFolder,
  totals,
  write,
  writeExport,
} from "./nsys-files.ts";

const folder = temporaryFolder();
let files = 0;
const path = (): string => join(folder, `${files++}.sqlite`);
const KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL";
const CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME";
const COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY";
const SETS = "CUPTI_ACTIVITY_KIND_MEMSET";
const GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
const NVTX = "NVTX_EVENTS";
const NAME = "void ns::scale<float>(float *, int)";

describe("tables that are not there", () => {
  it("no kernel table: calls are counted, nothing is made up", async () => {
    const timeline = await read(
      writeExport(path(), { StringIds: STRINGS, [CALLS]: [call({}), call({ correlationId: 2 })] }),
    );
    expect(timeline.rows.count).toBe(0);
    expect(timeline.recording).toMatchObject({
      has_kernel_table: false,
      launch_calls: 2,
      launch_calls_without_row: 2,
      kernels_without_call: 0,
    });
    expect(integrityFaults(timeline)).toEqual([]);
  });

  it("an empty kernel table is there and has no rows", async () => {
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [], [CALLS]: [call({})] }));
    expect(timeline.recording).toMatchObject({ has_kernel_table: true, launch_calls: 1, launch_calls_without_row: 1 });
  });

  it("kernels alone: what the API would tell is null, not 0", async () => {
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [kernel({})] }));
    expect(timeline.recording).toMatchObject({
      launch_calls: null,
      launch_calls_without_row: null,
      kernels_without_call: null,
      graph_launch_calls: null,
      stream_capture_calls: null,
      graph_trace_mode: null,
    });
    expect(timeline).toMatchObject({ tool: { version: null }, schema_version: null, zero_unix_ns: null, gpus: [] });
    expect(timeline.ranges.count).toBe(0);
  });

  it("a kernel table with the columns of 2020 only", async () => {
    const old = { start: 1000, end: 3000, deviceId: 0, streamId: 7, correlationId: 1, demangledName: 1 };
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [old], [CALLS]: [call({})] }));
    expect(totals(timeline, "kernel")).toMatchObject({ count: 1, ns: 2000 });
    // The only process of the calls is that of the kernels.
    expect(timeline.lanes).toEqual([{ process: String(PROCESS), rank: null, device: 0, stream: "7" }]);
    expect(timeline.recording).toMatchObject({ launch_calls_without_row: 0, kernels_without_call: 0 });
    expect(timeline.shapes).toEqual([
      { grid: null, block: null, shared_memory_bytes: null, registers_per_thread: null },
    ]);
  });

  it("without StringIds, and with entries missing in it, kernels keep their times", async () => {
    const rows = [kernel({}), kernel({ start: 3000, end: 4000, demangledName: 99, shortName: 98 })];
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: rows }));
    expect([...totals(timeline, "kernel").names.keys()]).toEqual([NAME, "(kernel whose name 99 is not in the file)"]);
    const nameless = await read(writeExport(path(), { [KERNELS]: rows, [CALLS]: [call({})] }));
    expect(totals(nameless, "kernel")).toMatchObject({ count: 2, ns: 2000 });
    expect(nameless.recording.launch_calls).toBe(0);
    expect(nameless.texts).toEqual(["(API call without a name)"]);
  });
});

describe("tables under other names", () => {
  const range = { start: 10, end: 5000, eventType: 59, globalTid: PROCESS + 77, text: "prefill" };

  it.each(["NVTX_EVENTS_V2", "NVTX_EVENTS_V3", "nvtx_events", "NVTX_EVENTSV2"])("%s holds ranges", async (name) => {
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [kernel({})], [name]: [range] }));
    expect(timeline.ranges.count).toBe(1);
    expect(timeline.texts).toEqual(["prefill"]);
  });

  it("the newest with rows is taken", async () => {
    const older = { ...range, text: "older" };
    const tables = { [NVTX]: [older], NVTX_EVENTS_V2: [range], NVTX_EVENTS_V10: [], NVTX_EVENTS_V2_OLD: [older] };
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [kernel({})], ...tables }));
    expect(timeline.texts).toEqual(["prefill"]);
  });

  it("kernels in a table with a suffix", async () => {
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [`${KERNELS}_V2`]: [kernel({})] }));
    expect(timeline.recording.has_kernel_table).toBe(true);
    expect(timeline.rows.count).toBe(1);
  });

  it("names of ranges come from the row or from StringIds; open ranges have no end", async () => {
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [kernel({})],
        [NVTX]: [
          { ...range, text: null, textId: 7 },
          { ...range, start: 20, text: "aten::mm, op_id = 12", end: null, eventType: 60 },
          { ...range, start: 30, text: null, textId: 1234 },
          { ...range, eventType: 34, text: "a mark" },
          { ...range, eventType: 75, text: "a domain" },
        ],
      }),
    );
    const { ranges, texts } = timeline;
    expect(Array.from(ranges.text, (text) => texts[text])).toEqual([
      "decode step",
      "aten::mm, op_id = 12",
      "(range without a name)",
    ]);
    expect([...ranges.end_ns]).toEqual([5000, Number.NaN, 5000]);
    expect(timeline.threads).toEqual([{ process: String(PROCESS), thread: "77" }]);
  });
});

describe("schemas that try to act", () => {
  it("a view named like the kernel table is no kernel table", async () => {
    const sql = `CREATE VIEW ${KERNELS} AS SELECT 1 AS start, 2 AS end; CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value`;
    const timeline = await read(writeExport(path(), { [CALLS]: [call({})] }, sql));
    expect(timeline.recording.has_kernel_table).toBe(false);
    expect(timeline.rows.count).toBe(0);
  });

  it("virtual tables and tables with generated columns are not read", async () => {
    const virtual = `CREATE VIRTUAL TABLE ${KERNELS} USING fts5(start, end)`;
    expect((await read(writeExport(path(), { [CALLS]: [call({})] }, virtual))).recording.has_kernel_table).toBe(false);
    const generated = `CREATE TABLE ${KERNELS} (start INTEGER, end INTEGER GENERATED ALWAYS AS (length(zeroblob(start))))`;
    expect((await read(writeExport(path(), { [CALLS]: [call({})] }, generated))).recording.has_kernel_table).toBe(
      false,
    );
    const withoutRowid = `CREATE TABLE ${KERNELS} (start INTEGER PRIMARY KEY, end INTEGER) WITHOUT ROWID`;
    expect((await read(writeExport(path(), { [CALLS]: [call({})] }, withoutRowid))).recording.has_kernel_table).toBe(
      false,
    );
    const rowid = `CREATE TABLE ${KERNELS} (rowid TEXT, start INTEGER, end INTEGER)`;
    expect((await read(writeExport(path(), { [CALLS]: [call({})] }, rowid))).recording.has_kernel_table).toBe(false);
  });

  it("the file is left as it was", async () => {
    const file = writeExport(path(), { StringIds: STRINGS, [KERNELS]: [kernel({})] });
    const before = readFileSync(file);
    await read(file);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("a database of somebody else is refused by name", async () => {
    const failure = await refusal(writeExport(path(), { users: [{ name: "a" }] }));
    expect(failure).toMatchObject({ code: "wrong_kind", hint: expect.stringContaining("nsys export --type sqlite") });
  });
});

describe("values that cannot be", () => {
  it("rows without a usable time are dropped, counted and named", async () => {
    const good = kernel({ start: 10_000, end: 12_000 });
    const timeline = await read(
      writeExport(
        path(),
        {
          StringIds: STRINGS,
          [KERNELS]: [
            good,
            kernel({ start: 0, end: 0 }),
            kernel({ start: 0, end: 1000 }),
            kernel({ start: null, end: 1000 }),
            kernel({ start: 5000, end: 4000 }),
            kernel({ start: -5, end: 100 }),
            kernel({ start: 1000, end: "later" }),
            kernel({ start: Buffer.from([0x41, 0xff, 0x1f, 0x1e, 0x0a]), end: 1000 }),
            kernel({ start: 1000, end: 9_223_372_036_854_775_807n }),
            kernel({ start: -9_223_372_036_854_775_807n, end: 5000 }),
          ],
        },
        // Beyond 64 bits SQLite keeps a floating-point number.
        `INSERT INTO ${KERNELS} (start, end, demangledName) VALUES (18446744073709551000, 18446744073709551615, 1)`,
      ),
    );
    expect(totals(timeline, "kernel")).toMatchObject({ count: 1, ns: 2000 });
    expect(timeline.rows.start_ns[0]).toBe(10_000);
    const dropped = new Map(timeline.recording.dropped.map(({ reason, count, first }) => [reason, { count, first }]));
    expect(dropped.get("no_time")).toEqual({ count: 3, first: NAME });
    expect(dropped.get("ends_before_start")).toEqual({ count: 1, first: NAME });
    expect(dropped.get("outside_int64")).toEqual({ count: 4, first: NAME });
    expect(dropped.get("malformed")?.count).toBeGreaterThanOrEqual(2);
    expect(integrityFaults(timeline)).toEqual([]);
  });

  it("times counted from 1970 keep every nanosecond", async () => {
    const base = 1_790_000_000_123_456_789n;
    const rows = [0n, 1n, 1001n].map((offset) =>
      kernel({ start: base + offset, end: base + offset + 7n, correlationId: 1n + offset }),
    );
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [...rows, kernel({ start: 0, end: 0 })],
        [CALLS]: [call({ start: base - 500n, end: base - 400n })],
        META_DATA_EXPORT: [{ name: "EXPORT_PARAM_TIME_NORMALIZE", value: "true" }],
      }),
    );
    expect([...timeline.rows.start_ns]).toEqual([0, 1, 1001]);
    expect([...timeline.rows.end_ns]).toEqual([7, 8, 1008]);
    expect(timeline.zero_unix_ns).toBe(base);
    expect(timeline.rows.call_ns[0]).toBe(-500);
    expect(timeline.recording.dropped).toEqual([{ reason: "no_time", count: 1, first: NAME }]);
  });

  it("text in columns of numbers leaves the value out and keeps the row", async () => {
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [
          kernel({
            gridX: "many",
            registersPerThread: "?",
            streamId: "seven",
            demangledName: "name",
            graphNodeId: "x",
          }),
        ],
      }),
    );
    expect(timeline.rows.count).toBe(1);
    expect(timeline.shapes[0]).toEqual({
      grid: null,
      block: [256, 1, 1],
      shared_memory_bytes: 3072,
      registers_per_thread: null,
    });
    expect(timeline.lanes[0]?.stream).toBeNull();
    expect(timeline.names[0]?.display).toBe("scale");
  });

  it("control characters and bytes that are no UTF-8 stand in names", async () => {
    const strings = [
      { id: 1, value: "k\u0000\u0001\u001b[31m\n,\u001e\u001f(int)" },
      { id: 2, value: Buffer.from([0x6b, 0xff, 0xfe]) },
    ];
    const text = "a\nb\u0000\u001e";
    const timeline = await read(
      writeExport(path(), {
        StringIds: strings,
        [KERNELS]: [kernel({}), kernel({ demangledName: 2, start: 3000, end: 3001 })],
        [NVTX]: [{ start: 1, end: 2, eventType: 59, globalTid: 5, text }],
      }),
    );
    expect(timeline.names.map(({ display }) => display)).toEqual([strings[0]?.value, "k\ufffd\ufffd"]);
    expect(timeline.texts).toEqual([text]);
    expect(timeline.rows.count).toBe(2);
  });

  it("ids of threads and processes beyond 2^53 stay apart", async () => {
    const wide = 0x7fff_1234_5600_0000n;
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [
          kernel({ globalPid: wide }),
          kernel({ globalPid: -144_115_188_075_855_872n, start: 5000, end: 6000 }),
        ],
        [CALLS]: [call({ globalTid: wide + 3n }), call({ globalTid: wide + 4n, correlationId: 9 })],
      }),
    );
    expect(timeline.lanes.map(({ process }) => process)).toEqual([String(wide), "-144115188075855872"]);
    expect(timeline.threads.map(({ thread }) => thread)).toEqual(["3", "4"]);
    expect(timeline.recording).toMatchObject({ launch_calls: 2, launch_calls_without_row: 1, kernels_without_call: 1 });
  });
});

describe("how well it was recorded", () => {
  it("10 graph launches with kernels for one", async () => {
    const calls = Array.from({ length: 10 }, (_, at) => call({ nameId: 4, correlationId: 100 + at, start: 500 + at }));
    const kernels = [1, 2, 3].map((node) =>
      kernel({ correlationId: 100, graphNodeId: 8_589_934_592 + node, start: 1000 * node, end: 1000 * node + 10 }),
    );
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: kernels, [CALLS]: calls }));
    expect(timeline.recording).toMatchObject({
      graph_launch_calls: 10,
      graph_launch_calls_without_row: 9,
      graph_kernels_min: null,
      shared_correlations: 0,
      kernels_without_call: 0,
    });
    expect([...timeline.rows.in_graph]).toEqual([1, 1, 1]);
  });

  it.each([{ graphId: null }, { graphId: 3 }])(
    "replays of one graph with different kernels ($graphId)",
    async ({ graphId }) => {
      const launch = (correlationId: number, nodes: readonly number[]) =>
        nodes.map((node) =>
          kernel({
            correlationId,
            graphId,
            graphNodeId: 7_000_000 + node,
            start: correlationId * 100 + node,
            end: correlationId * 100 + node + 1,
          }),
        );
      const kernels = [...launch(10, [1, 2, 3, 4]), ...launch(11, [2]), ...launch(12, [1, 2, 3, 4])];
      const other = kernel({
        correlationId: 20,
        graphId: graphId === null ? null : 9,
        graphNodeId: 9_000_000,
        start: 9000,
        end: 9001,
      });
      const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: [...kernels, other] }));
      expect(timeline.recording).toMatchObject({ graph_kernels_min: 1, graph_kernels_max: 4 });
    },
  );

  it("graphs recorded whole are rows of their own kind", async () => {
    const row = {
      start: 1000,
      end: 9000,
      deviceId: 0,
      contextId: 1,
      streamId: 7,
      correlationId: 5,
      globalPid: PROCESS,
    };
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [GRAPHS]: [{ ...row, graphId: 4, graphExecId: 6 }],
        [CALLS]: [call({ nameId: 4, correlationId: 5 })],
        META_DATA_CAPTURE: [
          { name: "PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", value: "Graph" },
          { name: "PROCESS_0:ENVIRONMENT_VARIABLE_0", value: "HF_TOKEN=hf_secret" },
        ],
      }),
    );
    expect([...totals(timeline, "graph").names]).toEqual([["CUDA graph 4", [1, 8000]]]);
    expect(timeline.recording).toMatchObject({
      has_kernel_table: false,
      graph_launch_calls: 1,
      graph_launch_calls_without_row: 0,
      graph_trace_mode: "Graph",
    });
  });

  it("calls are joined by process and correlation id", async () => {
    const other = PROCESS + 0x1000000;
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [kernel({}), kernel({ globalPid: other, deviceId: 1, start: 1500, end: 1600 })],
        [CALLS]: [
          call({ start: 100, end: 110 }),
          call({ globalTid: other + 5, start: 200, end: 210 }),
          call({ globalTid: other + 5, correlationId: 8, start: 300, end: 310 }),
        ],
      }),
    );
    expect([...timeline.rows.call_ns]).toEqual([100, 200]);
    expect(timeline.lanes).toHaveLength(2);
    expect(timeline.recording).toMatchObject({ launch_calls: 3, launch_calls_without_row: 1, shared_correlations: 0 });
  });

  it("kernels of one process that share a correlation id outside graphs are counted", async () => {
    const rows = [
      kernel({}),
      kernel({ start: 3000, end: 4000 }),
      kernel({ start: 5000, end: 6000 }),
      kernel({ correlationId: 2, start: 7000, end: 8000 }),
    ];
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: rows, [CALLS]: [call({})] }));
    expect(timeline.recording).toMatchObject({ shared_correlations: 1, kernels_without_call: 1 });
  });

  it("launches into a capture, failed ones and host functions launch no kernel", async () => {
    const strings = [...STRINGS, { id: 20, value: "cudaLaunchHostFunc_v10000" }, { id: 21, value: "cuLaunchKernelEx" }];
    const timeline = await read(
      writeExport(path(), {
        StringIds: strings,
        [KERNELS]: [kernel({ correlationId: 30 }), kernel({ correlationId: 31, start: 5000, end: 6000 })],
        [CALLS]: [
          call({ nameId: 5, correlationId: 2, start: 100, end: 110 }),
          call({ correlationId: 3, start: 120, end: 130 }),
          // Another stream of the same thread: it has a kernel.
          call({ correlationId: 30, start: 140, end: 150 }),
          // Another thread is not capturing.
          call({ correlationId: 4, start: 145, end: 150, globalTid: PROCESS + 78 }),
          call({ nameId: 6, correlationId: 5, start: 160, end: 170 }),
          call({ correlationId: 6, start: 200, end: 210, returnValue: 9 }),
          call({ nameId: 20, correlationId: 7, start: 220, end: 230 }),
          call({ nameId: 21, correlationId: 31, start: 240, end: 250 }),
          call({ nameId: 8, correlationId: 32, start: 260, end: 270 }),
        ],
      }),
    );
    expect(timeline.recording).toMatchObject({ launch_calls: 3, launch_calls_without_row: 1, stream_capture_calls: 1 });
  });

  it("copies by kind, of managed memory, and several in one row", async () => {
    const copy = (copyKind: number | string, more: object = {}) => ({
      start: 1000,
      end: 1500,
      deviceId: 0,
      contextId: 1,
      streamId: 7,
      correlationId: 0,
      globalPid: PROCESS,
      bytes: 4096,
      copyKind,
      copyCount: 1,
      ...more,
    });
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [COPIES]: [
          copy(1),
          copy(10, { copyCount: 5 }),
          copy(11, { streamId: 0 }),
          copy(12, { streamId: 0 }),
          copy(99),
          copy("?", { bytes: null }),
        ],
        [SETS]: [{ ...copy(1), bytes: 64 }],
      }),
    );
    expect([...totals(timeline, "memcpy").names.keys()].sort()).toEqual([
      "[CUDA memcpy Host-to-Device]",
      "[CUDA memcpy Peer-to-Peer]",
      "[CUDA memcpy Unified Device-to-Host]",
      "[CUDA memcpy Unified Host-to-Device]",
      "[CUDA memcpy]",
    ]);
    expect(totals(timeline, "memcpy")).toMatchObject({ count: 6, bytes: 5 * 4096 });
    expect(totals(timeline, "memset")).toMatchObject({ count: 1, bytes: 64 });
    expect(timeline.lanes.map(({ stream }) => stream)).toEqual(["7", null]);
    expect(timeline.recording).toMatchObject({ managed_copies: 2, batched_copies: 1, shared_correlations: 0 });
    expect(timeline.tick_ns).toBe(1);
  });

  it("streams of one number in two contexts are two lanes", async () => {
    const rows = [kernel({}), kernel({ contextId: 2, start: 1200, end: 1300 }), kernel({ streamId: 8, contextId: 2 })];
    const timeline = await read(writeExport(path(), { StringIds: STRINGS, [KERNELS]: rows }));
    expect(timeline.lanes.map(({ stream }) => stream)).toEqual(["7 (context 1)", "7 (context 2)", "8"]);
  });

  it("messages about CUDA keep no path, no name and no secret", async () => {
    const message = (text: string, severity = 2) => ({ timestamp: 1, severity, source: 1, text });
    const timeline = await read(
      writeExport(path(), {
        StringIds: STRINGS,
        [KERNELS]: [kernel({})],
        DIAGNOSTIC_EVENT: [
          message("Not all CUDA events might have been collected."),
          message("Not all NVTX events might have been collected."),
          message("Number of CUDA events collected: 12.", 1),
          message("CUDA: cannot load '/home/alice/.venv/libcupti.so' for alice@gpu-7.example.com at 10.1.2.3:80", 3),
          message(
            "CUDA failed in process python3 --token=hf_abcdefghijklmnopqrstuvwx, error CUPTI_ERROR_UNKNOWN, see C:\\Users\\alice\\x",
            3,
          ),
          message("CUDA tracing failed for bob on trainbox"),
          message("No CUDA events collected. Does the process use CUDA?"),
        ],
        PROCESSES: [{ globalPid: PROCESS, name: "/usr/bin/python3" }],
        META_DATA_EXPORT: [
          { name: "DERIVED_WINDOW_NS", value: "1-2" },
          { name: "EXPORT_HOST", value: "trainbox" },
          { name: "EXPORT_USER", value: "bob" },
        ],
      }),
    );
    const messages = timeline.recording.tool_messages;
    expect(messages).toHaveLength(5);
    expect(messages[0]).toBe("Not all CUDA events might have been collected.");
    expect(messages.join(" ")).toContain("CUPTI_ERROR_UNKNOWN");
    expect(messages.join(" ")).toContain("No CUDA events collected. Does the process use CUDA?");
    expect(messages.join(" ")).not.toMatch(/alice|example|10\.1|hf_|python3|home|Users|bob|trainbox/);
    expect(timeline.recording.is_cut).toBe(true);
  });

  it("whole microseconds show as the tick", async () => {
    const timeline = await read(
      writeExport(path(), { StringIds: STRINGS, [KERNELS]: [kernel({}), kernel({ start: 7000, end: 9000 })] }),
    );
    expect(timeline.tick_ns).toBe(1000);
  });
});

describe("damage", () => {
  const whole = fixture("timelines/tiny-graph-nodes.nsys.sqlite.gz");

  it("a cut file is refused with what is missing", async () => {
    const failure = await refusal(write(folder, "cut.sqlite", whole.subarray(0, whole.length >> 1)));
    expect(failure).toMatchObject({ code: "malformed", evidence: { expected: whole.length } });
    expect(failure.hint).toContain("nsys export");
  });

  it.each([
    ["nothing behind the magic", Buffer.concat([whole.subarray(0, 100), Buffer.alloc(4096)])],
    ["zeros in place of the schema", Buffer.concat([whole.subarray(0, 100), Buffer.alloc(whole.length - 100)])],
    ["magic alone", Buffer.from("SQLite format 3\0")],
    ["nothing at all", Buffer.alloc(0)],
    ["text", Buffer.from("no database")],
  ])("%s", async (_name, bytes) => {
    expect(await refusal(write(folder, "damaged.sqlite", bytes))).toMatchObject({ code: "malformed" });
  });

  it("a file that is not there is an error of the file system", async () => {
    await expect(read(join(folder, "absent.sqlite"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
