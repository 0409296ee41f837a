import type { Dim3, KernelNames } from "../../src/model/launch.ts";
import type { KernelSum, LaunchShape, Recording, Timeline } from "../../src/model/timeline.ts";
import { type GpuRow, GpuRowsBuilder, HostRowsBuilder, Pool } from "../../src/timeline/rows.ts";

/** One GPU activity, microseconds. What is not given: kernel on stream 7 of GPU 0, launched 5 us before its start. */
export interface MadeRow {
  readonly name: string;
  readonly at: number;
  readonly us: number;
  readonly kind?: GpuRow["kind"];
  readonly stream?: string | null;
  readonly device?: number | null;
  readonly process?: string | null;
  readonly rank?: number | null;
  readonly grid?: Dim3 | null;
  readonly block?: Dim3;
  readonly sharedBytes?: number;
  readonly registers?: number;
  readonly bytes?: number;
  /** Start of the launch call; null: not recorded. */
  readonly call?: number | null;
  /** Thread of the launch call. */
  readonly thread?: string;
  readonly inGraph?: boolean;
}

/** A range or a call of the host, microseconds. Null as length: never closed. */
export interface MadeHostRow {
  readonly text: string;
  readonly at: number;
  readonly us: number | null;
  readonly thread?: string;
  readonly process?: string | null;
}

export interface MadeTimeline extends Partial<Omit<Timeline, "recording" | "rows" | "calls" | "ranges" | "sums">> {
  readonly rows?: Iterable<MadeRow>;
  readonly ranges?: Iterable<MadeHostRow>;
  readonly calls?: Iterable<MadeHostRow>;
  readonly recording?: Partial<Recording>;
  readonly sums?: readonly (Partial<KernelSum> & { readonly kernel: string })[] | null;
}

export const namesOf = (demangled: string): KernelNames => ({
  mangled: null,
  function: null,
  demangled,
  display: demangled,
  simplified: false,
});

const GPU = {
  index: 0,
  name: "NVIDIA H200",
  compute_capability: "9.0",
  sm_count: 132,
  memory_bytes: null,
  memory_bandwidth_bytes_per_s: null,
};

const RECORDING: Recording = {
  has_kernel_table: true,
  launch_calls: null,
  launch_calls_without_row: null,
  kernels_without_call: null,
  graph_launch_calls: null,
  graph_launch_calls_without_row: null,
  graph_kernels_min: null,
  graph_kernels_max: null,
  graph_trace_mode: null,
  stream_capture_calls: null,
  shared_correlations: null,
  dropped: [],
  tool_messages: [],
  is_cut: false,
  profiler_ranges: 0,
  managed_copies: 0,
  batched_copies: 0,
};

const ns = (us: number): number => Math.round(us * 1000);

/** A timeline in memory, as a reader of nsys exports would give it. */
export function madeTimeline({
  rows = [],
  ranges = [],
  calls = [],
  recording = {},
  sums = null,
  ...rest
}: MadeTimeline): Timeline {
  const names = new Pool<string>((name) => name);
  const shapes = new Pool<LaunchShape>((shape) => JSON.stringify(shape));
  const lanes = new Pool<Timeline["lanes"][number]>((lane) => JSON.stringify(lane));
  const threads = new Pool<Timeline["threads"][number]>((thread) => JSON.stringify(thread));
  const texts = new Pool<string>((text) => text);
  const gpu = new GpuRowsBuilder();
  for (const row of rows) {
    const { kind = "kernel", stream = "7", device = 0, process = "1", rank = null, grid = [1, 1, 1] } = row;
    const { block = [128, 1, 1], sharedBytes = 0, registers = 32, call = row.at - 5, thread = "1" } = row;
    const shape: LaunchShape = {
      grid,
      block,
      shared_memory_bytes: sharedBytes,
      registers_per_thread: registers,
    };
    gpu.add({
      kind,
      start_ns: ns(row.at),
      end_ns: ns(row.at) + ns(row.us),
      name: names.add(row.name),
      ...(kind === "kernel" && grid !== null ? { shape: shapes.add(shape) } : {}),
      lane: lanes.add({ process, rank, device, stream }),
      ...(call === null ? {} : { call_ns: ns(call), thread: threads.add({ process, thread }) }),
      ...(row.bytes === undefined ? {} : { bytes: row.bytes }),
      in_graph: row.inGraph ?? false,
    });
  }
  const host = (list: Iterable<MadeHostRow>): Timeline["calls"] => {
    const builder = new HostRowsBuilder();
    for (const { text, at, us, thread = "1", process = "1" } of list)
      builder.add(
        ns(at),
        us === null ? Number.NaN : ns(at) + ns(us),
        texts.add(text),
        threads.add({ process, thread }),
      );
    return builder.finish();
  };
  const made = {
    rows: gpu.finish(),
    ranges: host(ranges),
    calls: host(calls),
    sums:
      sums?.map(({ kernel, ...sum }) => ({
        launches: 1,
        total_ns: 0,
        mean_ns: null,
        median_ns: null,
        min_ns: null,
        max_ns: null,
        stddev_ns: null,
        ...sum,
        name: names.add(kernel),
      })) ?? null,
  };
  return {
    format: sums === null ? "nsys-sqlite" : "nsys-stats-sum",
    compression: "none",
    bytes_read: 0,
    tool: { name: "nsys", version: "2025.3.2.0" },
    schema_version: "3.20.3",
    cuda_version: null,
    driver_version: null,
    zero_unix_ns: null,
    tick_ns: 1,
    has_starts: sums === null,
    gpus: [GPU],
    world_size: null,
    names: names.items.map(namesOf),
    shapes: shapes.items,
    lanes: lanes.items,
    threads: threads.items,
    texts: texts.items,
    recording: { ...RECORDING, ...recording },
    ...made,
    ...rest,
  };
}

/** `count` launches of one kernel, one after another, `period` microseconds apart. */
export function launches(
  name: string,
  count: number,
  { from = 0, period = 20, us = 10, ...rest }: { from?: number; period?: number; us?: number } & Partial<MadeRow> = {},
): MadeRow[] {
  return Array.from({ length: count }, (_, launch) => ({ name, at: from + launch * period, us, ...rest }));
}
