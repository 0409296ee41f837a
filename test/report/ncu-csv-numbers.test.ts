import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitRow } from "../../src/base/csv-row.ts";
import { NumberFormat, scanNumber, toBase } from "../../src/base/printed-number.ts";
import { isUndecidable, metricOf } from "../../src/report/ncu-csv/labels.ts";
import { readNvtxCell } from "../../src/report/ncu-csv/nvtx.ts";
import { readUnit } from "../../src/report/ncu-csv/units.ts";
import { details, read, refusal } from "./ncu-csv-pages.ts";

/** A page of one launch with one metric a value. */
const page = (...values: string[]): string =>
  details(values.map((value, at) => ({ metric: `a__m${at}.sum`, unit: "byte", value })));
const numbers = async (...values: string[]): Promise<(number | null)[]> => {
  const { launches } = await read(page(...values));
  return values.map((_, at) => launches[0]!.metrics.number(`a__m${at}.sum`));
};

describe("the form of a number", () => {
  test.each([
    ["27.595.520", 27_595_520, "european"],
    ["65,77", 65.77, "european"],
    ["1.234,5", 1234.5, "european"],
    ["0,123", 0.123, "european"],
    ["1234,567", 1234.567, "european"],
    ["4,963,609,951.19", 4_963_609_951.19, "english"],
    ["1,234,567", 1_234_567, "english"],
    ["12,34,567.8", 1_234_567.8, "english"],
    ["82445221903.38", 82_445_221_903.38, "english"],
    ["3.199278", 3.199278, "english"],
    ["0.123", 0.123, "english"],
    ["-0.5", -0.5, "english"],
    ["66,666,917,738,643.38", 66_666_917_738_643.38, "english"],
    ["1.5e+12", 1.5e12, "english"],
    ["1,5E-3", 1.5e-3, "european"],
    ["1.234e+05", 123_400, "english"],
    ["13 181 137", 13_181_137, null],
    ["12\u202f837\u00a0852,30", 12_837_852.3, "european"],
    ["1'234.5", 1234.5, "english"],
    ["18446744073709551615", 2 ** 64, null],
    ["-1,024,000", -1_024_000, "english"],
    ["007", 7, null],
  ])("%s", (text, value, proof) => {
    const printed = scanNumber(text)!;
    expect(toBase(printed, 0)).toBe(value);
    expect(printed.proof).toBe(proof);
  });

  test.each(["117.344", "117,344", "1.024", "-1.024"])("%s has two readings", (text) => {
    expect(scanNumber(text)).toMatchObject({ proof: null, decimals: 0, ambiguous: text.includes(".") ? "." : "," });
  });

  test.each([
    "",
    "-",
    ".",
    ",",
    "1.",
    "1,",
    "1.2.3",
    "1,2,3",
    "1,23.4,5",
    "1.23,456.7",
    "1 2",
    "1e",
    "0x10",
    "NaN",
    "12 %",
    "1_000",
    "--1",
    "١٢",
  ])("%s is none", (text) => {
    expect(scanNumber(text)).toBeNull();
  });

  test("comes back whatever the locale it was printed in", () => {
    const separators = [
      [",", "."],
      [".", ","],
      ["", "."],
      [" ", ","],
      ["\u202f", ","],
      ["'", "."],
    ] as const;
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.integer({ min: 0, max: 6 }),
        fc.boolean(),
        fc.constantFrom(...separators),
        fc.constantFrom(0, 3, 6, 9, 12),
        (digits, decimals, negative, [group, point], shift) => {
          const whole = (digits / 10n ** BigInt(decimals)).toString();
          const fraction = decimals === 0 ? "" : (digits % 10n ** BigInt(decimals)).toString().padStart(decimals, "0");
          const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
          const text = `${negative ? "-" : ""}${grouped}${fraction === "" ? "" : point + fraction}`;
          const expected = Number(`${negative ? "-" : ""}${whole}.${fraction || "0"}e${shift}`);
          const printed = scanNumber(text)!;
          const format = new NumberFormat();
          format.observe(printed, text, 1);
          // A proof of the locale stands elsewhere in the file.
          format.observe(scanNumber(point === "." ? "0.25" : "0,25")!, "", 2);
          const isDecimal = printed.ambiguous !== null && format.isDecimal(printed.ambiguous);
          expect(toBase(isDecimal ? { ...printed, decimals: 3 } : printed, shift)).toBe(expected);
        },
      ),
      { numRuns: 2000, seed: 1 },
    );
  });

  test("any text is read or is none, quickly", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9.,eE' ]{0,80}$/)), (text) => {
        const printed = scanNumber(text);
        if (printed !== null) expect(Number.isNaN(toBase(printed, 9))).toBe(false);
      }),
      { numRuns: 5000, seed: 2 },
    );
  });
});

