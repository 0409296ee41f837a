/**
 * Lines of Nsight Compute that mean something, and lines of programs that say why a capture went wrong. Texts are those
 * of versions 2020 to 2025.3.1 as recorded in test/fixtures/logs; those marked there as hand-written follow NVIDIA's
 * documentation or public threads. First match wins.
 */
interface KnownLine {
  readonly code: string;
  readonly pattern: RegExp;
}

/** Behind `==PROF==`, `==WARNING==` or `==ERROR==`. */
const TOOL_LINES = [
  // Life of the run.
  { code: "connected", pattern: /^Connected to process \d+/i },
  { code: "disconnected", pattern: /^Disconnected from process \d+/i },
  { code: "no_cuda_child", pattern: /^Target process \d+ terminated before first instrumented API call/ },
  { code: "report", pattern: /^Report: / },
  { code: "shutdown", pattern: /^Trying to shutdown target application/ },
  { code: "received_signal", pattern: /^Received signal/ },
  { code: "waiting_for_attach", pattern: /^Waiting for profiler to attach/ },
  { code: "finding", pattern: /^Finding attachable processes/ },
  { code: "attaching", pattern: /^Attaching to process/ },
  { code: "no_attachable", pattern: /^No processes found on|^No attachable process found/ },
  // Nothing was profiled, or less than asked for.
  { code: "no_kernels", pattern: /^No kernels were profiled/ },
  { code: "children_hint", pattern: /^Profiling kernels launched by child processes requires/ },
  { code: "no_metrics", pattern: /^No metrics to collect found in sections/ },
  { code: "metrics_inaccessible", pattern: /^Unable to access the following \d+ metrics/ },
  { code: "nvtx_push_pop", pattern: /^Note that specified NVTX include expressions match only push\/pop ranges/ },
  // Conditions of the measurement.
  { code: "clocks_unmodified", pattern: /^Note: Running with unmodified GPU clocks/ },
  { code: "clock_reset", pattern: /^Found outstanding GPU clock reset/ },
  { code: "memory_backup", pattern: /^Backing up device memory in system memory/ },
  { code: "hang", pattern: /^Launching the workload is taking more time than expected/ },
  // Why it cannot be done.
  { code: "not_permitted", pattern: /ERR_NVGPUCTRPERM|does not have permission to (?:access|profile)/ },
  { code: "resource_unavailable", pattern: /driver resource was unavailable/ },
  { code: "lock_file", pattern: /^Failed to open\/create lock file|InterprocessLockFailed/ },
  { code: "gpu_unsupported", pattern: /^Profiling is not supported on (?:device|this)/ },
  { code: "driver_incompatible", pattern: /^Cuda driver is not compatible with Nsight Compute/i },
  { code: "clock_lock", pattern: /^(?:Cannot|Failed to) lock GPU clock/i },
  { code: "subscribers", pattern: /CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED/ },
  { code: "installation", pattern: /nsight-compute directory is not found/i },
  { code: "context_save", pattern: /ContextSaveFailed/ },
  { code: "unexpected_count", pattern: /^Unexpected number of profiled kernels/ },
  { code: "save_failed", pattern: /^Failed to save the report to file/ },
  { code: "launch_failed", pattern: /^LaunchFailed/ },
  { code: "failed_to_profile", pattern: /^Failed to profile / },
  { code: "prepare_failed", pattern: /^Failed to prepare kernel for profiling/ },
  { code: "unknown_error", pattern: /^Unknown ?Error/ },
  { code: "driver_error", pattern: /^An error was reported by the driver/ },
  { code: "application_code", pattern: /^The application returned an error code \(-?\d+\)/ },
  { code: "profile_error", pattern: /^An error occurred while trying to profile/ },
  // Before the start.
  { code: "unknown_section", pattern: /did not match any section|^Use --list-sections/ },
  { code: "program_missing", pattern: /does not exist or is not an executable/ },
  { code: "output_exists", pattern: /already exists\. Use '-f'/ },
  { code: "output_unwritable", pattern: /^Unable to write to file/ },
  {
    code: "usage",
    pattern: /^unrecognised option|^Invalid option|^Option |^the (?:required )?argument|--help for further details/i,
  },
] as const satisfies readonly KnownLine[];

/** Anywhere in a line of the program. */
const PROGRAM_LINES = [
  { code: "not_permitted", pattern: /\bERR_NVGPUCTRPERM\b/ },
  { code: "subscribers", pattern: /CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED/ },
  { code: "installation", pattern: /nsight-compute directory is not found/i },
  { code: "context_save", pattern: /\bContextSaveFailed\b/ },
  { code: "lock_file", pattern: /\bInterprocessLockFailed\b/ },
  // PyTorch's ProcessGroupNCCL, 600,000 ms by default.
  {
    code: "watchdog",
    pattern: /Watchdog caught collective operation timeout|Some NCCL operations have failed or timed out/,
  },
  { code: "peer_timeout", pattern: /DeepEP timeout check failed|NVSHMEM.{0,40}timed? ?out/i },
] as const satisfies readonly KnownLine[];

export type NcuLineCode =
  | (typeof TOOL_LINES)[number]["code"]
  | (typeof PROGRAM_LINES)[number]["code"]
  | "other_error"
  | "other_warning";

/** What a line of the tool means; null for a line of ==PROF== that is not known. */
export function toolLine(kind: string, text: string): NcuLineCode | null {
  const known = TOOL_LINES.find(({ pattern }) => pattern.test(text));
  if (known !== undefined) return known.code;
  return kind === "ERROR" ? "other_error" : kind === "WARNING" ? "other_warning" : null;
}

/** What a line of the program says about the capture, or null. */
export const programLine = (text: string): NcuLineCode | null =>
  PROGRAM_LINES.find(({ pattern }) => pattern.test(text))?.code ?? null;
