import type { OpenBytes } from "../base/bytes.ts";
import type { Result } from "../base/result.ts";
import type { Dim3, KernelNames } from "./launch.ts";
import type { Compression, ReadFailure } from "./report.ts";

export const TIMELINE_FORMATS = ["nsys-sqlite", "nsys-stats-trace", "nsys-stats-sum", "torch-trace"] as const;
export type TimelineFormat = (typeof TIMELINE_FORMATS)[number];

/** What the first bytes of a file with a timeline tell; what `nsys stats` printed shows only in the reading. */
export const TIMELINE_KINDS = ["nsys-sqlite", "nsys-stats", "torch-trace"] as const;
export type TimelineKind = (typeof TIMELINE_KINDS)[number];

export const isTimelineKind = (format: string): format is TimelineKind =>
  TIMELINE_KINDS.some((kind) => kind === format);

/** What a row of a timeline is; a column holds the position in this list. `graph`: one whole graph launch, without its kernels. */
export const GPU_ROW_KINDS = ["kernel", "memcpy", "memset", "graph"] as const;
export type GpuRowKind = (typeof GPU_ROW_KINDS)[number];

/** In a column of positions: there is none. */
export const NONE = 0xffffffff;

/**
 * GPU activities by column, in order of start (then end), since a million of them must fit into 100 MB. Times are whole
 * nanoseconds from the timeline's own zero, which the reader chooses so that they are exact in a double.
 */
export interface GpuRows {
  readonly count: number;
  /** Position in GPU_ROW_KINDS. */
  readonly kind: Uint8Array;
  readonly start_ns: Float64Array;
  readonly end_ns: Float64Array;
  /** Position in `names`. */
  readonly name: Uint32Array;
  /** Position in `shapes`; NONE where not recorded. */
  readonly shape: Uint32Array;
  /** Position in `lanes`. */
  readonly lane: Uint32Array;
  /** Start of the API call that launched it; NaN where none is recorded. Steps and ranges of the host hold it by this. */
  readonly call_ns: Float64Array;
  /** Position in `threads` of that call; NONE where none is recorded. */
  readonly thread: Uint32Array;
  /** Copied or set; NaN for kernels and where not recorded. */
  readonly bytes: Float64Array;
  /** Position in `texts` of the framework's operator (torch: `cpu_op`) that launched it; NONE where not recorded. */
  readonly op: Uint32Array;
  /** 1: a node of a CUDA graph. */
  readonly in_graph: Uint8Array;
}

/** Where rows run one after another: a stream of a device of a process (or rank). */
export interface Lane {
  /** The process, as the file tells processes apart; null where it does not. Process ids themselves are not private. */
  readonly process: string | null;
  /** Rank in a job over several GPUs; null where nothing says. */
  readonly rank: number | null;
  /** Device index as the file counts. */
  readonly device: number | null;
  readonly stream: string | null;
}

/** A thread of the host. */
export interface HostThread {
  readonly process: string | null;
  readonly thread: string | null;
}

/** Launch shape: what ncu and a timeline both know of a launch. */
export interface LaunchShape {
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
  /** Static + dynamic, per block. */
  readonly shared_memory_bytes: number | null;
  readonly registers_per_thread: number | null;
}

/** Activities of the host by column, in order of start: API calls, or annotated ranges. */
export interface HostRows {
  readonly count: number;
  readonly start_ns: Float64Array;
  /** NaN: never closed. */
  readonly end_ns: Float64Array;
  /** Position in `texts`. */
  readonly text: Uint32Array;
  /** Position in `threads`. */
  readonly thread: Uint32Array;
}

/** A GPU that the file lists: all of the host, used or not. */
export interface TimelineGpu {
  readonly index: number | null;
  readonly name: string | null;
  readonly compute_capability: string | null;
  readonly sm_count: number | null;
  readonly memory_bytes: number | null;
  readonly memory_bandwidth_bytes_per_s: number | null;
}

/** One row of a summary by name: what `nsys stats -r cuda_gpu_kern_sum` prints. Nanoseconds. */
export interface KernelSum {
  readonly name: number;
  readonly launches: number;
  readonly total_ns: number;
  readonly mean_ns: number | null;
  readonly median_ns: number | null;
  readonly min_ns: number | null;
  readonly max_ns: number | null;
  readonly stddev_ns: number | null;
}

