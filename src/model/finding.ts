import { z } from "zod";

/**
 * Something the numbers say about their own trustworthiness, or about the run. A finding never changes a number: it
 * stands beside it.
 */
export const findingSchema = z
  .object({
    code: z.string().describe("snake_case, stable"),
    severity: z.enum(["info", "warning", "error"]),
    message: z.string().describe("what was found, where, and what it means for the numbers"),
    launch: z.number().int().nullable().describe("index of the launch in its report; null: the whole report"),
    evidence: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  })
  .meta({ id: "Finding" });

export type Finding = z.infer<typeof findingSchema>;
