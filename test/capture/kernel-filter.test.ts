import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isCollective, kernelFilter, PIPELINE_FILTER } from "../../src/capture/ncu/kernel-filter.ts";

const argv = (target: string): readonly string[] => {
  const filter = kernelFilter(target);
  if (!filter.ok) throw new Error(filter.error.message);
  return filter.value.argv;
};
const code = (target: string): string => {
  const filter = kernelFilter(target);
  if (filter.ok) throw new Error(`${target} was taken`);
  return filter.error.code;
};
/** As ncu does: the expression is found anywhere in the function name. */
const takes = (target: string, name: string): boolean =>
  new RegExp((argv(target)[3] ?? "").replace(/^regex:/, "")).test(name);

describe("the filter for a target", () => {
  it.each([
    ["fused_moe_kernel", ["--kernel-name-base", "function", "-k", "fused_moe_kernel"], true],
    ["  fma_chain ", ["--kernel-name-base", "function", "-k", "fma_chain"], true],
    ["_Z9fma_chainPfi", ["--kernel-name-base", "function", "-k", "fma_chain"], false],
    ["_Zodd", ["--kernel-name-base", "mangled", "-k", "_Zodd"], true],
    ["fma_chain(float *, int)", ["--kernel-name-base", "function", "-k", "fma_chain"], false],
    [
      "void at::native::vectorized_elementwise_kernel<4, f>(int)",
      ["--kernel-name-base", "function", "-k", "vectorized_elementwise_kernel"],
      false,
    ],
    ["$weird name; rm -rf /", ["--kernel-name-base", "function", "-k", "$weird name; rm -rf /"], true],
  ])("%s", (target, expected, complete) => {
    const filter = kernelFilter(target);
    expect(filter.ok && filter.value.argv).toEqual(expected);
    expect(filter.ok && filter.value.complete).toBe(complete);
  });

  it.each([
    "",
    " ",
    "-k",
    "--help",
    "regex:.*",
    "a\nb",
    "a\u0000b",
    "x".repeat(5000),
    "/",
    "/a",
    "/(/",
    "/(?i)a/",
    "/\\bfoo/",
    "/a/g",
  ])("refuses %j", (target) => expect(code(target)).toBe("ncu_usage"));

  it.each([
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "void ncclSymkDevKernel_AllGather<int>()",
    "cross_device_reduce_1stage",
    "void vllm::cross_device_reduce_2stage<half, 8>(RankData*)",
    "multimem_all_reduce_kernel",
    "allreduce_fusion_kernel_oneshot_lamport",
    "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*)",
    "_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8EEEvPT_",
    "dispatch",
    "cached_notify_combine",
    "sm100_fp8_fp4_mega_moe_impl",
    "nvshmemi_barrier",
    "moeAllToAllKernel",
  ])("never replays %s", (target) => {
    expect(isCollective(target)).toBe(true);
    expect(code(target)).toBe("replay_impossible");
  });

  it.each([
    "moe_dispatch_index",
    "combineTensors",
    "dispatch_layout_kernel",
    "reduce_kernel",
    "gatherTopK",
    "vectorized_gather_kernel",
    "fused_moe_kernel",
  ])("%s is no collective", (name) => expect(isCollective(name)).toBe(false));

  it("leaves collectives out of patterns and of the pipeline", () => {
    expect(takes("/reduce/", "reduce_kernel")).toBe(true);
    expect(takes("/reduce/", "cross_device_reduce_1stage")).toBe(false);
    expect(takes("/.*/", "dispatch")).toBe(false);
    expect(takes("/.*/", "dispatch_layout_kernel")).toBe(true);
    expect(takes("/^fma/", "fma_chain")).toBe(true);
    expect(takes("/^fma/", "my_fma")).toBe(false);
    expect(takes("/a|b/", "ncclb")).toBe(false);
    for (const target of ["full pipeline", "Full-Pipeline"])
      expect(kernelFilter(target)).toEqual({ ok: true, value: PIPELINE_FILTER });
    expect(takes("full pipeline", "fused_moe_kernel")).toBe(true);
    expect(takes("full pipeline", "ncclDevKernel_AllReduce_Sum_f32")).toBe(false);
    expect(takes("full pipeline", "allReduceKernel")).toBe(false);
  });

  it("spells out both cases where a pattern asks for any", () => {
    expect(takes("/FMA_[a-c]hain\\d?/i", "fma_CHAIN3")).toBe(true);
    expect(takes("/[^F]MA/i", "fma")).toBe(false);
    expect(takes("/FMA/", "fma_chain")).toBe(false);
  });

  it("agrees with the names of collectives that are known", () => {
    const log = readFileSync(new URL("../fixtures/logs/tiny-collective-lookahead.txt", import.meta.url), "utf8");
    const names = [...log.matchAll(/Profiling "([^"]+)"/g)].map(([, name]) => name as string);
    expect(names).toHaveLength(8);
    for (const name of names) expect(takes("full pipeline", name)).toBe(true);
  });
});
