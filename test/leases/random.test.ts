import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { LeaseWantedError } from "../../src/leases/errors.ts";
import { type Leases, openLeases } from "../../src/leases/leases.ts";
import { LEASE_KEYS, type TrackedLease } from "../../src/leases/store.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { testRedis } from "../helpers/redis.ts";
import { LeaseModel, type ModelLease } from "./model.ts";

const GPUS = ["GPU-0", "GPU-1", "GPU-2", "GPU-3", "MIG-4"];
const [LIVE = "", , , META = ""] = LEASE_KEYS;

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

/** As if its ttl had passed: nobody is told. */
async function age(id: string): Promise<void> {
  const record = await redis.producer.hget(LIVE, id);
  if (record === null) return;
  await redis.producer.hset(LIVE, id, JSON.stringify({ ...JSON.parse(record), expires_at_ms: 1 }));
  await redis.producer.hset(META, "settle_at", 1);
}

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("request" as const),
      gpus: fc.subarray(GPUS, { minLength: 1 }),
      preemptible: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("die" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("renew" as const), which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("switch" as const), which: fc.nat(), on: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), which: fc.nat() }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The model and what the service says, side by side. */
class Run {
  readonly model = new LeaseModel();
  readonly ids: string[] = [];
  readonly tokens = new Map<number, number>();
  readonly granted: number[] = [];

  async do(given: Step): Promise<void> {
    if (given.kind === "request") {
      const { preemptible, gpus } = given;
      const lease = this.model.request(gpus, preemptible);
      const { id } = await leases.request({
        kind: "benchmark",
        gpus,
        holder: "h",
        ttlS: 600,
        owner: null,
        preemptible,
      });
      this.ids[lease.name] = id;
      return;
    }
    // Also those that have ended: they must stay so.
    const lease = this.model.all[given.which % Math.max(1, this.model.all.length)];
    if (lease) await this.#change(lease, given);
  }

  async #change(lease: ModelLease, given: Exclude<Step, { kind: "request" }>): Promise<void> {
    const id = this.ids[lease.name] ?? "";
    const isOver = lease.state === "ended";
    switch (given.kind) {
      case "release":
        expect(await leases.release(id)).toBe(true);
        return this.model.end(lease);
      case "die":
        await age(id);
        return this.model.end(lease);
      case "renew":
        if (isOver) await expect(leases.renew(id, {})).rejects.toMatchObject({ code: "lease_ended" });
        else expect((await leases.renew(id, { ttlS: 600 })).state).toBe(lease.state);
        return;
      case "switch": {
        if (isOver) return;
        const said = await leases.renew(id, { preemptible: given.on }).then(
          () => true,
          (error) => {
            expect(error).toBeInstanceOf(LeaseWantedError);
            return false;
          },
        );
        expect(said).toBe(this.model.setPreemptible(lease, given.on));
        return;
      }
      case "crash":
        // Whatever was cached: the script is not there any more.
        await redis.producer.script("FLUSH");
    }
  }

  /** Compares everything that can be seen. */
  async compare(): Promise<void> {
    const listed = await leases.list();
    const alive = this.model.all.filter(({ state }) => state !== "ended");
    expect(listed.map(({ id }) => id)).toEqual(alive.map(({ name }) => this.ids[name]));
    const holders = new Map<string, string>();
    for (const [index, lease] of alive.entries()) {
      const seen = listed[index];
      if (!seen) throw new Error("compared above");
      expect(seen).toMatchObject({
        state: lease.state,
        gpus: lease.gpus,
        preemptible: lease.preemptible,
        wanted: this.model.isWanted(lease),
      });
      const blockers = this.model.blockersOf(lease).map(({ name }) => this.ids[name]);
      expect([...seen.blocked_by].sort()).toEqual([...blockers].sort());
      if (seen.state === "held") this.#holds(lease, seen, holders);
      else expect(seen.token).toBeNull();
    }
  }

  #holds(lease: ModelLease, seen: TrackedLease, holders: Map<string, string>): void {
    for (const gpu of seen.gpus) {
      expect(holders.get(gpu)).toBeUndefined();
      holders.set(gpu, seen.id);
    }
    const known = this.tokens.get(lease.name);
    if (known === undefined) this.granted.push(seen.token ?? Number.NaN);
    else expect(seen.token).toBe(known);
    this.tokens.set(lease.name, seen.token ?? Number.NaN);
  }
}

it("does what the model says, whatever is asked of it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      await redis.producer.flushall();
      const run = new Run();
      let highest = 0;
      for (const given of steps) {
        const before = run.granted.length;
        await run.do(given);
        await run.compare();
        // Those granted by one step come in the order of their requests.
        const fresh = run.granted.slice(before);
        for (const token of fresh) expect(token).toBeGreaterThan(highest);
        expect(fresh).toEqual(fresh.toSorted((a, b) => a - b));
        highest = Math.max(highest, ...fresh);
      }
      // However it went: each that waits has its turn when those before it end.
      for (const lease of run.model.all) {
        if (lease.state === "ended") continue;
        expect(lease.state).toBe("held");
        expect((await leases.get(run.ids[lease.name] ?? ""))?.state).toBe("held");
        await run.do({ kind: "release", which: lease.name });
      }
      expect(await leases.list()).toEqual([]);
    }),
    { seed: 20_251_203, numRuns: 400 },
  );
});

it("lets many at once have each GPU one after the other", async () => {
  const random = fc.sample(fc.subarray(GPUS, { minLength: 1, maxLength: 3 }), { seed: 7, numRuns: 60 });
  const connections = await Promise.all(Array.from({ length: 4 }, () => connectRedis({ url: server.url }, () => {})));
  const clients = await Promise.all(connections.map((connection) => openLeases(connection, () => {})));
  const holders = new Map<string, string>();
  const tokens = new Map<string, number>();
  let most = 0;
  await Promise.all(
    random.map(async (gpus, index) => {
      const client = clients[index % clients.length];
      if (!client) throw new Error("there are clients");
      const { id } = await client.request({ kind: "profile", gpus, holder: `${index}`, ttlS: 60, owner: null });
      const held = await client.wait(id, { ms: 60_000 });
      expect(held.state).toBe("held");
      for (const gpu of gpus) {
        // Nobody else is between grant and release, and each GPU sees growing tokens only.
        expect(holders.get(gpu)).toBeUndefined();
        holders.set(gpu, id);
        expect(held.token).toBeGreaterThan(tokens.get(gpu) ?? 0);
        tokens.set(gpu, held.token ?? Number.NaN);
      }
      most = Math.max(most, new Set(holders.values()).size);
      await client.get(id);
      for (const gpu of gpus) holders.delete(gpu);
      // One in six dies instead.
      if (index % 6 === 0) await age(id);
      else await client.release(id);
    }),
  );
  expect(await leases.list()).toEqual([]);
  expect(most).toBeGreaterThan(1);
  for (const client of clients) client.close();
  for (const connection of connections) connection.close();
});
