import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { LeaseEndedError, LeaseWantedError } from "../../src/leases/errors.ts";
import { type LeaseOptions, type Leases, openLeases } from "../../src/leases/leases.ts";
import { leaseSchema } from "../../src/model/lease.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { testRedis } from "../helpers/redis.ts";
import { until } from "../helpers/until.ts";

const server = testRedis(temporaryFolder());
let redis: RedisConnections;
/** Two processes, as it were: nothing but Redis is between them. */
let a: Leases;
let b: Leases;

beforeAll(async () => {
  await server.start();
  redis = await connectRedis({ url: server.url }, () => {});
  a = await openLeases(redis, () => {});
  b = await openLeases(await connectRedisToo(), () => {});
});
const others: RedisConnections[] = [];
async function connectRedisToo(): Promise<RedisConnections> {
  const other = await connectRedis({ url: server.url }, () => {});
  others.push(other);
  return other;
}
afterAll(async () => {
  a.close();
  b.close();
  for (const connections of [redis, ...others]) connections.close();
  await server.kill();
});
beforeEach(() => redis.producer.flushall());

const [G1, G2, G3] = ["GPU-1", "GPU-2", "GPU-3"] as const;
const ask = (gpus: readonly string[], more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  kind: "benchmark",
  gpus,
  holder: "test",
  ttlS: 60,
  owner: null,
  ...more,
});

it("gives a GPU to one of two, and to the other when the first releases it", async () => {
  const first = await a.request(ask([G1], { owner: "key" }));
  const second = await b.request(ask([G1], { kind: "profile" }));
  expect(leaseSchema.parse(first)).toMatchObject({ state: "held", kind: "benchmark", gpus: [G1], blocked_by: [] });
  expect(first.owner).toBe("key");
  expect(Date.parse(first.expires_at) - Date.parse(first.granted_at ?? "")).toBe(60_000);
  expect(leaseSchema.parse(second)).toMatchObject({ state: "waiting", token: null, granted_at: null });
  expect(second.blocked_by).toEqual([first.id]);
  expect(await a.get(first.id)).toMatchObject({ state: "held", wanted: true });

  await until(() => Date.now() > Date.parse(second.requested_at) + 10);
  const granted = b.wait(second.id, { ms: 30_000 });
  expect(await a.release(first.id)).toBe(true);
  const { granted_at, expires_at } = await granted;
  expect(await granted).toMatchObject({ state: "held", blocked_by: [], wanted: false });
  // Its ttl starts anew with the grant.
  expect(Date.parse(expires_at) - Date.parse(granted_at ?? "")).toBe(60_000);
  expect((await granted).token).toBeGreaterThan(first.token ?? Number.NaN);
  expect(await b.get(first.id)).toMatchObject({ state: "ended", end_reason: "released", token: first.token });
});

it("gives disjoint sets side by side, and takes a set whole or not at all", async () => {
  const one = await a.request(ask([G1, G2]));
  const other = await b.request(ask([G3]));
  expect([one.state, other.state]).toEqual(["held", "held"]);
  // Neither part of it is taken while it waits for the other.
  const both = await a.request(ask([G2, G3]));
  expect(both).toMatchObject({ state: "waiting", blocked_by: [one.id, other.id] });
  await a.release(other.id);
  expect(await a.get(both.id)).toMatchObject({ state: "waiting", blocked_by: [one.id] });
  await a.release(one.id);
  expect(await a.get(both.id)).toMatchObject({ state: "held" });
});

it("lets nobody pass an earlier one whose set overlaps", async () => {
  const holds1 = await a.request(ask([G1]));
  const wants12 = await a.request(ask([G1, G2]));
  const wants2 = await b.request(ask([G2]));
  const wants3 = await b.request(ask([G3]));
  expect(wants2).toMatchObject({ state: "waiting", blocked_by: [wants12.id] });
  expect(wants3.state).toBe("held");
  await a.release(holds1.id);
  expect(await a.get(wants12.id)).toMatchObject({ state: "held", wanted: true });
  expect(await a.get(wants2.id)).toMatchObject({ state: "waiting" });
  await a.release(wants12.id);
  expect(await a.get(wants2.id)).toMatchObject({ state: "held" });
  expect((await a.list()).map(({ id }) => id)).toEqual([wants2.id, wants3.id]);
});

it("takes a GPU that is named twice once", async () => {
  expect(await a.request(ask([G1, G1]))).toMatchObject({ state: "held", gpus: [G1] });
  await expect(a.request(ask([]))).rejects.toThrow(TypeError);
  await expect(a.request(ask(["GPU-1,GPU-2"]))).rejects.toThrow("uuid");
});

