import { baseName } from "./kernel-name.ts";
import type { KernelNames } from "./launch.ts";

/**
 * Words in the names of kernels that wait for another GPU. Replaying one hangs: ncu holds back the launch of the peer it
 * waits for (NVIDIA/nccl#466, #536, nccl-tests#101), or its flags are used up after the first pass (DeepEP, NVSHMEM,
 * custom all-reduce of vLLM, SGLang and TensorRT-LLM, mega-MoE of DeepGEMM).
 */
export const COLLECTIVE_WORDS =
  "nccl|nvshmem|deep_ep|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce|multimem|lamport|one_?shot|two_?shot|mega_moe";

/** `dispatch` and `combine` are words of many kernels; only as whole function names are they DeepEP's. */
export const DEEP_EP_NAMES = "(?:cached_)?(?:notify_)?(?:dispatch|combine)|cached_notify";

const COLLECTIVE = new RegExp(COLLECTIVE_WORDS, "i");
const DEEP_EP = new RegExp(`^(?:${DEEP_EP_NAMES})$`);

/** True for a kernel that must never be replayed. Takes a function, mangled or demangled name. */
export const isCollective = (name: string): boolean => COLLECTIVE.test(name) || DEEP_EP.test(baseName(name));

/** The same of all names that a kernel has. */
export const isCollectiveKernel = ({ display, function: own, mangled, demangled }: KernelNames): boolean =>
  [display, own, mangled, demangled].some((name) => name !== null && isCollective(name));

export const NEVER_REPLAYED =
  "it waits for other GPUs inside the kernel, so it is never replayed for counters: a second pass would wait for ever";
