import { describe, expect, it } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import { DEFAULT_READ_LIMITS, type ReadFailure, type Report } from "../../src/model/report.ts";
import { readNcuRep } from "../../src/report/ncu-rep/index.ts";
import { integrityProblems } from "./integrity.ts";
import {
  block,
  bytesField,
  doubleField,
  floatField,
  kernel,
  metric,
  report,
  uint32,
  uintField,
  varint,
} from "./report-builder.ts";

const read = (bytes: Uint8Array) => readNcuRep(openBuffer(bytes), "none", { limits: DEFAULT_READ_LIMITS });

async function readWell(bytes: Uint8Array): Promise<Report> {
  const result = await read(bytes);
  if (!result.ok) throw new Error(result.error.message);
  expect(integrityProblems(result.value)).toEqual([]);
  return result.value;
}

async function refusal(bytes: Uint8Array): Promise<ReadFailure> {
  const result = await read(bytes);
  if (result.ok) throw new Error("read");
  return result.error;
}

const codes = (found: Report): string[] => found.findings.map(({ code }) => code);
const first = block({
  counters: { 1: 0, 2: 1 },
  strings: ["a", "b"],
  entries: [kernel("one", [metric(0, 1.5)])],
  processId: 9,
});
const second = block({ counters: { 1: 0, 2: 1 }, entries: [kernel("two", [metric(1, 2)])], processId: 9 });

describe("kinds without a recording", () => {
  it("reads several entries of all kinds in one payload, in the order of the counters", async () => {
    const source = Buffer.alloc(1000, 0xee);
    const composite = [bytesField(4, metric(0, 3)), uintField(5, 1_796_000_001), uintField(11, 2)];
    const found = await readWell(
      report(
        block({
          counters: { 1: 2, 2: 1, 7: 1, 8: 1, 9: 1 },
          strings: ["a"],
          entries: [
            source,
            source,
            kernel("k", [metric(0, 1)]),
            Buffer.concat([uintField(1, 1), uintField(2, 2), ...composite]),
            Buffer.concat([
              uintField(1, 1),
              uintField(2, 2),
              ...composite,
              uintField(12, 14),
              bytesField(18, "cuExecuteList"),
            ]),
            Buffer.concat([uintField(1, 1), uintField(2, 2), ...composite, uintField(12, 15), floatField(23, 580.159)]),
          ],
          processId: 77,
        }),
      ),
    );
    expect(found.findings).toEqual([]);
    expect(found.driver_version).toBe("580.159");
    expect(found.launches.map(({ index, kind, names, stream_id }) => [index, kind, names.display, stream_id])).toEqual([
      [0, "kernel", "k", 7],
      [1, "range", "range", null],
      [2, "cmdlist", "cuExecuteList", 14],
      [3, "graph", "graph", 15],
    ]);
    expect(found.launches.map(({ metrics }) => metrics.number("a"))).toEqual([1, 3, 3, 3]);
  });

  it("names entries of kinds that later versions may add", async () => {
    const found = await readWell(
      report(first, block({ counters: { 10: 2 }, entries: [Buffer.from("abc"), Buffer.from("")] }), second),
    );
    expect(found.launches).toHaveLength(2);
    expect(found.findings).toMatchObject([{ code: "skipped_result_kind", evidence: { count: 2 } }]);
    expect(await refusal(report(block({ counters: { 10: 1 }, entries: [Buffer.from("abc")] })))).toMatchObject({
      code: "no_kernels",
      message: expect.stringContaining("unknown kind"),
    });
  });

  it("skips fields that it does not know, in packed form too", async () => {
    const unknown = [uintField(99, 5), bytesField(98, "text"), doubleField(97, 1), floatField(96, 1)];
    const graph = Buffer.concat([
      uintField(1, 1),
      bytesField(4, metric(0, 3)),
      bytesField(17, Buffer.concat([varint(1), varint(2n ** 40n)])),
      ...unknown,
    ]);
    const found = await readWell(
      report(
        block({
          counters: { 2: 1, 9: 1 },
          strings: ["a"],
          entries: [kernel("k", [Buffer.concat([metric(0, 4), ...unknown])], unknown), graph],
          extra: Buffer.concat([bytesField(50, "later"), doubleField(51, 1)]),
        }),
      ),
    );
    expect(found.launches.map(({ metrics }) => metrics.number("a"))).toEqual([4, 3]);
    expect(found.findings).toEqual([]);
  });

  it("reads all forms of values, whatever their order in the metric", async () => {
    const names = ["float", "uint32", "uint64", "text", "late id", "infinite", "empty"];
    const value = (form: Uint8Array): Buffer => bytesField(2, form);
    const metrics = [
      Buffer.concat([uintField(1, 0), value(floatField(2, 0.5))]),
      Buffer.concat([uintField(1, 1), value(uintField(4, 4_294_967_295))]),
      Buffer.concat([uintField(1, 2), value(uintField(5, 150_109_880_320n))]),
      Buffer.concat([uintField(1, 3), value(bytesField(1, "größe"))]),
      Buffer.concat([value(doubleField(3, 7)), uintField(1, 4)]),
      Buffer.concat([uintField(1, 5), value(doubleField(3, Number.NEGATIVE_INFINITY))]),
      Buffer.concat([uintField(1, 6), value(Buffer.alloc(0)), bytesField(3, value(doubleField(3, 1)))]),
    ];
    const [launch] = (
      await readWell(report(block({ counters: { 2: 1 }, strings: names, entries: [kernel("k", metrics)] })))
    ).launches;
    expect(names.map((name) => launch?.metrics.number(name))).toEqual([
      0.5,
      4_294_967_295,
      150_109_880_320,
      null,
      7,
      null,
      null,
    ]);
    expect(launch?.metrics.text("text")).toBe("größe");
    expect(launch?.metrics.absence("infinite")).toBe("infinite");
    expect(launch?.metrics.absence("empty")).toBe("instances_only");
  });

  it("takes the process from the session where a block names none, and knows an unsupported device", async () => {
    const session = bytesField(3, uintField(1, 4321));
    const found = await readWell(
      report(
        block({ extra: session }),
        block({ counters: { 2: 1 }, strings: ["a"], entries: [kernel("k", [metric(0, 1)], [uintField(20, 1)])] }),
      ),
    );
    expect(found.launches[0]).toMatchObject({
      process_id: 4321,
      failure: expect.stringContaining("not (fully) supported"),
    });
  });
});

