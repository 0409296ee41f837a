import { describe, expect, test } from "vitest";
import { details, quoted, read, refusal, tableOf } from "./ncu-csv-pages.ts";

describe("launches", () => {
  const header = [
    "ID",
    "Process ID",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "gpu__time_duration.sum",
    "sm__cycles_active.avg",
  ];
  const raw = (...rows: string[][]): string =>
    quoted([header, ["", "", "", "", "", "", "", "", "", "ns", "cycle"], ...rows]);
  const launch = (id: string, name: string, block: string, grid: string, duration: string): string[] => [
    id,
    "7",
    name,
    "1",
    "13",
    block,
    grid,
    "1",
    "12.0",
    duration,
    "n/a",
  ];

  test("one that failed has no shape and no number, and says so", async () => {
    const { launches } = await read(
      raw(
        launch("0", "fine(int)", "(256, 1, 1)", "(16, 1, 1)", "1,024.50"),
        launch("1", "out_of_bounds(float *)", "(0, 0, 0)", "(0, 0, 0)", "nan"),
        launch("2", "graph", "(0, 0, 0)", "(0, 0, 0)", "304,032"),
      ),
    );
    expect(launches.map(({ kind, grid, block, failure }) => [kind, grid, block, failure !== null])).toEqual([
      ["kernel", [16, 1, 1], [256, 1, 1], false],
      ["kernel", null, null, true],
      ["graph", null, null, false],
    ]);
    expect(launches[1]!.metrics.absence("gpu__time_duration.sum")).toBe("nan");
    expect(launches[0]!.metrics.absence("sm__cycles_active.avg")).toBe("not_available");
    expect(launches[0]!.device).toBe(1);
    expect(launches[0]!.metrics.number("device__attribute_compute_capability_major")).toBe(12);
    expect(launches[0]!.metrics.number("device__attribute_compute_capability_minor")).toBe(0);
  });

  test("a kernel may be called graph where the page has no shapes", async () => {
    const { launches } = await read(details([{ name: "graph", metric: "launch__grid_size", value: "1" }]));
    expect(launches[0]!.kind).toBe("kernel");
  });

  test("an ID with gaps is a position, and the page's own number is said", async () => {
    const { launches, findings } = await read(
      raw(launch("3", "a()", "(1, 1, 1)", "(1, 1, 1)", "1.50"), launch("9", "b()", "(1, 1, 1)", "(1, 1, 1)", "2.50")),
    );
    expect(launches.map(({ index }) => index)).toEqual([0, 1]);
    expect(findings).toMatchObject([
      { code: "launches_renumbered", severity: "info", evidence: { count: 2, examples: "ID 3 is 0, ID 9 is 1" } },
    ]);
  });

  test("a name with casts in its template is the full one, a mangled one is no simplified one", async () => {
    const { launches } = await read(
      raw(
        launch("0", "void at::native::k<(int)4, float>(T1)", "(1, 1, 1)", "(1, 1, 1)", "1.50"),
        launch("1", "void at::k<4, float>(T1)", "(1, 1, 1)", "(1, 1, 1)", "1.50"),
        launch("2", "_ZN2at6native1kILi4EEvi", "(1, 1, 1)", "(1, 1, 1)", "1.50"),
      ),
    );
    expect(launches.map(({ names }) => [names.function, names.demangled, names.mangled, names.simplified])).toEqual([
      ["k", "void at::native::k<(int)4, float>(T1)", null, false],
      ["k", null, null, true],
      ["k", null, "_ZN2at6native1kILi4EEvi", false],
    ]);
  });

  test("a table without the ID column is read in order, one without units is refused", async () => {
    const rows = tableOf(
      raw(launch("0", "a()", "(1, 1, 1)", "(1, 1, 1)", "1.50"), launch("1", "b()", "(1, 1, 1)", "(1, 1, 1)", "2.50")),
    );
    const { launches } = await read(quoted(rows.map((row) => row.slice(1))));
    expect(launches.map(({ names }) => names.display)).toEqual(["a()", "b()"]);
    expect(await refusal(quoted([rows[0]!, ...rows.slice(2)]))).toMatchObject({
      code: "malformed",
      message: expect.stringContaining("units"),
    });
  });

  test("a table of another page behind the first is left out and said", async () => {
    const page = raw(launch("0", "a()", "(1, 1, 1)", "(1, 1, 1)", "1.50"));
    const other = details([{ metric: "launch__grid_size", value: "1" }]);
    const report = await read(page + other + page);
    expect(report.format).toBe("ncu-csv-raw");
    expect(report.launches).toHaveLength(2);
    expect(report.findings.map(({ code }) => code)).toEqual(["page_skipped", "launches_renumbered"]);
  });

  test("a column named twice counts with its last cell, a short row ends with nothing", async () => {
    const twice = quoted([
      ["ID", "Kernel Name", "a__b.sum", "c__d.sum", "a__b.sum"],
      ["", "", "inst", "inst", "inst"],
      ["0", "k()", "1", "2", "3"],
      ["1", "k()", "1"],
    ]);
    const { launches, findings } = await read(twice);
    expect(launches.map(({ metrics }) => metrics.number("a__b.sum"))).toEqual([3, null]);
    expect(findings).toMatchObject([
      {
        code: "duplicate_metric_disagrees",
        severity: "warning",
        evidence: { metric: "a__b.sum", count: 2, examples: "launch 0: 1 and 3, launch 1: 1 and no number" },
      },
    ]);
    expect((await read(twice.replace('"2","3"', '"2","1.0"').replace(/"1","k.*\n/, ""))).findings).toEqual([]);
    expect([...launches[0]!.metrics.names()]).toEqual(["c__d.sum", "a__b.sum"]);
    expect(launches[1]!.metrics.absence("c__d.sum")).toBe("absent");
  });

  test.each(["byte", "Mbyte", "", "cycle"])("a duration in %j is left out and said", async (unit) => {
    const page = quoted([
      ["ID", "Kernel Name", "gpu__time_duration.avg", "gpu__time_duration.sum"],
      ["", "", "us", unit],
      ["0", "k()", "2", "3"],
      ["1", "k()", "2", ""],
    ]);
    const { launches, findings } = await read(page);
    const [first] = launches;
    expect(first!.metrics.number("gpu__time_duration.avg")).toBe(2000);
    expect(first!.metrics.number("gpu__time_duration.sum")).toBeNull();
    expect(first!.metrics.absence("gpu__time_duration.sum")).toBe("not_a_number");
    expect(findings).toMatchObject([
      {
        code: "unexpected_unit",
        severity: "warning",
        message: expect.stringMatching(/^gpu__time_duration\.sum has .* where ns is expected: 1 value is left out/),
        evidence: { metric: "gpu__time_duration.sum", unit, expected: "ns", count: 1, examples: "line 3" },
      },
    ]);
    const row = details([
      { metric: "gpu__time_duration.sum", unit, value: "3" },
      { metric: "x__y.sum", unit: "inst", value: "1" },
    ]);
    expect((await read(row)).findings).toMatchObject([{ code: "unexpected_unit" }]);
  });

  test("rules with line breaks stay whole", async () => {
    const page = quoted([
      [
        "ID",
        "Kernel Name",
        "Section Name",
        "Metric Name",
        "Metric Unit",
        "Metric Value",
        "Rule Name",
        "Rule Type",
        "Rule Description",
      ],
      ["0", "k()", "SpeedOfLight", "", "", "", "Mine", "OPT", 'two\nlines, "quoted"'],
      ["0", "k()", "SpeedOfLight", "", "", "", "Other", "INF", "no promise"],
    ]);
    const { launches } = await read(page);
    expect(launches[0]!.hints).toEqual([
      {
        rule: "Mine",
        section: "SpeedOfLight",
        title: null,
        text: 'two\nlines, "quoted"',
        speedup_type: null,
        speedup_percent: null,
        evidence: [],
      },
    ]);
  });

  test("errors that the tool printed stand beside the launches", async () => {
    const page = raw(launch("0", "a()", "(1, 1, 1)", "(1, 1, 1)", "1.50"));
    const { findings } = await read(
      `${page}==ERROR== LaunchFailed\n==ERROR== The application returned an error code (9).\n`,
    );
    expect(findings).toMatchObject([{ code: "tool_error", severity: "warning", evidence: { count: 2 } }]);
  });
});
