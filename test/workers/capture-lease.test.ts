import { afterAll, beforeAll, expect, it } from "vitest";
import { type Leases, openLeases } from "../../src/leases/leases.ts";
import type { WorkerGpu } from "../../src/model/worker.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { type LeaseWish, leaseGpus } from "../../workers/capture-lease.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { registration } from "../helpers/fake-worker.ts";
import { testRedis } from "../helpers/redis.ts";
import { until } from "../helpers/until.ts";

const server = testRedis(temporaryFolder());
let redis: RedisConnections;
let leases: Leases;
beforeAll(async () => {
  await server.start();
  redis = await connectRedis({ url: server.url }, () => {});
  leases = await openLeases(redis, () => {});
});
afterAll(async () => {
  leases.close();
  redis.close();
  await server.kill();
});

const [gpu] = registration().gpus as [WorkerGpu];
const GPUS = [1, 2].map((index) => ({ ...gpu, index, uuid: `GPU-${index}` }));
const wish = (more: Partial<LeaseWish> = {}): LeaseWish => ({
  candidates: GPUS,
  count: 1,
  holder: "w1",
  signal: new AbortController().signal,
  onWaiting: () => {},
  ...more,
});

it("takes GPUs that nobody holds first, and waits its turn where all are held", async () => {
  const first = await leaseGpus(leases, wish());
  const second = await leaseGpus(leases, wish());
  expect([first.gpus, second.gpus]).toEqual([["GPU-1"], ["GPU-2"]]);
  const told: string[][] = [];
  const third = leaseGpus(leases, wish({ count: 2, onWaiting: ({ blocked_by }) => told.push(blocked_by) }));
  await until(() => told.length > 0);
  expect(told).toEqual([[first.id, second.id]]);
  await Promise.all([first.release(), second.release()]);
  const held = await third;
  expect(held.gpus).toEqual(["GPU-1", "GPU-2"]);
  expect(held.token).toBeGreaterThan(second.token);
  await held.release();
  expect(await leases.list()).toEqual([]);
});

it("waits an outage of Redis out", async () => {
  await server.kill();
  await until(() => !redis.isUp());
  const leased = leaseGpus(leases, wish());
  // It has asked, and was told that Redis is away.
  await expect(leases.list()).rejects.toMatchObject({ code: "unavailable" });
  await server.start();
  const held = await leased;
  expect(held.gpus).toEqual(["GPU-1"]);
  await held.release();
});

it("leaves nothing behind where it is stopped, while it waits or while Redis is away", async () => {
  const held = await leaseGpus(leases, wish({ count: 2 }));
  const stop = new AbortController();
  let waits = false;
  const waiting = leaseGpus(leases, wish({ signal: stop.signal, onWaiting: () => (waits = true) }));
  await until(() => waits);
  stop.abort("canceled");
  await expect(waiting).rejects.toBe("canceled");
  expect((await leases.list()).map(({ id }) => id)).toEqual([held.id]);
  await held.release();

  await server.kill();
  await until(() => !redis.isUp());
  const stopped = new AbortController();
  const asking = leaseGpus(leases, wish({ signal: stopped.signal }));
  stopped.abort("canceled");
  await expect(asking).rejects.toBe("canceled");
  await server.start();
});
