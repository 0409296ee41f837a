import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { HostileResult } from "./hostile-child.ts";

/** No case may take longer; on a busy machine a case of milliseconds can. */
const HANG_MS = 5000;

/**
 * Bundles the child once, so that each start of it takes a fraction of a second. `run` starts it with arguments and
 * rejects where it crashes, or hangs over five seconds in one case.
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
    const hang = (): void => {
      child.kill("SIGKILL");
      reject(new Error(`no end after ${HANG_MS} ms: ${running}`));
    };
    // Starting the process is not reading.
    let watchdog = setTimeout(hang, 60_000);
    child.on("message", (message: string | HostileResult) => {
      clearTimeout(watchdog);
      if (typeof message !== "string") resolve(message);
      else {
        running = message;
        watchdog = setTimeout(hang, HANG_MS);
      }
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(watchdog);
      reject(new Error(`ended with ${code ?? signal}: ${running}`));
    });
  });
}
