import type { RedisConnections } from "./connections.ts";

/**
 * Tells who waits that a profile has changed. A wake-up carries the id and nothing else; it may be lost, doubled or
 * late, so whoever is woken reads the database, and looks there by a timer as well.
 */
export interface WakeUps {
  /** Call it after the commit. Never fails: a lost wake-up costs time only. */
  publish(profileId: string): void;
  /** Calls `listener` on every change of the profile until the returned function is called. */
  listen(profileId: string, listener: () => void): () => void;
  /** True from `close` on: waiters answer with what there is. */
  readonly closed: boolean;
  /** Wakes everyone, for good. */
  close(): void;
}

const CHANNEL = "profile-kernel:profile-changed";

/** One subscription for the process; each process wakes its own waiters. Resolves once changes are heard. */
export async function openWakeUps(redis: RedisConnections): Promise<WakeUps> {
  const listeners = new Map<string, Set<() => void>>();
  let closed = false;

  const wake = (profileId: string): void => {
    for (const listener of [...(listeners.get(profileId) ?? [])]) listener();
  };
  const subscriber = redis.consumer();
  subscriber.on("message", (_channel, profileId) => wake(profileId));
  await subscriber.subscribe(CHANNEL);

  const listen = (profileId: string, listener: () => void): (() => void) => {
    const set = listeners.get(profileId) ?? new Set();
    listeners.set(profileId, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0 && listeners.get(profileId) === set) listeners.delete(profileId);
    };
  };

  return {
    publish(profileId) {
      // Waiters of this process hear it without Redis too.
      wake(profileId);
      redis.producer.publish(CHANNEL, profileId).catch(() => {});
    },
    listen,
    get closed() {
      return closed;
    },
    close() {
      closed = true;
      for (const profileId of [...listeners.keys()]) wake(profileId);
    },
  };
}
