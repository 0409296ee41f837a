import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import type { Lease, LeaseKind } from "../model/lease.ts";
import { commandError, type LeaseEndReason } from "./errors.ts";
import { LEASE_SCRIPT } from "./script.ts";

/** A lease as this process knows it. */
export interface TrackedLease extends Lease {
  /** Id of the API key that asked for it; null: a worker, or a service without keys. */
  readonly owner: string | null;
  /** Why it ended; null before. */
  readonly end_reason: LeaseEndReason | null;
  /**
   * `performance.now()` of this process until which it certainly lasts unless released: counted from before the
   * question was sent, so that neither the way nor the hosts' clocks matter.
   */
  readonly lasts_until: number;
}

/** `unknown` comes without leases. */
export interface LeaseReply {
  readonly status: "ok" | "ended" | "unknown" | "other_token" | "wanted" | "full";
  readonly leases: readonly TrackedLease[];
  /** Milliseconds until some lease may expire, not counted again when it is renewed meanwhile; Infinity: there is none. */
  readonly expiryInMs: number;
}

/** As the script keeps it. Lists are texts: an empty list would come back from Lua as an object. */
interface LeaseRecord {
  readonly id: string;
  readonly state: Lease["state"];
  readonly sequence: number;
  readonly kind: LeaseKind;
  readonly gpus: string;
  readonly holder: string;
  readonly owner: string | null;
  readonly token: number | null;
  readonly preemptible: boolean;
  readonly wanted: boolean;
  readonly blocked_by: string;
  readonly end_reason: "expired" | "released" | null;
  readonly ttl_ms: number;
  readonly requested_at_ms: number;
  readonly granted_at_ms: number | null;
  readonly expires_at_ms: number;
}

export interface LeaseArguments {
  readonly request: Pick<LeaseRecord, "id" | "kind" | "gpus" | "holder" | "owner" | "ttl_ms" | "preemptible">;
  /** `renew_waiting`: whoever asks shows that it still waits. */
  readonly get: { readonly id: string; readonly renew_waiting: boolean };
  readonly renew: {
    readonly id: string;
    readonly ttl_ms?: number;
    readonly token?: number;
    readonly preemptible?: boolean;
  };
  readonly release: { readonly id: string };
  readonly list: Record<string, never>;
}

/** The braces keep all keys in one slot of a cluster. */
const PREFIX = "profile-kernel:{leases}:";
export const LEASE_KEYS = ["live", "ended", "ended-at", "meta"].map((name) => PREFIX + name);
export const LEASE_CHANNEL = `${PREFIX}changed`;
const SHA1 = createHash("sha1").update(LEASE_SCRIPT).digest("hex");

/**
 * Runs one operation of the script. Each may be sent twice without harm, as ioredis does after a lost connection.
 * @throws RefusedError `unavailable` while Redis is away.
 */
export async function runLeaseScript<Operation extends keyof LeaseArguments>(
  redis: Redis,
  operation: Operation,
  given: LeaseArguments[Operation],
): Promise<LeaseReply> {
  const args = [...LEASE_KEYS, operation, LEASE_CHANNEL, JSON.stringify(given)];
  const sentAt = performance.now();
  try {
    const answer = await redis.evalsha(SHA1, LEASE_KEYS.length, ...args).catch((error: Error) => {
      if (!error.message.startsWith("NOSCRIPT")) throw error;
      return redis.eval(LEASE_SCRIPT, LEASE_KEYS.length, ...args);
    });
    const [status, now, settleAt, ...records] = answer as [LeaseReply["status"], number, number, ...string[]];
    const leases = records
      .map((record) => JSON.parse(record) as LeaseRecord)
      .sort((a, b) => a.sequence - b.sequence)
      .map((record) => tracked(record, now, sentAt));
    return { status, leases, expiryInMs: settleAt < 0 ? Number.POSITIVE_INFINITY : settleAt - now };
  } catch (error) {
    throw commandError(error);
  }
}

const time = (ms: number): string => new Date(ms).toISOString();
const parts = (list: string): string[] => (list === "" ? [] : list.split(","));

const tracked = (record: LeaseRecord, now: number, sentAt: number): TrackedLease => ({
  id: record.id,
  state: record.state,
  kind: record.kind,
  gpus: parts(record.gpus),
  holder: record.holder,
  token: record.token,
  preemptible: record.preemptible,
  wanted: record.wanted,
  blocked_by: parts(record.blocked_by),
  ttl_s: record.ttl_ms / 1000,
  requested_at: time(record.requested_at_ms),
  granted_at: record.granted_at_ms === null ? null : time(record.granted_at_ms),
  expires_at: time(record.expires_at_ms),
  owner: record.owner,
  end_reason: record.end_reason,
  lasts_until: sentAt + record.expires_at_ms - now,
});
