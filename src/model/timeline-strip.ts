import { z } from "zod";

/** Of the time axis of a strip; with more than four lanes half as many, so that a strip stays small. */
export const STRIP_BINS = 300;
export const STRIP_LANES = 8;
/** Stages by name; the rest of them are one. */
export const STRIP_STAGES = 8;

/** When the GPU was busy, and with which stage: time in equal bins, small whatever the number of launches. */
export const timelineStripSchema = z
  .object({
    bins: z.number().int(),
    bin_us: z.number(),
    aligned_by: z
      .enum(["clock", "first_activity"])
      .describe(
        "how several timelines were laid over one another: by the clock that they recorded, or each at its start",
      ),
    stages: z
      .array(z.enum(["named", "rest", "outside"]).or(z.string()))
      .describe("most time first; `rest`: all further ones; `outside`: work outside of the window"),
    lanes: z
      .array(
        z.object({
          timeline: z.number().int(),
          rank: z.number().nullable(),
          device: z.number().nullable(),
          stream: z.string().nullable().describe("null: all streams of the GPU"),
          busy: z
            .array(z.array(z.number().int()))
            .describe(
              "for each of `stages` the thousandths of each bin; what overlaps counts for the one that began first",
            ),
        }),
      )
      .describe("a GPU as one process or rank used it; streams where one GPU has few"),
    lanes_total: z.number().int().describe("more than `lanes`: those with the most time are shown"),
  })
  .meta({ id: "TimelineStrip" });

export type TimelineStrip = z.infer<typeof timelineStripSchema>;
