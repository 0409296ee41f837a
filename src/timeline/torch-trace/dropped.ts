import type { Recording } from "../../model/timeline.ts";

type Dropped = Recording["dropped"][number];
export type DropReason = Dropped["reason"];

const LONGEST_FIRST = 200;

/** Counts what is left out, by reason, with the name of the first. */
export class DroppedRows {
  readonly #byReason = new Map<DropReason, { count: number; readonly first: string }>();

  add(reason: DropReason, first: () => string): void {
    const known = this.#byReason.get(reason);
    if (known !== undefined) known.count++;
    else this.#byReason.set(reason, { count: 1, first: first().slice(0, LONGEST_FIRST) });
  }

  get list(): readonly Dropped[] {
    return [...this.#byReason].map(([reason, { count, first }]) => ({ reason, count, first }));
  }
}
