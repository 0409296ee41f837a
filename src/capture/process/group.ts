import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { within } from "../../base/deadline.ts";
import { ALIVE_INTERVAL_MS, GUARDIAN, type GuardianOrder, type GuardianWord } from "./guardian.ts";

export interface GroupOptions {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment: nothing of this process is added. */
  readonly env: Readonly<Record<string, string>>;
  /** File that standard output and error are written to. */
  readonly outputPath: string;
  readonly outputLimitBytes: number;
  /** Folder of this worker where running groups are written down for `endLeftovers`. */
  readonly recordFolder: string;
  /** All output, also behind the limit. */
  onOutput?(chunk: Buffer): void;
  /** Told once, when the output passes its limit or cannot be written: the file is cut there. */
  onOutputLimit?(): void;
}

export interface GroupEnd {
  /** Exit code and signal of the first process. Both null: it was never started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly outputBytes: number;
  readonly outputTruncated: boolean;
  /** Why it could not be started (ENOENT, EACCES, …), else null. */
  readonly startError: string | null;
}

/** A program with all processes that it makes: they end together. */
export interface Group {
  /** Pid, process group and session of the program; 0 where it could not be started. */
  readonly pid: number;
  /** The first process has ended and its output is complete. Others of the group may still run: see `gone`. */
  readonly ended: Promise<GroupEnd>;
  /** No process of the group or with its marker is left. */
  readonly gone: Promise<void>;
  /** Sends a signal to the process group; nothing where it is gone. */
  signal(signal: NodeJS.Signals): void;
  /** Signals the process group, waits, then kills it with all that came of it. Resolves when none is left. */
  end(options: { readonly signal: "SIGTERM" | "SIGINT"; readonly graceMs: number }): Promise<GroupEnd>;
}

/** What has ended may have children that keep its output open: nothing for so long is the end of it. */
const QUIET_MS = 250;
const ENDED_BY_GUARDIAN = { code: null, signal: "SIGKILL" } as const;

/**
 * Starts a program as a process group in a session of its own, under a guardian process that ends the group when this
 * process ends, however that happens, or stands still for longer than its leases last. A program that cannot be started is no error: `ended` says so.
 */
export async function startGroup(options: GroupOptions): Promise<Group> {
  const { argv, cwd, env, recordFolder } = options;
  await mkdir(recordFolder, { recursive: true, mode: 0o700 });
  const marker = randomUUID();
  const record = join(recordFolder, `${marker}.json`);
  const guardian = startGuardian({ kind: "run", argv: [...argv], cwd, env, marker, record, owner: process.pid }, true);
  const output = new Output(guardian.output, options);

  let pid = 0;
  let end: Pick<GroupEnd, "code" | "signal" | "startError"> | null = null;
  let gone = false;
  const started = deferred();
  const exited = deferred();
  const allGone = deferred();
  const over = (how: Pick<GroupEnd, "code" | "signal" | "startError">): void => {
    end ??= how;
    started.resolve();
    exited.resolve();
  };
  guardian.listen((word) => {
    if (word.say === "started") {
      pid = word.pid;
      started.resolve();
    } else if (word.say === "failed") {
      over({ code: null, signal: null, startError: word.code });
      gone = true;
    } else if (word.say === "exit") over({ code: word.code, signal: word.signal, startError: null });
    else gone = true;
  });
  const speaking = setInterval(() => tell("alive"), ALIVE_INTERVAL_MS).unref();
  void guardian.ended.then(async (error) => {
    clearInterval(speaking);
    // A guardian that was killed leaves its group: another one ends it, known by what was written down.
    if (!gone && error === null) await endLeftover(record, true);
    over(error === null ? { ...ENDED_BY_GUARDIAN, startError: null } : { code: null, signal: null, startError: error });
    gone = true;
    allGone.resolve();
  });

  const tell = (line: string): void => {
    if (!gone) guardian.input.write(`${line}\n`);
  };
  const ended = exited.promise.then(async (): Promise<GroupEnd> => {
    await output.complete();
    return { ...(end ?? { ...ENDED_BY_GUARDIAN, startError: null }), ...output.seen() };
  });
  await started.promise;
  return {
    pid,
    ended,
    gone: allGone.promise,
    signal: (signal) => tell(`signal ${signal}`),
    async end({ signal, graceMs }) {
      tell(`end ${signal} ${Math.max(0, Math.round(graceMs))}`);
      await allGone.promise;
      return ended;
    },
  };
}

