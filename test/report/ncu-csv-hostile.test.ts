import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import { DEFAULT_READ_LIMITS, type Report } from "../../src/model/report.ts";
import { readReport } from "../../src/report/detect.ts";
import { isCsv, readCsv } from "../../src/report/ncu-csv/index.ts";
import {
  checkReport,
  details,
  expectSame,
  pageText,
  plain,
  plainLaunches,
  quoted,
  read,
  refusal,
  tableOf,
  unquoted,
} from "./ncu-csv-pages.ts";

/** A raw page of some columns: small enough to be cut hundreds of times. */
function smallRaw(): string {
  const rows = tableOf(pageText("h200-full.raw.csv.gz"));
  const keep = (name: string, column: number): boolean =>
    column < 13 || /^(gpu__time|launch__|device__attribute_(display|compute)|sm__throughput)/.test(name);
  const columns = rows[0]!.flatMap((name, column) => (keep(name, column) ? [column] : []));
  return quoted(rows.map((row) => columns.map((column) => row[column]!)));
}

/** The first launches of the details page. */
function smallDetails(): string {
  const [header, ...lines] = pageText("h200-full.details.csv.gz").trimEnd().split("\n");
  return `${[header, ...lines.filter((line) => /^"[0-3]",/.test(line))].join("\n")}\n`;
}

/** Whatever the bytes: a report that holds together, or a refusal that says why. */
async function tryRead(bytes: Uint8Array): Promise<Report | null> {
  const head = isCsv(bytes.subarray(0, 65_536));
  expect(head === null || typeof head === "string" || head.refuse.message !== "").toBe(true);
  const result = await readCsv(openBuffer(bytes), "none", { limits: DEFAULT_READ_LIMITS });
  if (result.ok) checkReport(result.value);
  else expect(result.error.message).not.toBe("");
  return result.ok ? result.value : null;
}

describe.each([
  ["raw", smallRaw],
  ["details", smallDetails],
] as const)("a torn %s page", (kind, make) => {
  let text: string;
  let whole: ReturnType<typeof plainLaunches>;
  let ends: number[];
  beforeAll(async () => {
    text = make();
    whole = plainLaunches(await read(text));
    ends = [...text.matchAll(/\n/g)].map(({ index }) => index);
  });

  test("gives the launches before the cut, and where the torn row begins", async () => {
    let partial = 0;
    const positions = Array.from({ length: 300 }, (_, step) => Math.floor((text.length * (step + 0.5)) / 300));
    for (const cut of positions) {
      const report = await tryRead(Buffer.from(text.slice(0, cut)));
      if (report === null) continue;
      // A row that lost its line end, or the comma behind its last value, is still whole.
      if (report.partial) {
        partial++;
        const begin = ends.filter((end) => end < cut).at(-1)! + 1;
        expect(report.partial_at_byte).toBe(begin);
        expectSame(plainLaunches(report), whole.slice(0, report.launches.length));
        expect(report.findings.at(-1)).toMatchObject({
          code: "report_truncated",
          evidence: { offset: begin, complete_launches: report.launches.length },
        });
        if (kind === "raw") expect(report.launches.length).toBe(ends.filter((end) => end < cut).length - 2);
      }
    }
    expect(partial).toBeGreaterThan(200);
  });

  test("cut at the end of a row it looks whole", async () => {
    const end = ends.at(-2)!;
    for (const cut of [end, end + 1]) {
      const report = await read(text.slice(0, cut));
      expect(report.partial).toBe(false);
      expectSame(plainLaunches(report).slice(0, -1), whole.slice(0, report.launches.length - 1));
    }
  });

  test("in UTF-16 the offset counts bytes", async () => {
    const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
    const begin = ends.at(-2)! + 1;
    for (const odd of [0, 1]) {
      const report = await read(bytes.subarray(0, 2 + 2 * (begin + 100) + odd));
      expect(report.partial_at_byte).toBe(2 + 2 * begin);
    }
  });

  test("a compressed page that ends too early is partial", async () => {
    const full = pageText(`h200-full.${kind}.csv.gz`);
    const packed = gzipSync(full);
    const result = await readReport(openBuffer(packed.subarray(0, Math.floor(packed.length * 0.7))));
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value.partial).toBe(true);
    expect(result.value.launches.length).toBeGreaterThan(5);
    expectSame(plainLaunches(result.value), plainLaunches(await read(full)).slice(0, result.value.launches.length));
  });
});

