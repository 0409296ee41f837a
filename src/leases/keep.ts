import { LeaseEndedError, type LeaseEndReason, LeaseWantedError } from "./errors.ts";
import type { Leases } from "./leases.ts";
import type { TrackedLease } from "./store.ts";

export interface KeepOptions {
  /**
   * How long the holder needs to stop, in ms: `lost` fires at least that long before anybody else can be granted its
   * GPUs. Default: a third of the ttl. From two thirds on (RangeError) every heartbeat would come too late.
   */
  readonly stopMs?: number;
  /** Told of failures that are tried again. */
  readonly onError?: (error: unknown) => void;
}

export interface LeaseKeeper {
  /** Fires when the lease has ended or could not be renewed in time. The reason is a LeaseEndedError. */
  readonly lost: AbortSignal;
  /** Fires, once and for all, when somebody waits for a GPU of the lease while it is preemptible: stop and release. */
  readonly wanted: AbortSignal;
  /**
   * @throws LeaseEndedError; LeaseWantedError when it should stop being preemptible and somebody waits; RefusedError
   * `unavailable` when Redis is away and it should stop being preemptible (it then stays so). Becoming preemptible is
   * no error then: the next heartbeat tells.
   */
  setPreemptible(on: boolean): Promise<void>;
  /** Stops the heartbeat and ends the lease. Never rejects: while Redis is away it is tried again until it would expire. */
  release(): Promise<void>;
}

const RELEASE_RETRY_MS = 500;

/**
 * Keeps a held lease alive by a heartbeat, a third of its ttl apart; a failed one is repeated a good deal sooner. When
 * it ends is reckoned with the monotonic clock of this process, from before each renewal was sent.
 */
export function keepLease(leases: Leases, lease: TrackedLease, options: KeepOptions = {}): LeaseKeeper {
  const { id, token } = lease;
  const ttlMs = lease.ttl_s * 1000;
  const { stopMs = ttlMs / 3, onError = () => {} } = options;
  if (stopMs >= (ttlMs * 2) / 3)
    throw new RangeError(`stopMs ${stopMs} is not below two thirds of the ttl, ${ttlMs} ms`);
  const lost = new AbortController();
  const wanted = new AbortController();
  let last = lease;
  let preemptible = lease.preemptible;
  let isOver = false;
  let isBeating = false;
  let beatTimer: NodeJS.Timeout | undefined;
  let lostTimer: NodeJS.Timeout | undefined;

  const stop = (): void => {
    isOver = true;
    clearTimeout(beatTimer);
    clearTimeout(lostTimer);
    stopListening();
  };
  const end = (reason: LeaseEndReason): void => {
    if (isOver) return;
    stop();
    lost.abort(new LeaseEndedError(id, reason));
  };
  const arm = (): void => {
    clearTimeout(lostTimer);
    lostTimer = setTimeout(() => end("not_renewed"), Math.max(0, last.lasts_until - stopMs - performance.now()));
  };

  const see = (seen: TrackedLease): void => {
    if (isOver) return;
    if (seen.state !== "held" || seen.token !== token) {
      end(seen.end_reason ?? "other_token");
      return;
    }
    // Of two looks at the same expiry the quicker one knows it better.
    if (seen.expires_at !== last.expires_at || seen.lasts_until > last.lasts_until) last = seen;
    arm();
    if (preemptible && seen.preemptible && seen.wanted) wanted.abort(new LeaseWantedError(id));
  };

  const renew = async (change: { preemptible?: boolean }): Promise<void> => {
    try {
      see(await leases.renew(id, { ttlS: lease.ttl_s, ...(token === null ? {} : { token }), ...change }));
    } catch (error) {
      if (error instanceof LeaseEndedError) end(error.reason);
      throw error;
    }
  };

  const beat = async (): Promise<void> => {
    if (isBeating) return;
    isBeating = true;
    clearTimeout(beatTimer);
    let pauseMs = ttlMs / 3;
    try {
      // Repeated each time: the message that made it preemptible may have been lost.
      await renew(preemptible ? { preemptible } : {});
    } catch (error) {
      if (!isOver) onError(error);
      pauseMs = ttlMs / 20;
    }
    isBeating = false;
    if (!isOver) beatTimer = setTimeout(() => void beat(), pauseMs);
  };

  let isLooking = false;
  let lookAgain = false;
  const look = async (): Promise<void> => {
    lookAgain = true;
    if (isLooking) return;
    isLooking = true;
    while (lookAgain && !isOver) {
      lookAgain = false;
      try {
        const before = last.expires_at;
        const seen = await leases.get(id);
        if (!seen) end("unknown");
        else see(seen);
        // Somebody shortened it, or Redis crashed and forgot the last renewal.
        if (seen && seen.expires_at < before) void beat();
      } catch {
        // The heartbeat finds out as well, and tells.
      }
    }
    isLooking = false;
  };
  const stopListening = leases.onChange(() => void look());

  const release = async (): Promise<void> => {
    try {
      await leases.release(id);
    } catch (error) {
      onError(error);
      if (performance.now() < last.lasts_until) setTimeout(() => void release(), RELEASE_RETRY_MS).unref();
    }
  };

  see(lease);
  if (!isOver) void beat();

  return {
    lost: lost.signal,
    wanted: wanted.signal,
    async setPreemptible(on) {
      if (isOver) throw lost.signal.reason ?? new LeaseEndedError(id, "released");
      if (!on && wanted.signal.aborted) throw wanted.signal.reason;
      preemptible = on;
      try {
        await renew({ preemptible: on });
      } catch (error) {
        if (error instanceof LeaseEndedError) throw error;
        if (error instanceof LeaseWantedError) {
          preemptible = true;
          wanted.abort(error);
          throw error;
        }
        if (on) return onError(error);
        // Whether it arrived is not known: the next heartbeat makes it preemptible (again).
        preemptible = true;
        throw error;
      }
      if (lost.signal.aborted) throw lost.signal.reason;
    },
    release() {
      stop();
      return release();
    },
  };
}
