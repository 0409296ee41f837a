import type { Redis } from "ioredis";
import { v7 as uuidv7 } from "uuid";
import { gpuIdSchema, type LeaseKind } from "../model/lease.ts";
import { RefusedError } from "../model/refusal.ts";
import { LeaseEndedError, LeaseWantedError } from "./errors.ts";
import { LEASE_CHANNEL, type LeaseReply, runLeaseScript, type TrackedLease } from "./store.ts";

export interface LeaseOptions {
  readonly kind: LeaseKind;
  /** uuids; taken all at once or not at all. */
  readonly gpus: readonly string[];
  readonly holder: string;
  /** Seconds; ends by itself unless renewed within this, also while it waits. */
  readonly ttlS: number;
  readonly owner: string | null;
  /** Held for something that can be stopped at any time: see `keepLease`. */
  readonly preemptible?: boolean;
}

export interface WaitOptions {
  /** How long; may be Infinity. */
  readonly ms: number;
  readonly signal?: AbortSignal;
  /** Told once at first and whenever the leases before it have changed. */
  readonly onWaiting?: (lease: TrackedLease) => void;
  /** false: only look; whoever asked for the lease has to show by itself that it still waits. */
  readonly renew?: boolean;
}

/** Every method rejects with RefusedError `unavailable` while Redis is away. */
export interface Leases {
  /** Held at once, or waiting behind those that came before. */
  request(options: LeaseOptions): Promise<TrackedLease>;
  /** null: never seen, or ended more than an hour ago. Looking keeps nothing alive. */
  get(id: string): Promise<TrackedLease | null>;
  /**
   * Starts its ttl anew and changes what is given.
   * @throws LeaseEndedError when it has ended or `token` is not its own; LeaseWantedError when it cannot stop being
   * preemptible because somebody waits (it is renewed all the same).
   */
  renew(
    id: string,
    change: { readonly ttlS?: number; readonly token?: number; readonly preemptible?: boolean },
  ): Promise<TrackedLease>;
  /** Ends it. True also when it had ended before; false where it is not known. */
  release(id: string): Promise<boolean>;
  /** Those that wait or are held, in the order of their requests. */
  list(): Promise<TrackedLease[]>;
  /**
   * Resolves when it is held or has ended, when the signal fires, `ms` have passed or `close` was called; keeps its
   * place alive meanwhile. An outage of Redis is waited out; rejects only where it lasts until the end.
   * @throws LeaseEndedError where it was not known from the start.
   */
  wait(id: string, options: WaitOptions): Promise<TrackedLease>;
  /** Calls back when something about leases may have changed. Calls may be lost. Returns how to stop it. */
  onChange(listener: () => void): () => void;
  /** Ends all waiting. The connections belong to whoever handed them in. */
  close(): void;
}

/** Connections as src/queue makes them. */
export interface LeaseRedis {
  /** Fails fast. */
  readonly producer: Redis;
  /** A connection for the subscription, made again without end. */
  consumer(): Redis;
}

/** Messages may be lost: who waits looks by itself this often. */
const LOOK_INTERVAL_MS = 1_000;

/**
 * The leases in one Redis. Resolves once changes are heard.
 * @param onError told of failures in the background that are tried again.
 */
