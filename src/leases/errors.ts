import { RefusedError } from "../model/refusal.ts";

/** `not_renewed`: Redis could not be reached in time; the lease may expire at any moment. */
export type LeaseEndReason = "expired" | "released" | "other_token" | "unknown" | "not_renewed";

const WHAT: Readonly<Record<LeaseEndReason, string>> = {
  expired: "expired: it was not renewed within its ttl",
  released: "was released or deleted",
  other_token: "was given out under another token",
  unknown: "is not known: it never was, or ended more than an hour ago",
  not_renewed: "could not be renewed before its end, because Redis does not answer",
};

/** The lease gives no right (any more): whoever relied on it stops at once. */
export class LeaseEndedError extends RefusedError {
  readonly reason: LeaseEndReason;

  constructor(id: string, reason: LeaseEndReason) {
    super("lease_ended", `The lease ${id} ${WHAT[reason]}.`, {
      hint: "Stop what runs on its GPUs and ask for a new lease.",
    });
    this.reason = reason;
  }
}

/** A preemptible lease cannot be kept for oneself any more: somebody waits for one of its GPUs. */
export class LeaseWantedError extends Error {
  override readonly name = "LeaseWantedError";

  constructor(id: string) {
    super(`Somebody waits for a GPU of the preemptible lease ${id}: stop what runs on it and release it.`);
  }
}

/** Answers of Redis that pass by themselves: it loads its file, is a replica for a while, is out of memory or disk. */
const PASSING = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|MISCONF)\b/;

/** What a failed command means: Redis is away, or (returned as it is) a fault of this program. */
export function commandError(error: unknown): Error {
  const known = error instanceof Error ? error : new Error(String(error));
  if (known.name === "ReplyError" && !PASSING.test(known.message)) return known;
  const unavailable = new RefusedError("unavailable", "Redis, which keeps the leases, does not answer at the moment.", {
    retryAfterS: 5,
  });
  unavailable.cause = known;
  return unavailable;
}