/** What the file says about how well it was recorded. Readers count, `analysis` judges. Null: the format does not tell. */
export interface Recording {
  /** Whether the format's place for kernels (table, category, report) is there, with rows or without. */
  readonly has_kernel_table: boolean;
  /** API calls that launch a kernel, outside stream captures. */
  readonly launch_calls: number | null;
  readonly launch_calls_without_row: number | null;
  readonly kernels_without_call: number | null;
  readonly graph_launch_calls: number | null;
  readonly graph_launch_calls_without_row: number | null;
  /** Kernels of one graph launch: the fewest and the most over launches of the same graph, where they differ. */
  readonly graph_kernels_min: number | null;
  readonly graph_kernels_max: number | null;
  /** As the tool wrote it, `Graph` or `Node` say. */
  readonly graph_trace_mode: string | null;
  readonly stream_capture_calls: number | null;
  /** Correlation ids that several kernels of one process share though none of them is a graph node. */
  readonly shared_correlations: number | null;
  /** Rows that were left out, by reason, with the name of the first. */
  readonly dropped: readonly {
    readonly reason: "no_time" | "ends_before_start" | "outside_int64" | "malformed";
    readonly count: number;
    readonly first: string;
  }[];
  /** Warnings and errors of the tool about CUDA events, private parts taken out. */
  readonly tool_messages: readonly string[];
  /** The publisher shortened the file to a window. */
  readonly is_cut: boolean;
  /** Events that a profiler of counters wrote (`cuda_profiler_range`): they have kernel names and are no timeline. */
  readonly profiler_ranges: number;
  /** Migrations of managed memory: in `rows` as memcpy, on no stream of the program. */
  readonly managed_copies: number;
  /** Rows that stand for several copies. */
  readonly batched_copies: number;
}

/**
 * What nsys or torch's profiler saw of the GPU and, where recorded, of the host. Nothing that tells about the machine
 * (environment, host name, command line, paths) is in it.
 */
export interface Timeline {
  readonly format: TimelineFormat;
  readonly compression: Compression;
  readonly bytes_read: number;
  readonly tool: { readonly name: "nsys" | "torch"; readonly version: string | null };
  /** Of the export. */
  readonly schema_version: string | null;
  readonly cuda_version: string | null;
  readonly driver_version: string | null;
  /** Unix nanoseconds of the zero of all times, where recorded. */
  readonly zero_unix_ns: bigint | null;
  /** Resolution of times: 1, or 1000 where all are whole microseconds. */
  readonly tick_ns: number;
  /** False where only durations can be used (starts absent or too coarse): no union, no span, no idle time. */
  readonly has_starts: boolean;
  readonly gpus: readonly TimelineGpu[];
  /** Ranks of the job, where recorded. */
  readonly world_size: number | null;
  /** Of kernels as recorded; of copies and sets in one spelling: `[CUDA memcpy Device-to-Device]`, `[CUDA memset]`. */
  readonly names: readonly KernelNames[];
  readonly shapes: readonly LaunchShape[];
  readonly lanes: readonly Lane[];
  readonly threads: readonly HostThread[];
  readonly texts: readonly string[];
  readonly rows: GpuRows;
  /** Only for summaries by name, which have no rows; else null. */
  readonly sums: readonly KernelSum[] | null;
  /** API calls of the host (`cudaLaunchKernel` …). Empty where not recorded. */
  readonly calls: HostRows;
  /** NVTX ranges, torch annotations. Empty where not recorded. */
  readonly ranges: HostRows;
  readonly recording: Recording;
}

export interface TimelineLimits {
  /** Bytes after decompression. */
  readonly maxBytes: number;
  /** GPU rows. */
  readonly maxRows: number;
  /** API calls and ranges, each. More are not read, and `Timeline` holds none of them. */
  readonly maxHostRows: number;
}

export const DEFAULT_TIMELINE_LIMITS: TimelineLimits = {
  maxBytes: 16 * 1024 ** 3,
  maxRows: 20_000_000,
  maxHostRows: 5_000_000,
};

/** Reads one format. `open` gives decompressed bytes. */
export type ReadTimeline = (
  open: OpenBytes,
  compression: Compression,
  limits: TimelineLimits,
) => Promise<Result<Timeline, ReadFailure>>;
