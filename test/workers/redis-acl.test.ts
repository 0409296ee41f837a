import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLeases } from "../../src/leases/leases.ts";
import { captureQueueName } from "../../src/model/capture.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { startQueueWorker } from "../../src/queue/queue-worker.ts";
import { openQueues } from "../../src/queue/queues.ts";
import { openWakeUps } from "../../src/queue/wake-ups.ts";
import { endAtExit } from "../helpers/end-at-exit.ts";
import { until } from "../helpers/until.ts";

const PASSWORD = "a-password-for-tests";
const PROFILE = "01a23007-a5e8-7481-a240-6068bf8be8a2";
/** The line that the page tells operators to use. */
const ACL =
  /^ACL SETUSER .*$/m.exec(readFileSync(new URL("../../docs/gpu-host.md", import.meta.url), "utf8"))?.[0] ?? "";

let folder: string;
let server: ReturnType<typeof spawn>;
let admin: Redis;
let service: RedisConnections;
let worker: RedisConnections;
const errors: Error[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "redis-acl-test-"));
  const port = await freePort();
  server = endAtExit(
    spawn("redis-server", ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder, "--save", ""], {
      stdio: "ignore",
    }),
  );
  service = await connectRedis({ url: `redis://127.0.0.1:${port}` }, () => {});
  admin = service.producer;
  const [, ...args] = ACL.replace("<password>", PASSWORD).split(" ");
  await admin.call("ACL", ...args);
  worker = await connectRedis({ url: `redis://gpu-default:${PASSWORD}@127.0.0.1:${port}` }, (error) => {
    errors.push(error);
  });
});
afterAll(async () => {
  worker?.close();
  service?.close();
  const ended = once(server, "exit");
  server.kill("SIGKILL");
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("the ACL of a GPU host", () => {
  it("lets a worker take its jobs, hold leases and hear of changes", async () => {
    const queues = await openQueues(service, (error) => errors.push(error));
    const taken: unknown[] = [];
    const jobs = startQueueWorker(
      worker,
      captureQueueName("default"),
      1,
      async (data) => void taken.push(data),
      (error) => errors.push(error),
    );
    await queues.capture("default").add(PROFILE);
    await until(() => taken.length === 1);
    await until(async () => (await queues.capture("default").presence(PROFILE)) !== "active");

    const leases = await openLeases(worker, (error) => errors.push(error));
    const lease = await leases.request({ kind: "profile", gpus: ["GPU-1"], holder: "w", ttlS: 60, owner: null });
    expect(lease.state).toBe("held");
    await leases.renew(lease.id, { ttlS: 30 });
    expect(await leases.list()).toHaveLength(1);
    expect(await leases.release(lease.id)).toBe(true);

    const heard = await openWakeUps(worker);
    let woken = false;
    heard.listen(PROFILE, () => {
      woken = true;
    });
    (await openWakeUps(service)).publish(PROFILE);
    await until(() => woken);

    heard.close();
    leases.close();
    await jobs.close();
    await queues.close();
    expect(errors).toEqual([]);
  });

  it.each([
    ["the queue of another pool", ["LRANGE", "profile-kernel:capture-other:wait", "0", "-1"]],
    ["the queue of analyses", ["LRANGE", "profile-kernel:analysis:wait", "0", "-1"]],
    ["other keys", ["SET", "other", "1"]],
    ["the settings", ["CONFIG", "GET", "*"]],
    ["all keys at once", ["KEYS", "*"]],
    ["what empties it", ["FLUSHALL"]],
    ["other channels", ["SUBSCRIBE", "other"]],
  ])("refuses %s", async (_name, [command = "", ...args]) => {
    await expect(worker.producer.call(command, ...args)).rejects.toThrow(/NOPERM/);
  });
});
