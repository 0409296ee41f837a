import type { CaptureRecord } from "../../model/capture.ts";
import type { Finding } from "../../model/finding.ts";
import { slowingReasons } from "./throttle.ts";

export type PreflightReading = CaptureRecord["preflight"][number];

/**
 * Share of the device memory in use from which on kernel replay copies it to host memory: the copy needs as much again
 * on the device. Measured on an H200 (ncu 2025.3.1): a launch of a program that holds 4 GB took 6 s, of one that holds
 * 120 of 150 GB 64 s.
 */
const BACKUP_SHARE = 0.5;

const gib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

/** Whether the copy that kernel replay makes of the memory fits on the device beside it. */
export function backupFinding(gpu: string, usedBytes: number | null, totalBytes: number | null): Finding | null {
  if (usedBytes === null || totalBytes === null || usedBytes <= BACKUP_SHARE * totalBytes) return null;
  return {
    code: "memory_backup_expected",
    severity: "warning",
    message: `${gib(usedBytes)} of ${gib(totalBytes)} of ${gpu} are in use: the copy that kernel replay makes does not fit beside them and goes to host memory, which takes about a minute for each launch. Give the engine a smaller KV cache for the counter run (counter_args in workloads.yaml).`,
    launch: null,
    evidence: { gpu, memory_used_bytes: usedBytes, memory_total_bytes: totalBytes, share: usedBytes / totalBytes },
  };
}

/** What the readings of one GPU say about the numbers that are to come. */
export function readingFindings(reading: PreflightReading): Finding[] {
  const { gpu } = reading;
  const findings: Finding[] = [];
  const slowing = slowingReasons(reading.throttle_reasons ?? []);
  if (slowing.length > 0) {
    findings.push({
      code: "gpu_throttled",
      severity: "warning",
      message: `${gpu} slows its clocks (${slowing.join(", ")}): durations are longer than those of a GPU that is well.`,
      launch: null,
      evidence: {
        gpu,
        reasons: slowing.join(", "),
        sm_clock_hz: reading.sm_clock_hz,
        sm_clock_max_hz: reading.sm_clock_max_hz,
      },
    });
  }
  const backup = backupFinding(gpu, reading.memory_used_bytes, reading.memory_total_bytes);
  if (backup) findings.push(backup);
  if (reading.mig === true) {
    findings.push({
      code: "mig_device",
      severity: "info",
      message: `${gpu} is a MIG device: its clocks cannot be locked, so they are left alone (clock_control none), and counters of shared units may be missing.`,
      launch: null,
      evidence: { gpu },
    });
  }
  if (reading.persistence_mode === false) {
    findings.push({
      code: "persistence_mode_off",
      severity: "info",
      message: `Persistence mode of ${gpu} is off: the driver starts anew for each program, and settings such as clocks are forgotten in between.`,
      launch: null,
      evidence: { gpu },
    });
  }
  return findings;
}
