import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openBuffer } from "../../src/base/file-source.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../../src/model/timeline.ts";
import { readTimeline } from "../../src/timeline/detect.ts";
import { readNsysStats } from "../../src/timeline/nsys-stats/index.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { integrityFaults, temporaryFolder, totals, union } from "./nsys-files.ts";

/** What an independent reader found in a public file: `expected/timelines.json` beside the samples. */
interface Expected {
  readonly format: string;
  readonly product_version: string | null;
  readonly schema_version: string | null;
  readonly derived_window_ns: string | null;
  readonly gpus_in_host: readonly string[] | null;
  readonly kernel_table: string | null;
  readonly launches: number;
  readonly distinct_names: number;
  readonly kernel_sum_ns: number;
  readonly union_ns: number;
  readonly kernel_union_ns: number;
  readonly first_start_ns?: number;
  readonly last_end_ns?: number;
  readonly copies: { count: number; ns: number; bytes: number; by_kind: Record<string, readonly [number, number]> };
  readonly sets: { count: number; ns: number; bytes: number };
  readonly processes_or_ranks: readonly string[];
  readonly devices: readonly string[];
  readonly streams: Record<string, number>;
  readonly launches_by_device: Record<string, number>;
  readonly top: readonly { name: string; launches: number; ns: number }[];
  readonly graph: {
    graph_level_rows: number;
    launches_with_graph_node: number;
    recorded_trace_mode: string | null;
    launch_calls: number;
    launch_calls_without_gpu_row: number;
    stream_capture_calls: number;
  };
  readonly runtime_rows: number;
  readonly runtime_launch_calls: number;
  readonly launch_calls_without_gpu_row: number;
  readonly kernels_without_runtime_row: number;
  readonly correlation_ids_used_by_several_kernels: { in_one_process: number };
  readonly nvtx: { table: string | null; ranges?: number; ranges_without_end?: number; distinct_range_names?: number };
  readonly diagnostics: readonly string[] | null;
  readonly tables: readonly {
    table: string;
    launches: number;
    distinct_names: number;
    kernel_sum_ns: number;
    rows: number;
    copies?: number;
    copies_ns?: number;
    devices?: readonly string[];
    streams?: readonly string[];
  }[];
  readonly rows: number;
}

const samples = samplesDir();
const expected = (
  samples === null
    ? {}
    : (
        JSON.parse(readFileSync(join(samples, "expected/timelines.json"), "utf8")) as {
          files: Record<string, Expected>;
        }
      ).files
) as Record<string, Expected>;
const files = (format: string): [string, Expected][] =>
  Object.entries(expected).filter(([, value]) => value.format === format);
const pathOf = (file: string): string => join(samples ?? "", "timelines", file);
const folder = temporaryFolder();

async function read(file: string): Promise<Timeline> {
  const result = await readTimeline(pathOf(file), folder);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  expect(integrityFaults(result.value)).toEqual([]);
  return result.value;
}

const KINDS: Readonly<Record<string, string>> = {
  "1 HtoD": "Host-to-Device",
  "2 DtoH": "Device-to-Host",
  "8 DtoD": "Device-to-Device",
  "10 PtoP": "Peer-to-Peer",
};

