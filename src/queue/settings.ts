/** All keys of the queues begin with it. */
export const QUEUE_PREFIX = "profile-kernel";

const HOUR_S = 3600;

/** Ended jobs say nothing that the database does not: a few are kept for people who look at the queue. */
export const KEEP_ENDED = {
  removeOnComplete: { age: HOUR_S, count: 1000 },
  removeOnFail: { age: 24 * HOUR_S, count: 1000 },
};

/** BullMQ waits without end for a Redis that goes away while it closes; by then only Redis has yet to be told. */
export const CLOSE_LIMIT_MS = 2_000;
