import { basename } from "node:path";
import { looksSecret } from "../../base/redact.ts";
import type { Failure } from "../../model/profile.ts";

/** What a CUDA program needs of the worker's own environment and what holds no secret. All else is handed on by name only. */
const HANDED_ON = [
  "PATH",
  "USER",
  "LOGNAME",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TERM",
  "SHELL",
  "LD_LIBRARY_PATH",
  "CUDA_HOME",
  "CUDA_PATH",
  "CUDA_ROOT",
  "CUDA_DEVICE_ORDER",
  "CUDA_MODULE_LOADING",
  "VIRTUAL_ENV",
  "CONDA_PREFIX",
  "CONDA_DEFAULT_ENV",
  "PYTHONPATH",
  "PYTHONHOME",
  "PYTHONUNBUFFERED",
  "HF_HOME",
  "HF_HUB_CACHE",
  "HF_HUB_OFFLINE",
  "XDG_CACHE_HOME",
  "TRITON_CACHE_DIR",
  "TORCH_HOME",
  "OMP_NUM_THREADS",
  "NVIDIA_VISIBLE_DEVICES",
  "NVIDIA_DRIVER_CAPABILITIES",
] as const;

/** Variables that put a library into a program's slot for profilers: seen, so that a taken slot is noticed. */
const SLOTS = [
  "CUDA_INJECTION64_PATH",
  "CUDA_INJECTION32_PATH",
  "NVTX_INJECTION64_PATH",
  "NVTX_INJECTION32_PATH",
  "LD_PRELOAD",
] as const;

export interface EnvironmentOptions {
  /** The worker's own environment. */
  readonly base: Readonly<Record<string, string | undefined>>;
  /** Variables that the workload sets; they win over the worker's. */
  readonly set: Readonly<Record<string, string>>;
  /** Further variables of the worker that the workload asks for by name, secrets too. */
  readonly pass: readonly string[];
  /** Uuids of the leased GPUs, in the order in which the program numbers them; null: all that the worker sees. */
  readonly gpus: readonly string[] | null;
  /** Folder for temporary and lock files, of this user alone. */
  readonly tmpDir: string;
  /** Folder that can be written: ncu copies its section files there. */
  readonly homeDir: string;
}

/**
 * The whole environment of a program under ncu. TMPDIR, CUDA_VISIBLE_DEVICES and LC_ALL (numbers are printed by it) belong
 * to the capture and cannot be set. A slot for profilers that is taken is handed on, so that `injectionSlot` refuses it:
 * to drop it would silently measure another environment than the workload's.
 */
export function childEnvironment(options: EnvironmentOptions): Record<string, string> {
  const { base, set, pass, gpus, tmpDir, homeDir } = options;
  const env: Record<string, string> = {};
  const take = (name: string): void => {
    const value = base[name];
    if (value !== undefined) env[name] = value;
  };
  for (const name of HANDED_ON) if (!looksSecret(name)) take(name);
  for (const name of SLOTS) take(name);
  for (const name of pass) take(name);
  env.HOME = homeDir;
  Object.assign(env, set);
  env.TMPDIR = tmpDir;
  env.LC_ALL = "C";
  if (gpus !== null) env.CUDA_VISIBLE_DEVICES = gpus.join(",");
  return env;
}

/** Values that must not appear in a log: of variables that look like secrets, or that were passed on by name. */
export const secretValues = (env: Readonly<Record<string, string>>, pass: readonly string[]): string[] =>
  Object.entries(env)
    .filter(([name]) => looksSecret(name) || (pass.includes(name) && !(HANDED_ON as readonly string[]).includes(name)))
    .map(([, value]) => value);

/** Libraries that take the profiler's place when preloaded: CUPTI, nsys, compute-sanitizer, NVBit, Proton, DCGM, Intel GTPin. */
const PRELOADED_PROFILER =
  /cupti|nsight|nsys|ncu|sanitizer|nvbit|toolsinjection|proton|dcgm|tracer|injection|profiler/i;

/**
 * Why ncu would find its place taken, or null. A process has one injection slot and one CUPTI subscriber
 * (`CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED`); behind an occupied slot ncu sees no kernels. Names the variable
 * and the base name of its value only.
 */
export function injectionSlot(env: Readonly<Record<string, string>>): Failure | null {
  for (const name of SLOTS) {
    const value = env[name];
    if (value === undefined || value === "") continue;
    const libraries = name === "LD_PRELOAD" ? value.split(/[\s:]+/).map((path) => basename(path)) : [basename(value)];
    const library = libraries.find((file) => name !== "LD_PRELOAD" || PRELOADED_PROFILER.test(file));
    if (library === undefined) continue;
    return {
      code: "injection_slot_taken",
      message: `The environment of the workload sets ${name} to ${library}: another tool holds the place that Nsight Compute needs.`,
      hint: `Start a copy of the program without ${name} (remove it from env or pass_env in workloads.yaml, or from the worker's own environment).`,
      retryable: false,
      evidence: { variable: name, library },
    };
  }
  return null;
}
