import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endAtExit } from "./end-at-exit.ts";

/** The service as a process of its own: `profile-kernel serve`. */
export interface ServiceProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** What it wrote to standard error. */
  log(): string;
  /** Sends a signal and waits until the process is gone. Returns its exit code, null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Starts it with exactly these settings beside PATH and waits until it listens. */
export async function startServiceProcess(settings: Record<string, string>): Promise<ServiceProcess> {
  const child = endAtExit(
    spawn(process.execPath, [CLI, "serve"], {
      env: { PATH: process.env.PATH ?? "", PORT: "0", LOG_LEVEL: "warn", ...settings },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    }),
  );
  let log = "";
  child.stderr?.on("data", (chunk) => {
    log += chunk;
  });
  child.stdout?.resume();
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const [message] = await Promise.race([
    once(child, "message"),
    exited.then(([code]) => {
      throw new Error(`the service ended with ${code}: ${log}`);
    }),
  ]);
  return {
    url: (message as { url: string }).url,
    child,
    log: () => log,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}