describe("damage is named", () => {
  it.each([
    { what: "zeros behind the header", bytes: report(Buffer.alloc(5000)), found: /0 bytes/ },
    { what: "a header longer than the file", bytes: report(uint32(4_000_000_000)), found: /4000000000/ },
    {
      what: "a payload longer than the file",
      bytes: report(block({ counters: { 2: 1 }, payloadSize: 2n ** 63n })),
      found: /payload/,
    },
    {
      what: "an entry longer than its payload",
      bytes: report(block({ counters: { 2: 1 }, payloadSize: 8, entries: [] }), uint32(100), uint32(0)),
      found: /entry of 100 bytes/,
    },
    {
      what: "a kernel without a name",
      bytes: report(block({ counters: { 2: 1 }, entries: [kernel("")] })),
      found: /without a name/,
    },
    {
      what: "a metric without a name id",
      bytes: report(
        block({ counters: { 2: 1 }, strings: ["a"], entries: [kernel("k", [bytesField(2, doubleField(3, 1))])] }),
      ),
      found: /name id/,
    },
    {
      what: "a wrong wire type",
      bytes: report(block({ counters: { 2: 1 }, entries: [kernel("k", [], [uintField(10, 3)])] })),
      found: /wire type/,
    },
    {
      what: "a group",
      bytes: report(block({ counters: { 2: 1 }, entries: [Buffer.concat([kernel("k"), varint(60 * 8 + 3)])] })),
      found: /wire type 3/,
    },
    {
      what: "an endless varint",
      bytes: report(block({ counters: { 2: 1 }, entries: [Buffer.concat([kernel("k"), Buffer.alloc(12, 0xff)])] })),
      found: /varint/,
    },
    {
      what: "a text that leaves its message",
      bytes: report(
        block({ counters: { 2: 1 }, entries: [Buffer.concat([varint(5 * 8 + 2), varint(99), Buffer.from("k")])] }),
      ),
      found: /99 bytes/,
    },
    {
      what: "a counter twice",
      bytes: report(block({ counters: { 2: 1 }, entries: [kernel("k")], extra: uintField(2, 1) })),
      found: /twice/,
    },
    {
      what: "a header that is no message",
      bytes: report(Buffer.concat([uint32(3), Buffer.from([0x0f, 0xff, 0xff])])),
      found: /header/,
    },
  ])("$what: refused alone, the end of the report behind launches", async ({ bytes, found }) => {
    const alone = await refusal(bytes);
    expect(alone.code).toBe("malformed");
    expect(alone.message).toMatch(found);
    expect(alone.evidence).toMatchObject({ offset: 10 });

    const behind = await readWell(Buffer.concat([report(first), bytes.subarray(10), second]));
    expect(behind.launches.map(({ names }) => names.display)).toEqual(["one"]);
    expect(behind).toMatchObject({ partial: true, partial_at_byte: 10 + first.length });
    expect(behind.findings).toMatchObject([
      {
        severity: expect.stringMatching(/warning|error/),
        evidence: { offset: 10 + first.length, complete_launches: 1 },
      },
    ]);
    expect(behind.findings[0]?.message).toMatch(found);
  });

  it.each([
    {
      what: "more entries than announced",
      parts: { counters: { 2: 1 }, entries: [kernel("x"), kernel("y")] },
      missing: -1,
      launches: ["one", "x", "two"],
    },
    {
      what: "fewer entries than announced",
      parts: { counters: { 2: 3 }, entries: [kernel("x")] },
      missing: 2,
      launches: ["one", "x", "two"],
    },
    {
      what: "billions of entries announced",
      parts: { counters: { 2: 4_000_000_000 }, entries: [kernel("x")] },
      missing: 3_999_999_999,
      launches: ["one", "x", "two"],
    },
    {
      what: "a source announced and nothing there",
      parts: { counters: { 1: 1 } },
      missing: 1,
      launches: ["one", "two"],
    },
    {
      what: "a result announced as source",
      parts: { counters: { 1: 1, 2: 1 }, entries: [kernel("x")] },
      missing: 1,
      launches: ["one", "two"],
    },
  ])("$what", async ({ parts, missing, launches }) => {
    const found = await readWell(report(first, block(parts), second));
    expect(found.launches.map(({ names }) => names.display)).toEqual(launches);
    expect(found.findings).toContainEqual(
      expect.objectContaining({ code: "entry_count_mismatch", evidence: { offset: 10 + first.length, missing } }),
    );
  });

  it("names of metrics outside the table", async () => {
    const found = await readWell(
      report(first, block({ counters: { 2: 1 }, entries: [kernel("x", [metric(5, 1), metric(1, 3)])] })),
    );
    expect(found.findings).toMatchObject([
      { code: "metric_name_out_of_range", launch: 1, evidence: { metrics: 1, names: 2 } },
    ]);
    expect([...(found.launches[1]?.metrics.names() ?? [])]).toEqual(["b"]);
  });

  it("metrics that disagree with themselves; the last one counts", async () => {
    const found = await readWell(
      report(
        block({
          counters: { 2: 1 },
          strings: ["a", "b"],
          entries: [kernel("x", [metric(0, 1), metric(1, 2), metric(0, 3), metric(1, 2)])],
        }),
      ),
    );
    expect(found.launches[0]?.metrics.number("a")).toBe(3);
    expect(found.findings).toMatchObject([
      { code: "duplicate_metric_disagrees", evidence: { metric: "a", used: 3, dropped: 1 } },
    ]);
  });

  it("a failed launch and odd shapes have none", async () => {
    const shape = (field: number, sizes: number[]): Buffer =>
      bytesField(field, Buffer.concat(sizes.map((size, at) => uintField(at + 1, size))));
    const failed = kernel("f", [], [shape(10, [0, 0, 0]), shape(11, [0, 0, 0])]);
    const odd = kernel("o", [], [shape(10, [3, 0, 1])]);
    const found = await readWell(report(block({ counters: { 2: 2 }, entries: [failed, odd] })));
    expect(found.launches).toMatchObject([
      { grid: null, block: null, failure: expect.stringContaining("failed") },
      { grid: null, block: [32, 1, 1], failure: null },
    ]);
  });
});

