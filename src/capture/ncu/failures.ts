import type { Failure } from "../../model/profile.ts";
import type { NcuLineCode } from "./lines.ts";
import type { NcuObservation } from "./output.ts";

type Code = Failure["code"];

/** Failures whose cause a line of the output names. */
export interface NamedCause {
  readonly line: NcuLineCode;
  readonly code: Code;
  readonly message: (observed: NcuObservation) => string;
  readonly hint: string;
  readonly retryable: boolean;
  /** Counts only where a launch has no end. */
  readonly onlyUnfinished?: boolean;
}

const kernel = ({ lastKernel }: NcuObservation): string => (lastKernel === null ? "a kernel" : `"${lastKernel}"`);

/**
 * Causes in the order in which they are looked for: what explains the others comes first. Later errors of the program
 * often hide the line that matters. `always`: also where the capture itself ended the run, which these lines never
 * follow from; the rest is looked at only when the run ended by itself.
 */
export const CAUSES: { readonly always: readonly NamedCause[]; readonly ownEnd: readonly NamedCause[] } = {
  always: [
    {
      line: "not_permitted",
      code: "counters_not_permitted",
      message: () => "The driver does not let this user read performance counters (ERR_NVGPUCTRPERM).",
      hint: "Run the worker as root with CAP_SYS_ADMIN (container: --cap-add SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0; /proc/driver/nvidia/params then says RmProfilingAdminOnly: 0.",
      retryable: false,
    },
    {
      line: "resource_unavailable",
      code: "counters_in_use",
      message: () => "Another tool holds the performance counters of this GPU.",
      hint: "Pause DCGM (dcgmi profile --pause; `dcgm` in workloads.yaml does it for each capture), stop dcgm-exporter, nsys or another ncu on this host, and try again.",
      retryable: true,
    },
    {
      line: "lock_file",
      code: "lock_file_denied",
      message: () => "Nsight Compute could not open its lock file in the temporary folder.",
      hint: "The file belongs to another user. Give the worker a folder of its own as DATA_DIR, or remove nsight-compute-lock as its owner.",
      retryable: false,
    },
    {
      line: "driver_incompatible",
      code: "driver_incompatible",
      message: () => "The driver is too old for this Nsight Compute, or its libraries do not belong together.",
      hint: "Use a newer driver, or an older ncu: compare `ncu --version` with nvidia-smi.",
      retryable: false,
    },
    {
      line: "gpu_unsupported",
      code: "gpu_not_supported",
      message: () => "This Nsight Compute does not know this GPU.",
      hint: "`ncu --list-chips` lists the ones it knows; install a version that is newer (or, for Pascal and older, 2019.5).",
      retryable: false,
    },
    {
      line: "clock_lock",
      code: "clock_control_failed",
      message: () => "Nsight Compute could not lock the clocks of the GPU, as on a MIG instance.",
      hint: "Ask for ncu.clock_control: none, which is the default.",
      retryable: false,
    },
    {
      line: "subscribers",
      code: "injection_slot_taken",
      message: () => "Another profiling library is active in the program: CUPTI serves one at a time.",
      hint: "Start the program without CUDA_INJECTION64_PATH, continuous profilers, compute-sanitizer or a torch profiler.",
      retryable: false,
    },
    {
      line: "installation",
      code: "tool_missing",
      message: () => "The ncu that was found is a script that does not find its own installation.",
      hint: "Name the path of the real ncu in the settings of the worker.",
      retryable: false,
    },
    {
      line: "context_save",
      code: "replay_impossible",
      message: (seen) =>
        `The device memory could not be saved for the replay of ${kernel(seen)}: it is mapped between GPUs, or there is no room.`,
      hint: "Profile a single rank with the shapes of one rank, or make the KV cache smaller for the counter run (counter_args).",
      retryable: false,
    },
    {
      line: "unexpected_count",
      code: "replay_not_deterministic",
      message: () =>
        "The program launched other kernels in one pass than in the one before, so the passes do not fit together.",
      hint: "Fix the sizes that differ between runs (cache size, routing, batch), or profile the operation alone. The same run again ends the same way.",
      retryable: false,
    },
    {
      line: "watchdog",
      code: "replay_impossible",
      message: () =>
        "The collective watchdog of the program ended it: ranks waited longer than the process group allows while the profiler held one back.",
      hint: "Raise the time-out of the process group for the capture only, and profile a single rank or less in one window.",
      retryable: false,
    },
    {
      line: "peer_timeout",
      code: "replay_impossible",
      message: (seen) =>
        `A kernel that waits for other GPUs ran into its own time-out while ${kernel(seen)} was profiled.`,
      hint: "Kernels that wait for peers cannot be replayed: profile a single rank.",
      retryable: false,
    },
    {
      line: "save_failed",
      code: "disk_full",
      message: () => "Nsight Compute could not write the report: the disk is full, or writing failed.",
      hint: "Free space under DATA_DIR, or measure fewer launches.",
      retryable: true,
    },
  ],
  ownEnd: [
    {
      line: "unknown_section",
      code: "unknown_section",
      message: () => "Nsight Compute does not have a section that was asked for.",
      hint: "`ncu --list-sections` lists those of this version.",
      retryable: false,
    },
    {
      line: "program_missing",
      code: "program_missing",
      message: () => "The program does not exist or cannot be run.",
      hint: "Correct argv in workloads.yaml: an absolute path, or a name on the PATH of the worker.",
      retryable: false,
    },
    {
      line: "usage",
      code: "ncu_usage",
      message: () => "Nsight Compute refused an option.",
      hint: "Compare ncu.set, sections and metrics of the request with `ncu --help` of the version on this host.",
      retryable: false,
    },
    {
      line: "output_exists",
      code: "ncu_usage",
      message: () => "The report that was to be written exists already.",
      hint: "Remove it: Nsight Compute writes over a report only when told to.",
      retryable: false,
    },
    {
      line: "output_unwritable",
      code: "disk_full",
      message: () => "Nsight Compute cannot write its report.",
      hint: "Check space, rights and mounts of DATA_DIR.",
      retryable: true,
    },
    {
      line: "launch_failed",
      code: "kernel_fault",
      message: (seen) =>
        `${kernel(seen)} failed while it ran (illegal access, failed assertion or bad launch); the program was ended.`,
      hint: "Run the program under compute-sanitizer. If it runs without the profiler, its launch errors may be unchecked.",
      retryable: false,
    },
    {
      line: "hang",
      code: "capture_stalled",
      message: (seen) => `${kernel(seen)} did not come to an end under replay.`,
      hint: "A kernel that waits for another GPU or for the host cannot be replayed: its time comes from a timeline. Name another kernel, or profile a single rank.",
      retryable: false,
      onlyUnfinished: true,
    },
    {
      line: "prepare_failed",
      code: "ncu_failed",
      message: (seen) => `Nsight Compute could not prepare ${kernel(seen)} for profiling.`,
      hint: "The runtime of the program and this version of the tool may not fit; the program's own result is not affected. Try another version of ncu.",
      retryable: false,
    },
    {
      line: "unknown_error",
      code: "ncu_failed",
      message: (seen) => `Nsight Compute met an unknown error at ${kernel(seen)}.`,
      hint: "Kernels on several GPUs of one process, and programs with their own CUDA runtime, are known to end so. Try a single GPU or another version of ncu.",
      retryable: false,
    },
    {
      line: "no_attachable",
      code: "engine_start_failed",
      message: () => "No program was there to attach to: it has not reached its first CUDA call, or it has ended.",
      hint: "See the log of the engine.",
      retryable: true,
    },
  ],
};

export function failure(
  code: Code,
  message: string,
  hint: string,
  retryable: boolean,
  evidence: Failure["evidence"] = {},
): Failure {
  return { code, message, hint, retryable, evidence };
}
