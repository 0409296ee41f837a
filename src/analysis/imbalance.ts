import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";

export const IMBALANCE: Declaration = {
  name: "imbalance",
  needs: needs.optional("cycles_active", "cycles_elapsed_max"),
};

export interface Imbalance {
  readonly imbalance: number | null;
  /** The metric of elapsed cycles that it was divided by. */
  readonly metric: string | null;
}

/**
 * Part of the launch in which the average SM had no work, 0..1: idle SMs of a small grid, the tail, unequal blocks, and
 * about 2 us of start and end.
 */
export function imbalanceOf({ sheet }: LaunchContext): Imbalance {
  const found = sheet.derive((read) => {
    const active = read.role("cycles_active");
    const elapsed = read.named("cycles_elapsed_max");
    if (active === null || elapsed === null) return null;
    if (elapsed.value <= 0) return read.because("no cycles elapsed");
    return { imbalance: 1 - active / elapsed.value, metric: elapsed.name };
  });
  sheet.show("detail.imbalance", found);
  if (found.value === null) sheet.show("detail.imbalance_metric", found);
  return found.value ?? { imbalance: null, metric: null };
}