/**
 * Ends the groups that are written down in the folder and whose worker no longer runs: what is left when a worker and
 * the guardian died. Returns how many groups still had processes. For the start of a worker.
 */
export async function endLeftovers(recordFolder: string): Promise<number> {
  const names = await readdir(recordFolder).catch(() => []);
  const records = names.filter((name) => /^[0-9a-f-]{36}\.json$/.test(name));
  let groups = 0;
  for (const name of records) if ((await endLeftover(join(recordFolder, name), false)) > 0) groups++;
  return groups;
}

/** `mine`: the group is of this process, which lives, and is ended all the same. */
async function endLeftover(record: string, mine: boolean): Promise<number> {
  const guardian = startGuardian({ kind: "leftover", record, mine }, false);
  let found = 0;
  guardian.listen((word) => {
    if (word.say === "gone") found = word.found;
  });
  await guardian.ended;
  return found;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

interface Guardian {
  readonly input: Writable;
  /** Output of the program, where it was asked for. */
  readonly output: Readable | null;
  listen(hear: (word: GuardianWord) => void): void;
  /** The guardian process has ended and all its words were heard; the reason where it could not even be started. */
  readonly ended: Promise<string | null>;
}

function startGuardian(order: GuardianOrder, withOutput: boolean): Guardian {
  const child: ChildProcess = spawn(process.execPath, ["-e", GUARDIAN], {
    stdio: ["pipe", "pipe", "ignore", withOutput ? "pipe" : "ignore"],
    // A session of its own: what is sent to this process and its group must not reach the guardian first.
    detached: true,
    cwd: "/",
    env: { PATH: process.env.PATH ?? "" },
  });
  const { stdin, stdout } = child as ChildProcess & { stdin: Writable; stdout: Readable };
  stdin.on("error", () => {});
  const ended = new Promise<string | null>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    // Not `close`: that waits for the program's output too, and the program may outlive a guardian that was killed.
    let left = 2;
    const one = () => --left === 0 && resolve(null);
    child.once("exit", one);
    stdout.once("close", one);
  });
  stdin.write(`${JSON.stringify(order)}\n`);
  return {
    input: stdin,
    output: withOutput ? (child.stdio[3] as Readable) : null,
    ended,
    listen(hear) {
      let text = "";
      stdout.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) hear(JSON.parse(line) as GuardianWord);
      });
    },
  };
}

/** Writes the program's output to its file, up to the limit, and keeps reading behind it: a full pipe would stop the program. */
class Output {
  #bytes = 0;
  #written = 0;
  #truncated = false;
  #lastAt = Date.now();
  readonly #closed: Promise<void>;
  readonly #options: GroupOptions;
  readonly #file: Writable;

  constructor(source: Readable | null, options: GroupOptions) {
    this.#options = options;
    const file = createWriteStream(options.outputPath, { mode: 0o600 });
    file.on("error", () => this.#cut());
    this.#file = file;
    this.#closed = new Promise((resolve) => {
      if (source === null) return resolve();
      source.on("error", () => {});
      source.once("close", resolve);
      source.on("data", (chunk: Buffer) => {
        this.#lastAt = Date.now();
        this.#bytes += chunk.length;
        if (!this.#write(chunk)) {
          source.pause();
          const resume = () => source.resume();
          file.once("drain", resume).once("error", resume);
        }
        options.onOutput?.(chunk);
      });
    });
  }

  /** False: wait until the file has taken it. */
  #write(chunk: Buffer): boolean {
    if (this.#truncated) return true;
    const room = this.#options.outputLimitBytes - this.#written;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#written += part.length;
    const taken = part.length === 0 || this.#file.write(part);
    if (part.length < chunk.length) this.#cut();
    return taken;
  }

  #cut(): void {
    if (this.#truncated) return;
    this.#truncated = true;
    this.#options.onOutputLimit?.();
  }

  /** For when the program has ended: waits for the rest of its output and until the file has it. */
  async complete(): Promise<void> {
    this.#lastAt = Date.now();
    while (
      (await within(
        50,
        this.#closed.then(() => true),
        false,
      )) === false
    ) {
      if (Date.now() - this.#lastAt > QUIET_MS) break;
    }
    await new Promise<void>((resolve) => {
      if (this.#file.destroyed) return resolve();
      this.#file.write("", () => resolve());
      this.#file.once("error", () => resolve());
    });
    void this.#closed.then(() => this.#file.end());
  }

  seen(): Pick<GroupEnd, "outputBytes" | "outputTruncated"> {
    return { outputBytes: this.#bytes, outputTruncated: this.#truncated };
  }
}
