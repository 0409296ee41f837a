import { z } from "zod";
import { failureSchema } from "./profile.ts";

/** What the process that writes a trace gets. */
export const traceTaskSchema = z.strictObject({
  timelines: z.array(z.string()).describe("files, one a rank, in the order of the result"),
  result: z.string().describe("a ProfileResult as JSON text"),
  max_decompressed_bytes: z.number(),
  folder: z.string().describe("for unpacked databases"),
  path: z.string().describe("the file that is written"),
  gzip: z.boolean(),
});
export type TraceTask = z.infer<typeof traceTaskSchema>;

export const traceAnswerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("written") }),
  z.strictObject({ kind: z.literal("failure"), failure: failureSchema }),
]);
export type TraceAnswer = z.infer<typeof traceAnswerSchema>;
