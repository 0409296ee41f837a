import { describe, expect, it } from "vitest";
import { stageOf } from "../../../src/analysis/stages/index.ts";
import type { Stage } from "../../../src/model/words.ts";

/** Stage (or stages, of which each is defensible) and the name; made after the spellings of the libraries. */
type Trap = readonly [expected: string, name: string];

const GROUPED =
  "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>, cutlass::gemm::collective::CollectiveMma<int>>>(T1::Params)";
const PLAIN =
  "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<int>>>(T1::Params)";
const deepGemm = (type: number): string =>
  `void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 128u, 1u, (deep_gemm::GemmType)${type}>(__nv_bfloat16*, float*)`;
const fa3 = (m: number, n: number, k: number, v: number): string =>
  `void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cute::tuple<cute::C<${m}>, cute::C<${n}>, cute::C<${k}> >, ${v}, cutlass::bfloat16_t, float, cutlass::arch::Sm90, true>, int> > >(int)`;
const fa3Nsys = (k: number, v: number): string =>
  `void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)2, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<cute::C<(int)128>, cute::C<(int)128>, cute::C<(int)${k}>>, (int)${v}, cutlass::bfloat16_t>>>>(T1::Params)`;
// Mangled by g++ 13 from stand-ins with the same template parameters.
const FA3_MANGLED = {
  prefill:
    "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMainloopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi128EEESA_NS7_ILi192EEEEEELi128ENS_10bfloat16_tEfNS_4arch4Sm90ELb1ELb0EEEEEEEEEvNT_6ParamsE",
  decode:
    "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMainloopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi64EEESA_SA_EEELi512ENS_10bfloat16_tEfNS_4arch4Sm90ELb1ELb0EEEEEEEEEvNT_6ParamsE",
  other:
    "_ZN7cutlass13device_kernelIN5flash20enable_sm90_or_laterINS1_16FlashAttnFwdSm90INS1_25CollectiveMainloopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi128EEESA_SA_EEELi128ENS_10bfloat16_tEfNS_4arch4Sm90ELb1ELb0EEEEEEEEEvNT_6ParamsE",
};
const aten = (functor: string): string =>
  `void at::native::vectorized_elementwise_kernel<4, ${functor}, std::array<char*, 2ul> >(int, ${functor})`;
const reduce = (functor: string): string =>
  `void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, ${functor}, unsigned int, float, 4> >(int)`;