describe("a torn details page", () => {
  const rows = [
    { id: "0", metric: "a__m.sum", value: "1" },
    { id: "0", metric: "b__m.sum", value: "2" },
    { id: "1", metric: "a__m.sum", value: "3" },
    { id: "1", metric: "b__m.sum", value: "4" },
  ];
  const ids = (report: Report): (number | null)[] => report.launches.map(({ metrics }) => metrics.number("a__m.sum"));

  test.each([
    ['"', [1]],
    ['"1', [1]],
    ['"1"', [1]],
    ['"1","7","k', [1]],
    ['"2', [1, 3]],
    ['"2"', [1, 3]],
    ['"2","7","k(in', [1, 3]],
    ['"12', [1, 3]],
    ['"0","7","k(in', [3]],
  ])("ending with %s", async (tail, expected) => {
    const report = await read(details(rows) + tail);
    expect(ids(report)).toEqual(expected);
    expect(report.partial_at_byte).toBe(details(rows).length);
  });

  test("a stream cut behind a row drops the launch that may go on", async () => {
    const text = details(rows);
    const open = async () => {
      const { BytesError } = await import("../../src/base/bytes.ts");
      const source = await openBuffer(Buffer.from(text))();
      return {
        size: null,
        get position() {
          return source.position;
        },
        async read(length: number) {
          if (source.position >= text.length) throw new BytesError("truncated", "unexpected end of file");
          return source.read(length);
        },
        skip: (length: number) => source.skip(length),
        close: () => source.close(),
      };
    };
    const result = await readCsv(open, "gzip", { limits: DEFAULT_READ_LIMITS });
    expect(result).toMatchObject({ ok: true, value: { partial: true, partial_at_byte: text.length } });
    if (result.ok) expect(ids(result.value)).toEqual([1]);
  });
});

describe("cells without quotes", () => {
  const rows = [
    ["ID", "Kernel Name", "a__m.sum", "b__m.sum"],
    ["", "", "byte", "byte"],
    ["0", "k", "1", "123"],
    ["1", "k", "2", "456"],
  ];

  test("a last cell that may be cut is not used", async () => {
    for (const text of [unquoted(rows).trimEnd(), unquoted(rows).slice(0, -2)]) {
      const report = await read(text);
      expect(report.launches.map(({ metrics }) => metrics.number("b__m.sum"))).toEqual([123, null]);
      expect(report.launches[1]!.metrics.number("a__m.sum")).toBe(2);
      expect(report.findings).toMatchObject([{ code: "last_cell_unproven" }]);
    }
  });

  test("a row of too few cells at the end is torn, in the middle it is short", async () => {
    const torn = await read(unquoted(rows).slice(0, -5));
    expect([torn.launches.length, torn.partial]).toEqual([1, true]);
    const short = await read(unquoted([...rows, ["2", "k", "3"], ["3", "k", "4", "5"]]));
    expect(short.launches.map(({ metrics }) => metrics.absence("b__m.sum"))).toEqual([null, null, "absent", null]);
  });

  test("a row of too many cells is left out and said", async () => {
    const report = await read(unquoted([...rows, ["2", "k<int", " float>", "9", "9"], ["3", "k", "4", "5"]]));
    expect(report.launches.map(({ metrics }) => metrics.number("a__m.sum"))).toEqual([1, 2, 4]);
    expect(report.findings).toMatchObject([
      { code: "row_unreadable", evidence: { count: 1, examples: "line 5" } },
      { code: "launches_renumbered" },
    ]);
  });
});