describe("the number format of a file", () => {
  test("a proof anywhere settles what stands before and behind it", async () => {
    expect(await numbers("117.344", "14.912", "2.348.544", "117.344")).toEqual([117_344, 14_912, 2_348_544, 117_344]);
    expect(await numbers("117.344", "0.5", "117.344")).toEqual([117.344, 0.5, 117.344]);
    expect(await numbers("117,344", "0,5", "117,344")).toEqual([117.344, 0.5, 117.344]);
    expect(await numbers("117,344", "0.5", "117,344")).toEqual([117_344, 0.5, 117_344]);
    expect(await numbers("117,344", "12 345", "117,344")).toEqual([117.344, 12_345, 117.344]);
  });

  test("without a proof it is English, and a number with a point is called unproven", async () => {
    expect(await numbers("117.344", "1,024", "7")).toEqual([117.344, 1024, 7]);
    expect((await read(page("117.344", "7"))).findings).toMatchObject([
      { code: "number_format_unproven", severity: "warning" },
    ]);
    expect((await read(page("1,024", "7"))).findings).toEqual([]);
  });

  test("two opposite proofs are refused, with both cells", async () => {
    const failure = await refusal(page("1.5", "7", "65,77"));
    expect(failure).toMatchObject({
      code: "malformed",
      evidence: { english: "1.5", english_line: 2, european: "65,77", european_line: 4 },
    });
  });

  test("opposite proofs count in cells that nobody asked for", async () => {
    for (const european of ["65,77", "1.234.567", "1.234,5"]) {
      const wantMetric = (): boolean => false;
      expect(await refusal(page("1.5", "2.25", european), { wantMetric })).toMatchObject({ code: "malformed" });
      expect(await refusal(page(european, "1.5"), { wantMetric })).toMatchObject({ code: "malformed" });
    }
  });

  test("text that looks like a number proves nothing", async () => {
    const text = details([
      { metric: "launch__tpc_enabled", value: "0,1" },
      { metric: "a__m.sum", value: "1.5" },
    ]);
    const { launches } = await read(text);
    expect(launches[0]!.metrics.text("launch__tpc_enabled")).toBe("0,1");
    expect(launches[0]!.metrics.absence("launch__tpc_enabled")).toBe("not_a_number");
  });

  test("resolution is half a unit of the last digit, in the base unit; whole numbers are exact", async () => {
    const cells = [
      ["Gbyte", "3.20", 0.005e9],
      ["byte", "0.17", 0.005],
      ["Mbyte", "1.504000", 0.5],
      ["byte", "1,024", 0],
      ["Kbyte", "16", 0],
      ["byte", "0", 0],
      ["byte", "n/a", 0],
    ] as const;
    const { launches } = await read(
      details(cells.map(([unit, value], at) => ({ metric: `a__m${at}.sum`, unit, value }))),
    );
    cells.forEach(([, , resolution], at) => {
      expect(launches[0]!.metrics.resolution(`a__m${at}.sum`)).toBeCloseTo(resolution, 5);
    });
  });

  test("settled numbers have the resolution of their reading", async () => {
    const decimal = (await read(page("117.344", "1.50"))).launches[0]!.metrics;
    expect([decimal.number("a__m0.sum"), decimal.resolution("a__m0.sum")]).toEqual([
      117.344,
      expect.closeTo(0.0005, 6),
    ]);
    const whole = (await read(page("117.344", "1,50"))).launches[0]!.metrics;
    expect([whole.number("a__m0.sum"), whole.resolution("a__m0.sum")]).toEqual([117_344, 0]);
  });

  test("words for a missing number are kinds of absence", async () => {
    const words = {
      "n/a": "not_available",
      "(!) n/a": "not_available",
      "no data": "no_data",
      nan: "nan",
      "-nan(ind)": "nan",
      inf: "infinite",
      "-inf": "infinite",
      "": "absent",
      CachePreferNone: "not_a_number",
    };
    const { launches } = await read(page(...Object.keys(words), "5"));
    const { metrics } = launches[0]!;
    expect(
      Object.keys(words).map((_, at) => [metrics.number(`a__m${at}.sum`), metrics.absence(`a__m${at}.sum`)]),
    ).toEqual(Object.values(words).map((absence) => [null, absence]));
    expect(metrics.text("a__m8.sum")).toBe("CachePreferNone");
    expect(metrics.absence("never__heard.of")).toBe("absent");
    expect(metrics.text("a__m9.sum")).toBeNull();
    expect(metrics.absence("a__m9.sum")).toBeNull();
  });
});

