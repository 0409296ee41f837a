import type { Rule } from "../rule.ts";

/** Names that are made by a generator: their beginning tells by whom. */
export const PREFIXES: readonly Rule[] = [
  // Copies and sets of the driver, which are no kernels and have names of their own: nsys `[CUDA memcpy DtoH]`; Kineto
  // `Memcpy DtoD (Device -> Device)`; ROCm `__amd_rocclr_copyBuffer`, `CopyDeviceToHost`.
  {
    id: "driver.copy",
    stage: "memcpy",
    on: "base",
    is: /^\[?(?:(?:CUDA|HIP|Unified Memory|cuda|hip) ?)*[mM]em(?:cpy|set)(?![A-Za-z_]*[kK]ernel)|^__amd_rocclr_(?:copy|fill)|^(?:Copy|Fill)(?:Device|Host|Buffer)|^(?:copy|fill)Buffer/,
    sure: 0.95,
  },
  { id: "prefix.nccl", stage: "comm", on: "base", is: /^(?:nccl|rccl|msccl|nvshmem|rocshmem)/, sure: 0.95 },
  // cuBLAS, cuBLASLt, hipBLASLt, CUTLASS profiles
  { id: "prefix.nvjet", stage: "gemm", on: "base", is: /^nvjet_/, sure: 0.95 },
  { id: "prefix.tensile", stage: "gemm", on: "base", is: /^(?:Custom_)?Cijk_/, sure: 0.95 },
  {
    id: "prefix.blas",
    stage: "gemm",
    on: "base",
    is: /^(?:(?:maxwell|pascal|volta|turing|ampere|ada|hopper|blackwell)_|sm\d+_xmma_|cutlass\d?_|cublas|magma_|gemv|gemm[A-Z_]|sgemm|dgemm|hgemm|xmma_).*(?:gemm|gemv|cublas)|^gemv|^(?:dot|gemvNSP|gemv2[TN]|gemvx|gemmk1|gemmSN)_?(?:kernel|$)/,
    not: /conv|fprop|dgrad|wgrad|moe|group/i,
    sure: 0.9,
  },
  // Convolutions of cuDNN and TensorRT, as products
  {
    id: "prefix.convolution",
    stage: "gemm",
    on: "base",
    is: /_scudnn_|_s\d+cudnn_|_(?:h|i|fp16_s)\d*cudnn|^\w+_xmma_(?:fprop|dgrad|wgrad)|winograd|implicit_convolve|^cudnn_infer_|_convolve_/,
    also: ["other"],
    sure: 0.5,
  },
  // trtllm-gen
  {
    id: "prefix.trtllm-gen-bmm",
    stage: "moe_expert",
    on: "base",
    is: /^bmm_[A-Z]\w*_t\d+x/,
    also: ["gemm"],
    sure: 0.85,
  },
  { id: "prefix.trtllm-gen-gemm", stage: "gemm", on: "base", is: /^gemm_[A-Z]\w*_t\d+x/, sure: 0.9 },
  {
    id: "prefix.fmha-mla-decode",
    stage: "mla_decode",
    on: "base",
    is: /^fmha\w*(?:HQk(?:576|320)HV(?:512|256)|_576x512_)/i,
    also: ["mla_prefill", "attention_decode"],
    sure: 0.95,
  },
  {
    id: "prefix.fmha-mla-prefill",
    stage: "mla_prefill",
    on: "base",
    is: /^fmha\w*(?:HQk192HV128|_192x128_)/i,
    also: ["attention_prefill"],
    sure: 0.9,
  },
  { id: "prefix.fmha-generation", stage: "attention_decode", on: "base", is: /^fmhaSm\w*ForGen/, sure: 0.95 },
  { id: "prefix.fmha-context", stage: "attention_prefill", on: "base", is: /^fmhaSm\w*Context/, sure: 0.95 },
  {
    id: "prefix.fmha-multi-ctas-kv",
    stage: "attention_decode",
    on: "base",
    is: /^fmhaSm\w*(?:MultiCtasKv|SwapsAb|KeepsAb|Q(?:8|16)(?:Kv|\b))/,
    also: ["attention_prefill"],
    sure: 0.7,
    deniable: true,
  },
  {
    id: "prefix.fmha-causal",
    stage: "attention_prefill",
    on: "base",
    is: /^fmhaSm\w*Causal/,
    also: ["attention_decode"],
    sure: 0.7,
    deniable: true,
  },
  {
    id: "prefix.fmha",
    stage: "attention",
    on: "base",
    is: /^fmhaSm/,
    also: ["attention_decode", "attention_prefill"],
    sure: 0.7,
  },
  { id: "prefix.fmha-v2", stage: "attention_prefill", on: "base", is: /^fmha_v2_/, also: ["attention"], sure: 0.75 },
  // aiter's assembly kernels: `fmoe_<type>_…_silu_…` is the whole expert MLP
  { id: "prefix.fmoe", stage: "moe_expert", on: "base", is: /^fmoe_/, sure: 0.85 },
  // triton_kernels (OpenAI)
  { id: "prefix.matmul-ogs", stage: "moe_expert", on: "base", is: /^_(?:p_)?matmul_ogs/, also: ["gemm"], sure: 0.9 },
  {
    id: "prefix.cudnn-attention",
    stage: "attention",
    on: "base",
    is: /^cudnn_\w*(?:sdpa|flash|attention|mha)/,
    sure: 0.85,
  },
];
