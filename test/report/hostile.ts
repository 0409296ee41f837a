import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { HostileResult } from "./hostile-child.ts";

/**
 * No case may keep the reader busy for longer. Counted is the time that the child really ran: on a machine with other
 * work a case of a second can take many. Waiting for nothing is a hang as well, hence the second limit.
 */
const HANG_CPU_MS = 5000;
const HANG_WALL_MS = 60_000;
/** USER_HZ, the unit of times in /proc/PID/stat, is 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10;

/** Time that a process has run so far; on systems without /proc the time that has passed. */
function ranMs(pid: number | undefined): number {
  if (process.platform !== "linux") return performance.now();
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return 0;
  }
}

/**
 * Bundles the child once, so that each start of it takes a fraction of a second. `run` starts it with arguments and
 * rejects where it crashes, or is busy for over five seconds in one case.
 */
export async function hostileChild(): Promise<{
  run: (...args: (string | number)[]) => Promise<HostileResult>;
  remove: () => void;
}> {
  const folder = mkdtempSync(join(tmpdir(), "hostile-child-"));
  const outfile = join(folder, "child.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("hostile-child.ts", import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
  });
  return {
    run: (...args) => run(outfile, args.map(String)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function run(path: string, args: readonly string[]): Promise<HostileResult> {
  return new Promise((resolve, reject) => {
    const child = fork(path, args);
    let running = "start";
    // Starting the process is not reading.
    let startedCpu = Number.POSITIVE_INFINITY;
    let started = performance.now();
    const watchdog = setInterval(() => {
      const cpu = ranMs(child.pid) - startedCpu;
      const wall = performance.now() - started;
      if (cpu <= HANG_CPU_MS && wall <= HANG_WALL_MS) return;
      child.kill("SIGKILL");
      reject(new Error(`no end after ${cpu} ms of work in ${Math.round(wall)} ms: ${running}`));
    }, 250);
    child.on("message", (message: string | HostileResult) => {
      startedCpu = ranMs(child.pid);
      started = performance.now();
      if (typeof message === "string") running = message;
      else resolve(message);
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearInterval(watchdog);
      reject(new Error(`ended with ${code ?? signal}: ${running}`));
    });
  });
}