describe("limits", () => {
  it("passes over a result that is too large, and names it", async () => {
    const large = Buffer.alloc(64 * 1024 ** 2 + 1);
    const found = await readWell(report(first, block({ counters: { 2: 1 }, entries: [large] }), second));
    expect(found.launches.map(({ index, names }) => [index, names.display])).toEqual([
      [0, "one"],
      [2, "two"],
    ]);
    expect(found.findings).toMatchObject([{ code: "result_too_large", evidence: { result: 1, bytes: large.length } }]);
  });

  it("of launches and bytes are refused by name", async () => {
    const bytes = report(first, second);
    const limited = (limits: { maxBytes: number; maxLaunches: number }) =>
      readNcuRep(openBuffer(bytes), "none", { limits });
    expect(await limited({ maxBytes: 1e9, maxLaunches: 1 })).toMatchObject({
      ok: false,
      error: { code: "too_large", evidence: { limit: 1, found: 2 } },
    });
    expect(await limited({ maxBytes: 50, maxLaunches: 10 })).toMatchObject({ ok: false, error: { code: "too_large" } });
  });

  it("findings of one code are listed up to fifty", async () => {
    const entries = Array.from({ length: 80 }, (_none, at) => kernel(`k${at}`, [metric(0, 1), metric(0, 2)]));
    const found = await readWell(report(block({ counters: { 2: 80 }, strings: ["a"], entries })));
    expect(codes(found).filter((code) => code === "duplicate_metric_disagrees")).toHaveLength(50);
    expect(found.findings.at(-1)).toMatchObject({ code: "findings_not_listed", evidence: { count: 80 } });
  });
});