describe("hostile pages", () => {
  const row = { metric: "a__m.sum", unit: "byte", value: "1" };

  test.each([
    ["nothing", "", "empty"],
    ["only a header", details([]), "no_kernels"],
    ["a header cut in its middle", details([]).slice(0, 60), "malformed"],
    ["a header cut before it shows", details([]).slice(0, 20), "unknown_format"],
    ["header and units", "ID,Kernel Name,a__m.sum\n,,byte\n", "no_kernels"],
    ["a torn first row", `${details([])}"0","7","k`, "malformed"],
    ["a million columns", `"ID","Kernel Name"${',"a"'.repeat(1_000_000)}\n`, "too_large"],
    ["a header of a million columns without quotes", `ID,Kernel Name${",a__b".repeat(1_000_000)}\n`, "unknown_format"],
    ["a million cells", `${details([row])}"1"${",".repeat(1_000_000)}\n`, "too_large"],
    ["a huge cell", details([row, { ...row, name: "k".repeat(2_000_000) }]), "too_large"],
    ["a cell without end", `${details([row])}"1","7","${"k".repeat(6_000_000)}`, "too_large"],
  ])("%s", async (_name, text, code) => {
    expect(await refusal(text)).toMatchObject({ code });
  });

  test("an unclosed quote costs its row and no other", async () => {
    const lines = details([row, { ...row, id: "1" }, { ...row, id: "2" }])
      .trimEnd()
      .split("\n");
    lines[2] = lines[2]!.replace('"k(int)"', '"k(int)');
    const report = await read(`${lines.join("\n")}\nnoise, "with a quote\n${lines[3]}\n`);
    expect(report.launches.map(({ index }) => index)).toEqual([0, 1]);
    expect(report.findings[0]).toMatchObject({ code: "row_unreadable", evidence: { examples: "line 3" } });
  });

  test("an unclosed quote before a hundred thousand lines of noise ends", async () => {
    const report = await read(`${details([row])}"1","7","k(int)\n${'x "y\n'.repeat(100_000)}`);
    expect(report.launches).toHaveLength(1);
  });

  test("binary data around the table is noise", async () => {
    const noise = Buffer.from(Array.from({ length: 20_000 }, (_, at) => (at * 7919) % 256));
    const page = Buffer.from(details([row]));
    const report = await read(Buffer.concat([noise, Buffer.from("\n"), page, noise]));
    expect(plainLaunches(report)).toEqual(plainLaunches(await read(page)));
  });

  test("a line of megabytes between rows is noise", async () => {
    const report = await read(`${"x".repeat(9_000_000)}\n${details([row])}${"y,".repeat(4_000_000)}\n`);
    expect(report.launches).toHaveLength(1);
  });

  test("limits are kept", async () => {
    const text = details([row, { ...row, id: "1" }]);
    expect(await refusal(text, { limits: { maxBytes: 100, maxLaunches: 10 } })).toMatchObject({ code: "too_large" });
    expect(await refusal(text, { limits: { maxBytes: 10_000, maxLaunches: 1 } })).toMatchObject({ code: "too_large" });
    expect((await read(text, { limits: { maxBytes: 10_000, maxLaunches: 2 } })).launches).toHaveLength(2);
    expect(await refusal(smallRaw(), { limits: { maxBytes: 1e9, maxLaunches: 18 } })).toMatchObject({
      code: "too_large",
    });
  });

  test("names that an object has by itself are names", async () => {
    const { launches } = await read(
      details([
        { ...row, metric: "__proto__" },
        { ...row, metric: "constructor" },
        { ...row, section: "constructor", metric: "toString" },
      ]),
    );
    expect([...launches[0]!.metrics.names()]).toEqual(["__proto__", "constructor"]);
    expect(launches[0]!.metrics.number("toString")).toBeNull();
  });

  test("reading lets others have their turn", async () => {
    let turns = 0;
    let done = false;
    const tick = (): void => {
      turns++;
      if (!done) setImmediate(tick);
    };
    setImmediate(tick);
    await read(pageText("h200-full.raw.csv.gz"));
    done = true;
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});

describe("random damage", () => {
  test.each([
    ["raw", smallRaw],
    ["details", smallDetails],
  ])("of bytes in a %s page never crashes the reader", async (_kind, make) => {
    const page = Buffer.from(make());
    const edit = fc.record({
      at: fc.integer({ min: 0, max: page.length - 1 }),
      length: fc.integer({ min: 0, max: 200 }),
      bytes: fc.uint8Array({ maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 6 }), async (edits) => {
        let bytes: Buffer = page;
        for (const { at, length, bytes: inserted } of edits) {
          bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + length)]);
        }
        await tryRead(bytes);
      }),
      { numRuns: 150, seed: 4 },
    );
  });

  test("of one cell changes no other cell", async () => {
    const rows = tableOf(smallRaw());
    const whole = (await read(quoted(rows))).launches;
    const first = 13;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: rows.length - 1 }),
        fc.integer({ min: first, max: rows[0]!.length - 1 }),
        fc.oneof(
          fc.string({ maxLength: 20 }),
          fc.constantFrom("nan", "no data", "", '"', "a,b", "1e400", "9".repeat(30), "\u0000"),
        ),
        async (line, column, cell) => {
          fc.pre(!/[\n\r]/.test(cell) && !/\d[., ']\d/.test(cell));
          const changed = rows.map((row, at) => (at === line ? row.with(column, cell) : row));
          const { launches } = await read(quoted(changed));
          const name = rows[0]![column]!;
          launches.forEach((launch, at) => {
            const without = (metrics: ReturnType<typeof plain>["metrics"]) =>
              metrics.filter(([metric]) => at !== line - 2 || metric !== name);
            expect(JSON.stringify(without(plain(launch).metrics))).toBe(
              JSON.stringify(without(plain(whole[at]!).metrics)),
            );
          });
        },
      ),
      { numRuns: 60, seed: 5 },
    );
  });
});
