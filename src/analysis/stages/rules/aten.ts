import type { Rule } from "../rule.ts";

/**
 * Functions of PyTorch's own kernels (ATen) that apply a functor, the first template argument. The rule marks them; what
 * the kernel does is told by the functor.
 */
export const ATEN_SHELL: Rule = {
  id: "aten.bare",
  stage: "elementwise",
  on: "base",
  is: /^(?:(?:vectorized_|unrolled_|legacy_|index_|_scatter_gather_)?elementwise_kernel|reduce_kernel$|multi_tensor_apply_kernel)|^CatArrayBatchedCopy|^distribution_(?:elementwise|nullary|unary)|^index_\w{0,32}?kernel|^gpu_index|^write_indices|^tensor_kernel_scan|^(?:spatial_)?softmax_warp|^cunn_/,
  also: ["activation", "sampling"],
  sure: 0.4,
};

/** How the functor begins, so that parameters and type lists do not decide. */
export const ATEN_FUNCTOR_CHARACTERS = 224;

/** Functions of ATen, by namespace and name. */
export const ATEN_FUNCTIONS: readonly Rule[] = [
  { id: "aten.sample", stage: "sampling", on: "base", is: /[mM]ultinomial|sampleMultinomial|renormRows/, sure: 0.85 },
  {
    id: "aten.top-k-grid",
    stage: "sampling",
    on: "space",
    is: /mbtopk::/,
    also: ["moe_routing", "attention_sparse_index"],
    sure: 0.5,
  },
  {
    id: "aten.top-k-digits",
    stage: "sampling",
    on: "base",
    is: /^radixFindKthValues|^computeBlock\w*Counts|^computeDigitCumSum/,
    also: ["moe_routing", "attention_sparse_index"],
    sure: 0.5,
  },
  {
    id: "aten.top-k-row",
    stage: "moe_routing",
    on: "base",
    is: /^gatherTopK$/,
    also: ["sampling", "attention_sparse_index"],
    sure: 0.5,
  },
  {
    id: "aten.sort",
    stage: "other",
    on: "base",
    is: /[sS]ort|[rR]adix|bitonic|unique/,
    also: ["sampling", "moe_dispatch"],
    sure: 0.5,
  },
  {
    id: "aten.softmax-vocabulary",
    stage: "sampling",
    on: "base",
    is: /cunn_SoftMax/,
    also: ["moe_routing", "attention"],
    sure: 0.5,
  },
  // Rows of at most 1,024 (PersistentSoftmax.cuh): no vocabulary.
  {
    id: "aten.softmax-row",
    stage: "moe_routing",
    on: "base",
    is: /softmax_warp/,
    also: ["attention", "sampling"],
    sure: 0.4,
  },
  { id: "aten.norm", stage: "norm", on: "base", is: /[nN]orm(?!al)|RowwiseMoments|GammaBeta/, sure: 0.85 },
  {
    id: "aten.embedding",
    stage: "embedding",
    on: "base",
    is: /indexSelect|vectorized_gather|[eE]mbedding/,
    also: ["elementwise"],
    sure: 0.7,
  },
  { id: "aten.concat", stage: "elementwise", on: "base", is: /^CatArray/, also: ["memcpy", "kv_cache"], sure: 0.75 },
  {
    id: "aten.attention",
    stage: "attention",
    on: "base",
    is: /[aA]ttention|fmha|transform_bias_rescale_qkv/,
    sure: 0.75,
  },
  { id: "aten.convolution", stage: "gemm", on: "base", is: /conv|im2col|col2im|winograd/i, also: ["other"], sure: 0.5 },
];

/** What the functor of a shell is; held against the template arguments alone. */
export const ATEN_FUNCTORS: readonly Rule[] = [
  {
    id: "functor.activation",
    stage: "activation",
    on: "args",
    is: /silu|gelu|SiLU|SiLu|Silu|GeLU|Gelu|swish|mish_|hardswish|elu_kernel|leaky_relu|relu_kernel|threshold_kernel|clamp_min_scalar|launch_clamp_scalar|glu_kernel|GluFunctor/,
    not: /clamp_scalar|clamp_min/,
    also: ["elementwise"],
    sure: 0.85,
  },
  {
    id: "functor.arg-max",
    stage: "sampling",
    on: "args",
    is: /Arg(?:Max|Min)Ops|argmax/,
    also: ["elementwise"],
    sure: 0.8,
  },
  {
    id: "functor.exponential",
    stage: "sampling",
    on: "args",
    is: /exponential_kernel|geometric_kernel|gumbel/,
    also: ["elementwise"],
    sure: 0.65,
  },
  {
    id: "functor.softmax",
    stage: "sampling",
    on: "args",
    is: /[sS]oft[mM]ax/,
    also: ["moe_routing", "attention"],
    sure: 0.5,
  },
  { id: "functor.norm", stage: "norm", on: "args", is: /RMSNorm|rms_norm|layer_norm|LayerNorm/, sure: 0.7 },
  { id: "functor.sigmoid", stage: "elementwise", on: "args", is: /sigmoid/, also: ["moe_routing"], sure: 0.6 },
  {
    id: "functor.index-put",
    stage: "elementwise",
    on: "args",
    is: /index_put|index_copy|scatter/,
    also: ["kv_cache"],
    sure: 0.65,
  },
  {
    id: "functor.copy",
    stage: "elementwise",
    on: "args",
    is: /copy_kernel|CopyFunctor|FillFunctor|fill_kernel|Copy</,
    also: ["memcpy"],
    sure: 0.75,
  },
  {
    id: "functor.sum",
    stage: "elementwise",
    on: "args",
    is: /sum_functor|MeanOps|func_wrapper_t/,
    also: ["moe_combine", "norm"],
    sure: 0.65,
  },
];
