import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { Timeline } from "../../src/model/timeline.ts";
import { fixture } from "../helpers/fixtures.ts";
import { integrityFaults, read, temporaryFolder, totals, union, write } from "./nsys-files.ts";

const folder = temporaryFolder();
const open = (name: string): Promise<Timeline> =>
  read(write(folder, `${name}.sqlite`, fixture(`timelines/${name}.nsys.sqlite.gz`)));
const ALL = ["kernel", "memcpy", "memset", "graph"] as const;

describe("an eager engine on one H200 (nsys 2025.3.2)", () => {
  let timeline: Timeline;
  beforeAll(async () => {
    timeline = await open("h200-pipeline");
  });

  it("has the launches, names and times of the file", () => {
    const kernels = totals(timeline, "kernel");
    expect(kernels).toMatchObject({ count: 3892, ns: 41_570_397 });
    expect(kernels.names.size).toBe(79);
    expect(totals(timeline, "memcpy")).toMatchObject({ count: 156, ns: 906_589, bytes: 1_665_908_736 });
    expect([...totals(timeline, "memcpy").names.keys()]).toEqual(["[CUDA memcpy Device-to-Device]"]);
    expect(totals(timeline, "memset")).toMatchObject({ count: 89, ns: 79_232, bytes: 418_124 });
    expect([...totals(timeline, "memset").names.keys()]).toEqual(["[CUDA memset]"]);
    expect(union(timeline, ["kernel"])).toBe(41_570_205);
    expect(union(timeline, ALL)).toBe(42_556_026);
    expect(timeline.rows.start_ns[0]).toBe(15_695_971);
    expect(Math.max(...timeline.rows.end_ns)).toBe(925_021_295);
    expect(integrityFaults(timeline)).toEqual([]);
  });

  it("keeps names apart that share a short one, and gives all three", () => {
    const functions = new Set(timeline.names.map((names) => names.function).filter((name) => name !== null));
    expect(functions.size).toBe(38);
    const top = [...totals(timeline, "kernel").names].sort((a, b) => b[1][1] - a[1][1]);
    expect(top.slice(0, 3).map(([, [count, ns]]) => [count, ns])).toEqual([
      [6, 4_861_425],
      [52, 4_788_366],
      [48, 3_644_979],
    ]);
    const nvjet = timeline.names.find(({ display }) =>
      display.startsWith("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA"),
    );
    expect(nvjet).toMatchObject({ demangled: nvjet?.display, mangled: nvjet?.display, simplified: false });
  });

  it("says on what it ran and how it was recorded", () => {
    expect(timeline).toMatchObject({
      format: "nsys-sqlite",
      tool: { name: "nsys", version: "2025.3.2.0" },
      schema_version: "3.20.3",
      cuda_version: "13.0",
      driver_version: "580.159.04",
      zero_unix_ns: 1_796_089_328_425_494_008n,
      tick_ns: 1,
      has_starts: true,
      sums: null,
      lanes: [{ process: "281661119922176", rank: null, device: 0, stream: "7" }],
      gpus: [
        {
          index: 0,
          name: "NVIDIA H200",
          compute_capability: "9.0",
          sm_count: 132,
          memory_bytes: 150_109_880_320,
          memory_bandwidth_bytes_per_s: 4_814_304_000_000,
        },
      ],
    });
    expect(timeline.recording).toEqual({
      has_kernel_table: true,
      launch_calls: 3892,
      launch_calls_without_row: 0,
      kernels_without_call: 0,
      graph_launch_calls: 0,
      graph_launch_calls_without_row: 0,
      graph_kernels_min: null,
      graph_kernels_max: null,
      graph_trace_mode: "Graph",
      stream_capture_calls: 0,
      shared_correlations: 0,
      dropped: [],
      tool_messages: ["Not all CUDA events might have been collected."],
      is_cut: false,
      profiler_ranges: 0,
      managed_copies: 0,
      batched_copies: 0,
    });
  });

  it("joins every kernel to its call, and keeps calls and ranges of the host", () => {
    const { rows, calls, ranges, texts, threads } = timeline;
    expect(calls.count).toBe(8756);
    expect(ranges.count).toBe(30);
    expect(threads).toHaveLength(1);
    expect(new Set(Array.from(ranges.text, (text) => texts[text])).size).toBe(2);
    for (let at = 0; at < rows.count; at++) {
      expect(rows.call_ns[at]).toBeLessThan(rows.start_ns[at] ?? 0);
      expect(rows.thread[at]).toBe(0);
    }
    expect(texts.filter((text) => /_v\d{4}/.test(text))).toEqual([]);
  });

  it("holds nothing of the environment", () => {
    const text = JSON.stringify(timeline, (_, value: unknown) =>
      typeof value === "bigint" ? String(value) : ArrayBuffer.isView(value) ? "" : value,
    );
    expect(text).not.toMatch(/python|engine\.py|stdout|0000:00:06|00000000-0000/);
  });
});

it("reads a recording with three streams", async () => {
  const timeline = await open("tiny-collective");
  expect(totals(timeline, "kernel")).toMatchObject({ count: 22, ns: 7_585_317 });
  expect(union(timeline, ["kernel"])).toBe(7_582_245);
  expect(union(timeline, ALL)).toBe(16_418_887);
  expect(Math.max(...timeline.rows.end_ns) - (timeline.rows.start_ns[0] ?? 0)).toBe(68_241_461);
  expect(timeline.lanes.map(({ stream }) => stream).sort()).toEqual(["13", "14", "15", "7"]);
  expect(timeline.recording).toMatchObject({ launch_calls: 22, launch_calls_without_row: 0, kernels_without_call: 0 });
  expect(integrityFaults(timeline)).toEqual([]);
});

it("marks nodes of a CUDA graph, and does not count launches into a capture", async () => {
  const timeline = await open("tiny-graph-nodes");
  expect(totals(timeline, "kernel")).toMatchObject({ count: 16, ns: 7_554_019 });
  expect(union(timeline, ["kernel"])).toBe(7_553_411);
  expect(union(timeline, ALL)).toBe(15_211_337);
  expect(Math.max(...timeline.rows.end_ns) - (timeline.rows.start_ns[0] ?? 0)).toBe(57_433_368);
  expect(timeline.rows.in_graph.reduce((sum, node) => sum + node, 0)).toBe(12);
  expect(timeline.recording).toMatchObject({
    launch_calls: 4,
    launch_calls_without_row: 0,
    graph_launch_calls: 3,
    graph_launch_calls_without_row: 0,
    graph_kernels_min: null,
    graph_trace_mode: "Node",
    stream_capture_calls: 1,
    shared_correlations: 0,
    kernels_without_call: 0,
  });
  expect(integrityFaults(timeline)).toEqual([]);
});

it("refuses more rows and bytes than the limits, and leaves host rows out beyond theirs", async () => {
  const path = join(folder, "h200-pipeline.sqlite");
  const limits = { maxBytes: 1e9, maxRows: 1e6, maxHostRows: 1e6 };
  await expect(read(path, { ...limits, maxRows: 4136 })).rejects.toThrow(/too_large/);
  await expect(read(path, { ...limits, maxBytes: 1000 })).rejects.toThrow(/too_large/);
  const timeline = await read(path, { ...limits, maxRows: 4137, maxHostRows: 29 });
  expect(timeline.calls.count).toBe(0);
  expect(timeline.ranges.count).toBe(0);
  expect(timeline.recording.launch_calls).toBe(3892);
  expect(timeline.rows.thread[0]).toBe(0);
});
