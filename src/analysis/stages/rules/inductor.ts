import type { Rule } from "../rule.ts";

/**
 * `triton_<kind>_fused_<op>_<op>_<n>` of torch.compile: the operators of the region of the graph, of which the kernel may
 * run only some. `poi` works point by point and `red`, `per` reduce, so only these two normalise; names of custom
 * operators in the list (`moe_forward`, `all_reduce`) are neighbours that run on their own.
 */
export const INDUCTOR: readonly Rule[] = [
  {
    id: "inductor.template",
    stage: "gemm",
    on: "base",
    is: /^triton_(?:tem_fused_\w*(?:mm|linear)|mm|bmm|addmm|tem_mm)/,
    not: /attention/,
    sure: 0.85,
  },
  {
    id: "inductor.attention",
    stage: "attention",
    on: "base",
    is: /^triton_\w*(?:flex_attention|flex_decoding|scaled_dot_product)/,
    sure: 0.6,
  },
  { id: "inductor.argmax", stage: "sampling", on: "base", is: /^triton_(?:red|per)_fused_\w*argmax/, sure: 0.65 },
  {
    id: "inductor.norm",
    stage: "norm",
    on: "base",
    is: /^triton_(?:red|per)_fused_\w*(?:rsqrt|rms_norm|layer_norm|group_norm|batch_norm|native_layer_norm|var_mean)/,
    also: ["quantize", "embedding", "elementwise"],
    sure: 0.8,
  },
  {
    id: "inductor.norm-second",
    stage: "norm",
    on: "base",
    is: /^triton_\w*fused_\w*(?:mean|pow)\w*rsqrt|^triton_\w*fused_\w*(?:rms_norm|layer_norm)/,
    also: ["quantize", "elementwise"],
    sure: 0.7,
  },
  {
    id: "inductor.activation",
    stage: "activation",
    on: "base",
    is: /^triton_\w*fused_\w*(?:silu|gelu|swiglu|relu|gelu_tanh)/,
    also: ["quantize", "elementwise", "moe_expert"],
    sure: 0.75,
  },
  {
    id: "inductor.embedding",
    stage: "embedding",
    on: "base",
    is: /^triton_\w*fused_\w*embedding/,
    not: /rotary/,
    also: ["elementwise"],
    sure: 0.7,
  },
  {
    id: "inductor.rope",
    stage: "rope",
    on: "base",
    is: /^triton_\w*fused_\w*(?:rotary|rope|cos_\w*sin|sin_\w*cos)/,
    also: ["elementwise"],
    sure: 0.65,
  },
  {
    id: "inductor.quant",
    stage: "quantize",
    on: "base",
    is: /^triton_\w*fused_\w*(?:quant|amax|float8)/,
    also: ["elementwise"],
    sure: 0.65,
  },
  {
    id: "inductor.softmax",
    stage: "sampling",
    on: "base",
    is: /^triton_(?:red|per)_fused_\w*(?:softmax|multinomial|exponential)/,
    also: ["moe_routing", "attention", "elementwise"],
    sure: 0.45,
  },
  {
    id: "inductor.opaque",
    stage: "elementwise",
    on: "base",
    is: /^triton_(?:poi|red|per|for|split_scan|foreach)_(?:fused_)?\d+$/,
    sure: 0.3,
  },
  {
    id: "inductor.pointwise",
    stage: "elementwise",
    on: "base",
    is: /^triton_(?:poi|red|per|for|split_scan|foreach|unk)_/,
    also: ["norm", "quantize", "rope"],
    sure: 0.55,
  },
];
