import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { GPU_ROW_KINDS, type Timeline } from "../../src/model/timeline.ts";
import { samplesDir } from "../helpers/fixtures.ts";
import { readBytes } from "./torch-build.ts";

interface Amount {
  readonly count: number;
  readonly ns: number;
  readonly bytes: number;
}

/** The reader's part of what an independent reader found: `expected/timelines.json`. */
interface Expected {
  readonly format: string;
  readonly schemaVersion: number;
  readonly base_time_ns: number | null;
  readonly gpus_in_host: readonly string[];
  readonly distributedInfo: { readonly rank?: number; readonly world_size?: number } | null;
  readonly categories: Readonly<Record<string, number>>;
  readonly whole_microseconds_only: boolean;
  readonly launches: number;
  readonly distinct_names: number;
  readonly kernel_sum_ns: number;
  readonly union_all_ns: number;
  readonly kernel_union_ns: number;
  readonly kernel_exclusive_ns: number;
  readonly first_start_ns?: number;
  readonly span_ns: number | null;
  readonly copies: Amount;
  readonly sets: Amount;
  readonly devices: readonly string[];
  readonly streams: Readonly<Record<string, number>>;
  readonly top: readonly { readonly name_sha1: string; readonly launches: number; readonly ns: number }[];
  readonly graph: Readonly<Record<string, number | null>> & {
    readonly kernels_per_graph_launch_min_max: readonly number[] | null;
  };
  readonly runtime_launch_calls: number;
  readonly launch_calls_without_gpu_row: number;
  readonly kernels_without_launch_call: number;
  readonly correlation_ids_used_by_several_kernels: { readonly outside_graph_launches: number };
  readonly steps: { readonly marks: Readonly<Record<string, number>>; readonly first_marks: readonly string[] };
  readonly annotations: { readonly user_annotation: number; readonly gpu_user_annotation: number };
}

const kindOf = ({ rows }: Timeline, at: number): string => GPU_ROW_KINDS[rows.kind[at]!]!;

function amount(timeline: Timeline, kind: string): Amount {
  const { rows } = timeline;
  let [count, ns, bytes] = [0, 0, 0];
  for (let at = 0; at < rows.count; at++) {
    if (kindOf(timeline, at) !== kind) continue;
    count++;
    ns += rows.end_ns[at]! - rows.start_ns[at]!;
    bytes += Number.isNaN(rows.bytes[at]) ? 0 : rows.bytes[at]!;
  }
  return { count, ns, bytes };
}

/** Rows are in order of start. */
function union(timeline: Timeline, wanted: (at: number) => boolean): number {
  let [sum, last] = [0, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < timeline.rows.count; at++) {
    if (!wanted(at)) continue;
    const [start, end] = [timeline.rows.start_ns[at]!, timeline.rows.end_ns[at]!];
    sum += Math.max(0, end - Math.max(start, last));
    last = Math.max(last, end);
  }
  return sum;
}

const isKernel = (timeline: Timeline) => (at: number) => kindOf(timeline, at) === "kernel";

function top(timeline: Timeline): Expected["top"] {
  const byName = new Map<number, { launches: number; ns: number }>();
  for (let at = 0; at < timeline.rows.count; at++) {
    if (kindOf(timeline, at) !== "kernel") continue;
    const sum = byName.get(timeline.rows.name[at]!) ?? { launches: 0, ns: 0 };
    sum.launches++;
    sum.ns += timeline.rows.end_ns[at]! - timeline.rows.start_ns[at]!;
    byName.set(timeline.rows.name[at]!, sum);
  }
  return [...byName]
    .sort(([, a], [, b]) => b.ns - a.ns)
    .slice(0, 5)
    .map(([name, { launches, ns }]) => ({
      name_sha1: createHash("sha1").update(timeline.names[name]!.display).digest("hex").slice(0, 12),
      launches,
      ns,
    }));
}

/** Kernels of each graph launch, told apart by the start of its call. */
function graphLaunches(timeline: Timeline): number[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < timeline.rows.count; at++) {
    if (kindOf(timeline, at) !== "kernel" || timeline.rows.in_graph[at] !== 1) continue;
    counts.set(timeline.rows.call_ns[at]!, (counts.get(timeline.rows.call_ns[at]!) ?? 0) + 1);
  }
  return [...counts.values()];
}

const directory = samplesDir();
const files: readonly [string, Expected][] =
  directory === null
    ? []
    : Object.entries(
        (
          JSON.parse(readFileSync(join(directory, "expected", "timelines.json"), "utf8")) as {
            files: Record<string, Expected>;
          }
        ).files,
      ).filter(([, { format }]) => format === "torch_trace");

