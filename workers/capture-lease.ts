import { setTimeout as sleep } from "node:timers/promises";
import type { HeldLease } from "../src/capture/server/warm-engine.ts";
import { LeaseEndedError } from "../src/leases/errors.ts";
import { keepLease } from "../src/leases/keep.ts";
import type { Leases } from "../src/leases/leases.ts";
import type { Lease } from "../src/model/lease.ts";
import { RefusedError } from "../src/model/refusal.ts";
import type { WorkerGpu } from "../src/model/worker.ts";

/** A worker that dies gives its GPUs back after this; a third of it is there to end all processes when a lease is lost. */
const TTL_S = 15;

export interface LeaseWish {
  /** GPUs of this host that may be taken. */
  readonly candidates: readonly WorkerGpu[];
  readonly count: number;
  readonly holder: string;
  readonly signal: AbortSignal;
  /** Told while others hold them. */
  onWaiting(lease: Lease): void;
}

/**
 * Waits its turn for GPUs of this host. Those that nobody holds or waits for come first, then by index. An outage of Redis
 * is waited out: nothing has begun yet, so a profile must not fail by it.
 * @throws the signal's reason.
 */
export async function leaseGpus(leases: Leases, wish: LeaseWish): Promise<HeldLease> {
  const asked = performance.now();
  const { signal } = wish;
  const taken = new Set((await untilAvailable(() => leases.list(), signal)).flatMap(({ gpus }) => gpus));
  const order = [...wish.candidates].sort(
    (a, b) => Number(taken.has(a.uuid)) - Number(taken.has(b.uuid)) || a.index - b.index,
  );
  const gpus = order.slice(0, wish.count).map(({ uuid }) => uuid);
  const request = () =>
    untilAvailable(
      () => leases.request({ kind: "profile", gpus, holder: wish.holder, ttlS: TTL_S, owner: null }),
      signal,
    );
  let lease = await request();
  try {
    while (lease.state === "waiting") {
      const waited = await leases
        .wait(lease.id, { ms: Number.POSITIVE_INFINITY, signal, onWaiting: wish.onWaiting })
        .catch((error: unknown) => {
          if (error instanceof LeaseEndedError) return null;
          throw error;
        });
      signal.throwIfAborted();
      if (waited !== null && waited.state !== "ended") {
        lease = waited;
        continue;
      }
      if (waited?.end_reason === "released") throw new Error(`somebody else ended the lease that waited: ${lease.id}`);
      // Expired, or forgotten with Redis's data: its place is lost, the wish is not.
      lease = await request();
    }
    signal.throwIfAborted();
  } catch (error) {
    await leases.release(lease.id).catch(() => {});
    throw error;
  }
  const kept = keepLease(leases, lease);
  return {
    id: lease.id,
    token: lease.token ?? 0,
    gpus: lease.gpus,
    waitedS: (performance.now() - asked) / 1000,
    lost: kept.lost,
    wanted: kept.wanted,
    setPreemptible: (on) => kept.setPreemptible(on),
    release: () => kept.release(),
  };
}

const LONGEST_PAUSE_MS = 2_000;

/** @throws what is no outage, or the signal's reason. */
async function untilAvailable<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof RefusedError) || error.code !== "unavailable") throw error;
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}
