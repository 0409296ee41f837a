import { byText, inOrder } from "../base/order.ts";
import type { DeclaredWorkload, KnownWorkload, Worker } from "../model/worker.ts";

/**
 * Every workload with the workers that declare it, by name. Workers that declare different things under one name make
 * an entry each.
 */
export function workloadsOf(workers: readonly Worker[]): KnownWorkload[] {
  const known = new Map<string, KnownWorkload>();
  for (const { id, pool, state, heartbeat_age_s, workloads } of workers) {
    for (const workload of workloads) {
      const key = JSON.stringify([workload.name, workload.sha256]);
      const entry = known.get(key) ?? { ...workload, workers: [] };
      entry.workers.push({ id, pool, state, heartbeat_age_s });
      known.set(key, entry);
    }
  }
  return [...known.values()].sort(byNameAndHash);
}

const byNameAndHash = inOrder(
  byText((workload: DeclaredWorkload) => workload.name),
  byText((workload: DeclaredWorkload) => workload.sha256),
);