describe.skipIf(directory === null)("torch traces of others", () => {
  test.each(files)("%s", async (file, expected) => {
    const result = await readBytes(gunzipSync(readFileSync(join(String(directory), "timelines", file))));
    if (!result.ok) throw new Error(result.error.message);
    const timeline = result.value;
    const { rows, recording } = timeline;
    const { count, ns } = amount(timeline, "kernel");
    const rank = expected.distributedInfo?.rank ?? null;
    const perGraph = graphLaunches(timeline);
    const lanes = [...new Set(rows.lane)].map((lane) => timeline.lanes[lane]!);
    const kernelLanes = [...new Set(rows.lane.filter((_, at) => kindOf(timeline, at) === "kernel"))];
    const marks = Array.from(timeline.ranges.text, (text) => timeline.texts[text]!).filter((text) =>
      /^(?:ProfilerStep#|execute_|step\[)/.test(text),
    );
    const found = {
      schema: timeline.schema_version,
      tick: timeline.tick_ns,
      gpus: timeline.gpus.map(({ name }) => name ?? ""),
      world_size: timeline.world_size,
      launches: count,
      kernel_sum_ns: ns,
      distinct_names: new Set(rows.name.filter((_, at) => kindOf(timeline, at) === "kernel")).size,
      union_all_ns: union(timeline, () => true),
      kernel_union_ns: union(timeline, isKernel(timeline)),
      kernel_exclusive_ns: kernelLanes
        .map((lane) => union(timeline, (at) => rows.lane[at] === lane && isKernel(timeline)(at)))
        .reduce((sum, lane) => sum + lane, 0),
      span_ns: rows.count === 0 ? null : rows.end_ns.reduce((a, b) => Math.max(a, b), 0) - rows.start_ns[0]!,
      copies: amount(timeline, "memcpy"),
      sets: amount(timeline, "memset"),
      devices: [...new Set(lanes.map((lane) => `${lane.rank ?? "file"}/${lane.device}`))],
      streams: lanes.length,
      top: top(timeline),
      graph_launches: recording.graph_launch_calls,
      graph_launches_without_row: recording.graph_launch_calls_without_row,
      graph_kernels: perGraph.reduce((sum, kernels) => sum + kernels, 0),
      graph_min_max: perGraph.length === 0 ? null : [Math.min(...perGraph), Math.max(...perGraph)],
      captures: recording.stream_capture_calls,
      launch_calls: recording.launch_calls,
      without_row: recording.launch_calls_without_row,
      without_call: recording.kernels_without_call,
      shared: recording.shared_correlations,
      profiler_ranges: recording.profiler_ranges,
      marks: marks.length,
      first_marks: marks.slice(0, 3),
      dropped: recording.dropped,
      ranges: timeline.ranges.count,
      calls: timeline.calls.count,
    };
    const { categories } = expected;
    expect(found).toStrictEqual({
      schema: String(expected.schemaVersion),
      tick: expected.whole_microseconds_only ? 1000 : 1,
      gpus: expected.gpus_in_host,
      world_size: expected.distributedInfo?.world_size ?? null,
      launches: expected.launches,
      kernel_sum_ns: expected.kernel_sum_ns,
      distinct_names: expected.distinct_names,
      union_all_ns: expected.union_all_ns,
      kernel_union_ns: expected.kernel_union_ns,
      kernel_exclusive_ns: expected.kernel_exclusive_ns,
      span_ns: expected.span_ns,
      copies: { count: expected.copies.count, ns: expected.copies.ns, bytes: expected.copies.bytes },
      sets: { count: expected.sets.count, ns: expected.sets.ns, bytes: expected.sets.bytes },
      devices: expected.devices,
      streams: Object.values(expected.streams).reduce((sum, streams) => sum + streams, 0),
      top: expected.top.map(({ name_sha1, launches, ns }) => ({ name_sha1, launches, ns })),
      graph_launches: expected.graph.launch_calls,
      graph_launches_without_row: expected.graph.launch_calls_without_gpu_event,
      graph_kernels: expected.graph.kernels_under_graph_launches,
      graph_min_max: expected.graph.kernels_per_graph_launch_min_max,
      captures: expected.graph.stream_capture_calls,
      launch_calls: expected.runtime_launch_calls,
      without_row: expected.launch_calls_without_gpu_row,
      without_call: expected.kernels_without_launch_call,
      shared: expected.correlation_ids_used_by_several_kernels.outside_graph_launches,
      profiler_ranges: categories.cuda_profiler_range ?? 0,
      marks: Object.values(expected.steps.marks).reduce((sum, marks) => sum + marks, 0),
      first_marks: expected.steps.first_marks,
      dropped: [],
      // In 2021 steps are operators; of annotations of the GPU all in the samples have their twin.
      ranges: expected.annotations.user_annotation || (expected.steps.marks.ProfilerStep ?? 0),
      calls: (categories.cuda_runtime ?? 0) + (categories.Runtime ?? 0) + (categories.cuda_driver ?? 0),
    });
    expect(lanes.every((lane) => lane.rank === rank && lane.process === null)).toBe(true);
    if (expected.base_time_ns === null) expect(timeline.zero_unix_ns).toBeNull();
    else {
      // The trace's times are behind its base; the first start is known from the expected values as well.
      const first = timeline.zero_unix_ns! + BigInt(rows.start_ns[0]!);
      expect(Number(first - BigInt(expected.base_time_ns))).toBe(expected.first_start_ns);
    }
  });
});
