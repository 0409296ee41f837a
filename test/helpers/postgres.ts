import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { endAtExit } from "./end-at-exit.ts";

/** A real Postgres of this test file's own, on a unix socket, gone at its end. */
export interface TestPostgres {
  /** Makes an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** An outage, and its end. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 30_000;

/**
 * Null with a message where Postgres is not installed; under CI=true that is an error.
 * @param settings `postgresql.conf` entries. By default commits do not reach the disk: tests kill processes, not the machine.
 */
export async function startPostgres(
  settings: Record<string, string> = { fsync: "off" },
  parent = tmpdir(),
): Promise<TestPostgres | null> {
  const bin = findBinaries();
  if (bin === null) {
    const message = "Postgres is not installed (apt-get install postgresql): its tests are skipped";
    if (process.env.CI === "true") throw new Error(message);
    console.warn(message);
    return null;
  }
  const folder = mkdtempSync(join(parent, "pk-postgres-"));
  const user = otherUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH ?? "", LC_ALL: "C" } };
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], {
    ...options,
    stdio: "ignore",
  });
  const set = Object.entries({
    listen_addresses: "",
    unix_socket_directories: folder,
    max_connections: "60",
    ...settings,
  });
  const args = ["-D", data, ...set.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const url = (database: string): string =>
    `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;
  const run = async (): Promise<{ server: ChildProcess; admin: pg.Client }> => {
    const server = endAtExit(spawn(join(bin, "postgres"), args, { ...options, stdio: "ignore" }));
    return { server, admin: await connect(url("postgres"), server) };
  };
  let running = await run();
  const down = async (): Promise<void> => {
    await running.admin.end();
    const ended = once(running.server, "exit");
    // Fast shutdown: open sessions are cut.
    running.server.kill("SIGINT");
    await ended;
  };
  let made = 0;
  return {
    async createDatabase() {
      const name = `test_${++made}`;
      await running.admin.query(`create database ${name}`);
      return url(name);
    },
    down,
    async up() {
      running = await run();
    },
    async stop() {
      await down();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function connect(url: string, server: ChildProcess): Promise<pg.Client> {
  const deadline = Date.now() + START_LIMIT_MS;
  for (;;) {
    const client = new pg.Client(url);
    // The shutdown of the server ends this connection, which is no error here.
    client.on("error", () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

function findBinaries(): string | null {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions.map((version) => join(debian, version, "bin")),
  ];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres"))) ?? null;
}

/** Postgres refuses to run as root. */
function otherUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (!found) throw new Error("Postgres does not run as root, and there is neither a user postgres nor nobody");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}
