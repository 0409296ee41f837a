import { describe, expect, it } from "vitest";
import { shortKernelName } from "../../src/charts/kernel-name.ts";

describe("shortKernelName", () => {
  it.each([
    ["fused_moe_kernel", "fused_moe_kernel"],
    ["rms_norm_kernel(const float *, float *, int)", "rms_norm_kernel"],
    [
      "void at::native::vectorized_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char *, 3>>(int, T2, T3)",
      "vectorized_elementwise_kernel<8, CUDAFunctor_add<BFloat16>, array<char *, 3>>",
    ],
    ["void <unnamed>::softmax_warp_forward<float, (bool)0>(T2 *, const T1 *)", "softmax_warp_forward<float, 0>"],
    ["void (anonymous namespace)::copy<int>(int)", "copy<int>"],
    ["(anonymous namespace)::plain(int)", "plain"],
    ["void scale<&(ns::factor(float))>(float*)", "scale<&(factor(float))>"],
    ["functor::operator()(int) const", "operator()"],
    ["void kernel<(my::Mode)2>(int)", "kernel<2>"],
    ["std::enable_if<!T7, void>::type ns::kernel<int, T7>(const T1 *)", "kernel<int, T7>"],
    ["__global__ void scale(float *, int)", "scale"],
    ["_Z4axpyfPfS_i", "_Z4axpyfPfS_i"],
    ["decode step 3", "decode step 3"],
    ["(", "("],
    ["", ""],
  ])("%s", (given, expected) => {
    expect(shortKernelName(given)).toBe(expected);
  });

  it("shows hostile names instead of obeying them", () => {
    expect(shortKernelName("evil\u001b]0;title\u0007<script>")).toBe("evil\\u{1b}]0;title\\u{7}<script>");
  });

  it("is bounded, whatever comes in", () => {
    const deep = `${"a<".repeat(50_000)}${"::".repeat(50_000)}`;
    expect(shortKernelName(deep).length).toBeLessThanOrEqual(4096);
  });
});
