import type { Finding } from "../../model/finding.ts";
import type { Dim3, KernelNames } from "../../model/launch.ts";
import type { Timing } from "../../model/result.ts";
import type { NameKey } from "../names.ts";
import type { HostCall, HostInGaps } from "./host-in-gaps.ts";
import type { Source } from "./launches.ts";
import type { Phase } from "./step-patterns.ts";
import type { TimelineTimes } from "./times.ts";
import type { TimelineWindow } from "./window.ts";

/** Launches of one timeline. */
export interface LaunchRows {
  /** Position among the timelines given. */
  readonly timeline: number;
  /** Positions in the timeline's rows, ascending. */
  readonly rows: Uint32Array;
  /** For each the number of launches of the same kernel before it in the timeline's window: what joins counters by ordinal. */
  readonly ordinals: Uint32Array;
}

/** Launches of a shape whose durations belong together: the longest is at most 1.5 times the shortest. */
export interface RankedCluster {
  readonly timing: Timing;
  readonly exclusive_us: number;
  readonly share_of_kernel: number | null;
  /** The launch of median duration (of an even number the shorter of the two); the first of equal ones. */
  readonly median_launch: { readonly timeline: number; readonly row: number };
  readonly launches: readonly LaunchRows[];
}

export interface RankedShape {
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
  /** Static + dynamic, per block. */
  readonly shared_memory_bytes: number | null;
  readonly registers_per_thread: number | null;
  readonly timing: Timing;
  readonly exclusive_us: number;
  /** Most exclusive time first; at most CLUSTERS_LISTED. */
  readonly clusters: readonly RankedCluster[];
  readonly clusters_total: number;
}

export interface PhaseTime {
  readonly phase: Phase;
  readonly launches: number;
  readonly exclusive_us: number;
}

export interface RankedKernel {
  readonly key: NameKey;
  /** Of its first launch. */
  readonly names: KernelNames;
  /** Durations as recorded, impossible ones clipped. */
  readonly timing: Timing;
  /** Sum as recorded, nothing clipped. */
  readonly recorded_us: number;
  /** What it is ranked by; equal to the summed durations where no order on streams is known. */
  readonly exclusive_us: number;
  /**
   * Time in which at least one of its launches runs, summed over the GPUs: less than `exclusive_us` where its launches
   * overlap on several streams. Null without starts.
   */
  readonly running_us: number | null;
  /** Recorded and exclusive time differ by more than a few per cent. */
  readonly exclusive_differs: boolean;
  /** Launches with an impossible duration. */
  readonly clipped_launches: number;
  /** Of `busy_us`. Several streams at once: shares may add up to more than 1. */
  readonly share_of_busy: number | null;
  /** Of `wall_us`. */
  readonly share_of_wall: number | null;
  /** Of the exclusive time of all kernels: these add up to 1. */
  readonly share_of_kernels: number | null;
  readonly launches_by_timeline: readonly number[];
  /** Null: `null_reasons.phases` of the ranking says why. */
  readonly phases: readonly PhaseTime[] | null;
  /** Most exclusive time first; null for summaries by name. */
  readonly shapes: readonly RankedShape[] | null;
  readonly shapes_total: number | null;
}

/** Copies, sets or whole graphs of one name. */
export interface RankedActivity {
  readonly kind: "memcpy" | "memset" | "graph";
  readonly name: string;
  readonly count: number;
  readonly total_us: number;
  readonly bytes: number | null;
  readonly share_of_busy: number | null;
  readonly share_of_wall: number | null;
}

export interface IdleGap {
  readonly timeline: number;
  /** From the first GPU activity of its timeline. */
  readonly start_us: number;
  readonly duration_us: number;
  readonly rank: number | null;
  readonly device: number | null;
  /** Kernel, copy or set that ended last before it, and the one that ended it. */
  readonly after: string;
  readonly before: string;
  readonly host: HostInGaps;
}

export interface Idle {
  readonly count: number;
  readonly total_us: number;
  readonly share_of_wall: number | null;
  /** Largest first. */
  readonly largest: readonly IdleGap[];
  /** What the host called in all gaps; null with the reason. */
  readonly host: { readonly calls: readonly HostCall[] | null; readonly null_reason: string | null };
}

export interface TimelineRanking {
  readonly window: TimelineWindow | null;
  /** Of every timeline, as recorded, without the window. */
  readonly times: readonly TimelineTimes[];
  readonly launches: number;
  /** Kernels, copies, sets and whole graphs in the window: union for each GPU use, summed over them and over timelines. */
  readonly busy_us: number | null;
  /** First start to last end in the window; of several timelines the longest. */
  readonly span_us: number | null;
  /** Spans of the GPU uses in the window, occurrence by occurrence, summed: what busy and idle time are parts of. */
  readonly wall_us: number | null;
  readonly kernels_recorded_us: number;
  readonly kernels_exclusive_us: number;
  /** Work of different streams of a GPU at once. */
  readonly overlap_between_streams_us: number | null;
  readonly kernel_overlap_between_streams_us: number | null;
  /** Pairs of neighbours on a stream that overlap (programmatic dependent launch), and by how much in all. */
  readonly overlap_on_streams: { readonly pairs: number; readonly us: number } | null;
  readonly idle: Idle | null;
  readonly phases: readonly (PhaseTime & { readonly steps: number; readonly share_of_kernels: number })[] | null;
  /** By exclusive time, most first; the first `topN`. */
  readonly kernels: readonly RankedKernel[];
  readonly kernels_total: number;
  readonly activities: readonly RankedActivity[];
  /** Field -> why it is null. */
  readonly null_reasons: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
  /** The timelines with their rows, for what is made of single rows; empty for summaries and where starts are not known. */
  readonly sources: readonly Source[];
}
