import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { LeaseEndedError, LeaseWantedError } from "../../src/leases/errors.ts";
import { keepLease } from "../../src/leases/keep.ts";
import { type LeaseOptions, type Leases, openLeases } from "../../src/leases/leases.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { temporaryFolder } from "../helpers/databases.ts";
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
beforeEach(() => redis.producer.flushall());

const ask = (more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  kind: "profile",
  gpus: ["GPU-1"],
  holder: "test",
  ttlS: 60,
  owner: null,
  ...more,
});

/** Resolves with the reason when the signal fires. */
const fired = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });

it("keeps a lease far beyond its ttl, and ends it on release", async () => {
  const lease = await leases.request(ask({ ttlS: 0.3 }));
  const keeper = keepLease(leases, lease);
  await until(async () => Date.now() > Date.parse(lease.expires_at) + 600);
  expect(await leases.get(lease.id)).toMatchObject({ state: "held", token: lease.token });
  await keeper.release();
  await keeper.release();
  expect(await leases.get(lease.id)).toMatchObject({ state: "ended", end_reason: "released" });
  // Released by the holder itself: nothing was lost.
  expect(keeper.lost.aborted).toBe(false);
  await expect(keeper.setPreemptible(true)).rejects.toThrow(LeaseEndedError);
});

it("says that it is lost as soon as somebody deletes it", async () => {
  const lease = await leases.request(ask());
  const keeper = keepLease(leases, lease);
  await leases.release(lease.id);
  expect(await fired(keeper.lost)).toMatchObject({ name: "RefusedError", code: "lease_ended", reason: "released" });
  await expect(keeper.setPreemptible(true)).rejects.toThrow(LeaseEndedError);
  await keeper.release();
});

it("is lost at once where it was not held to begin with", async () => {
  const held = await leases.request(ask());
  const waiting = keepLease(leases, await leases.request(ask()));
  expect(waiting.lost.reason).toMatchObject({ reason: "other_token" });
  await leases.release(held.id);
  const ended = await leases.get(held.id);
  if (!ended) throw new Error("it was there");
  expect(keepLease(leases, ended).lost.reason).toMatchObject({ reason: "released" });
  expect(() => keepLease(leases, held, { stopMs: 40_000 })).toThrow(RangeError);
});

it("hears that a preemptible one is wanted, and cannot keep it for itself then", async () => {
  const keeper = keepLease(leases, await leases.request(ask({ preemptible: true })));
  await keeper.setPreemptible(false);
  const other = await leases.request(ask());
  expect(other.state).toBe("waiting");
  const looked = await leases.list();
  expect(looked[0]).toMatchObject({ preemptible: false, wanted: true });
  expect(keeper.wanted.aborted).toBe(false);
  // Idle while somebody waits already.
  await keeper.setPreemptible(true);
  expect(keeper.wanted.aborted).toBe(true);
  await expect(keeper.setPreemptible(false)).rejects.toThrow(LeaseWantedError);
  expect(keeper.lost.aborted).toBe(false);
  await keeper.release();
  expect(await leases.get(other.id)).toMatchObject({ state: "held" });
});

it("hears it while it is idle", async () => {
  const keeper = keepLease(leases, await leases.request(ask({ preemptible: true })));
  const other = await leases.request(ask({ kind: "benchmark" }));
  expect(await fired(keeper.wanted)).toBeInstanceOf(LeaseWantedError);
  await keeper.release();
  expect(await leases.get(other.id)).toMatchObject({ state: "held" });
});

it("is busy or wanted, never both, whoever is quicker", async () => {
  for (let round = 0; round < 30; round++) {
    const lease = await leases.request(ask({ preemptible: true }));
    const keeper = keepLease(leases, lease);
    const [, other] = await Promise.all([
      keeper.setPreemptible(false).then(
        () => expect(keeper.wanted.aborted).toBe(false),
        (error) => {
          expect(error).toBeInstanceOf(LeaseWantedError);
          expect(keeper.wanted.aborted).toBe(true);
        },
      ),
      leases.request(ask()),
    ]);
    expect((await leases.get(lease.id))?.preemptible).toBe(keeper.wanted.aborted);
    await keeper.release();
    await leases.release(other.id);
  }
});