describe("units", () => {
  test.each([
    ["", "", 0],
    ["%", "%", 0],
    ["ns", "ns", 0],
    ["nsecond", "ns", 0],
    ["us", "ns", 3],
    ["usecond", "ns", 3],
    ["µs", "ns", 3],
    ["ms", "ns", 6],
    ["msecond", "ns", 6],
    ["s", "ns", 9],
    ["second", "ns", 9],
    ["hz", "hz", 0],
    ["Ghz", "hz", 9],
    ["GHz", "hz", 9],
    ["Mhz", "hz", 6],
    ["cycle/second", "hz", 0],
    ["cycle/nsecond", "hz", 9],
    ["cycle/usecond", "hz", 6],
    ["byte", "byte", 0],
    ["Kbyte", "byte", 3],
    ["Tbyte/s", "byte/s", 12],
    ["Gbyte/second", "byte/s", 9],
    ["Mbyte/us", "byte/s", 12],
    ["byte/block", "byte/block", 0],
    ["Kbyte/block", "byte/block", 3],
    ["Kbyte/cycle", "byte/cycle", 3],
    ["sector/ns", "sector/s", 9],
    ["sector/ms", "sector/s", 3],
    ["%/Kbyte", "%/byte", 3],
    ["%/register", "%/register", 0],
    ["register/thread", "register/thread", 0],
    ["branches", "branch", 0],
    ["sectors", "sector", 0],
    ["inst/warp", "inst/warp", 0],
    ["SM", "sm", 0],
    ["Kinst", "inst", 3],
  ])("%s is 10^%i of %s", (printed, base, shift) => {
    expect(readUnit(printed)).toEqual({ base, shift });
  });

  test.each([
    "furlong",
    "mbyte",
    "gbyte",
    "Kib",
    "GiB/s",
    "Kfurlong",
    "byte/fortnight",
    "a/b/c",
    "/",
    "byte/",
    "Ms",
    "KKbyte",
    "%%",
    "constructor",
  ])("%s is unknown", (printed) => {
    expect(readUnit(printed)).toBeNull();
  });

  test("an unknown one gives no number and a finding that names it", async () => {
    const text = details([
      { metric: "a__m.sum", unit: "furlong", value: "12.50" },
      { metric: "b__m.sum", unit: "furlong", value: "n/a" },
      { metric: "c__m.sum", unit: "byte", value: "1" },
    ]);
    const { launches, findings } = await read(text);
    const { metrics } = launches[0]!;
    expect([metrics.number("a__m.sum"), metrics.absence("a__m.sum"), metrics.text("a__m.sum")]).toEqual([
      null,
      "not_a_number",
      null,
    ]);
    expect(metrics.absence("b__m.sum")).toBe("not_available");
    expect(metrics.number("c__m.sum")).toBe(1);
    expect(findings).toMatchObject([
      { code: "unknown_unit", severity: "warning", evidence: { unit: "furlong", count: 1, examples: "a__m.sum" } },
    ]);
  });
});

