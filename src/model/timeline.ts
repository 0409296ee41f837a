import type { Dim3, KernelNames } from "./launch.ts";

/** One GPU activity with start and end and no counters. */
export interface TimelineEvent {
  readonly kind: "kernel" | "memcpy" | "memset";
  readonly names: KernelNames;
  readonly start_ns: number;
  readonly end_ns: number;
  readonly stream_id: number | null;
  readonly device: number | null;
  readonly rank: number | null;
  readonly grid: Dim3 | null;
  readonly block: Dim3 | null;
  /** Static + dynamic shared memory per block. */
  readonly shared_memory_bytes: number | null;
  readonly graph_node_id: number | null;
}

/** What nsys or a torch trace saw of the GPU, in order of start. */
export interface Timeline {
  readonly source: "nsys" | "torch";
  readonly events: readonly TimelineEvent[];
}