const TRAPS: Readonly<Record<string, readonly Trap[]>> = {
  "transport of expert parallelism looks like communication": [
    ["moe_dispatch", "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*)"],
    ["moe_dispatch", "dispatch"],
    ["moe_combine", "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*)"],
    ["moe_combine", "combine"],
    ["moe_dispatch", "dispatchKernel"],
    ["moe_dispatch", "moeA2ADispatchKernel"],
    ["moe_dispatch", "void deep_ep::intranode::notify_dispatch<8>(int const*)"],
    ["moe_dispatch", "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)"],
    ["moe_dispatch", "_ZN7deep_ep12internode_ll8dispatchILb1ELi3ELi10ELi7168EEEvPvPfPi"],
    ["moe_combine", "_ZN7deep_ep12internode_ll7combineILi3ELi10ELi7168ELi9EEEvPv"],
    ["moe_dispatch", "_ZN7deep_ep12internode_ll8dispatchI"],
  ],
  "barriers of that transport": [
    ["moe_combine", "void deep_ep::internode::cached_notify<false>(int, int)"],
    ["comm/moe_dispatch", "void deep_ep::intranode::barrier<8>(int**, int)"],
  ],
  "one kernel for both directions": [["moe_dispatch", "moeAllToAllKernel"]],
  "`combine` that is attention": [
    ["mla_decode", "flash_fwd_splitkv_mla_combine_kernel"],
    ["mla_decode", "flash_fwd_mla_combine_kernel"],
    [
      "attention",
      "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 5> >",
    ],
    ["attention", "void flash::flash_fwd_splitkv_combine_kernel<int>(int)"],
  ],
  "`combine` and `topk` in routing": [
    ["moe_routing", "_combined_routing_compute"],
    ["moe_routing", "_topk_forward"],
  ],
  "kinds of top-k": [
    ["moe_routing", "moeTopK"],
    ["sampling", "TopKTopPSamplingFromProbKernel"],
    ["attention_sparse_index", "topk_transform_prefill_kernel"],
    ["attention_sparse_index", "void sglang::topk_main_kernel<true, 3>(sglang::TopKPagedParams)"],
    ["sampling/attention_sparse_index", "RadixTopKKernel_Unified"],
    ["sampling/attention_sparse_index", "FilteredTopKUnifiedKernel"],
    ["moe_routing/sampling", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)"],
  ],
  "grouped products": [
    ["moe_expert", GROUPED],
    ["gemm", PLAIN],
    ["moe_expert", GROUPED.slice(0, 130)],
  ],
  "DeepGEMM's GemmType": [
    ["gemm", deepGemm(0)],
    ["moe_expert", deepGemm(1)],
    ["moe_expert", deepGemm(2)],
    ["moe_expert/gemm", deepGemm(3)],
    ["gemm", deepGemm(4)],
    ["moe_expert", deepGemm(5)],
    ["gemm", "_ZN9deep_gemm15fp8_gemm_kernelILj4096ELj7168ELb1ELNS_8GemmTypeE0EEEvP13__nv_bfloat16"],
    ["moe_expert", "_ZN9deep_gemm15fp8_gemm_kernelILj4096ELj7168ELb1ELNS_8GemmTypeE2EEEvP13__nv_bfloat16"],
  ],
  "DeepGEMM that is no product": [
    ["attention_sparse_index", "sm90_fp8_paged_mqa_logits"],
    ["attention_sparse_index", "sm100_mqa_logits"],
    ["attention_sparse_index", "smxx_clean_logits"],
  ],
  "mega kernels": [["moe_expert", "sm100_fp8_fp4_mega_moe_impl"]],
  "`matmul` that is none": [["moe_combine", "_finalize_matmul_scatter_bf16"]],
  "no word of MoE": [
    ["moe_combine", "finalizeKernel"],
    ["moe_dispatch", "permuteKernel"],
    ["moe_dispatch", "expandInputRowsKernel"],
    ["moe_dispatch", "shuffleRowsKernel"],
    ["activation", "doActivationKernel"],
    ["moe_dispatch", "computeSendRecvRankCountKernel"],
    ["moe_dispatch", "compute_arg_sorts"],
    ["moe_dispatch", "_permute_kernel"],
    ["moe_combine", "apply_shuffle_mul_sum_kernel"],
    ["moe_expert", "batched_triton_kernel"],
  ],
  "`moe` that is none": [
    ["elementwise", "triton_poi_fused_constant_pad_nd_moe_forward_0"],
    ["norm", "triton_red_fused__to_copy_add_copy__fused_add_rms_norm_moe_forward_shared_3"],
    ["quantize", "_per_token_group_quant_fp8_hopper_moe_mn_major"],
  ],
  "`gate`": [
    ["activation", "doGatedActivationKernel"],
    ["norm", "layer_norm_gated_fwd_kernel"],
    ["linear_attn", "chunk_gated_delta_rule_fwd_kernel_h_blockdim64"],
    ["linear_attn", "fused_sigmoid_gating_delta_rule_update_kernel"],
    ["moe_routing", "topkGatingSoftmax"],
    ["moe_routing", "kimi_k2_moe_fused_gate_kernel"],
  ],
  "`expert` in routing and dispatch": [
    ["moe_routing", "routingInitExpertCounts"],
    ["moe_dispatch", "computeExpertFirstTokenOffsetKernel"],
    ["moe_dispatch", "compute_expert_offsets"],
  ],
  "`norm`": [
    ["moe_routing", "routingRenormalizeKernel"],
    ["moe_routing", "void moe::dev::routing::routingRenormalize::routingIndicesClusterKernel<int>(int)"],
    ["sampling", "TopPRenormProbKernel"],
    ["gemm", "sm100_tf32_hc_prenorm_gemm_impl"],
    ["rope", "fusedQKNormRopeKernel"],
  ],
  "`reduce`": [
    ["comm", "cross_device_reduce_1stage"],
    ["attention_decode", "paged_attention_v2_reduce_kernel"],
    ["attention_decode", "reduce_segments"],
    ["mla_decode", "Sm100FmhaMlaReductionKernel"],
    ["mla_decode", "kn_mla_reduce_v1"],
    ["gemm", "splitKreduce_kernel"],
    ["moe_combine", "moe_sum_reduce_kernel"],
    ["quantize", "segmented_max_reduction"],
    ["sampling", reduce("at::native::ArgMaxOps<float>")],
  ],
  "`softmax`": [
    ["moe_routing", "topk_softmax_kernel"],
    ["sampling", "void at::native::<unnamed>::cunn_SoftMaxForward<(int)4>(float*)"],
  ],
  "`mla` in cache writes and quantisation": [
    ["kv_cache", "concat_and_cache_mla_kernel"],
    ["kv_cache", "set_mla_kv_buffer_kernel"],
    ["kv_cache", "copy_blocks_mla_kernel"],
    ["quantize", "_per_tensor_quant_mla_fp8_stage1"],
    [
      "kv_cache",
      "void vllm::reshape_and_cache_flash_kernel<float, unsigned char, (vllm::Fp8KVCacheDataType)1>(float*)",
    ],
  ],
  "`KVCache` in attention": [
    ["attention_prefill", "void flashinfer::BatchPrefillWithPagedKVCacheKernel<int>(int)"],
    ["attention_decode", "SingleDecodeWithKVCacheKernel"],
    ["rope", "BatchQKApplyRotaryPosIdsCosSinCacheKernel"],
  ],
  "`flash`": [
    ["kv_cache", "reshape_and_cache_flash_kernel"],
    ["other", "advance_step_flashattn_kernel"],
    ["norm", "void flashinfer::norm::FusedAddRMSNormKernel<8u, float>(float*)"],
    ["sampling", "void flashinfer::sampling::TopPSamplingFromProbKernel<1024u>(float*)"],
    ["activation", "void flashinfer::activation::act_and_mul_kernel<float, &silu>(float*)"],
    ["comm", "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<int>(int)"],
    ["kv_cache", "create_flashinfer_kv_indices_triton"],
  ],
  "`_fwd_kernel…`": [
    ["attention_prefill", "_fwd_kernel"],
    ["attention_decode", "_fwd_kernel_stage1"],
    ["mla_decode/attention_decode", "_fwd_grouped_kernel_stage1"],
    ["moe_dispatch", "_fwd_kernel_ep_scatter_2"],
    ["moe_combine", "_fwd_kernel_ep_gather"],
  ],
  "FlashMLA and flash-attn": [
    ["mla_decode", "void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64> >(int)"],
    ["attention", "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64> >(int)"],
    ["mla_prefill", "sparse_attn_fwd_kernel"],
  ],
  "FlashAttention 3 behind a launcher": [
    ["mla_prefill", fa3(128, 128, 192, 128)],
    ["mla_decode", fa3(64, 64, 64, 512)],
    ["attention", fa3(128, 128, 128, 128)],
    ["attention", fa3(128, 80, 256, 256)],
    ["mla_prefill", fa3Nsys(192, 128)],
    ["mla_decode", fa3Nsys(64, 512)],
    ["attention", fa3Nsys(128, 128)],
    ["mla_prefill", FA3_MANGLED.prefill],
    ["mla_decode", FA3_MANGLED.decode],
    ["attention", FA3_MANGLED.other],
  ],
  "trtllm-gen attention": [
    [
      "mla_decode",
      "fmhaSm100fKernel_QkvBfloat16OBfloat16HQk576HV512PagedKvDenseP64VarSeqQ16Kv128PersistentSwapsAbForGen",
    ],
    ["mla_decode", "fmhaSm100fKernel_QkvBfloat16OBfloat16HQk576HV512HVPerCta128PagedKvDenseP32…"],
    ["attention_prefill", "fmhaSm100fKernel_QkvE4m3OBfloat16H64PagedKvCausalP64VarSeqQ128Kv128PersistentContext"],
    ["attention_prefill", "fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvCausalP64VarSeqQ1…"],
    ["attention_decode", "fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvDenseP64VarSeqQ8Kv128PersistentSwapsAbForGen"],
  ],
  "trtllm-gen attention, cut": [
    ["attention_decode", "fmhaSm100fKernel_QkvBfloat16OBfloat16H64PagedKvSlidingOrChunkedCausalP64VarSeqQ8Kv128Persi…"],
    ["mla_decode", "fmhaSm100fKernel_QkvBfloat16OBfloat16HQk576HV512HVPerCta256PagedKvDenseP64MultiCtasKvVarSe…"],
  ],
  FlashInfer: [
    ["attention_decode", "void flashinfer::BatchDecodeWithPagedKVCacheKernel<int>(int)"],
    ["attention_prefill/mla_prefill", "BatchPrefillWithRaggedKVCacheKernel"],
    ["mla_decode", "void flashinfer::mla::BatchMLAPagedAttentionKernel<int>(int)"],
    ["attention", "PODWithKVCacheTensorKernel"],
  ],
  "CUTLASS launchers": [
    ["other", "Kernel2"],
    ["other", "device_kernel"],
    ["gemm", "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_tn_align8>(T1::Params)"],
  ],
  "CuTe DSL": [
    [
      "norm",
      "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__tensorptrbf16g",
    ],
    [
      "quantize",
      "kernel_cutlass_kernel_flashinferquantizationkernelsnvfp4_quantizeNVFP4QuantizeSwizzledKernel_object_at__",
    ],
    ["attention", "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptr"],
    [
      "gemm",
      "kernel_cutlass_kernel_flashinfergemmkernelsdense_blockscaled_gemm_sm100Sm100BlockScaled_object_at__TiledMMA",
    ],
  ],
  cuDNN: [["attention", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x192_4x1x1"]],
  "fused names of torch.compile": [
    ["elementwise", "triton_poi_fused_add_all_reduce_0"],
    ["norm", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1"],
    ["embedding", "triton_poi_fused_embedding_0"],
    ["elementwise", "triton_poi_fused_3"],
    ["activation", "triton_poi_fused_mul_silu_17"],
  ],
  ATen: [
    ["activation", aten("at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}")],
    ["elementwise", aten("at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}")],
    ["elementwise", aten("at::native::FillFunctor<float>")],
    ["elementwise", aten("at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}")],
    ["elementwise", reduce("at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >")],
    ["activation", "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_11silu_kernelERNS_18TensorIteratorBaseE"],
  ],
  "spellings of NCCL": [
    ["comm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"],
    ["comm", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"],
    ["comm", "ncclDevKernel_Generic"],
    ["comm", "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16"],
    ["comm", "mscclKernel_Sum_half_Simple_false"],
    ["comm", "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"],
  ],
  "collectives that may move tokens": [
    ["comm", "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"],
    ["comm", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"],
    ["comm", "ncclDevKernel_SendRecv"],
  ],
  "custom all-reduce": [
    ["comm", "void vllm::cross_device_reduce_2stage<half, 8>(vllm::RankData*)"],
    ["comm", "two_shot_all_reduce_kernel_inplace"],
    ["comm", "oneShotAllReduceKernel"],
    ["comm", "moefinalize_allreduce_fusion_kernel_oneshot_lamport"],
  ],
  AMD: [
    ["gemm", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT160x256x64_MI16x16x1"],
    ["norm", "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassIiEEEEEvT_"],
    ["norm", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi16ELb0EEEvPT0_"],
    [
      "moe_expert",
      "void ck::kernel_moe_mxgemm_2lds<ck::GridwiseMoeGemmMX_BPreshuffle<ck::tensor_layout::gemm::RowMajor",
    ],
    ["attention_decode", "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128>(__hip_bfloat16*)"],
    ["memcpy", "__amd_rocclr_copyBuffer.kd"],
    ["other", "kentry"],
  ],
  "a function whose namespace tells": [
    ["moe_expert", "void aiter::mxfp4_moe::gemm2::kernel<655360, 385, 512, 7168>(int)"],
    ["other", "void foo::kernel<float, 4>(int)"],
    ["norm", "void layer_norm::ln_fwd_kernel<int>(int)"],
  ],
  "GGUF and INT4": [
    ["gemm", "mul_mat_vec_q"],
    ["moe_expert", "moe_vec_q"],
    ["gemm", "void marlin::Marlin<__nv_bfloat16, 256>(int4 const*)"],
    ["moe_expert", "void marlin_moe_wna16::Marlin<__nv_bfloat16, 256>(int4 const*)"],
    ["moe_expert", "w4a16_moe_sm90_kernel"],
  ],
  "sorts and scans": [
    ["other", "void cub::CUB_200301_860_NS::DeviceRadixSortOnesweepKernel<int>(int)"],
    ["other", "trampoline_kernel"],
  ],
  "speculative decoding": [
    ["sampling", "VerifyTreeGreedy"],
    ["other", "build_tree_efficient"],
  ],
  "copies by the driver": [
    ["memcpy", "memcpy32_post"],
    ["memcpy", "[CUDA memcpy Device-to-Device]"],
    ["memcpy", "[CUDA memset]"],
    ["memcpy", "Memcpy DtoD (Device -> Device)"],
    ["memcpy", "Memset (Device)"],
  ],
};

describe.each(Object.entries(TRAPS))("%s", (_title, traps) => {
  it.each(traps)("%s: %s", (expected, name) => {
    expect(expected.split("/")).toContain(stageOf(name).stage);
  });
});

const alternativesOf = (name: string): readonly Stage[] => stageOf(name).alternatives;

describe("what a name leaves open", () => {
  it.each<[string, Stage]>([
    ["moeAllToAllKernel", "moe_combine"],
    ["moefinalize_allreduce_fusion_kernel_oneshot_lamport", "moe_combine"],
    ["void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)", "sampling"],
    [aten("at::native::FillFunctor<float>"), "memcpy"],
    [aten("at::native::sigmoid_kernel_cuda(int)"), "moe_routing"],
    [reduce("at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float> >"), "moe_combine"],
    ["sm90_fp8_gemm_1d1d_impl", "moe_expert"],
    ["Marlin", "moe_expert"],
    [GROUPED, "gemm"],
  ])("%s: also %s", (name, stage) => {
    expect(alternativesOf(name)).toContain(stage);
  });
});

describe("what nobody can know", () => {
  it.each([
    "",
    "kernel",
    "kernel_0",
    "foo_bar_kernel",
    "Kernel2",
    "device_kernel",
    "k7",
    "__omp_offloading_31_18a8104__Z_1...",
  ])("%j is other, with low confidence", (name) => {
    expect(stageOf(name)).toMatchObject({ stage: "other", family: "other" });
    expect(stageOf(name).confidence).toBeLessThan(0.2);
  });

  it("a cut name is less sure, and what it lacks does not decide", () => {
    const cut = PLAIN.slice(0, PLAIN.indexOf("GemmUniversal<") + "GemmUniversal<".length);
    expect(stageOf(cut).confidence).toBeLessThan(0.6);
    expect(alternativesOf(cut)).toContain("moe_expert");
    const whole = deepGemm(2);
    const start = stageOf(whole.slice(0, whole.indexOf("(deep_gemm")));
    expect(start.confidence).toBeLessThan(0.5);
    expect(start.alternatives).toContain("moe_expert");
    expect(stageOf(fa3(128, 128, 192, 128).slice(0, 180)).confidence).toBeLessThan(0.5);
    expect(stageOf("void vllm::rms_norm_kernel<c10::BFloat16, ...").confidence).toBeLessThan(
      stageOf("void vllm::rms_norm_kernel<c10::BFloat16, 8>(float*)").confidence,
    );
  });

  it("takes hostile names in little time", () => {
    const hostile = [
      "moe".repeat(40_000),
      "expertsumtopkreduce".repeat(1000),
      `void cutlass::device_kernel<CollectiveMainloopFwdSm90<2, cute::tuple<${"cute::C<1>      ,".repeat(500)}`,
      `_ZN7cutlass13device_kernelI${"CollectiveMainloopFwdIIIIIJJJ".repeat(300)}`,
      `triton_poi_fused_${"mean_pow_".repeat(2000)}`,
      `_Z${"9".repeat(9000)}`,
      `_ZN${"S_".repeat(4000)}`,
      "<".repeat(9000),
      `std::enable_if<${"(".repeat(8000)}`,
      "(anonymous namespace)::".repeat(3000),
    ];
    const start = performance.now();
    for (const name of hostile) expect(stageOf(name).confidence).toBeGreaterThan(0);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});