function group<T>(items: readonly T[], key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

describe.skipIf(samples === null)("SQLite exports of others, 2021 to 2026", () => {
  it.each(files("nsys_sqlite"))("%s", async (file, wanted) => {
    const timeline = await read(file);
    const { rows, lanes, recording } = timeline;
    const kernels = totals(timeline, "kernel");
    expect(kernels).toMatchObject({ count: wanted.launches, ns: wanted.kernel_sum_ns });
    expect(kernels.names.size).toBe(wanted.distinct_names);
    const top = [...kernels.names].sort((a, b) => b[1][1] - a[1][1]).slice(0, 5);
    expect(top.map(([name, [launches, ns]]) => ({ name: name.slice(0, 20), launches, ns }))).toEqual(
      wanted.top.map(({ name, launches, ns }) => ({ name: name.slice(0, 20), launches, ns })),
    );
    expect(union(timeline, ["kernel"])).toBe(wanted.kernel_union_ns);
    expect(union(timeline, ["kernel", "memcpy", "memset", "graph"])).toBe(wanted.union_ns);
    const copies = totals(timeline, "memcpy");
    expect(copies).toMatchObject({ count: wanted.copies.count, ns: wanted.copies.ns, bytes: wanted.copies.bytes });
    expect(Object.fromEntries(copies.names)).toEqual(
      Object.fromEntries(
        Object.entries(wanted.copies.by_kind).map(([kind, value]) => [`[CUDA memcpy ${KINDS[kind]}]`, value]),
      ),
    );
    expect(totals(timeline, "memset")).toMatchObject(wanted.sets);
    expect(rows.start_ns[0]).toBe(wanted.first_start_ns);
    if (rows.count > 0) expect(Math.max(...rows.end_ns)).toBe(wanted.last_end_ns);

    expect([...new Set(lanes.map(({ process }) => process))].sort()).toEqual([...wanted.processes_or_ranks].sort());
    const device = ({ process, device: index }: (typeof lanes)[number]): string => `${process}/${index}`;
    expect([...new Set(lanes.map(device))].sort()).toEqual([...wanted.devices].sort());
    expect(group(lanes, device)).toEqual(wanted.streams);
    const launched = Array.from(rows.lane).filter((_, at) => rows.kind[at] === 0);
    expect(group(launched, (lane) => device(lanes[lane] as (typeof lanes)[number]))).toEqual(wanted.launches_by_device);
    expect(timeline.gpus.map(({ name }) => name)).toEqual(wanted.gpus_in_host ?? []);
    expect(timeline.tool.version).toBe(wanted.product_version);
    expect(timeline.schema_version).toBe(wanted.schema_version);

    expect(timeline.calls.count).toBe(wanted.runtime_rows);
    expect(recording).toMatchObject({
      has_kernel_table: wanted.kernel_table !== null,
      launch_calls: wanted.runtime_launch_calls,
      launch_calls_without_row: wanted.launch_calls_without_gpu_row,
      kernels_without_call: wanted.kernels_without_runtime_row,
      graph_launch_calls: wanted.graph.launch_calls,
      graph_launch_calls_without_row: wanted.graph.launch_calls_without_gpu_row,
      graph_trace_mode: wanted.graph.recorded_trace_mode,
      stream_capture_calls: wanted.graph.stream_capture_calls,
      shared_correlations: wanted.correlation_ids_used_by_several_kernels.in_one_process,
      is_cut: wanted.derived_window_ns !== null,
      dropped: [],
    });
    expect(totals(timeline, "graph").count).toBe(wanted.graph.graph_level_rows);
    expect(rows.in_graph.reduce((sum, node) => sum + node, 0)).toBe(wanted.graph.launches_with_graph_node);
    const { ranges } = timeline;
    expect(ranges.count).toBe(wanted.nvtx.ranges ?? 0);
    expect(ranges.end_ns.filter((end) => Number.isNaN(end))).toHaveLength(wanted.nvtx.ranges_without_end ?? 0);
    expect(new Set(ranges.text).size).toBe(wanted.nvtx.distinct_range_names ?? 0);
    const warnings = (wanted.diagnostics ?? []).filter(
      (text) => text.includes("CUDA") && !text.startsWith("Number of"),
    );
    expect(recording.tool_messages).toEqual(warnings);
  });
});

describe.skipIf(samples === null)("tables of nsys stats of others", () => {
  it.each(files("nsys_stats_csv"))("%s", async (file, wanted) => {
    const timeline = await read(file);
    const sums = timeline.sums ?? [];
    expect(sums).toHaveLength(wanted.rows);
    expect(timeline.names).toHaveLength(wanted.distinct_names);
    expect(sums.reduce((sum, { launches }) => sum + launches, 0)).toBe(wanted.launches);
    expect(sums.reduce((sum, { total_ns }) => sum + total_ns, 0)).toBe(wanted.kernel_sum_ns);
  });

  it.each(files("nsys_stats_console"))(
    "%s: refused whole, and each table alone as it should be",
    async (file, wanted) => {
      const result = await readTimeline(pathOf(file), folder);
      expect(result).toMatchObject({
        ok: false,
        error: { evidence: { found: "several_reports_in_one_text", reports: wanted.tables.length / 2 } },
      });
      const text = gunzipSync(readFileSync(pathOf(file))).toString();
      const titles = [...text.matchAll(/^CUDA Kernel (?:Statistics|& Memory Operations Trace):/gm)].map(
        ({ index }) => index,
      );
      expect(titles).toHaveLength(wanted.tables.length);
      for (const [at, table] of wanted.tables.entries()) {
        const piece = Buffer.from(text.slice(titles[at], titles[at + 1]));
        const read = await readNsysStats(openBuffer(piece), "none", DEFAULT_TIMELINE_LIMITS);
        if (!read.ok) throw new Error(read.error.message);
        const timeline = read.value;
        if (table.table === "kernel_summary") {
          expect(timeline.sums?.map(({ launches, total_ns }) => [launches, total_ns])).toEqual([
            [table.launches, table.kernel_sum_ns],
          ]);
        } else {
          expect(timeline.has_starts).toBe(false);
          expect(timeline.rows.count).toBe(table.rows);
          expect(totals(timeline, "kernel")).toMatchObject({ count: table.launches, ns: table.kernel_sum_ns });
          expect(totals(timeline, "memcpy")).toMatchObject({ count: table.copies, ns: table.copies_ns });
          expect(timeline.gpus.map(({ name, index }) => `${name} (${index})`)).toEqual(table.devices);
          expect(timeline.lanes.map(({ stream }) => stream)).toEqual(table.streams);
        }
        expect(timeline.recording.dropped).toEqual([]);
      }
    },
  );
});
