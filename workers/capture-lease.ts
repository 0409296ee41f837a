import type { HeldLease } from "../src/capture/warm-engine.ts";
import { LeaseEndedError } from "../src/leases/errors.ts";
import { keepLease } from "../src/leases/keep.ts";
import type { Leases } from "../src/leases/leases.ts";
import type { Lease } from "../src/model/lease.ts";
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
 * Waits its turn for GPUs of this host. Those that nobody holds or waits for come first, then by index.
 * @throws the signal's reason; RefusedError `unavailable` where Redis stays away.
 */
export async function leaseGpus(leases: Leases, wish: LeaseWish): Promise<HeldLease> {
  const asked = performance.now();
  const taken = new Set((await leases.list()).flatMap(({ gpus }) => gpus));
  const order = [...wish.candidates].sort(
    (a, b) => Number(taken.has(a.uuid)) - Number(taken.has(b.uuid)) || a.index - b.index,
  );
  const gpus = order.slice(0, wish.count).map(({ uuid }) => uuid);
  const requested = await leases.request({ kind: "profile", gpus, holder: wish.holder, ttlS: TTL_S, owner: null });
  let lease = requested;
  try {
    while (lease.state === "waiting") {
      const waited = await leases
        .wait(lease.id, { ms: Number.POSITIVE_INFINITY, signal: wish.signal, onWaiting: wish.onWaiting })
        .catch((error: unknown) => {
          if (error instanceof LeaseEndedError) return null;
          throw error;
        });
      wish.signal.throwIfAborted();
      if (waited !== null && waited.state !== "ended") {
        lease = waited;
        continue;
      }
      if (waited?.end_reason === "released") throw new Error(`somebody else ended the lease that waited: ${lease.id}`);
      // Expired, or forgotten with Redis's data: its place is lost, the wish is not.
      lease = await leases.request({ kind: "profile", gpus, holder: wish.holder, ttlS: TTL_S, owner: null });
    }
    wish.signal.throwIfAborted();
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
