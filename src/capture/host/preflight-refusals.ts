import type { Failure } from "../../model/profile.ts";
import type { GpuProcess } from "./nvidia-smi.ts";
import type { NvidiaSmiProblem } from "./nvidia-smi-query.ts";

/** What opens the counters; also said by `worker check`. */
export const PERMISSION_HINT =
  "Give the worker CAP_SYS_ADMIN (systemd: AmbientCapabilities=CAP_SYS_ADMIN; container: --cap-add SYS_ADMIN), or open the counters to everybody on the host: the module option NVreg_RestrictProfilingToAdminUsers=0 and a reload of the nvidia module.";

/** Counters are for administrators, and the worker is none. */
export const permissionRefusal = (adminOnly: boolean | null): Failure => ({
  code: "counters_not_permitted",
  message: "The worker may not read GPU counters: the driver gives them to CAP_SYS_ADMIN only, which it does not have.",
  hint: PERMISSION_HINT,
  retryable: false,
  evidence: { RmProfilingAdminOnly: adminOnly === null ? null : adminOnly ? 1 : 0, cap_sys_admin: false },
});

export const diskRefusal = (folder: string, freeBytes: number, floorBytes: number): Failure => ({
  code: "disk_full",
  message: `The work folder has ${freeBytes} bytes left; a capture starts with at least ${floorBytes}.`,
  hint: `Free space in the file system of ${folder}: a report with all counters takes about 5 MB a launch and more.`,
  retryable: true,
  evidence: { folder, free_bytes: freeBytes, floor_bytes: floorBytes },
});

/** Another process computes on a leased GPU. */
export const otherProcessRefusal = (
  processes: readonly GpuProcess[],
  policy: "wait" | "fail",
  waitLimitMs: number,
): Failure => ({
  code: "gpu_busy",
  message:
    policy === "fail"
      ? `${processes.length} other process(es) compute on the leased GPUs.`
      : `${processes.length} other process(es) still computed on the leased GPUs after ${Math.round(waitLimitMs / 1000)} s.`,
  hint: "End them, or let them take a lease of kind benchmark so that captures wait in order; other_process_on_gpu in workloads.yaml says what to do with processes that take none.",
  retryable: true,
  evidence: {
    policy,
    processes: processes.slice(0, 20).map(({ pid, gpu, name, memory_used_bytes }) => ({
      pid,
      gpu,
      name: name.split("/").at(-1) ?? "",
      memory_used_bytes: memory_used_bytes.value,
    })),
  },
});

export const unreadableRefusal = ({ code, message, hint }: NvidiaSmiProblem): Failure => ({
  code: "preflight_failed",
  message: `The state of the GPUs cannot be read: ${message}.`,
  hint,
  retryable: code !== "missing",
  evidence: { nvidia_smi: code },
});
