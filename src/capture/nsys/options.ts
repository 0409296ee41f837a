import { join } from "node:path";
import { type Capture, DISK_FLOOR_BYTES, runLimits } from "../capture-parts.ts";
import type { NsysRunOptions } from "./run.ts";

/** Writing 3,892 kernels took 0.1 s; reports of hours take minutes. */
export const EXPORT_MS = 10 * 60_000;

/** What a run of nsys of this capture may touch, and what bounds it. `name`: of the file for what it prints. */
export function nsysOptions(
  options: Pick<Capture, "workload" | "deadline" | "cwd" | "env" | "folder" | "recordFolder" | "stop" | "secrets">,
  nsys: string,
  name: string,
  limitMs = Number.POSITIVE_INFINITY,
): NsysRunOptions {
  const { cwd, env, folder, recordFolder, stop, secrets } = options;
  const { totalMs, outputBytes, reportBytes, graceMs, shortGraceMs } = runLimits(options);
  return {
    nsys,
    cwd,
    env,
    recordFolder,
    stop,
    secrets,
    outputPath: join(folder, `${name}.out`),
    limits: {
      totalMs: Math.min(totalMs, limitMs),
      outputBytes,
      reportBytes,
      diskFloorBytes: DISK_FLOOR_BYTES,
      graceMs,
      shortGraceMs,
    },
  };
}
