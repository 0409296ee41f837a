import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { openBuffer, openFile } from "../../src/base/file-source.ts";
import type { Report } from "../../src/model/report.ts";
import { detectReport, readReport } from "../../src/report/detect.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";
import {
  details,
  detected,
  expectSame,
  PAGES,
  pageText,
  plainLaunches,
  quoted,
  read,
  refusal,
  tableOf,
  unquoted,
} from "./ncu-csv-pages.ts";

async function readFixture(name: string): Promise<Report> {
  const result = await readReport(openFile(fixturePath(H200 + name)));
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

describe("a page against the report it was printed from", () => {
  describe.each(PAGES)("$page", ({ page, report, launches, cells }) => {
    let csv: Report;
    let rep: Report;
    beforeAll(async () => {
      csv = await readFixture(page);
      rep = await readFixture(report);
    });

    test("is recognised", async () => {
      const format = page.includes("details") ? "ncu-csv-details" : "ncu-csv-raw";
      expect(await detectReport(openFile(fixturePath(H200 + page)))).toEqual({
        ok: true,
        value: { format, compression: "gzip" },
      });
      expect(csv.format).toBe(format);
      expect(csv.compression).toBe("gzip");
      expect(csv.partial).toBe(false);
      expect(csv.tool).toEqual({ name: "ncu", version: null });
      expect(csv.launches).toHaveLength(launches);
    });

    test("names the same launches", () => {
      for (const launch of csv.launches) {
        const original = rep.launches[launch.index];
        for (const field of [
          "index",
          "kind",
          "grid",
          "block",
          "process_id",
          "context_id",
          "stream_id",
          "device",
          "nvtx",
          "failure",
        ] as const) {
          expect(launch[field], `${field} of launch ${launch.index}`).toEqual(original?.[field]);
        }
        expect(launch.names.function).toBe(original?.names.function);
        expect(launch.names.demangled).toBeNull();
        expect(launch.names.simplified).toBe(true);
      }
    });

    test("gives every cell within its resolution", () => {
      let compared = 0;
      for (const { index, metrics } of csv.launches) {
        const original = rep.launches[index]!.metrics;
        for (const name of metrics.names()) {
          const printed = metrics.number(name);
          const exact = original.number(name);
          if (printed === null || exact === null) {
            expect([name, printed, metrics.absence(name), metrics.text(name)]).toEqual([
              name,
              exact,
              original.absence(name),
              original.text(name),
            ]);
          } else if (!(Math.abs(printed - exact) <= metrics.resolution(name))) {
            throw new Error(
              `${name} of launch ${index}: ${printed} instead of ${exact}, resolution ${metrics.resolution(name)}`,
            );
          }
          compared++;
        }
      }
      expect(compared).toBe(cells);
    });

    test("leaves out only what pages leave out", () => {
      if (page.includes("details"))
        return expect(csv.launches[0]!.metrics.absence("sm__cycles_elapsed.max")).toBe("absent");
      for (const { index, metrics } of csv.launches) {
        const listed = new Set(metrics.names());
        for (const name of rep.launches[index]!.metrics.names()) {
          if (listed.has(name)) continue;
          expect(metrics.absence(name)).toBe("absent");
          // Lists of metric names, empty texts, and metrics with nothing but instances.
          expect(["not_a_number", "instances_only"]).toContain(rep.launches[index]!.metrics.absence(name));
        }
      }
    });

    test("finds the device", () => {
      const name = page.includes("details") ? null : "NVIDIA H200";
      expect(csv.devices).toEqual([{ index: 0, name }]);
      for (const { metrics } of csv.launches) {
        expect(metrics.number("device__attribute_compute_capability_major")).toBe(9);
        expect(metrics.number("device__attribute_compute_capability_minor")).toBe(0);
      }
    });
  });

  test("the details page has the hints of the report, without title and evidence", async () => {
    const csv = await readFixture("h200-full.details.csv.gz");
    const rep = await readFixture("h200-full.ncu-rep.gz");
    const key = ({
      rule,
      section,
      speedup_type,
    }: {
      rule: string;
      section: string | null;
      speedup_type: string | null;
    }): string => `${section} ${rule} ${speedup_type}`;
    expect(csv.launches.flatMap(({ hints }) => hints)).toHaveLength(168);
    for (const { index, hints } of csv.launches) {
      expect(hints.map(key).sort()).toEqual(rep.launches[index]!.hints.map(key).sort());
      const printed = hints.map(({ speedup_percent }) => speedup_percent ?? -1).sort((a, b) => a - b);
      const exact = rep.launches[index]!.hints.map(({ speedup_percent }) => speedup_percent ?? -1).sort(
        (a, b) => a - b,
      );
      printed.forEach((value, at) => {
        expect(value / exact[at]!).toBeCloseTo(1, 3);
      });
      for (const hint of hints) expect(hint).toMatchObject({ title: null, evidence: [] });
      for (const hint of hints) expect(hint.text).not.toBe("");
    }
  });

  test("labels that another version or chip gives another meaning are left out and said", async () => {
    const csv = await readFixture("h200-full.details.csv.gz");
    expect(csv.findings.map(({ code, evidence }) => [code, evidence.count])).toEqual([["label_ambiguous", 76]]);
    expect(csv.launches[0]!.metrics.absence("sm__inst_issued.avg.pct_of_peak_sustained_active")).toBe("absent");
  });
});

test.each(["ranges-replay", "ranges-app-replay", "ranges-nvtx-include", "ranges-kernels"])(
  "%s: results over several kernels have the kind that the report gives them",
  async (name) => {
    const kinds = async (file: string) => (await readFixture(file)).launches.map(({ kind, grid }) => [kind, grid]);
    expect(await kinds(`${name}.raw-base-units.csv.gz`)).toEqual(await kinds(`${name}.ncu-rep.gz`));
  },
);

describe("wantMetric", () => {
  const wantMetric = (name: string): boolean => name === "gpu__time_duration.sum" || name === "launch__grid_size";

  test.each(["h200-full.raw.csv.gz", "h200-full.details.csv.gz"])("%s keeps only what is asked for", async (page) => {
    const full = await read(pageText(page));
    const some = await read(pageText(page), { wantMetric });
    expect(some.devices).toEqual(full.devices);
    some.launches.forEach(({ metrics, names }, index) => {
      expect([...metrics.names()].sort()).toEqual(["gpu__time_duration.sum", "launch__grid_size"]);
      expect(metrics.number("gpu__time_duration.sum")).toBe(
        full.launches[index]!.metrics.number("gpu__time_duration.sum"),
      );
      expect(names).toEqual(full.launches[index]!.names);
    });
  });

  test("the number format is proven by cells that nobody asked for", async () => {
    const page = details([
      { metric: "gpu__time_duration.sum", unit: "ns", value: "117.344" },
      { metric: "dram__bytes.sum", unit: "byte", value: "27.595.520" },
    ]);
    const { launches } = await read(page, { wantMetric });
    expect(launches[0]!.metrics.number("gpu__time_duration.sum")).toBe(117_344);
  });
});

/** Rows of program output, as a page on standard output has them before its table. */
const NOISE = Array.from({ length: 300 }, (_, step) => `${step} 4 8 8\n0.42688${step}\nloss: 1,5 "quoted\n`).join("");

const swap = (cell: string): string => cell.replace(/[.,]/g, (separator) => (separator === "." ? "," : "."));
const isNumeric = (cell: string): boolean => /^-?\d[\d.,]*$/.test(cell);

describe.each(["h200-full.raw.csv.gz", "h200-full.details.csv.gz"])("the same launches out of %s", (page) => {
  let text: string;
  let rows: string[][];
  let expected: ReturnType<typeof plainLaunches>;
  let withoutResolution: ReturnType<typeof plainLaunches>;
  let isDetails: boolean;
  beforeAll(async () => {
    text = pageText(page);
    rows = tableOf(text);
    const report = await read(text);
    expected = plainLaunches(report);
    withoutResolution = plainLaunches(report, false);
    isDetails = page.includes("details");
  });

  const utf16 = (little: boolean): Buffer => {
    const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
    return little ? bytes : bytes.swap16();
  };

  test("with a byte order mark", async () => {
    expectSame(plainLaunches(await read(`\ufeff${text}`)), expected);
  });

  test("with CRLF", async () => {
    expectSame(plainLaunches(await read(text.replaceAll("\n", "\r\n"))), expected);
  });

  test("in UTF-16, both orders, with and without a mark", async () => {
    const kind = isDetails ? "ncu-csv-details" : "ncu-csv-raw";
    for (const bytes of [utf16(true), utf16(false), utf16(true).subarray(2), utf16(false).subarray(2)]) {
      expect(detected(bytes.subarray(0, 65_536))).toBe(kind);
      expectSame(plainLaunches(await read(bytes)), expected);
    }
  });

  test("compressed, through detection", async () => {
    const result = await readReport(openBuffer(gzipSync(text)));
    expectSame(result.ok ? plainLaunches(result.value) : [], expected);
  });

  test("between hundreds of lines of program output", async () => {
    const before = `==PROF== Connected to process 7 (/bin/x)\n${NOISE}no line end==PROF== Disconnected from process 7\n`;
    const report = await read(`${before}${text}\n==PROF== Disconnected from process 7\ndone, "all\n`);
    expectSame(plainLaunches(report), expected);
    expect(detected(before + text)).toBe(isDetails ? "ncu-csv-details" : "ncu-csv-raw");
  });

  test("with program output glued to the header and after each row", async () => {
    const noisy = `0.5${text}`.replaceAll("\n", "\n1 4 8 8\nit's \"fine\n==WARNING== Unable to access a metric\n\n");
    expectSame(plainLaunches(await read(noisy)), expected);
  });

  test("with text of the tool glued to a row", async () => {
    const lines = text.split("\n");
    lines[4] += "==PROF== Disconnected from process 7";
    expectSame(plainLaunches(await read(lines.join("\n"))), expected);
  });

  test("with an index column, saved by pandas", async () => {
    // A column with a gap becomes one of decimals; cells lose their quotes.
    const decimal = ["ID", "Process ID", "Context", "Stream"].map((name) => rows[0]!.indexOf(name));
    const saved = rows.map((row, at) => {
      const cells = row.map((cell, column) => (at > 0 && decimal.includes(column) && cell !== "" ? `${cell}.0` : cell));
      const padded = [...cells, ...Array.from({ length: rows[0]!.length - cells.length }, () => "")];
      return [at === 0 ? "" : String(at - 1), ...padded];
    });
    const named = saved.map((row, at) => (at === 0 ? ["Unnamed: 0", ...row.slice(1)] : row));
    for (const table of [saved, named]) {
      const report = await read(unquoted(table));
      expectSame(plainLaunches(report, false), withoutResolution);
      // Another program may have dropped `.00`: a whole number is not taken for exact.
      expect(report.launches[0]!.metrics.resolution("launch__grid_size")).toBeCloseTo(0.005, 6);
    }
  });

  test("saved by a spreadsheet with semicolons", async () => {
    expectSame(plainLaunches(await read(unquoted(rows, ";")), false), withoutResolution);
  });

  test("with the columns in another order", async () => {
    const order = rows[0]!
      .map((_, column) => column)
      .sort((a, b) => ((a * 7919) % 2243) - ((b * 7919) % 2243) || a - b);
    const shuffled = rows.map((row) => order.map((column) => row[column] ?? ""));
    const { launches } = await read(quoted(shuffled));
    expectSame(plainLaunches({ launches } as Report), expected);
  });

  test("without columns that say who launched it", async () => {
    const dropped = new Set(["Process ID", "Process Name", "Host Name", "Context", "Stream", "Device"]);
    const kept = rows[0]!.flatMap((name, column) => (dropped.has(name) ? [] : [column]));
    const report = await read(quoted(rows.map((row) => kept.flatMap((column) => row[column] ?? []))));
    expectSame(
      plainLaunches(report),
      expected.map((launch) => ({
        ...launch,
        process_id: null,
        context_id: null,
        stream_id: null,
        device: isDetails ? null : 0,
      })),
    );
  });

  test("in the number format of another country", async () => {
    const first = rows[0]!.indexOf("Section Name");
    const value = rows[0]!.indexOf("Metric Value");
    const isValue = (column: number): boolean => (first >= 0 ? column === value : column > rows[0]!.indexOf("CC"));
    const inFormat = (convert: (cell: string) => string): string =>
      quoted(
        rows.map((row, at) =>
          row.map((cell, column) => (at > 0 && isValue(column) && isNumeric(cell) ? convert(cell) : cell)),
        ),
      );
    expectSame(plainLaunches(await read(inFormat(swap))), expected);
    expectSame(plainLaunches(await read(inFormat((cell) => cell.replaceAll(",", "")))), expected);
    for (const blank of [" ", "\u00a0", "\u202f"]) {
      expectSame(
        plainLaunches(await read(inFormat((cell) => cell.replaceAll(",", blank).replace(".", ",")))),
        expected,
      );
    }
    expectSame(plainLaunches(await read(inFormat((cell) => cell.replaceAll(",", "'")))), expected);
  });

  test("twice, from two tables in one file", async () => {
    const report = await read(`${text}\n==PROF== Connected to process 8\n${text}`);
    expectSame(plainLaunches(report), [...expected, ...expected]);
    const renumbered = report.findings.find(({ code }) => code === "launches_renumbered");
    expect(renumbered?.evidence).toMatchObject({
      tables: 2,
      count: 19,
      examples: expect.stringContaining("ID 0 is 19"),
    });
  });
});

describe("the details page", () => {
  test("gathers launches whose rows do not stand together", async () => {
    const text = pageText("h200-full.details.csv.gz");
    const [header, ...lines] = text.trimEnd().split("\n");
    const sections = tableOf(text).map((row) => row[13]!);
    const order = lines.map((line, at) => ({ line, section: sections.indexOf(sections[at + 1]!) }));
    order.sort((a, b) => a.section - b.section);
    const sorted = await read(`${[header, ...order.map(({ line }) => line)].join("\n")}\n`);
    expect(plainLaunches(sorted).map(({ metrics }) => metrics)).toEqual(
      plainLaunches(await read(text)).map(({ metrics }) => metrics),
    );
  });

  test("takes the finer of two values of one metric", async () => {
    const section = "GPU Speed Of Light Throughput";
    const duration = { metric: "Duration", unit: "us", value: "117.34", section };
    const counter = { metric: "gpu__time_duration.sum", unit: "ns", value: "117,344" };
    for (const rows of [
      [duration, counter],
      [counter, duration],
    ]) {
      const { launches } = await read(details(rows));
      expect(launches[0]!.metrics.number("gpu__time_duration.sum")).toBe(117_344);
      expect([...launches[0]!.metrics.names()]).toEqual(["gpu__time_duration.sum"]);
    }
    const { launches } = await read(details([counter, { ...duration, value: "n/a" }]));
    expect(launches[0]!.metrics.number("gpu__time_duration.sum")).toBe(117_344);
  });

  test("never takes Memory Throughput in percent for DRAM", async () => {
    const { launches } = await read(
      details([
        { section: "GPU Speed Of Light Throughput", metric: "Memory Throughput", unit: "%", value: "61.84" },
        { section: "Memory Workload Analysis", metric: "Memory Throughput", unit: "Gbyte/s", value: "345.14" },
        { section: "Memory Workload Analysis", metric: "Memory Throughput", unit: "%", value: "9.99" },
      ]),
    );
    const { metrics } = launches[0]!;
    expect(metrics.number("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(61.84);
    expect(metrics.number("dram__bytes.sum.per_second")).toBe(345.14e9);
    expect(metrics.number("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBeNull();
  });

  test("knows old labels, internal names, and both together", async () => {
    const section = "GPU Speed Of Light";
    const { launches, findings } = await read(
      details([
        { section, metric: "SM [%]", unit: "%", value: "41.95" },
        { section, metric: "SOL DRAM", unit: "%", value: "9.08" },
        { section, metric: "SOL FB", unit: "%", value: "1.00" },
        { section: "Occupancy", metric: "sm__warps_active.avg.per_cycle_active", unit: "warp", value: "15.30" },
        { section: "Occupancy", metric: "Block Limit SM (launch__occupancy_limit_blocks)", unit: "block", value: "32" },
        { section: "Mine", metric: "Nobody Knows", value: "1" },
        { section: "Mine", metric: "constructor", value: "1" },
        { metric: "branch_inst_executed", value: "32505856" },
      ]),
    );
    const { metrics } = launches[0]!;
    expect(metrics.number("sm__throughput.avg.pct_of_peak_sustained_elapsed")).toBe(41.95);
    expect(metrics.number("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")).toBe(9.08);
    expect(metrics.number("sm__warps_active.avg.per_cycle_active")).toBe(15.3);
    expect(metrics.number("launch__occupancy_limit_blocks")).toBe(32);
    expect(metrics.number("branch_inst_executed")).toBe(32_505_856);
    expect([...metrics.names()]).toHaveLength(5);
    expect(findings).toMatchObject([{ code: "label_unknown", evidence: { count: 3 } }]);
  });

  test("is refused without the columns that tell launches and units apart", async () => {
    const rows = tableOf(details([{ metric: "launch__grid_size", value: "1" }]));
    for (const column of ["ID", "Metric Unit"]) {
      const at = rows[0]!.indexOf(column);
      expect(await refusal(quoted(rows.map((row) => row.toSpliced(at, 1))))).toMatchObject({ code: "malformed" });
    }
  });
});

describe("other output of the tool is refused by name", () => {
  test.each([
    ["session page", () => pageText("h200-full.session.csv"), /session page/, /--page raw/],
    ["text page", () => pageText("h200-full.details.txt.gz"), /as text, without --csv/, /--csv/],
    [
      "source page",
      () => '"#","Address","Source","Warp Stall Sampling (All Samples)"\n"1","0","MOV R1, c[0x0][0x28]","10"\n',
      /source page/,
      /--page raw/,
    ],
    [
      "console of a run",
      () =>
        '==PROF== Connected to process 7 (/bin/x)\n==PROF== Profiling "k" - 0: 0%....50%....100% - 38 passes\n==PROF== Report: /tmp/r.ncu-rep\n',
      /console output/,
      /r\.ncu-rep/,
    ],
  ])("%s", async (_name, text, message, hint) => {
    const failure = await refusal(text());
    expect(failure.code).toBe("wrong_kind");
    expect(failure.message).toMatch(message);
    expect(failure.hint).toMatch(hint);
    expect(detected(text())).toEqual({ refuse: failure });
    expect(await detectReport(openBuffer(Buffer.from(text())))).toEqual({ ok: false, error: failure });
  });

  test("a run that profiled nothing, with what the tool said", async () => {
    const text =
      "training\n==ERROR== The application returned an error code (2).\n==WARNING== No kernels were profiled.\n";
    const failure = await refusal(text);
    expect(failure.code).toBe("no_kernels");
    expect(failure.message).toContain("==ERROR== The application returned an error code (2).");
    expect(detected(text)).toEqual({ refuse: failure });
  });

  test("text that only mentions the tool is nobody's", () => {
    expect(detected('{"log": "x",\n "y": "\n==ERROR== LaunchFailed"}')).toBeNull();
    expect(detected("<html>\n==PROF== Connected\n")).toBeNull();
    expect(detected("hello\nworld\n")).toBeNull();
    expect(detected("")).toBeNull();
  });

  test("a table behind more output than the head holds is found by the reader", async () => {
    const page = details([{ metric: "launch__grid_size", value: "1" }]);
    const text = `==PROF== Connected to process 7\n${"a line of output\n".repeat(20_000)}${page}`;
    expect(detected(Buffer.from(text).subarray(0, 65_536))).toBe("ncu-csv-details");
    expect((await read(text)).launches).toHaveLength(1);
  });
});
