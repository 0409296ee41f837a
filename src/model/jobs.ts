import { z } from "zod";

/** Payload of queue `analysis`: the id is all; everything else is in the database. */
export const analysisJobSchema = z.strictObject({ version: z.literal(1), profile_id: z.uuid() });
export type AnalysisJob = z.infer<typeof analysisJobSchema>;

export const ANALYSIS_QUEUE = "analysis";
