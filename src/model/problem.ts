import { z } from "zod";

/** Closed list of `code` in a problem document and in its `errors[]`. */
export const PROBLEM_CODES = [
  "malformed_json",
  "bad_request",
  "invalid_query",
  "validation_failed",
  "use_benchmark_serving",
  "no_such_workload",
  "no_live_worker",
  "no_such_report",
  "not_found",
  "method_not_allowed",
  "not_acceptable",
  "content_too_large",
  "unsupported_media_type",
  "not_ready",
  "not_cancelable",
  "superseded",
  "lease_ended",
  "no_such_gpu",
  "report_unreadable",
  "role_missing",
  "unauthenticated",
  "quota_exceeded",
  "uri_too_long",
  "range_not_satisfiable",
  "headers_too_large",
  "request_timeout",
  "unavailable",
  "internal",
] as const;
export const problemCodeSchema = z.enum(PROBLEM_CODES);
export type ProblemCode = z.infer<typeof problemCodeSchema>;

/** RFC 9457. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: problemCodeSchema,
    detail: z.string(),
    instance: z.string(),
    hint: z.string().optional(),
    errors: z
      .array(
        z.object({
          pointer: z.string().describe("JSON Pointer into the body, or `?name` for a query parameter"),
          detail: z.string(),
          code: z.string(),
        }),
      )
      .optional(),
  })
  .loose()
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof problemSchema>;
