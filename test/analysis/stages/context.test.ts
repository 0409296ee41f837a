import { describe, expect, it } from "vitest";
import { type StageContext, stageOf } from "../../../src/analysis/stages/index.ts";
import type { KernelNames } from "../../../src/model/launch.ts";

const GROUPED =
  "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>, int>>(T1::Params)";
const TOP_K = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)";
const NVJET = "nvjet_tst_64x8_64x16_2x1_v_bz_TNT";

describe("what stands around a launch", () => {
  it.each<[string, string, StageContext, string, string]>([
    ["a grouped product of a dense model", GROUPED, { isMoe: false }, "gemm", "args.group-problem+no-moe"],
    ["a grouped product of an MoE model", GROUPED, { isMoe: true }, "moe_expert", "args.group-problem"],
    ["top-k of a dense model", TOP_K, { isMoe: false }, "sampling", "aten.top-k-row+no-moe"],
    ["top-k in the sampler", TOP_K, { nvtx: ["step 3", "sampler"] }, "sampling", "aten.top-k-row+nvtx:sampler"],
    [
      "ragged prefill with MLA",
      "BatchPrefillWithRaggedKVCacheKernel",
      { isMla: true },
      "mla_prefill",
      "word.prefill+mla",
    ],
    ["decode with MLA", "BatchDecodeWithPagedKVCacheKernel", { isMla: true }, "mla_decode", "word.decode+mla"],
    [
      "grouped stage 1 without MLA",
      "_fwd_grouped_kernel_stage1",
      { isMla: false },
      "attention_decode",
      "word.grouped-stage-1+no-mla",
    ],
    ["the router's product", NVJET, { nvtx: ["model.layers.3.mlp.gate"] }, "moe_routing", "prefix.nvjet+nvtx:router"],
    ["an expert's product", NVJET, { nvtx: ["model.layers.3.mlp.experts"] }, "moe_expert", "prefix.nvjet+nvtx:experts"],
    [
      "the innermost range decides",
      NVJET,
      { nvtx: ["sampler", "model.layers.3.mlp.gate"] },
      "moe_routing",
      "prefix.nvjet+nvtx:router",
    ],
    ["a range that says nothing", NVJET, { nvtx: ["model.layers.3.mlp.gate_up_proj"] }, "gemm", "prefix.nvjet"],
    ["a shared expert's product", NVJET, { nvtx: ["model.layers.3.mlp.shared_experts"] }, "gemm", "prefix.nvjet"],
    ["an unknown kernel of an operator", "my_kernel", { op: "aten::mm" }, "gemm", "unknown+op"],
    [
      "a reduction of moe_sum",
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float> > > >(int)",
      { op: "_moe_C::moe_sum" },
      "moe_combine",
      "functor.sum+op",
    ],
    [
      "a firm name in another operator",
      "void vllm::rms_norm_kernel<float, 8>(float*)",
      { op: "aten::mm" },
      "norm",
      "word.norm",
    ],
    [
      "a firm name in another range",
      "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
      { nvtx: ["model.layers.3.mlp.experts"] },
      "comm",
      "prefix.nccl",
    ],
    ["nothing known", NVJET, { isMoe: null, isMla: null, nvtx: [], op: null }, "gemm", "prefix.nvjet"],
  ])("%s", (_title, name, context, stage, rule) => {
    expect(stageOf(name, context)).toMatchObject({ stage, rule });
  });

  it("keeps what the name said among the alternatives", () => {
    expect(stageOf(GROUPED, { isMoe: false }).alternatives).toContain("moe_expert");
    expect(stageOf(NVJET, { nvtx: ["router"] })).toMatchObject({ family: "moe", alternatives: ["gemm"] });
  });
});

describe("several spellings of one kernel", () => {
  const names: KernelNames = {
    mangled: null,
    function: "device_kernel",
    demangled: GROUPED,
    display: GROUPED,
    simplified: false,
  };

  it("the longest decides", () => {
    expect(stageOf(names)).toMatchObject({ stage: "moe_expert", rule: "args.group-problem" });
  });

  it("where it says nothing, another may", () => {
    expect(
      stageOf({ ...names, demangled: null, display: "k9_with_a_long_private_name", function: "rms_norm_kernel" }),
    ).toMatchObject({
      stage: "norm",
    });
    expect(stageOf({ ...names, demangled: null, display: "device_kernel" })).toMatchObject({ stage: "other" });
  });
});
