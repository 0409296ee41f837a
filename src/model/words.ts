// The closed lists of the model without their schemas: who only compares words does not load the schema library.

/** The target that means every kernel. */
export const FULL_PIPELINE = "full pipeline";

/** Version of the shape of a stored result. Raise it with an upgrader; never reuse a number. */
export const RESULT_SCHEMA_VERSION = 1;

export const ROOFLINE_CLASSES = ["compute-bound", "memory-bound", "latency-bound"] as const;
export const LIMITERS = [
  "tensor",
  "fma",
  "fp64",
  "alu",
  "issue",
  "lsu",
  "l1_shared",
  "l2",
  "dram",
  "nvlink",
  "latency",
  "tail",
  "imbalance",
  "launch",
  "unknown",
] as const;
export const LATENCY_REASONS = [
  "tiny_kernel",
  "near_compute_roof",
  "near_memory_roof",
  "grid_smaller_than_sm_count",
  "less_than_one_wave",
  "l2_bound",
  "l1_or_shared_bound",
  "tail_effect",
  "load_imbalance",
  "tensor_wait_stalls",
  "barrier_stalls",
  "memory_dependency_stalls",
  "execution_dependency_stalls",
  "low_theoretical_occupancy",
  "achieved_occupancy_below_theoretical",
  "unknown",
] as const;
/** What a step of an engine works on. */
export const PHASES = ["prefill", "decode", "mixed", "draft", "verify", "unknown"] as const;
export const OCCUPANCY_LIMITS = ["registers", "shared_mem", "warps", "blocks", "barriers"] as const;
export const HEADROOM_LEVELS = ["high", "medium", "low", "unknown"] as const;

/** Places in the pipeline of an inference engine, each with the family that charts group by. */
export const FAMILY_OF_STAGE = {
  moe_routing: "moe",
  moe_dispatch: "moe",
  moe_expert: "moe",
  moe_combine: "moe",
  mla_prefill: "attention",
  mla_decode: "attention",
  attention: "attention",
  attention_decode: "attention",
  attention_prefill: "attention",
  attention_sparse_index: "attention",
  linear_attn: "attention",
  comm: "comm",
  gemm: "gemm",
  kv_cache: "memory",
  memcpy: "memory",
  embedding: "memory",
  quantize: "elementwise",
  norm: "elementwise",
  rope: "elementwise",
  activation: "elementwise",
  elementwise: "elementwise",
  sampling: "sampling",
  other: "other",
} as const;
export type Stage = keyof typeof FAMILY_OF_STAGE;
export type StageFamily = (typeof FAMILY_OF_STAGE)[Stage];
export const STAGES = Object.keys(FAMILY_OF_STAGE) as readonly Stage[];
export const FAMILIES = [...new Set(Object.values(FAMILY_OF_STAGE))] as readonly StageFamily[];

/** Why a timeline is not ranked, or not over the window that was asked for. */
export const TIMELINE_REFUSAL_CODES = [
  "timeline_no_kernels",
  "timeline_graph_level_only",
  "timeline_incomplete",
  "timeline_merged_ranks",
  "timeline_degenerate",
  "timeline_not_comparable",
  "timeline_window_invalid",
  "timeline_window_not_found",
  "timeline_window_empty",
] as const;