it("goes on to the next when the holder dies", async () => {
  const dead = await a.request(ask([G1], { ttlS: 0.2 }));
  const next = await b.request(ask([G1]));
  expect(await b.wait(next.id, { ms: 30_000 })).toMatchObject({ state: "held" });
  expect(await a.get(dead.id)).toMatchObject({ state: "ended", end_reason: "expired" });
  await expect(a.renew(dead.id, {})).rejects.toMatchObject({ code: "lease_ended", reason: "expired" });
});

it("does not wait for a dead waiter, and keeps alive who waits", async () => {
  const holder = await a.request(ask([G1]));
  const dead = await a.request(ask([G1], { ttlS: 0.1 }));
  const alive = await b.request(ask([G1], { ttlS: 0.3 }));
  expect(alive.blocked_by).toEqual([holder.id, dead.id]);
  const seen: string[][] = [];
  const waiting = b.wait(alive.id, { ms: 30_000, onWaiting: ({ blocked_by }) => void seen.push(blocked_by) });
  // Longer than its ttl: only its waiting keeps it.
  await until(async () => Date.now() > Date.parse(alive.expires_at) + 300);
  expect(await a.get(dead.id)).toMatchObject({ state: "ended", end_reason: "expired", token: null });
  await a.release(holder.id);
  expect(await waiting).toMatchObject({ state: "held" });
  expect(seen).toEqual([[holder.id, dead.id], [holder.id]]);
});

it("does not keep alive what somebody else looks at", async () => {
  await a.request(ask([G1]));
  const watched = await a.request(ask([G1], { ttlS: 0.2 }));
  expect(await b.wait(watched.id, { ms: 30_000, renew: false })).toMatchObject({ state: "ended" });
});

it("stops waiting when the time is up, the signal fires or the service closes", async () => {
  await a.request(ask([G1]));
  const { id } = await a.request(ask([G1]));
  expect(await a.wait(id, { ms: 0 })).toMatchObject({ state: "waiting" });
  expect(await a.wait(id, { ms: 30 })).toMatchObject({ state: "waiting" });
  const left = new AbortController();
  const cut = a.wait(id, { ms: Number.POSITIVE_INFINITY, signal: left.signal, onWaiting: () => left.abort() });
  expect(await cut).toMatchObject({ state: "waiting" });
  expect(await a.wait(id, { ms: 60_000, signal: left.signal })).toMatchObject({ state: "waiting" });
  const closing = await openLeases(redis, () => {});
  expect(await closing.wait(id, { ms: 60_000, onWaiting: () => closing.close() })).toMatchObject({ state: "waiting" });
  await expect(a.wait("01a23007-a5e8-7481-a240-6068bf8be8a2", { ms: 1000 })).rejects.toThrow(LeaseEndedError);
});

it("renews with its own token only, and gives a new ttl", async () => {
  const { id, token } = await a.request(ask([G1]));
  const renewed = await a.renew(id, { token: token ?? 0, ttlS: 600 });
  expect(renewed).toMatchObject({ token, ttl_s: 600 });
  expect(renewed.lasts_until - performance.now()).toBeGreaterThan(590_000);
  await expect(a.renew(id, { token: (token ?? 0) - 1 })).rejects.toMatchObject({ reason: "other_token" });
  const waiting = await a.request(ask([G1]));
  await expect(a.renew(waiting.id, { token: token ?? 0 })).rejects.toMatchObject({ reason: "other_token" });
  expect(await a.renew(waiting.id, { ttlS: 30 })).toMatchObject({ state: "waiting", ttl_s: 30 });
});

it("ends once, however often it is released, and knows nothing of what never was", async () => {
  const { id } = await a.request(ask([G1]));
  expect(await a.release(id)).toBe(true);
  expect(await b.release(id)).toBe(true);
  const ended = await a.get(id);
  expect(ended).toMatchObject({ state: "ended" });
  expect(await a.wait(id, { ms: 60_000 })).toEqual({ ...ended, lasts_until: expect.any(Number) });
  const unknown = "01a23007-a5e8-7481-a240-6068bf8be8a2";
  expect(await a.release(unknown)).toBe(false);
  expect(await a.get(unknown)).toBeNull();
  await expect(a.renew(unknown, {})).rejects.toMatchObject({ reason: "unknown" });
});

