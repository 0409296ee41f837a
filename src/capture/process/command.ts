import { execa } from "execa";

export interface CommandOptions {
  /** The command and everything in its group is killed after this. */
  readonly timeoutMs: number;
  /** The whole environment of the command; default: `helperEnvironment()`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes of each stream that are kept; what comes behind is read and dropped. */
  readonly maxBytes?: number;
  readonly cwd?: string;
  /** Ends the command like the time limit does. */
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  /** null where it did not end by itself. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** True where there is no such program, or it may not be executed; `stderr` then says which. */
  readonly missing: boolean;
  /** True where a stream was longer than `maxBytes`. */
  readonly truncated: boolean;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;
/** What a helper command needs of the worker's environment. None of the worker's settings is among them. */
const PASSED_ON = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"];

/** Environment of a helper command. `LC_ALL=C`: its output is parsed. */
export function helperEnvironment(env: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(passed), LC_ALL: "C" };
}

/**
 * Runs a short command to its end: no shell, in a group of its own, bounded in time and output. Never rejects: what went
 * wrong is in the result.
 */
export async function runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const [program = "", ...args] = argv;
  const subprocess = execa(program, args, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    buffer: false,
    reject: false,
    // A session of its own, so that what it starts can be ended with it.
    detached: true,
    cleanup: true,
    extendEnv: false,
    env: options.env ?? helperEnvironment(),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const stdout = keep(subprocess.stdout, maxBytes);
  const stderr = keep(subprocess.stderr, maxBytes);

  let timedOut = false;
  const end = (): void => {
    killGroup(subprocess.pid);
    // A grandchild that left the group may hold the pipes open for ever.
    subprocess.stdout.destroy();
    subprocess.stderr.destroy();
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  if (options.signal?.aborted) end();
  options.signal?.addEventListener("abort", end, { once: true });
  try {
    const { exitCode, signal, code } = await subprocess;
    const missing = code === "ENOENT" || code === "EACCES" || code === "ENOTDIR";
    return {
      code: exitCode ?? null,
      signal: signal ?? null,
      stdout: stdout.text(),
      stderr: missing ? `${program}: ${code}` : stderr.text(),
      timedOut,
      missing,
      truncated: stdout.truncated() || stderr.truncated(),
    };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", end);
  }
}

/** In one sentence, how a command that did not do its work ended. */
export function describeFailure(argv: readonly string[], result: CommandResult): string {
  const name = argv[0] ?? "";
  if (result.missing) return `${name} was not found or may not be executed`;
  if (result.timedOut) return `${name} did not answer in time`;
  const said = firstLine(result.stderr) || firstLine(result.stdout);
  const how = result.code === null ? `was ended by ${result.signal ?? "the caller"}` : `ended with ${result.code}`;
  return `${name} ${how}${said === "" ? "" : `: ${said}`}`;
}

const firstLine = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line !== "")
    ?.slice(0, 500) ?? "";

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

function keep(stream: NodeJS.ReadableStream, maxBytes: number): { text(): string; truncated(): boolean } {
  const chunks: Buffer[] = [];
  let kept = 0;
  let truncated = false;
  stream.on("data", (chunk: Buffer) => {
    const room = maxBytes - kept;
    if (chunk.length > room) truncated = true;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    chunks.push(part);
    kept += part.length;
  });
  stream.on("error", () => {});
  return { text: () => Buffer.concat(chunks).toString("utf8"), truncated: () => truncated };
}
