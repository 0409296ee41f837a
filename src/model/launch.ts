import type { MetricSet } from "./metrics.ts";

/** x, y, z. */
export type Dim3 = readonly [number, number, number];

/** `kernel`: one kernel launch. The others are several kernels measured as one (ncu range, command list, graph). */
export type LaunchKind = "kernel" | "range" | "cmdlist" | "graph";

export interface KernelNames {
  readonly mangled: string | null;
  /** Base name without namespaces, template arguments and parameters: what `ncu -k` matches by default. */
  readonly function: string | null;
  readonly demangled: string | null;
  /** The name to show: demangled, else function, else mangled; on a CSV page the printed name. */
  readonly display: string;
  /** True where namespaces were dropped by the tool (CSV pages print simplified names). */
  readonly simplified: boolean;
}

export interface NvtxRange {
  readonly domain: string;
  readonly name: string;
}

/** One item of NVIDIA's own rules that promises something (type OPT), handed on as it is. */
export interface Hint {
  readonly rule: string;
  readonly section: string | null;
  readonly title: string | null;
  readonly text: string | null;
  readonly speedup_type: "global" | "local" | null;
  readonly speedup_percent: number | null;
  readonly evidence: readonly {
    readonly metric: string;
    readonly value: number | null;
    readonly info: string | null;
  }[];
}

/** A message of NVIDIA's rules, of any type. */
export interface RuleMessage extends Hint {
  readonly type: "info" | "warning" | "error" | "optimization" | "unknown";
}

/** One measured launch: who, where, what shape, and its metrics. Shared by all readers. */
export interface Launch {
  /** Position in the report, from 0. For a report of ncu the `ID` of its CSV pages. */
  readonly index: number;
  readonly kind: LaunchKind;
  readonly names: KernelNames;
  /** Blocks in x, y, z; null where the source does not say (failed launch, graph, old CSV). */
  readonly grid: Dim3 | null;
  /** Threads in x, y, z. */
  readonly block: Dim3 | null;
  readonly process_id: number | null;
  readonly context_id: number | null;
  readonly stream_id: number | null;
  /** Device index in the process, as CUDA counts. */
  readonly device: number | null;
  /** Rank of the process in a job over several GPUs; null where nothing says. */
  readonly rank: number | null;
  /** Push/pop ranges of the launching thread, outermost first. */
  readonly nvtx: readonly NvtxRange[];
  /** Unix seconds at which the tool recorded the launch. */
  readonly created_at_unix_s: number | null;
  /** Set where the launch itself failed: it has no verdict and enters no sum. */
  readonly failure: string | null;
  readonly metrics: MetricSet;
  readonly hints: readonly Hint[];
}