it("holds its own ttl although somebody shortened it", async () => {
  const lease = await leases.request(ask({ ttlS: 6 }));
  const keeper = keepLease(leases, lease);
  await until(async () => (await leases.get(lease.id))?.expires_at !== lease.expires_at);
  // As short as this it would have to stop before its next heartbeat.
  const { expires_at } = await leases.renew(lease.id, { ttlS: 2.2 });
  await until(async () => (await leases.get(lease.id))?.ttl_s === 6);
  await until(() => keeper.lost.aborted || Date.now() > Date.parse(expires_at) - 1_500);
  expect(keeper.lost.aborted).toBe(false);
  await keeper.release();
});

it("is lost while nobody else can be granted yet, when Redis stays away", async () => {
  const other = await connectRedis({ url: server.url }, () => {});
  const theirs = await openLeases(other, () => {});
  const failures: unknown[] = [];
  const lease = await leases.request(ask({ ttlS: 3 }));
  const keeper = keepLease(leases, lease, { onError: (error) => failures.push(error) });
  await until(async () => (await leases.get(lease.id))?.expires_at !== lease.expires_at);
  const { id } = await theirs.request(ask());
  const granted = theirs.wait(id, { ms: 60_000 }).then(() => performance.now());
  await until(async () => /^aof_buffer_length:0\r$/m.test(await redis.producer.info("persistence")));
  // Redis goes on, and only this holder is cut off from it.
  redis.close();
  const lost = fired(keeper.lost).then((reason) => {
    expect(reason).toMatchObject({ reason: "not_renewed" });
    return performance.now();
  });
  const [lostAt, grantedAt] = await Promise.all([lost, granted]);
  expect(failures.length).toBeGreaterThan(0);
  // A third of the ttl is left for stopping.
  expect(grantedAt - lostAt).toBeGreaterThan(900);
  expect(await theirs.get(id)).toMatchObject({ state: "held" });
  expect(await theirs.get(lease.id)).toMatchObject({ state: "ended", end_reason: "expired" });
  await keeper.release();
  theirs.close();
  other.close();
  redis = await connectRedis({ url: server.url }, () => {});
  leases = await openLeases(redis, () => {});
});

it("is not lost by an outage that is shorter than its ttl", async () => {
  const lease = await leases.request(ask({ ttlS: 9 }));
  const failures: unknown[] = [];
  const keeper = keepLease(leases, lease, { onError: (error) => failures.push(error) });
  await until(async () => (await leases.get(lease.id))?.expires_at !== lease.expires_at);
  await until(async () => /^aof_buffer_length:0\r$/m.test(await redis.producer.info("persistence")));
  await server.kill();
  await until(() => redis.producer.status !== "ready");
  // Becoming preemptible is told later; to be kept for oneself it would have to be certain.
  await keeper.setPreemptible(true);
  await expect(keeper.setPreemptible(false)).rejects.toMatchObject({ code: "unavailable" });
  // A heartbeat fails; the next one does not take as long.
  const told = failures.length;
  await until(() => failures.length > told + 1);
  await server.start();
  await until(async () => (await leases.get(lease.id).catch(() => null))?.preemptible === true);
  expect(keeper.lost.aborted).toBe(false);
  expect(await leases.get(lease.id)).toMatchObject({ state: "held", token: lease.token });
  await keeper.release();
});

it("releases when Redis is back", async () => {
  const lease = await leases.request(ask({ ttlS: 9 }));
  const keeper = keepLease(leases, lease);
  await until(async () => /^aof_buffer_length:0\r$/m.test(await redis.producer.info("persistence")));
  await server.kill();
  await until(() => redis.producer.status !== "ready");
  await keeper.release();
  await server.start();
  await until(async () => (await leases.get(lease.id).catch(() => null))?.state === "ended");
  expect(await leases.get(lease.id)).toMatchObject({ end_reason: "released" });
});

it("is lost when Redis has forgotten it", async () => {
  const keeper = keepLease(leases, await leases.request(ask()));
  await redis.producer.flushall();
  // Whatever happens next makes the holder look.
  await leases.request(ask());
  expect(await fired(keeper.lost)).toMatchObject({ reason: "unknown" });
  await keeper.release();
});
