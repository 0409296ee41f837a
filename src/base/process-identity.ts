import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/**
 * When a process started, in whatever form the system gives it, or null where there is no such process. Together with
 * the pid it names one process for ever: pids are used again, start times are not. Linux: field 22 of
 * /proc/<pid>/stat (proc(5)), with the id of this boot; elsewhere `ps`.
 */
export async function processStartTime(pid: number): Promise<string | null> {
  if (process.platform === "linux") {
    try {
      const [stat, boot] = await Promise.all([
        readFile(`/proc/${pid}/stat`, "utf8"),
        readFile("/proc/sys/kernel/random/boot_id", "utf8"),
      ]);
      // The second field is the name in parentheses and may hold spaces: count from behind it.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const state = fields[0];
      return state === "Z" || state === "X" ? null : `${boot.trim()}/${fields[19]}`;
    } catch {
      return null;
    }
  }
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)]);
    return stdout.trim() || null;
  } catch {
    return null;
  }
}

/** Ends a process that is still the one named, kindly first, and waits until it is gone. */
export async function endProcess(pid: number, startTime: string, graceMs: number): Promise<void> {
  const deadline = Date.now() + graceMs;
  for (let signal: NodeJS.Signals | null = "SIGTERM"; (await processStartTime(pid)) === startTime; await sleep(20)) {
    if (signal === null && Date.now() > deadline) signal = "SIGKILL";
    if (signal === null) continue;
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    signal = null;
  }
}
