import { constants } from "node:fs";
import { access, chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { Redis } from "ioredis";
import { endProcess, processStartTime } from "../base/process-identity.ts";

/** A redis-server that belongs to this process and ends with it, also when this process is killed. */
export interface EmbeddedRedis {
  readonly socketPath: string;
  close(): Promise<void>;
}

export interface EmbeddedRedisOptions {
  readonly dataDir: string;
  /** Told when the server ended by itself and is started again. */
  readonly onRestart: (reason: string) => void;
}

/** Redis cannot be started; the message is a sentence for the person who starts the service. */
export class RedisUnavailableError extends Error {
  override readonly name = "RedisUnavailableError";
}

/** `sun_path` of a unix socket holds 108 bytes with its final zero (unix(7)), on macOS 104; Redis binds a name as long as its own. */
const MAX_SOCKET_PATH_BYTES = 100;
const TEMPORARY_PREFIX = "profile-kernel-redis-";
/** Loading a large append-only file takes a while. */
const START_LIMIT_MS = 60_000;
const END_GRACE_MS = 10_000;
const RESTART_DELAY_MS = 250;

/**
 * Runs between this process and redis-server. Its standard input is a pipe from this process: when that closes, however
 * this process ended, it ends redis-server, which is its own child and so cannot be mistaken for another process.
 */
const GUARDIAN = `
const { spawn } = require("node:child_process");
const child = spawn(process.argv[1], process.argv.slice(2), { stdio: "ignore" });
let ending = false;
const end = () => {
  if (ending) return;
  ending = true;
  child.kill("SIGTERM");
  setTimeout(() => child.kill("SIGKILL"), ${END_GRACE_MS}).unref();
};
child.on("error", () => process.exit(127));
child.on("exit", (code) => process.exit(code ?? 1));
process.stdin.on("end", end).on("error", end).resume();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, end);
process.stdout.on("error", () => {});
process.stdout.write(child.pid + "\\n");
`;

/**
 * Starts redis-server under `dataDir` on a unix socket, with its append-only file on, and waits until it answers. What
 * an earlier service that was killed left running on the same folder is ended first: it is known by pid and start time.
 * The caller holds the lock of the folder.
 * @throws RedisUnavailableError
 */
export async function startEmbeddedRedis({ dataDir, onRestart }: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const binary = await findOnPath("redis-server");
  if (binary === null) {
    throw new RedisUnavailableError(
      "redis-server was not found on the PATH. Install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), or set REDIS_URL to a Redis that is running.",
    );
  }
  const folder = join(dataDir, "redis");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const record = join(folder, "process.json");
  await endLeftover(record);

  const inFolder = join(folder, "redis.sock");
  const temporary =
    Buffer.byteLength(inFolder) > MAX_SOCKET_PATH_BYTES ? await mkdtemp(join(tmpdir(), TEMPORARY_PREFIX)) : null;
  if (temporary) await chmod(temporary, 0o700);
  const socketPath = temporary ? join(temporary, "redis.sock") : inFolder;

  const run = () => launch(binary, folder, socketPath, record, temporary);
  let current = await run().catch(async (error) => {
    if (temporary) await rm(temporary, { recursive: true, force: true });
    throw error;
  });
  let closing = false;

  const supervise = async (): Promise<void> => {
    for (;;) {
      await current.ended;
      if (closing) return;
      onRestart(await lastLogLine(folder));
      await sleep(RESTART_DELAY_MS);
      if (closing) return;
      await endLeftover(record, temporary);
      try {
        current = await run();
      } catch {
        // Told by the next round: `ended` of the failed start has settled.
      }
      // `close` was called meanwhile and ended the one before.
      if (closing) current.end();
    }
  };
  const supervised = supervise();

  return {
    socketPath,
    async close() {
      closing = true;
      current.end();
      await current.ended;
      await supervised;
      await rm(record, { force: true });
      if (temporary) await rm(temporary, { recursive: true, force: true });
    },
  };
}

interface Running {
  readonly ended: Promise<void>;
  end(): void;
}

async function launch(
  binary: string,
  folder: string,
  socketPath: string,
  record: string,
  temporary: string | null,
): Promise<Running> {
  const log = join(folder, "redis.log");
  await writeFile(log, "");
  const settings = {
    port: "0",
    unixsocket: socketPath,
    unixsocketperm: "700",
    dir: folder,
    logfile: log,
    appendonly: "yes",
    appendfsync: "everysec",
    save: "",
    "maxmemory-policy": "noeviction",
    daemonize: "no",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  // A session of its own: Ctrl-C in the terminal must reach the service only, which still needs its Redis to finish.
  const guardian = execa(process.execPath, ["-e", GUARDIAN, binary, ...args], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
    buffer: false,
    detached: true,
    cleanup: false,
    reject: false,
    extendEnv: false,
    env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" },
  });
  guardian.stdin.on("error", () => {});
  let over = false;
  const ended = guardian.then(() => {
    over = true;
  });
  const recorded = new Promise<void>((resolve) => {
    guardian.stdout.setEncoding("utf8").once("data", (line: string) => {
      // Without a record the guardian still ends the server; only what outlives both is not found again.
      writeRecord(record, Number.parseInt(line, 10), temporary)
        .catch(() => {})
        .finally(resolve);
    });
    void ended.finally(resolve);
  });

  const client = new Redis({ path: socketPath, lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  client.on("error", () => {});
  const deadline = Date.now() + START_LIMIT_MS;
  try {
    for (;;) {
      const answered = await client
        .connect()
        .then(() => client.ping())
        .then(
          () => true,
          () => false,
        );
      if (answered) break;
      if (over || Date.now() > deadline) {
        guardian.stdin.end();
        throw new RedisUnavailableError(
          `redis-server did not start: ${await lastLogLine(folder)} (its log: redis/redis.log in the data folder).`,
        );
      }
      await sleep(10);
    }
  } finally {
    client.disconnect();
  }
  await recorded;
  return { ended, end: () => guardian.stdin.end() };
}

async function writeRecord(record: string, pid: number, temporary: string | null): Promise<void> {
  const start_time = await processStartTime(pid);
  if (start_time === null) return;
  // Renamed, so that whoever reads it reads all of it.
  await writeFile(`${record}.new`, JSON.stringify({ pid, start_time, temporary }));
  await rename(`${record}.new`, record);
}

/** Ends the server that `record` names, if it still runs, and removes its temporary folder unless it is `keep`. */
async function endLeftover(record: string, keep: string | null = null): Promise<void> {
  let left: { pid?: unknown; start_time?: unknown; temporary?: unknown };
  try {
    left = JSON.parse(await readFile(record, "utf8"));
  } catch {
    return;
  }
  if (typeof left.pid === "number" && typeof left.start_time === "string")
    await endProcess(left.pid, left.start_time, END_GRACE_MS);
  const { temporary } = left;
  if (typeof temporary === "string" && temporary !== keep && temporary.startsWith(join(tmpdir(), TEMPORARY_PREFIX))) {
    await rm(temporary, { recursive: true, force: true });
  }
  await rm(record, { force: true });
}

async function lastLogLine(folder: string): Promise<string> {
  const log = await readFile(join(folder, "redis.log"), "utf8").catch(() => "");
  return (
    log
      .trim()
      .split("\n")
      .at(-1)
      ?.replace(/^\S+ \d+ \w+ \d+ [\d:.]+ . /, "") || "it ended without a word"
  );
}

async function findOnPath(name: string): Promise<string | null> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue;
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return null;
}
