import type { Rule } from "../rule.ts";

/** An integer as nsys (`(int)128`), c++filt (`128`, `128u`) or a mangled name print it. */
const NUMBER = "(?:\\([\\w ]{1,32}\\))?";
/** `cute::tuple<cute::C<(int)1>, …>` of any values. */
const TUPLE = `cute::tuple< *(?:cute::C<${NUMBER}\\d+>[ ,]*)+>`;
/**
 * `CollectiveMainloopFwdSm90<stages, cluster, tile (M, N, K), width of V, …>` of FlashAttention 3, printed or mangled (where
 * the tile ends in its K, or in references to an earlier equal number).
 */
const tile = (k: string, v: string, mangledK: string): RegExp =>
  new RegExp(
    `CollectiveMainloopFwd\\w{0,16}<${NUMBER}\\d+, *${TUPLE}, *cute::tuple< *(?:cute::C<${NUMBER}\\d+>[ ,]*){2}cute::C<${NUMBER}${k}> *>, *${NUMBER}${v}\\b|` +
      `CollectiveMainloopFwd\\w{0,160}?I(?:J\\w{0,96}?)?${mangledK}E+Li${v}EN`,
  );

/**
 * What template arguments (or the fields of a generated name) say about the work. Head sizes 192 / 128 and 576 / 512 are
 * those of multi-head latent attention (DeepSeek V2 and V3, Kimi K2: 128 + 64 rotary; rank 512 + 64 rotary).
 */
export const STRUCTURES: readonly Rule[] = [
  {
    id: "args.fa3-mla-prefill",
    stage: "mla_prefill",
    on: "args",
    is: tile("192", "128", "Li192"),
    also: ["attention_prefill"],
    sure: 0.9,
  },
  {
    id: "args.fa3-mla-decode",
    stage: "mla_decode",
    on: "args",
    is: tile("\\d+", "512", "(?:Li\\d+|_)"),
    also: ["attention_decode"],
    sure: 0.9,
  },
  {
    id: "args.fa3-traits-mla",
    stage: "mla_prefill",
    on: "args",
    is: /Flash_fwd_kernel_traits<(?:\(int\))?192, [^<>]*, (?:\(int\))?128>/,
    also: ["attention_prefill"],
    sure: 0.85,
  },
  {
    id: "args.fa3",
    stage: "attention",
    on: "args",
    is: /FlashAttnFwd(?:Sm\d+|Combine)/,
    also: ["mla_decode", "mla_prefill", "attention_prefill", "attention_decode"],
    sure: 0.8,
    deniable: true,
  },
  // DeepGEMM's GemmType: 0 Normal, 1 MGroupedContiguous, 2 MGroupedMasked, 3 KGroupedContiguous, 4 Batched, 5 MGroupedContiguousWithPsumLayout.
  { id: "args.gemm-type-grouped", stage: "moe_expert", on: "args", is: /GemmType(?:\)|E)[125](?!\d)/, sure: 0.95 },
  {
    id: "args.gemm-type-k-grouped",
    stage: "moe_expert",
    on: "args",
    is: /GemmType(?:\)|E)3(?!\d)/,
    also: ["gemm"],
    sure: 0.6,
  },
  { id: "args.gemm-type-dense", stage: "gemm", on: "args", is: /GemmType(?:\)|E)[04](?!\d)/, sure: 0.95 },
  { id: "args.cublas-gemv", stage: "gemm", on: "args", is: /^<[^<]*cublasGemv/, sure: 0.85 },
];

/** The same of what a launcher (`device_kernel<…>`) starts; elsewhere such types are only parameters. */
export const LAUNCHED_STRUCTURES: readonly Rule[] = [
  {
    id: "args.group-problem",
    stage: "moe_expert",
    on: "args",
    is: /(?:Group|MoE|Moe)ProblemShape|GemmGrouped|GroupedGemm|GroupedProblemVisitor/,
    also: ["gemm"],
    sure: 0.85,
  },
];