describe("labels", () => {
  test("an ambiguous one has no metric, whatever its unit", () => {
    for (const label of ["Issue Slots Busy", "SM Busy"]) {
      expect(metricOf("Compute Workload Analysis", label, "%")).toBeNull();
      expect(isUndecidable("Compute Workload Analysis", label)).toBe(true);
    }
  });

  test("the unit decides where the chip does", () => {
    const section = "Memory Workload Analysis";
    expect(metricOf(section, "L2 Compression Ratio", "%")).toBe(
      "lrc__average_ilc_output_sector_compression_achieved_rate.pct",
    );
    expect(metricOf(section, "L2 Compression Ratio", "")).toBe(
      "lts__average_gcomp_output_sector_compression_achieved_rate.ratio",
    );
    expect(metricOf("PM Sampling", "Maximum Sampling Interval", "cycle")).toBe("profiler__pmsampler_interval_cycles");
    expect(metricOf("PM Sampling", "Maximum Sampling Interval", "ns")).toBe("profiler__pmsampler_interval_time");
  });

  test("long labels made to hurt are over at once", () => {
    expect(metricOf("x", "_".repeat(1_000_000), null)).toBeNull();
    expect(metricOf("x", `a__${"b_".repeat(200)}!`, null)).toBeNull();
  });
});

describe("NVTX", () => {
  test.each([
    ['509  "<default domain>:add:none:none:none:none:none:none" ', [["<default domain>", "add"]]],
    [
      '7  "<default domain>:outer:none:none:none:none:none:none" "vllm:step 3:none:none:argb:ff00ff00:ascii:step 3" ',
      [
        ["<default domain>", "outer"],
        ["vllm", "step 3"],
      ],
    ],
    ['7  "d:a:b::c:none:none:none:none:none:none" ', [["d", "a:b::c"]]],
    ['7  "d:x:uint64:12:argb:ff:unicode:msg:with:colons" ', [["d", "x"]]],
    ['7  "d:none:none:none:none:none:none:none" ', [["d", "none"]]],
    ['7  "d:short:none"', [["d", "short"]]],
    ['7  "<default domain>:say "hi":none:none:none:none:none:none" ', [["<default domain>", 'say "hi"']]],
    ["7  ", []],
    ["", []],
    ['"', []],
  ])("%s", (cell, ranges) => {
    expect(readNvtxCell(cell)).toEqual(ranges.map(([domain, name]) => ({ domain, name })));
  });
});

describe("rows", () => {
  test("are split as another library splits them", () => {
    const cell = fc.stringMatching(/^[a-z0-9" ,;<>]{0,12}$/);
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 12 }), fc.boolean(), (cells, all) => {
        const write = (text: string): string => (all || /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
        const text = cells.map(write).join(",");
        const row = splitRow(text, ",");
        expect(row.cells).toEqual(cells);
        expect(row.open).toBe(false);
        if (text !== "") expect(row.cells).toEqual((parse(text) as string[][])[0]);
      }),
      { numRuns: 2000, seed: 3 },
    );
  });

  test("say where the text ends inside a cell", () => {
    expect(splitRow('"a","b', ",")).toEqual({ cells: ["a", "b"], open: true, lastClosed: false });
    expect(splitRow('"a","b"', ",")).toEqual({ cells: ["a", "b"], open: false, lastClosed: true });
    expect(splitRow('"a",b', ",")).toEqual({ cells: ["a", "b"], open: false, lastClosed: false });
    expect(splitRow('"a",', ",")).toEqual({ cells: ["a", ""], open: false, lastClosed: false });
    expect(splitRow('"509  "<d>:x" ","y"', ",").cells).toEqual(['509  "<d>:x" ', "y"]);
  });
});
