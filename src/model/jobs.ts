import { z } from "zod";
import { captureEndSchema } from "./capture.ts";
import { failureSchema } from "./profile.ts";

/** Payload of queue `analysis`: the id is all; everything else is in the database. */
export const analysisJobSchema = z.strictObject({ version: z.literal(1), profile_id: z.uuid() });
export type AnalysisJob = z.infer<typeof analysisJobSchema>;

export const ANALYSIS_QUEUE = "analysis";

const fileSchema = z.strictObject({ id: z.string(), sha256: z.string(), path: z.string() });

/** What the thread or process that analyses gets: files to read and the question. */
export const analysisTaskSchema = z.strictObject({
  target: z.string(),
  top_n: z.number().int(),
  max_decompressed_bytes: z.number(),
  reports: z.array(fileSchema),
  timelines: z.array(fileSchema).describe("one a rank; with any, all of it runs in a process of its own"),
  folder: z.string().nullable().describe("empty, for unpacked databases; null: nothing is unpacked"),
  window: z
    .union([
      z.strictObject({ nvtx: z.string() }),
      z.strictObject({ step: z.number() }),
      z.strictObject({ from_us: z.number(), to_us: z.number() }),
    ])
    .nullable()
    .describe("part of the timelines; null: all of them"),
  model: z.string().nullable().describe("as the request names it: some stages depend on its kind"),
  capture: captureEndSchema.nullable().describe("null: the reports were uploaded"),
});
export type AnalysisTask = z.infer<typeof analysisTaskSchema>;

/** What it says at its end. `body` is a ProfileResult as JSON text: it is stored and served as it is. */
export const analysisAnswerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("result"), body: z.string() }),
  z.strictObject({ kind: z.literal("failure"), failure: failureSchema }),
]);
export type AnalysisAnswer = z.infer<typeof analysisAnswerSchema>;
