import { describe, expect, it } from "vitest";
import { flatOf, launchedOf, spellingOf, wordsOf } from "../../../src/analysis/stages/spelling.ts";

describe("a kernel name taken apart", () => {
  it.each([
    ["dispatch", "", "dispatch", false],
    ["void deep_ep::internode_ll::dispatch<true, 3>(void*)", "deep_ep::internode_ll::", "dispatch", false],
    ["_ZN7deep_ep12internode_ll8dispatchILb1ELi3EEEvPv", "deep_ep::internode_ll::", "dispatch", false],
    ["_ZN7deep_ep12internode_ll8dispa", "deep_ep::internode_ll::", "dispa", true],
    ["_ZN12_GLOBAL__N_13addEv", "", "add", false],
    [
      "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
      "",
      "ncclDevKernel_AllGather_RING_LL",
      false,
    ],
    ["void (anonymous namespace)::f<1>(int)", "", "f", false],
    ["void <unnamed>::f<(bool)1>(<unnamed>::P)", "", "f", false],
    ["void a::<unnamed>::f<1>()", "a::", "f", false],
    ["a::(anonymous namespace)::f(int)", "a::", "f", false],
    ["std::enable_if<(((8)>(0)))&&v::_t<float>::exists, void>::type v::norm<float, 8>(float*)", "v::", "norm", false],
    ["__amd_rocclr_copyBuffer.kd", "", "__amd_rocclr_copyBuffer", false],
    ["f(int) [clone .cold]", "", "f", false],
    ["void v::f<unsigned char,", "v::", "f", true],
    ["void v::f<c10::BFl...", "v::", "f", true],
    ["fmhaSm100fKernel_Qkv…", "", "fmhaSm100fKernel_Qkv", true],
    ["", "", "", false],
    ["  spaced  ", "", "spaced", false],
  ])("%s", (name, space, base, isCut) => {
    expect(spellingOf(name)).toMatchObject({ space, base, isCut });
  });

  it.each([
    ["void cutlass::Kernel2<cutlass_80_s16816gemm_relu>(T1::Params)", "cutlass_80_s16816gemm_relu"],
    ["void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>(x)", "FlashAttnFwdSm90"],
    ["_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_4PipeEEEEvT_", "Rmsnorm2dFwd"],
    ["_ZN7cutlass7Kernel2I8gemm_abc8gemm_defEEvNT_6ParamsE", "gemm_abc"],
    ["void kentry<1, (int)2, true, ck::Rms>(x)", "Rms"],
  ])("what %s launches", (name, base) => {
    expect(launchedOf(spellingOf(name))?.base).toBe(base);
  });

  it.each([
    ["FusedAddRMSNormKernel", "_fused_add_rms_norm_kernel_", "fusedaddrmsnormkernel"],
    ["topkGatingSoftmax", "_topk_gating_softmax_", "topkgatingsoftmax"],
    ["moeTopK", "_moe_top_k_", "moetopk"],
    ["create_flashinfer_kv_indices", "_create_flashinfer_kv_indices_", "createkvindices"],
    ["gemma_rmsnorm", "_gemma_rmsnorm_", "rmsnorm"],
    ["gemm_a8w8", "_gemm_a8w8_", "gemma8w8"],
  ])("words of %s", (base, words, flat) => {
    expect(wordsOf(base)).toBe(words);
    expect(flatOf(base)).toBe(flat);
  });
});
