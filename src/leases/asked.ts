import type { LeaseRequest } from "../model/lease.ts";
import { type RefusalItem, RefusedError } from "../model/refusal.ts";
import type { TrackedLease } from "./store.ts";

/** A GPU that some worker has registered. */
export interface KnownGpu {
  readonly uuid: string;
  /** Id of the worker. */
  readonly worker: string;
  /** As nvidia-smi names it: `NVIDIA H200`. */
  readonly name: string;
  /** Of the worker. A lease does not need it: the GPUs of a lost worker can be benchmarked all the same. */
  readonly state: string;
}

/** Items that a message lists before it says "and … more". */
const LISTED = 16;

/**
 * The uuids that a request asks for, each once.
 * @throws RefusedError `validation_failed` unless exactly one of `gpus` and `worker` is given; `no_such_gpu` naming
 * those that exist.
 */
export function chooseGpus({ gpus, worker }: LeaseRequest, known: readonly KnownGpu[]): string[] {
  if (gpus !== undefined && worker !== undefined) {
    throw wrong("validation_failed", "Give `gpus` or `worker`, not both.", [
      { pointer: "/worker", detail: `given: ${JSON.stringify(worker)} beside gpus; expected one of them` },
    ]);
  }
  if (worker !== undefined) {
    const own = known.filter((gpu) => gpu.worker === worker).map(({ uuid }) => uuid);
    if (own.length > 0) return [...new Set(own)];
    const names = [...new Set(known.map((gpu) => gpu.worker))];
    const detail = `given: ${JSON.stringify(worker)}; workers with GPUs: ${listed(names)}`;
    throw wrong("no_such_gpu", `No worker ${worker} has registered a GPU.`, [{ pointer: "/worker", detail }]);
  }
  if (gpus === undefined) {
    throw wrong("validation_failed", "Say which GPUs: give `gpus` or `worker`.", [
      { pointer: "/gpus", detail: "given: nothing; expected uuids here, or the id of a worker in worker" },
    ]);
  }
  const uuids = new Set(known.map(({ uuid }) => uuid));
  const there = listed(known.map(({ uuid, name, worker: host }) => `${uuid} (${name}, worker ${host})`));
  const errors = gpus.flatMap((uuid, index) =>
    uuids.has(uuid) ? [] : [{ pointer: `/gpus/${index}`, detail: `given: ${JSON.stringify(uuid)}; known: ${there}` }],
  );
  if (errors.length > 0) throw wrong("no_such_gpu", `No worker has registered: ${errors.length} of the GPUs.`, errors);
  return [...new Set(gpus)];
}

const wrong = (
  code: "validation_failed" | "no_such_gpu",
  message: string,
  items: readonly Omit<RefusalItem, "code">[],
): RefusedError =>
  new RefusedError(code, message, {
    hint: "GET /workers lists the workers with their GPUs.",
    errors: items.map((item) => ({ ...item, code })),
  });

function listed(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length - LISTED;
  return `${names.slice(0, LISTED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Who asks, as far as leases care. */
export interface LeaseAsker {
  readonly keyId: string | null;
  readonly isAdmin: boolean;
}

/** An owner may do with a lease what it likes; an admin may end or renew any. */
export const isOwner = (lease: TrackedLease, { keyId }: LeaseAsker): boolean => lease.owner === keyId;

/** @throws RefusedError `role_missing` */
export function checkMayChange(lease: TrackedLease, asker: LeaseAsker): void {
  if (isOwner(lease, asker) || asker.isAdmin) return;
  const whose = lease.owner === null ? "a worker" : "another key";
  throw new RefusedError("role_missing", `This lease belongs to ${whose}; changing it needs the role admin.`);
}