export async function openLeases(redis: LeaseRedis, onError: (error: Error) => void): Promise<Leases> {
  const { producer } = redis;
  const listeners = new Set<() => void>();
  let closed = false;
  const tellAll = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const subscriber = redis.consumer();
  subscriber.on("message", tellAll);
  // Messages sent while the connection was away are lost.
  subscriber.on("ready", tellAll);
  await subscriber.subscribe(LEASE_CHANNEL);

  const onChange = (listener: () => void): (() => void) => {
    // The same function may listen twice.
    const own = (): void => listener();
    listeners.add(own);
    return () => void listeners.delete(own);
  };

  const wait: Leases["wait"] = async (id, { ms, signal, onWaiting, renew = true }) => {
    const deadline = performance.now() + ms;
    const bell = createBell();
    const stop = onChange(bell.ring);
    signal?.addEventListener("abort", bell.ring, { once: true });
    try {
      let told: string | null = null;
      let last: TrackedLease | null = null;
      for (;;) {
        const { lease, error, lookInMs } = await runLeaseScript(producer, "get", { id, renew_waiting: renew }).then(
          (reply) => ({
            // Redis may have lost it: a crash costs what it had not written to disk yet.
            lease: last && reply.status === "unknown" ? lost(last) : known(reply, id),
            error: null,
            // Nobody tells when a lease expires.
            lookInMs: Math.max(1, reply.expiryInMs),
          }),
          (error: unknown) => {
            if (!(error instanceof RefusedError)) throw error;
            return { lease: null, error, lookInMs: LOOK_INTERVAL_MS };
          },
        );
        if (lease && lease.state !== "waiting") return lease;
        const left = deadline - performance.now();
        const isOver = left <= 0 || signal?.aborted === true || closed;
        if (lease === null) {
          if (isOver) throw error;
          onError(error);
        } else {
          if (isOver) return lease;
          last = lease;
          const before = lease.blocked_by.join();
          if (before !== told) onWaiting?.(lease);
          told = before;
        }
        const renewInMs = lease === null ? LOOK_INTERVAL_MS : (lease.ttl_s * 1000) / 3;
        await bell.rung(Math.min(left, LOOK_INTERVAL_MS, lookInMs, renewInMs));
      }
    } finally {
      signal?.removeEventListener("abort", bell.ring);
      stop();
    }
  };

  return {
    async request({ kind, gpus, holder, ttlS, owner, preemptible = false }) {
      const uuids = [...new Set(gpus.map((gpu) => gpuIdSchema.parse(gpu)))];
      if (uuids.length === 0) throw new TypeError("a lease needs at least one GPU");
      const reply = await runLeaseScript(producer, "request", {
        id: uuidv7(),
        kind,
        gpus: uuids.join(","),
        holder,
        owner,
        ttl_ms: milliseconds(ttlS),
        preemptible,
      });
      if (reply.status === "full") {
        throw new RefusedError("unavailable", "There are as many leases and requests for them as there may be.", {
          hint: "Release what is not needed; what nobody renews ends by itself.",
          retryAfterS: 30,
        });
      }
      return one(reply);
    },
    async get(id) {
      const reply = await runLeaseScript(producer, "get", { id, renew_waiting: false });
      return reply.status === "unknown" ? null : one(reply);
    },
    async renew(id, { ttlS, token, preemptible }) {
      const reply = await runLeaseScript(producer, "renew", {
        id,
        ...(ttlS === undefined ? {} : { ttl_ms: milliseconds(ttlS) }),
        ...(token === undefined ? {} : { token }),
        ...(preemptible === undefined ? {} : { preemptible }),
      });
      const lease = known(reply, id);
      if (reply.status === "other_token") throw new LeaseEndedError(id, "other_token");
      if (reply.status === "wanted") throw new LeaseWantedError(id);
      if (lease.state === "ended") throw new LeaseEndedError(id, lease.end_reason ?? "expired");
      return lease;
    },
    async release(id) {
      return (await runLeaseScript(producer, "release", { id })).status === "ended";
    },
    async list() {
      return [...(await runLeaseScript(producer, "list", {})).leases];
    },
    wait,
    onChange,
    close() {
      closed = true;
      tellAll();
    },
  };
}

const milliseconds = (seconds: number): number => Math.max(1, Math.round(seconds * 1000));

function one({ status, leases: [lease] }: LeaseReply): TrackedLease {
  if (lease) return lease;
  throw new Error(`the lease script answered ${status} without a lease`);
}

function known(reply: LeaseReply, id: string): TrackedLease {
  if (reply.status === "unknown") throw new LeaseEndedError(id, "unknown");
  return one(reply);
}

const lost = (lease: TrackedLease): TrackedLease => ({ ...lease, state: "ended", end_reason: "unknown" });

/** Wakes one waiter; a ring while nobody waits is kept for the next one. */
function createBell(): { ring(): void; rung(limitMs: number): Promise<void> } {
  let isRung = false;
  let wake = (): void => {};
  return {
    ring() {
      isRung = true;
      wake();
    },
    async rung(limitMs) {
      if (!isRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      isRung = false;
    },
  };
}
