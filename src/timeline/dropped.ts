import type { Recording } from "../model/timeline.ts";

type Reason = Recording["dropped"][number]["reason"];

/** Counts rows that are left out, by reason. */
export class Dropped {
  readonly #reasons = new Map<Reason, { count: number; readonly first: string }>();

  add(reason: Reason, name: string): void {
    const known = this.#reasons.get(reason);
    if (known === undefined) this.#reasons.set(reason, { count: 1, first: name });
    else known.count++;
  }

  list(): Recording["dropped"] {
    return [...this.#reasons].map(([reason, { count, first }]) => ({ reason, count, first }));
  }
}
