import type { PipelineResult } from "../model/result.ts";
import { untimedReason } from "./duration.ts";
import type { Item } from "./kernels.ts";

/** Results that span several kernels, and why those without a duration have none, by their place in the list. */
export function compositesOf(items: readonly Item[]): {
  readonly composites: PipelineResult["composites"];
  readonly nullReasons: Record<string, string>;
} {
  const nullReasons: Record<string, string> = {};
  for (const [place, item] of items.entries()) {
    const reason = untimedReason(item);
    if (reason !== null) nullReasons[`composites.${place}.duration_us`] = reason;
  }
  const composites = items.map(({ launch, durationUs }) => ({
    kind: launch.kind === "kernel" ? ("range" as const) : launch.kind,
    index: launch.index,
    display: launch.names.display,
    duration_us: durationUs,
  }));
  return { composites, nullReasons };
}
