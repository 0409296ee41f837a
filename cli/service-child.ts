import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ListeningMessage } from "./commands/serve.ts";
import { EXIT } from "./exit-codes.ts";
import { CommandFailure } from "./failure.ts";

/** A service of our own, with data that goes when it goes. */
export interface ServiceChild {
  readonly url: string;
  readonly dataDir: string;
  /** Ends the service and everything it started, and removes its data. */
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 15_000;
/** Characters of the log that are worth showing when the start fails. */
const LOG_TAIL = 4_000;

/** No setting of the caller reaches the child: it must not touch a Redis, database or folder that is in use. */
const PASSED_ON = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "NODE_OPTIONS"];

/**
 * Starts `serve` on a free port of loopback with a temporary data folder.
 * @param entry the script of the command line; @param signal ends the start.
 * @throws CommandFailure with exit code 6 and the end of the child's log where it does not come up.
 */
export async function startServiceChild(entry: string, signal: AbortSignal): Promise<ServiceChild> {
  const dataDir = await mkdtemp(join(tmpdir(), "profile-kernel-demo-"));
  const env = Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  // A group of its own: Ctrl-C reaches only the parent, which then stops the child in order.
  const child = spawn(process.execPath, [entry, "serve", "--host", "127.0.0.1", "--port", "0", "--data-dir", dataDir], {
    env: { ...env, LOG_LEVEL: "warn", SHUTDOWN_TIMEOUT_S: "5" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    detached: true,
  });
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-LOG_TAIL);
  });
  const stop = async (): Promise<void> => {
    await end(child);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    return { url: await listening(child, signal), dataDir, stop };
  } catch (error) {
    await stop();
    if (signal.aborted) throw error;
    throw startFailure(log, error);
  }
}

/** The child's last words are its reason and advice, in the form of `failureText`. */
function startFailure(log: string, error: unknown): CommandFailure {
  const [, message, hint] = /profile-kernel: (.+)\n(?: {2}(.+)\n)?$/.exec(log) ?? [];
  return new CommandFailure(EXIT.unavailable, {
    code: "service_not_started",
    message: message ?? `the service did not start: ${error instanceof Error ? error.message : String(error)}`,
    hint: hint ?? log.trim().split("\n").at(-1) ?? "",
  });
}

async function listening(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
  const [first] = await Promise.race([
    once(child, "message", { signal: limit }),
    once(child, "exit", { signal: limit }).then(([code, by]) => {
      throw new Error(`it ended with ${code === null ? by : `exit code ${code}`}`);
    }),
  ]);
  const message = first as ListeningMessage;
  return message.url;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => {
    // The group, so that an embedded Redis goes too.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, STOP_LIMIT_MS);
  await exited;
  clearTimeout(late);
}
