import { z } from "zod";
import { failureSchema } from "./profile.ts";

/**
 * How a capture ended, told by the worker that ran it. Whether a report is complete is known from here and never from
 * the file: a report of a killed run looks whole.
 */
export const outcomeSchema = z
  .object({
    ended: z.enum(["completed", "partial", "failed", "canceled"]),
    failure: failureSchema.nullable(),
    artifacts: z.array(z.object({ name: z.string(), sha256: z.string(), bytes: z.number().int() })),
  })
  .meta({ id: "Outcome" });

export type Outcome = z.infer<typeof outcomeSchema>;
