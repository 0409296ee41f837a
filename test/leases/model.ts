import type { Lease } from "../../src/model/lease.ts";

/** A lease in the model: what is known of it without Redis. */
export interface ModelLease {
  readonly name: number;
  readonly gpus: readonly string[];
  preemptible: boolean;
  state: Lease["state"];
}

/**
 * What the leases promise, in the plainest words: a lease is held as soon as no GPU of it is held, and none is wanted by
 * one that came before. Kept apart from the script on purpose: nothing here knows how that does it.
 */
export class LeaseModel {
  readonly all: ModelLease[] = [];

  request(gpus: readonly string[], preemptible: boolean): ModelLease {
    const lease: ModelLease = { name: this.all.length, gpus, preemptible, state: "waiting" };
    this.all.push(lease);
    this.#grant();
    return lease;
  }

  end(lease: ModelLease): void {
    lease.state = "ended";
    this.#grant();
  }

  /** Returns whether it was done. */
  setPreemptible(lease: ModelLease, on: boolean): boolean {
    if (!on && lease.preemptible && this.isWanted(lease)) return false;
    lease.preemptible = on;
    return true;
  }

  isWanted(lease: ModelLease): boolean {
    return lease.state === "held" && this.#alive().some((other) => other.state === "waiting" && overlap(lease, other));
  }

  /** Those that hold a GPU of it or came before it for one. */
  blockersOf(lease: ModelLease): ModelLease[] {
    if (lease.state !== "waiting") return [];
    return this.#alive().filter(
      (other) => overlap(lease, other) && (other.state === "held" || other.name < lease.name) && other !== lease,
    );
  }

  #alive(): ModelLease[] {
    return this.all.filter(({ state }) => state !== "ended");
  }

  #grant(): void {
    for (const lease of this.#alive()) {
      if (lease.state === "waiting" && this.blockersOf(lease).length === 0) lease.state = "held";
    }
  }
}

const overlap = (a: ModelLease, b: ModelLease): boolean => a.gpus.some((gpu) => b.gpus.includes(gpu));