it("says of a preemptible one that it is wanted, and keeps it so", async () => {
  const idle = await a.request(ask([G1, G2], { kind: "profile", preemptible: true }));
  expect(idle).toMatchObject({ state: "held", preemptible: true, wanted: false });
  expect(await a.renew(idle.id, { preemptible: false })).toMatchObject({ preemptible: false });
  expect(await a.renew(idle.id, { preemptible: true })).toMatchObject({ preemptible: true });
  const heard = new Promise<void>((resolve) => a.onChange(resolve));
  const other = await b.request(ask([G2, G3]));
  await heard;
  // It is not taken away: what runs there has yet to be stopped.
  expect(other).toMatchObject({ state: "waiting", blocked_by: [idle.id] });
  expect(await a.get(idle.id)).toMatchObject({ state: "held", wanted: true });
  await expect(a.renew(idle.id, { preemptible: false })).rejects.toThrow(LeaseWantedError);
  expect(await a.get(idle.id)).toMatchObject({ preemptible: true });
  // Whoever waited has gone: it may be kept.
  await b.release(other.id);
  expect(await a.renew(idle.id, { preemptible: false })).toMatchObject({ preemptible: false, wanted: false });
});

it("switches or is wanted, never both", async () => {
  for (let round = 0; round < 50; round++) {
    const idle = await a.request(ask([G1], { preemptible: true }));
    const [switched, other] = await Promise.all([
      a.renew(idle.id, { preemptible: false }).catch((error: unknown) => error),
      b.request(ask([G1])),
    ]);
    const after = await a.get(idle.id);
    expect(after).toMatchObject({ wanted: true });
    if (switched instanceof LeaseWantedError) expect(after).toMatchObject({ preemptible: true });
    else expect(switched).toMatchObject({ preemptible: false, wanted: false });
    await Promise.all([a.release(idle.id), b.release(other.id)]);
  }
});

it("asks once, however often the request is sent", async () => {
  const { evalsha } = redis.producer;
  // As ioredis does when the connection is lost before the answer.
  redis.producer.evalsha = (async (...args: Parameters<typeof evalsha>) => {
    await evalsha.apply(redis.producer, args);
    return evalsha.apply(redis.producer, args);
  }) as typeof evalsha;
  try {
    const lease = await a.request(ask([G1]));
    expect(lease.state).toBe("held");
    expect(await a.release(lease.id)).toBe(true);
    expect(await a.list()).toEqual([]);
  } finally {
    redis.producer.evalsha = evalsha;
  }
});

it("has a limit, and says so", async () => {
  for (let batch = 0; batch < 10; batch++) await Promise.all(Array.from({ length: 50 }, () => a.request(ask([G1]))));
  await expect(b.request(ask([G1]))).rejects.toMatchObject({ code: "unavailable" });
  const listed = await b.list();
  expect(listed).toHaveLength(500);
  // Names the first few only.
  expect(listed.at(-1)?.blocked_by).toEqual(listed.slice(0, 16).map(({ id }) => id));
  await a.release(listed[0]?.id ?? "");
  expect(await b.request(ask([G1]))).toMatchObject({ state: "waiting" });
});

it("gives tokens that grow even where Redis has lost everything", async () => {
  const before = await a.request(ask([G1]));
  await redis.producer.flushall();
  await until(async () => {
    await redis.producer.flushall();
    return ((await a.request(ask([G1]))).token ?? 0) > (before.token ?? Number.NaN);
  });
});

it("keeps leases over a crash of Redis", async () => {
  const held = await a.request(ask([G1]));
  const waiting = await b.request(ask([G1]));
  const granted = b.wait(waiting.id, { ms: 60_000 });
  // What it has answered and not yet written may be lost with it.
  await until(async () => /^aof_buffer_length:0\r$/m.test(await redis.producer.info("persistence")));
  await server.kill();
  await until(() => redis.producer.status !== "ready");
  await expect(a.get(held.id)).rejects.toMatchObject({ code: "unavailable", details: { retryAfterS: 5 } });
  await server.start();
  await until(() => redis.producer.status === "ready");
  expect(await a.get(held.id)).toMatchObject({ state: "held", token: held.token, wanted: true });
  await a.release(held.id);
  const next = await granted;
  expect(next.state).toBe("held");
  expect(next.token).toBeGreaterThan(held.token ?? Number.NaN);
});

it("says to whoever waits that Redis has lost everything", async () => {
  await a.request(ask([G1]));
  const { id } = await b.request(ask([G1]));
  const waiting = b.wait(id, { ms: 60_000, onWaiting: () => void redis.producer.flushall() });
  expect(await waiting).toMatchObject({ id, state: "ended", end_reason: "unknown" });
});
