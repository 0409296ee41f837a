import { z } from "zod";

const clusterSchema = z.object({
  grid: z.string().describe("as `64x1x1`"),
  block: z.string(),
  median_ns: z.number(),
});

/** Why a kernel, or a cluster of it, got no counters. */
export const NOT_MEASURED = [
  "below_top_n",
  "collective",
  "no_mangled_name",
  "small_cluster",
  "launch_limit",
  "argument_limit",
  "not_launched",
  "hang",
  "fault",
] as const;

/** What the capture of a full pipeline measured, what not and why, and how long each step took. */
export const pipelinePlanSchema = z
  .object({
    timeline: z.object({
      tool: z.enum(["nsys"]),
      window: z
        .enum(["from_start", "cuda_profiler_api", "session"])
        .describe("which part of the program was recorded; session: from nsys start to nsys stop"),
      program_s: z.number().describe("one run of the program under nsys"),
    }),
    kernels: z.number().int().describe("kernels that the timeline ranks"),
    chosen: z
      .array(
        clusterSchema.extend({
          kernel: z.string(),
          launches: z.number().int(),
          total_ns: z.number(),
          mangled: z.string().describe("linker name of the launch that stands for the cluster"),
          ordinal: z.number().int().describe("its number among the launches of that name, from 1"),
          duration_ns: z.number(),
        }),
      )
      .describe("clusters that were to get counters"),
    left_out: z
      .array(
        z.object({
          kernel: z.string(),
          cluster: clusterSchema.nullable().describe("null: the whole kernel"),
          total_ns: z.number(),
          reason: z.enum(NOT_MEASURED),
          because: z.string().describe("in words"),
        }),
      )
      .describe("what got no counters, most time first as far as kernels go"),
    left_out_more: z.number().int().describe("more of them than are listed"),
    launches: z.number().int().describe("launches that ncu was asked for: names x ordinals"),
    names: z.number().int().describe("linker names that ncu was asked for"),
    ordinals: z
      .array(z.number().int())
      .nullable()
      .describe(
        "numbers that ncu took of each linker name, ascending; null: launches were found by shape and duration instead",
      ),
    passes: z.number().int().nullable(),
    metrics: z.number().int().nullable().describe("counters that ncu was asked for by name"),
    reason: z.string().describe("what bounds the launches"),
    steps: z
      .array(
        z.object({
          step: z.enum(["timeline", "export", "rank", "start", "shapes", "survey", "counters"]),
          took_s: z.number(),
        }),
      )
      .describe(
        "in order; start: of the program for the counters, where it began beside the timeline, or of an engine with its warm-up; shapes and survey: launches of an engine, looked at before the counters",
      ),
    notes: z.array(z.string()).describe("what else is to be known of the plan, in words"),
  })
  .meta({ id: "PipelinePlan" });
export type PipelinePlan = z.infer<typeof pipelinePlanSchema>;
