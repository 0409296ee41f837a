import { describe, expect, it } from "vitest";
import type { OpenBytes } from "../../src/base/bytes.ts";
import { openBuffer } from "../../src/base/file-source.ts";
import { DEFAULT_READ_LIMITS, type Report } from "../../src/model/report.ts";
import { readExtras, readReport } from "../../src/report/detect.ts";
import { readNcuRepExtras } from "../../src/report/ncu-rep/extras.ts";
import { readNcuRep } from "../../src/report/ncu-rep/index.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";
import { integrityProblems } from "./integrity.ts";
import { blocksOf } from "./layout.ts";
import { compareRow, nothingCompared, readOracle } from "./oracle.ts";

const options = { limits: DEFAULT_READ_LIMITS };

async function read(name: string, wantMetric?: (name: string) => boolean): Promise<Report> {
  const result = await readNcuRep(
    openBuffer(fixture(`${H200}${name}.ncu-rep.gz`)),
    "none",
    wantMetric === undefined ? options : { ...options, wantMetric },
  );
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

const REPORTS: readonly { name: string; launches: number; kinds?: readonly string[] }[] = [
  { name: "h200-full", launches: 19 },
  { name: "h200-sections", launches: 19 },
  { name: "h200-graph-nodes", launches: 8 },
  { name: "h200-graph-whole", launches: 6, kinds: ["kernel", "kernel", "kernel", "kernel", "kernel", "graph"] },
  { name: "h200-profiler-range", launches: 12 },
  { name: "h200-two-processes", launches: 12 },
  { name: "h200-server-under-ncu", launches: 30 },
  { name: "tiny-full", launches: 12 },
  { name: "tiny-verdict", launches: 12 },
  { name: "tiny-graph-nodes", launches: 12 },
  { name: "tiny-killed", launches: 5 },
  { name: "tiny-fault", launches: 9 },
  { name: "ranges-kernels", launches: 4 },
  { name: "ranges-replay", launches: 2, kinds: ["range", "range"] },
  { name: "ranges-app-replay", launches: 2, kinds: ["range", "range"] },
  { name: "ranges-nvtx-include", launches: 2, kinds: ["range", "range"] },
];

describe.each(REPORTS)("$name", ({ name, launches, kinds }) => {
  it("gives its launches in order, whole and without findings", async () => {
    const report = await read(name);
    expect(integrityProblems(report)).toEqual([]);
    expect(report.launches.map(({ index }) => index)).toEqual(
      Array.from({ length: launches }, (_none, index) => index),
    );
    expect(report.launches.map(({ kind }) => kind)).toEqual(kinds ?? Array(launches).fill("kernel"));
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({
      format: "ncu-rep",
      tool: { name: "ncu", version: "2025.3.1.0" },
      cuda_version: "13.0",
      driver_version: "580.159",
      devices: [{ index: 0, name: "NVIDIA H200" }],
      partial: false,
      partial_at_byte: null,
    });
  });
});

describe("NVIDIA's own export of the same report", () => {
  // Cells with a number or text; the counts of h200-full and of the tiny ones together (with NaN) are known.
  it.each([
    { name: "h200-full", rows: 19, values: 42_048, nan: 18, noData: 38, empty: 209 },
    { name: "tiny-full", rows: 12, values: 26_556, nan: 12, noData: 24, empty: 132 },
    { name: "tiny-verdict", rows: 12, values: 15_024, nan: 0, noData: 0, empty: 0 },
    { name: "tiny-killed", rows: 5, values: 11_065, nan: 5, noData: 10, empty: 55 },
    { name: "ranges-kernels", rows: 4, values: 2_220, nan: 0, noData: 0, empty: 0 },
    { name: "ranges-replay", rows: 2, values: 4_174, nan: 0, noData: 14, empty: 30 },
    { name: "ranges-app-replay", rows: 2, values: 970, nan: 0, noData: 10, empty: 0 },
    { name: "ranges-nvtx-include", rows: 2, values: 1_066, nan: 0, noData: 10, empty: 0 },
  ])("$name: $values cells are equal", async ({ name, rows, values, nan, noData, empty }) => {
    const report = await read(name);
    const oracle = readOracle(fixture(`${H200}${name}.raw-base-units.csv.gz`));
    expect(oracle.rows.map((row) => Number(row.ID))).toEqual(Array.from({ length: rows }, (_none, id) => id));
    const compared = nothingCompared();
    for (const [at, launch] of report.launches.entries()) compareRow(launch, oracle.rows[at] ?? {}, oracle, compared);
    expect(compared.different).toEqual([]);
    expect({ ...compared, values: compared.numbers + compared.texts }).toMatchObject({ values, nan, noData, empty });
  });

  it.each(["h200-full", "tiny-full", "ranges-kernels", "ranges-replay"])(
    "%s: who, where, which shape",
    async (name) => {
      const report = await read(name);
      const { rows } = readOracle(fixture(`${H200}${name}.raw-base-units.csv.gz`));
      const dim = (cell: string | undefined): number[] | null => cell?.match(/\d+/g)?.map(Number) ?? null;
      for (const [position, launch] of report.launches.entries()) {
        const row = rows[position] ?? {};
        expect({
          pid: String(launch.process_id),
          context: String(launch.context_id),
          stream: launch.stream_id === null ? "n/a" : String(launch.stream_id),
          device: String(launch.device),
          grid: launch.grid,
          block: launch.block,
          name: row["Kernel Name"]?.includes(launch.names.function ?? launch.names.display),
        }).toEqual({
          pid: row["Process ID"],
          context: row.Context,
          stream: row.Stream,
          device: row.Device,
          grid: dim(row["Grid Size"]),
          block: dim(row["Block Size"]),
          name: true,
        });
      }
    },
  );
});

describe("names", () => {
  it("shows the demangled name, else the function, else the mangled one", async () => {
    const report = await read("h200-full");
    const withoutDemangled = report.launches.filter(({ names }) => names.demangled === null);
    expect(withoutDemangled).toHaveLength(8);
    for (const { names } of withoutDemangled)
      expect(names).toMatchObject({ display: names.function, simplified: false });
    expect(report.launches[13]?.names).toEqual({
      mangled: "fused_moe_kernel",
      function: "fused_moe_kernel",
      demangled: null,
      display: "fused_moe_kernel",
      simplified: false,
    });
    expect(report.launches[0]?.names.display).toBe(report.launches[0]?.names.demangled);
  });

  it("calls results of several kernels what ncu calls them", async () => {
    expect((await read("h200-graph-whole")).launches[5]).toMatchObject({
      kind: "graph",
      names: { mangled: null, function: null, demangled: null, display: "graph" },
      grid: null,
      block: null,
      stream_id: 7,
      failure: null,
    });
    expect((await read("ranges-replay")).launches[1]).toMatchObject({
      kind: "range",
      names: { display: "range" },
      grid: null,
      stream_id: null,
    });
  });
});

describe("metrics", () => {
  it("tells apart why a metric has no number", async () => {
    const [launch] = (await read("h200-full")).launches;
    const absence = (name: string) => launch?.metrics.absence(name);
    expect(launch?.metrics.number("gpu__time_duration.sum")).toBe(362_400);
    expect(absence("gpu__time_duration.sum")).toBeNull();
    expect(absence("derived_tempMetric4")).toBe("nan");
    expect(absence("sass__inst_executed_register_spilling_mem_local")).toBe("no_data");
    expect(absence("LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed")).toBe("instances_only");
    expect(absence("launch__func_cache_config")).toBe("not_a_number");
    expect(absence("no__such_metric.sum")).toBe("absent");
    expect(launch?.metrics.text("launch__func_cache_config")).toBe("CachePreferNone");
    expect(launch?.metrics.text("gpu__time_duration.sum")).toBeNull();
    expect(launch?.metrics.number("launch__func_cache_config")).toBeNull();
    expect(launch?.metrics.resolution("gpu__time_duration.sum")).toBe(0);
    // Zero is a measurement.
    expect(launch?.metrics.number("sm__ops_path_tensor_src_fp8_sparsity_off.sum")).toBe(0);
    expect(launch?.metrics.text("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed")?.split(",")).toHaveLength(
      25,
    );
  });

  it("keeps only what is wanted, with the same values", async () => {
    const all = await read("h200-full");
    const wanted = new Set(["gpu__time_duration.sum", "launch__waves_per_multiprocessor", "derived_tempMetric4"]);
    const some = await read("h200-full", (name) => wanted.has(name));
    for (const [position, launch] of some.launches.entries()) {
      const whole = all.launches[position];
      for (const name of wanted) {
        expect(launch.metrics.number(name)).toBe(whole?.metrics.number(name));
        expect(launch.metrics.absence(name)).toBe(whole?.metrics.absence(name));
      }
      expect(launch.metrics.absence("sm__cycles_active.avg")).toBe("absent");
      expect([...launch.metrics.names()].length).toBeLessThan(10);
      expect({ ...launch, metrics: null }).toEqual({ ...whole, metrics: null });
    }
    expect(some.devices).toEqual(all.devices);
  });

  it("finds names that come only with a later result", async () => {
    const [first, second] = (await read("ranges-app-replay")).launches;
    expect([...(first?.metrics.names() ?? [])].sort()).toEqual([...(second?.metrics.names() ?? [])].sort());
    expect(first?.metrics.absence("derived__pct_occupancy_per_block_size")).toBe("no_data");
  });
});

describe("device code", () => {
  it("is never read, also on the way to instances", async () => {
    const bytes = fixture(`${H200}tiny-full.ncu-rep.gz`);
    const code = blocksOf(bytes).filter(({ results, payload, end }) => results === 0 && end > payload);
    expect(code.reduce((sum, { payload, end }) => sum + end - payload, 0)).toBeGreaterThan(10_000);
    const touched: string[] = [];
    const open: OpenBytes = async () => {
      const source = await openBuffer(bytes)();
      return {
        ...source,
        size: source.size,
        get position() {
          return source.position;
        },
        read(length) {
          const from = source.position;
          const hit = code.find(({ payload, end }) => from < end && from + length > payload);
          if (hit !== undefined) touched.push(`${from} + ${length}`);
          return source.read(length);
        },
      };
    };
    expect((await readReport(open)).ok).toBe(true);
    expect((await readExtras(open, 11, "sass__inst_executed_per_opcode")).ok).toBe(true);
    expect(touched).toEqual([]);
  });
});

describe("failed launches", () => {
  it("lists the launch that faulted, without shape and numbers", async () => {
    const { launches } = await read("tiny-fault");
    expect(launches.slice(0, 8).map(({ failure }) => failure)).toEqual(Array(8).fill(null));
    const failed = launches[8];
    expect(failed).toMatchObject({ names: { function: "out_of_bounds" }, grid: null, block: null, device: 0 });
    expect(failed?.failure).toMatch(/failed/);
    expect(failed?.metrics.absence("gpu__time_duration.sum")).toBe("nan");
    expect(failed?.metrics.absence("launch__registers_per_thread")).toBe("absent");
    expect(failed?.metrics.number("profiler__replayer_passes")).toBe(1);
  });
});

describe("processes and NVTX", () => {
  it("keeps launches of two processes apart", async () => {
    const { launches } = await read("h200-two-processes");
    expect(launches).toHaveLength(12);
    expect(launches.filter(({ process_id }) => process_id === 4233)).toHaveLength(6);
    expect(launches.filter(({ process_id }) => process_id === 4232)).toHaveLength(6);
  });

  it("gives the launching thread's stack, outermost first, by domain", async () => {
    expect((await read("h200-full")).launches[14]?.nvtx).toEqual([{ domain: "<default domain>", name: "mla_decode" }]);
    const outer = { domain: "<default domain>", name: 'outer, with "quotes": and a colon' };
    const library = { domain: "library", name: "registered name" };
    const { launches } = await read("ranges-kernels");
    expect(launches[0]?.nvtx).toEqual([outer, { domain: "<default domain>", name: "ümläut" }, library]);
    expect(launches[1]?.nvtx).toEqual([outer, library]);
    expect((await read("ranges-nvtx-include")).launches[0]?.nvtx).toEqual([outer, library]);
    expect((await read("tiny-full")).launches[0]?.nvtx).toEqual([]);
  });
});

describe("rules of NVIDIA", () => {
  it("hands on every item of type OPT, as the details page lists them", async () => {
    const { launches } = await read("h200-full");
    const hints = launches.flatMap((launch) => launch.hints);
    const speedups = (type: string | null) => hints.filter(({ speedup_type }) => speedup_type === type).length;
    expect([hints.length, speedups("global"), speedups("local"), speedups(null)]).toEqual([168, 116, 31, 21]);
    expect(launches[14]?.hints.find(({ rule }) => rule === "LaunchConfiguration")).toMatchObject({
      section: "LaunchStats",
      title: "Tail Effect",
      speedup_type: "global",
      speedup_percent: 50,
      evidence: [
        {
          metric: "launch__waves_per_multiprocessor",
          value: 1.292929292929293,
          info: "Decrease the number of partial waves (the fractional part of the number of waves)",
        },
      ],
    });
    const page = fixture(`${H200}h200-full.details.csv.gz`).toString("utf8");
    for (const { text } of hints) expect(page).toContain(text?.replaceAll('"', '""').trim());
  });

  it("gives all messages and instances of a launch on demand", async () => {
    const open = openBuffer(fixture(`${H200}h200-full.ncu-rep.gz`));
    const types = new Map<string, number>();
    for (let index = 0; index < 19; index += 1) {
      const extras = await readNcuRepExtras(open, index);
      if (!extras.ok) throw new Error(extras.error.message);
      for (const { type } of extras.value.rules) types.set(type, (types.get(type) ?? 0) + 1);
      expect(extras.value.instances).toEqual([]);
    }
    expect(Object.fromEntries(types)).toEqual({ info: 43, warning: 10, optimization: 168 });

    const opcodes = await readNcuRepExtras(open, 14, "sass__inst_executed_per_opcode");
    if (!opcodes.ok) throw new Error(opcodes.error.message);
    const byOpcode = new Map(opcodes.value.instances.map(({ id, value }) => [id, value]));
    expect(
      [byOpcode.get("FMUL"), byOpcode.get("LDSM"), byOpcode.get("HMMA")].map((n) => Math.round(Number(n) / 1e4)),
    ).toEqual([604, 434, 419]);
    const samples = await readNcuRepExtras(open, 14, "smsp__pcsamp_warps_issue_stalled_long_scoreboard");
    expect(samples.ok && samples.value.instances.length).toBeGreaterThan(100);
    expect(await readNcuRepExtras(open, 0, "no__such_metric")).toMatchObject({ ok: true, value: { instances: [] } });
    expect(await readNcuRepExtras(open, 19)).toMatchObject({ ok: false, error: { code: "no_kernels" } });
  });

  it("finds instances of a metric whose name comes with a later result", async () => {
    const open = openBuffer(fixture(`${H200}ranges-app-replay.ncu-rep.gz`));
    const names = ["derived__pct_occupancy_per_block_size", "launch__grid_size"];
    for (const name of names) {
      const [first, second] = await Promise.all([readNcuRepExtras(open, 0, name), readNcuRepExtras(open, 1, name)]);
      expect(first.ok && first.value.instances.length).toBe(second.ok && second.value.instances.length);
    }
  });
});
