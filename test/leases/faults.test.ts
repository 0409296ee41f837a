import fc from "fast-check";
import { expect, it } from "vitest";
import { LeaseEndedError } from "../../src/leases/errors.ts";
import { keepLease } from "../../src/leases/keep.ts";
import { type Leases, openLeases } from "../../src/leases/leases.ts";
import type { TrackedLease } from "../../src/leases/store.ts";
import { connectRedis, type RedisConnections } from "../../src/queue/connections.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { testRedis } from "../helpers/redis.ts";

const GPUS = ["GPU-0", "GPU-1", "GPU-2"];
const HOLDERS = 8;
const TURNS = 4;
const TTL_S = 2.1;
/** Out of the third of the ttl that `lost` leaves. */
const STOPPING_MS = 200;

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What one holder does with its turns, and what befalls it meanwhile. */
const turn = fc.record({
  gpus: fc.subarray(GPUS, { minLength: 1 }),
  worksMs: fc.integer({ min: 0, max: 300 }),
  ends: fc.constantFrom("releases", "releases", "releases", "is cut off", "is deleted"),
});

it("never lets two use one GPU, whatever becomes of connections, holders and Redis", async () => {
  const server = testRedis(temporaryFolder());
  await server.start();
  const users = new Map<string, string>();
  const lastToken = new Map<string, number>();
  const faults: string[] = [];
  let lost = 0;

  /** Between `enter` and `leave` a program runs on these GPUs. */
  const enter = ({ id, gpus, token }: TrackedLease): void => {
    for (const gpu of gpus) {
      const other = users.get(gpu);
      if (other !== undefined) faults.push(`${id} was granted ${gpu} while ${other} still used it`);
      if ((token ?? 0) <= (lastToken.get(gpu) ?? 0)) faults.push(`${gpu}: token ${token} after ${lastToken.get(gpu)}`);
      users.set(gpu, id);
      lastToken.set(gpu, token ?? 0);
    }
  };
  const leave = ({ id, gpus }: TrackedLease): void => {
    for (const gpu of gpus) if (users.get(gpu) === id) users.delete(gpu);
  };

  const acquire = async (leases: Leases, gpus: readonly string[]): Promise<TrackedLease> => {
    for (;;) {
      try {
        const { id } = await leases.request({ kind: "profile", gpus, holder: "h", ttlS: TTL_S, owner: null });
        const lease = await leases.wait(id, { ms: Number.POSITIVE_INFINITY });
        if (lease.state === "held") return lease;
      } catch {
        // Redis was away.
        await passed(20);
      }
    }
  };

  const administrator = await connectRedis({ url: server.url }, () => {});
  const overseer = await openLeases(administrator, () => {});

  const holder = async (turns: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]): Promise<void> => {
    let connections: RedisConnections = await connectRedis({ url: server.url }, () => {});
    let leases = await openLeases(connections, () => {});
    for (const { gpus, worksMs, ends } of turns) {
      const lease = await acquire(leases, gpus);
      // Granted, and then nothing was heard for too long: it must not be begun.
      if (lease.lasts_until - performance.now() < (TTL_S * 1000) / 3) {
        await leases.release(lease.id).catch(() => {});
        continue;
      }
      const keeper = keepLease(leases, lease);
      const gone = new Promise<void>((resolve) => keeper.lost.addEventListener("abort", () => resolve()));
      enter(lease);
      await Promise.race([passed(worksMs), gone]);
      if (ends === "is cut off" && !keeper.lost.aborted) {
        // It goes on working and does not know yet.
        connections.close();
        await gone;
        expect(keeper.lost.reason).toBeInstanceOf(LeaseEndedError);
      }
      if (keeper.lost.aborted) {
        lost += 1;
        await passed(STOPPING_MS);
      }
      leave(lease);
      if (ends === "is deleted") await overseer.release(lease.id).catch(() => {});
      await keeper.release();
      if (ends === "is cut off") {
        leases.close();
        connections.close();
        connections = await connectRedis({ url: server.url }, () => {});
        leases = await openLeases(connections, () => {});
      }
    }
    leases.close();
    connections.close();
  };

  const plans = fc.sample(fc.array(turn, { minLength: TURNS, maxLength: TURNS }), { seed: 11, numRuns: HOLDERS });
  let isOver = false;
  // Redis answers nobody for a while, now shorter and now longer than a holder can go on without it.
  const trouble = async (): Promise<void> => {
    for (const pauseMs of fc.sample(fc.integer({ min: 50, max: 2_200 }), { seed: 12, numRuns: 100 })) {
      if (isOver) return;
      await administrator.producer.call("CLIENT", "PAUSE", pauseMs, "ALL").catch(() => {});
      await passed(pauseMs + 1_500);
    }
  };
  const troubling = trouble();
  await Promise.all(plans.map(holder));
  isOver = true;
  expect(faults).toEqual([]);
  expect(users.size).toBe(0);
  expect(lost).toBeGreaterThan(0);
  console.log(`${HOLDERS * TURNS} turns, ${lost} of them lost`);
  await troubling;
  overseer.close();
  administrator.close();
  await server.kill();
}, 300_000);
