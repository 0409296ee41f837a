import type { CollectiveTimes } from "../../model/collective-times.ts";
import type { Collectives } from "../timeline/collectives.ts";

/** The times of a collective, by name key: over ranks where there are several. */
export function collectiveTimes({ ranks, kernels }: Collectives): ReadonlyMap<string, CollectiveTimes> {
  return new Map(
    kernels.map(({ key, by_rank, matched_calls, transfer_us, first, null_reason }) => [
      key,
      {
        matched_calls,
        transfer_us,
        waiting_us: transfer_us === null ? null : by_rank.reduce((sum, { wait_us }) => sum + (wait_us ?? 0), 0),
        by_rank: by_rank.map(({ calls, total_us, wait_us }, position) => ({
          rank: ranks[position]?.label ?? "unknown",
          calls,
          total_us,
          waiting_us: wait_us,
        })),
        first:
          first === null
            ? null
            : {
                durations_us: [...first.durations_us],
                transfer_us: first.transfer_us,
                waiting_us: [...first.wait_us],
              },
        null_reason,
      },
    ]),
  );
}
