import { z } from "zod";

const us = z.number().nullable();

/** How much of a collective's time is transfer and how much waiting for other ranks. Microseconds. */
export const collectiveTimesSchema = z
  .object({
    matched_calls: z.number().int().describe("calls that are the same one on all ranks, the first counted"),
    transfer_us: us.describe(
      "sum over the matched calls of the shortest duration of all ranks, that is of one rank, without the first call",
    ),
    waiting_us: us.describe("what the ranks took longer, summed over calls and ranks; null_reason says why not known"),
    by_rank: z.array(
      z.object({
        rank: z.string().describe("which process on which GPU"),
        calls: z.number().int(),
        total_us: z.number(),
        waiting_us: us,
      }),
    ),
    first: z
      .object({
        durations_us: z.array(z.number()),
        transfer_us: z.number(),
        waiting_us: z.array(z.number()),
      })
      .nullable()
      .describe("the first matched call: recordings that begin at different moments put their difference into it"),
    null_reason: z.string().nullable(),
  })
  .meta({ id: "CollectiveTimes" });
export type CollectiveTimes = z.infer<typeof collectiveTimesSchema>;
