import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The built command line; global-setup.ts builds it. */
export const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = Readonly<Record<string, string>>;

/** What a shell would hand on, without what changes the output. */
function environment(env: Env): NodeJS.ProcessEnv {
  const { NO_COLOR: _, COLUMNS: __, TERM: ___, ...inherited } = process.env;
  return { ...inherited, ...env };
}

/** Starts the command line as a process of its own. */
export const startCli = (args: readonly string[], env: Env = {}, options: SpawnOptions = {}): ChildProcess =>
  spawn(process.execPath, [CLI, ...args], { stdio: ["pipe", "pipe", "pipe"], ...options, env: environment(env) });

/** Runs it to its end. */
export async function cli(
  args: readonly string[],
  { input, env = {} }: { input?: Uint8Array; env?: Env } = {},
): Promise<CliRun> {
  const child = startCli(args, env);
  if (!child.stdin || !child.stdout || !child.stderr) throw new Error("no pipes");
  child.stdin.on("error", () => {}); // it may end before it has read everything
  child.stdin.end(input);
  const exit = once(child, "close");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exit;
  return { code, stdout, stderr };
}
