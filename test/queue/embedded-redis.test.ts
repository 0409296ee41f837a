import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { endProcess, processStartTime } from "../../src/base/process-identity.ts";
import { connectRedis } from "../../src/queue/connections.ts";
import { startEmbeddedRedis } from "../../src/queue/embedded-redis.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { until } from "../helpers/until.ts";

interface Record {
  pid: number;
  start_time: string;
  temporary: string | null;
}

const recordOf = (dataDir: string): Record => JSON.parse(readFileSync(join(dataDir, "redis", "process.json"), "utf8"));
const hasRecord = (dataDir: string): boolean => existsSync(join(dataDir, "redis", "process.json"));
const isGone = async ({ pid, start_time }: Record): Promise<boolean> => (await processStartTime(pid)) !== start_time;
const quiet = { onRestart: () => {} };

afterEach(() => vi.unstubAllEnvs());

it("keeps its data over a restart and leaves no process", async () => {
  const dataDir = temporaryFolder();
  for (const round of [1, 2]) {
    const server = await startEmbeddedRedis({ dataDir, ...quiet });
    expect(server.socketPath).toBe(join(dataDir, "redis", "redis.sock"));
    const redis = await connectRedis({ socketPath: server.socketPath }, () => {});
    expect(await redis.producer.incr("rounds")).toBe(round);
    expect(await redis.producer.config("GET", "appendonly")).toEqual(["appendonly", "yes"]);
    expect(await redis.producer.config("GET", "maxmemory-policy")).toEqual(["maxmemory-policy", "noeviction"]);
    expect(await redis.producer.config("GET", "port")).toEqual(["port", "0"]);
    const record = recordOf(dataDir);
    redis.close();
    await server.close();
    expect(await isGone(record)).toBe(true);
    expect(hasRecord(dataDir)).toBe(false);
  }
});

it("puts the socket into a short folder where the path would be too long", async () => {
  const dataDir = join(temporaryFolder(), "d".repeat(60), "e".repeat(60));
  mkdirSync(dataDir, { recursive: true });
  const server = await startEmbeddedRedis({ dataDir, ...quiet });
  expect(Buffer.byteLength(server.socketPath)).toBeLessThanOrEqual(100);
  expect(existsSync(server.socketPath)).toBe(true);
  await server.close();
  expect(existsSync(server.socketPath)).toBe(false);
});

it("starts the server again when it ends by itself", async () => {
  const dataDir = temporaryFolder();
  const restarts: string[] = [];
  const server = await startEmbeddedRedis({ dataDir, onRestart: (reason) => restarts.push(reason) });
  const redis = await connectRedis({ socketPath: server.socketPath }, () => {});
  await redis.producer.set("kept", "yes");
  const first = recordOf(dataDir);
  await redis.producer.wait(0, 0);
  process.kill(first.pid, "SIGKILL");
  const reader = redis.consumer();
  await until(() => hasRecord(dataDir) && recordOf(dataDir).pid !== first.pid);
  expect(await reader.get("kept")).toBe("yes");
  expect(restarts).toHaveLength(1);
  redis.close();
  await server.close();
});

it("can be closed while it starts the server again", async () => {
  const dataDir = temporaryFolder();
  let restarting = (): void => {};
  const told = new Promise<void>((resolve) => {
    restarting = resolve;
  });
  const server = await startEmbeddedRedis({ dataDir, onRestart: () => restarting() });
  await until(() => hasRecord(dataDir));
  const first = recordOf(dataDir);
  process.kill(first.pid, "SIGKILL");
  await told;
  await until(() => !hasRecord(dataDir) || recordOf(dataDir).pid !== first.pid);
  await server.close();
  if (hasRecord(dataDir)) expect(await isGone(recordOf(dataDir))).toBe(true);
});

const HOLDER = (dataDir: string) => `
  const { startEmbeddedRedis } = await import(${JSON.stringify(new URL("../../src/queue/embedded-redis.ts", import.meta.url).href)});
  await startEmbeddedRedis({ dataDir: ${JSON.stringify(dataDir)}, onRestart: () => {} });
  console.log("started");
  setInterval(() => {}, 1000);
`;

async function killedHolder(dataDir: string): Promise<void> {
  const holder = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", HOLDER(dataDir)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  await until(() => hasRecord(dataDir));
  const ended = once(holder, "exit");
  holder.kill("SIGKILL");
  await ended;
}

it("ends the server when the process that started it is killed", async () => {
  const dataDir = temporaryFolder();
  await killedHolder(dataDir);
  const record = recordOf(dataDir);
  await until(() => isGone(record));
  const server = await startEmbeddedRedis({ dataDir, ...quiet });
  await server.close();
});

it("ends a server that was left behind, and nothing else that has its number", async () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, "redis");
  mkdirSync(folder);
  const left = spawn("redis-server", ["--port", "0", "--unixsocket", join(folder, "redis.sock"), "--dir", folder], {
    stdio: "ignore",
  });
  const pid = left.pid ?? 0;
  const start_time = (await processStartTime(pid)) ?? "";
  const { writeFileSync } = await import("node:fs");
  writeFileSync(join(folder, "process.json"), JSON.stringify({ pid, start_time, temporary: null }));
  const server = await startEmbeddedRedis({ dataDir, ...quiet });
  expect(left.exitCode !== null || left.signalCode !== null || (await processStartTime(pid)) !== start_time).toBe(true);
  await server.close();

  // The record names this very process, with another start time: it must live on.
  writeFileSync(
    join(folder, "process.json"),
    JSON.stringify({ pid: process.pid, start_time: "long ago", temporary: null }),
  );
  const next = await startEmbeddedRedis({ dataDir, ...quiet });
  await next.close();
});

it("ends a process that does not want to", async () => {
  const stubborn = spawn(
    process.execPath,
    ["-e", "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)"],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  await once(stubborn.stdout, "data");
  const exit = once(stubborn, "exit");
  const pid = stubborn.pid ?? 0;
  await endProcess(pid, (await processStartTime(pid)) ?? "", 50);
  expect((await exit)[1]).toBe("SIGKILL");
});

it("says what to do where redis-server is missing", async () => {
  vi.stubEnv("PATH", "/nonexistent");
  await expect(startEmbeddedRedis({ dataDir: temporaryFolder(), ...quiet })).rejects.toThrow(
    /^redis-server was not found on the PATH\. Install it \(Debian, Ubuntu: apt-get install redis-server; .*\), or set REDIS_URL to a Redis that is running\.$/,
  );
});

it("says why the server did not start", async () => {
  const dataDir = temporaryFolder();
  const folder = join(dataDir, "redis");
  mkdirSync(join(folder, "appendonlydir", "appendonly.aof.manifest"), { recursive: true });
  await expect(startEmbeddedRedis({ dataDir, ...quiet })).rejects.toThrow(/^redis-server did not start: /);
});
