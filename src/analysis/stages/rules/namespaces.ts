import type { Rule } from "../rule.ts";

/** Namespaces that hold kernels of one stage. Before the words: `deep_ep::…::combine` is no attention, no reduction. */
export const NAMESPACES: readonly Rule[] = [
  // Transport of expert parallelism: DeepEP, its forks and DeepSeek's own, pplx, UCCL, MORI.
  {
    id: "space.ep-barrier",
    stage: "comm",
    on: "path",
    is: /\b(?:deep_ep|\w+::ep|pplx|mori|uccl)::(?:\w+::)*(?:barrier|pp_send|pp_recv)\w*$/,
    also: ["moe_dispatch"],
    sure: 0.8,
  },
  {
    id: "space.ep-combine",
    stage: "moe_combine",
    on: "path",
    is: /\b(?:deep_ep|\w+::ep|pplx|mori|uccl)::(?:\w+::)*(?:\w*[cC]ombine\w*|cached_notify)$/,
    sure: 0.95,
  },
  {
    id: "space.ep-dispatch",
    stage: "moe_dispatch",
    on: "path",
    is: /\b(?:deep_ep|\w+::ep|pplx|mori|uccl)::(?:\w+::)*\w*(?:[dD]ispatch|clean_low_latency|layout)\w*$/,
    sure: 0.95,
  },
  {
    id: "space.routing",
    stage: "moe_routing",
    on: "space",
    is: /\bmoe::dev::routing\b|\broutingMoe|::routing\w*::/,
    sure: 0.95,
  },
  { id: "space.finalize", stage: "moe_combine", on: "space", is: /\bmoe::dev::finalize\b/, sure: 0.95 },
  { id: "space.permute", stage: "moe_dispatch", on: "space", is: /\bmoe::dev::permute\b/, sure: 0.95 },
  {
    id: "space.moe-activation",
    stage: "activation",
    on: "space",
    is: /\bmoe::dev::activation\b/,
    also: ["moe_expert", "quantize"],
    sure: 0.95,
  },
  { id: "space.convert-scales", stage: "quantize", on: "space", is: /\bmoe::dev::convertsf\b/, sure: 0.9 },
  { id: "space.marlin-moe", stage: "moe_expert", on: "path", is: /\bmarlin_moe\w*::(?:\w+::)*Marlin/, sure: 0.95 },
  { id: "space.marlin", stage: "gemm", on: "path", is: /\bmarlin\w*::(?:\w+::)*Marlin/, sure: 0.9 },
  {
    id: "space.grouped",
    stage: "moe_expert",
    on: "path",
    is: /\bm_grouped\w*::|\bfused_moe::/,
    not: /rout|permute|align/,
    sure: 0.9,
  },
  // FlashInfer
  {
    id: "space.allreduce",
    stage: "comm",
    on: "space",
    is: /\b\w*all_?reduce\w*::|\bquickreduce::/i,
    also: ["norm"],
    sure: 0.9,
  },
  {
    id: "space.alltoall",
    stage: "moe_dispatch",
    on: "path",
    is: /\b\w*(?:moe|trtllm)_?all_?to_?all\w*::(?!.*[cC]ombine)/i,
    also: ["moe_combine"],
    sure: 0.85,
  },
  { id: "space.sampling", stage: "sampling", on: "space", is: /\bflashinfer::sampling\b/, sure: 0.9 },
  { id: "space.norm", stage: "norm", on: "space", is: /\bflashinfer::norm\b/, sure: 0.95 },
  {
    id: "space.layer-norm",
    stage: "norm",
    on: "space",
    is: /\b(?:layer_norm|rms_norm|rmsnorm|group_norm)::/,
    sure: 0.9,
  },
  {
    id: "space.activation",
    stage: "activation",
    on: "space",
    is: /\bflashinfer::activation\b|::activation::/,
    sure: 0.9,
  },
  { id: "space.mla", stage: "mla_decode", on: "space", is: /\bflashinfer::mla\b/, also: ["mla_prefill"], sure: 0.85 },
  { id: "space.cublas-reduce", stage: "gemm", on: "space", is: /\bcublas(?:Lt)?::/, sure: 0.9 },
];

/** What a namespace says where the function's own words say nothing. */
export const NAMESPACES_LAST: readonly Rule[] = [
  { id: "last.moe", stage: "moe_routing", on: "space", is: /\bvllm::moe::/, also: ["moe_dispatch"], sure: 0.5 },
  {
    id: "last.deep-gemm",
    stage: "gemm",
    on: "path",
    is: /\b(?:deep_gemm|dpsk::gemm|cutlass::gemm|cutlass_\w*gemm|flashinfer::gemm|grouped_gemm|machete|marlin)::/,
    not: /transpos|copy|fill|utils::/,
    also: ["moe_expert"],
    sure: 0.5,
  },
  {
    id: "last.flash",
    stage: "attention",
    on: "space",
    is: /\b(?:flash|flash_attn|fmha|flashinfer::attention|pytorch_flash|sparse_attn)::/,
    sure: 0.45,
  },
  { id: "last.mla", stage: "mla_decode", on: "space", is: /\b\w*mla\w*::/, also: ["mla_prefill"], sure: 0.4 },
  {
    id: "last.ep",
    stage: "moe_dispatch",
    on: "space",
    is: /\b(?:deep_ep|dpsk::ep|pplx)::/,
    also: ["moe_combine", "comm"],
    sure: 0.45,
  },
  {
    id: "last.sort-scan",
    stage: "other",
    on: "space",
    is: /\b(?:cub|thrust|rocprim|hipcub|moderngpu)::/,
    also: ["sampling", "moe_dispatch"],
    sure: 0.4,
  },
];
