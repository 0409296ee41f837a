import type { Stage } from "../../../model/words.ts";

/** Label, how often it holds for that name alone, further labels. */
export type EntryPoint = readonly [stage: Stage, sure: number, ...also: Stage[]];

/**
 * Functions whose own name says too little or the wrong thing, by base name. Each is an entry point of a public library,
 * named behind the block; words and namespaces decide all others. A name that several libraries use has a low share.
 */
export const ENTRY_POINTS: ReadonlyMap<string, EntryPoint> = new Map<string, EntryPoint>([
  // DeepEP, as ncu prints the base name
  ["dispatch", ["moe_dispatch", 0.85]],
  ["combine", ["moe_combine", 0.85]],
  ["cached_notify", ["moe_combine", 0.7, "moe_dispatch"]],
  ["engram_fetch_impl", ["other", 0.5]],
  // pplx-kernels
  ["dispatchKernel", ["moe_dispatch", 0.85]],
  ["combineKernel", ["moe_combine", 0.85]],
  // TensorRT-LLM, cutlass and trtllm-gen MoE back ends
  ["finalizeKernel", ["moe_combine", 0.8]],
  ["finalizeKernelVecLoad", ["moe_combine", 0.8]],
  ["finalizeDeepSeekKernel", ["moe_combine", 0.85]],
  ["permuteKernel", ["moe_dispatch", 0.8]],
  ["run_global", ["moe_expert", 0.75, "gemm"]],
  ["loraReorderKernel", ["moe_dispatch", 0.7]],
  ["memcpyKernel", ["memcpy", 0.7]],
  ["kernel_mha", ["attention_decode", 0.8]],
  ["fmhaReductionKernel", ["attention_decode", 0.8, "mla_decode"]],
  ["applyMLARopeAndAssignQKVKernelOptContext", ["rope", 0.8, "kv_cache", "mla_prefill"]],
  ["applyMLARopeAndAssignQKVKernelGeneration", ["rope", 0.8, "kv_cache", "mla_decode"]],
  ["quantizedKernel", ["quantize", 0.7]],
  ["delayStreamKernel", ["other", 0.7]],
  // SGLang
  ["_permute_kernel", ["moe_dispatch", 0.7]],
  ["_unpermute_kernel", ["moe_combine", 0.7]],
  ["compute_arg_sorts", ["moe_dispatch", 0.8, "moe_routing"]],
  ["compute_src2dst", ["moe_dispatch", 0.85, "moe_routing"]],
  ["moe_hash_topk_fused", ["moe_routing", 0.85]],
  ["_get_k_and_s_triton_kernel", ["attention_sparse_index", 0.75, "kv_cache"]],
  ["_set_k_and_s_triton_kernel", ["kv_cache", 0.75, "attention_sparse_index", "quantize"]],
  ["_fwd_kernel", ["attention_prefill", 0.7, "attention", "mla_prefill"]],
  ["transfer_kernel_impl", ["kv_cache", 0.75, "memcpy"]],
  ["offload_to_cpu", ["kv_cache", 0.6, "memcpy"]],
  ["dense_kernel0", ["gemm", 0.7]],
  ["resolve_future_token_ids_kernel", ["other", 0.7]],
  ["clamp_position_kernel", ["other", 0.7]],
  ["fast_hadamard_transform_kernel", ["attention_sparse_index", 0.6, "quantize", "other"]],
  // vLLM; dense and MoE Marlin share the name, only the namespace tells
  ["Marlin", ["gemm", 0.5, "moe_expert"]],
  ["convert_fp8_kernel", ["kv_cache", 0.7, "quantize"]],
  ["segmented_max_reduction", ["quantize", 0.8]],
  ["batched_triton_kernel", ["moe_expert", 0.8]],
  ["reduce_segments", ["attention_decode", 0.85]],
  ["expand_kernel", ["sampling", 0.4, "other"]],
  ["getMIndicesKernel", ["moe_dispatch", 0.8]],
  // FlagGems, vLLM batch-invariant operators
  ["mean_kernel", ["elementwise", 0.6]],
  // Lightning attention (MiniMax)
  ["_fwd_diag_kernel", ["linear_attn", 0.8]],
  ["_fwd_none_diag_kernel", ["linear_attn", 0.8]],
  ["_fwd_kv_parallel", ["linear_attn", 0.8]],
  ["_fwd_kv_reduce", ["linear_attn", 0.8]],
  // triton_kernels (OpenAI)
  ["_topk_forward", ["moe_routing", 0.8]],
  ["_expt_data_compute", ["moe_routing", 0.75, "moe_dispatch"]],
  ["_expt_data_memset", ["moe_routing", 0.75, "moe_dispatch"]],
  ["_reduce_grouped", ["moe_combine", 0.75]],
  // DeepSeek's own kernels (deepseek-ai/profile-data)
  ["reduce_fused_impl", ["moe_combine", 0.75]],
  ["expand_to_fused_impl", ["moe_dispatch", 0.75]],
  ["get_fused_mapping", ["moe_dispatch", 0.75, "moe_routing"]],
  ["topk_sum_and_topk_idx", ["moe_routing", 0.8]],
  ["unique_group_indices_impl", ["moe_routing", 0.75]],
  ["aux_fi_impl", ["moe_routing", 0.75]],
  // Eagle and lookahead trees
  ["build_tree_efficient", ["other", 0.7]],
  ["VerifyTreeGreedy", ["sampling", 0.8]],
  // Launchers: what runs is in the template arguments
  ...["Kernel", "Kernel2", "kernel", "device_kernel", "kentry", "kernel_entry", "_kernel", "trampoline_kernel"].map(
    (name): [string, EntryPoint] => [name, ["other", 0.05]],
  ),
]);

/** Functions that only start what their first template argument names. */
export const LAUNCHERS: ReadonlySet<string> = new Set([
  "device_kernel",
  "Kernel",
  "Kernel2",
  "kernel",
  "kentry",
  "kernel_entry",
  "run_global",
  "generic_kernel",
  "static_kernel",
  "_kernel_agent",
]);
