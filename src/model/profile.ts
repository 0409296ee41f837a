import { z } from "zod";
import { REPORT_FORMATS, type ReportFormat } from "./report.ts";
import { TIMELINE_KINDS, type TimelineKind } from "./timeline.ts";
import { TIMELINE_REFUSAL_CODES } from "./words.ts";

/** Version of the shape of a stored profile row and of the answers that show it. */
export const PROFILE_SCHEMA_VERSION = 1;

export const PROFILE_STATES = [
  "queued",
  "waiting_for_gpu",
  "warming_up",
  "capturing",
  "analyzing",
  "succeeded",
  "failed",
  "canceled",
] as const;
export const profileStateSchema = z.enum(PROFILE_STATES);
export type ProfileState = z.infer<typeof profileStateSchema>;

export const FINAL_STATES: ReadonlySet<ProfileState> = new Set(["succeeded", "failed", "canceled"]);

/** Closed list: why a profile failed. Each has its page in docs/failures.md. */
export const FAILURE_CODES = [
  "report_unreadable",
  "report_missing",
  "timeline_unreadable",
  ...TIMELINE_REFUSAL_CODES,
  "no_matching_kernel",
  "no_kernels_profiled",
  "analysis_timeout",
  "analysis_crashed",
  // Before ncu: the host and the engine.
  "no_worker",
  "worker_lost",
  "worker_stopped",
  "workload_changed",
  "preflight_failed",
  "gpu_busy",
  "lease_lost",
  "tool_missing",
  "injection_slot_taken",
  "program_missing",
  "engine_start_failed",
  "engine_died",
  "warmup_failed",
  // Under ncu.
  "counters_not_permitted",
  "counters_in_use",
  "lock_file_denied",
  "gpu_not_supported",
  "driver_incompatible",
  "clock_control_failed",
  "unknown_section",
  "no_metrics",
  "counters_invalid",
  "ncu_usage",
  "ncu_failed",
  "nsys_failed",
  "application_failed",
  "application_crashed",
  "kernel_fault",
  "replay_impossible",
  "replay_not_deterministic",
  "capture_stalled",
  "capture_timeout",
  "capture_killed",
  "capture_incomplete",
  "disk_full",
  "output_too_large",
  "report_too_large",
  "upload_failed",
  "internal",
] as const;
export const failureCodeSchema = z.enum(FAILURE_CODES);

export const failureSchema = z
  .object({
    code: failureCodeSchema,
    message: z.string().describe("what happened"),
    hint: z.string().describe("what to do"),
    retryable: z.boolean(),
    evidence: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "Failure" });
export type Failure = z.infer<typeof failureSchema>;

export { FULL_PIPELINE } from "./words.ts";

const labelsSchema = z.record(z.string().max(64), z.string().max(256));

export const reportSourceSchema = z.strictObject({
  kind: z.literal("report"),
  report_ids: z
    .array(z.string().min(1))
    .max(64)
    .optional()
    .describe("reports, by their ids from POST /reports; required unless timelines are given"),
  timeline_ids: z
    .array(z.string().min(1))
    .max(64)
    .optional()
    .describe("timelines of one run, one for each rank, by their ids from POST /reports"),
});

export type ReportSource = z.infer<typeof reportSourceSchema>;

const sourceSchema = z.discriminatedUnion("kind", [
  reportSourceSchema,
  z.strictObject({ kind: z.literal("workload"), name: z.string().min(1) }),
  z.strictObject({
    kind: z.literal("command"),
    argv: z
      .array(z.string())
      .min(1)
      .refine(([program]) => program !== "" && !program?.startsWith("-"), "expected a program first, not an option"),
    cwd: z.string().optional(),
    env: z.record(z.string(), z.string()).optional(),
  }),
]);

/** The body of POST /profiles. Unknown fields are refused by name. */
export const profileRequestSchema = z
  .strictObject({
    target: z
      .string()
      .min(1)
      .max(4096)
      .describe("kernel function name, mangled or demangled name, /regex/, or `full pipeline`"),
    model: z.string().min(1).max(256).optional(),
    engine: z.string().min(1).max(64).optional().describe("vllm, sglang or none; case-insensitive"),
    concurrency: z.number().int().min(1).max(65536).optional().describe("default 1 for a kernel, 128 for the pipeline"),
    source: sourceSchema.optional(),
    gpu: z.string().max(256).optional(),
    pool: z.string().max(64).optional(),
    rank: z.number().int().min(0).optional(),
    top_n: z.number().int().min(1).max(1000).optional(),
    max_duration_s: z.number().positive().optional(),
    window: z
      .union([
        z.strictObject({ nvtx: z.string().min(1).max(4096) }),
        z.strictObject({
          step: z.union([z.number().int().min(0), z.string().regex(/^\d{1,15}$/, "expected a whole number from 0")]),
        }),
        z.strictObject({ from_us: z.number(), to_us: z.number() }),
      ])
      .optional()
      .describe(
        "part of the timelines: ranges of that name, the step of that number, or from the first GPU activity in microseconds",
      ),
    session: z.string().min(1).max(256).optional(),
    revision: z.string().min(1).max(256).optional(),
    reuse: z.enum(["session", "any", "never"]).optional(),
    force: z.boolean().optional(),
    objective: z.enum(["bottleneck", "e2e_throughput"]).optional(),
    ncu: z
      .strictObject({
        set: z.string().optional(),
        sections: z.array(z.string()).optional(),
        metrics: z.array(z.string()).optional(),
        cache_control: z.enum(["all", "none"]).optional(),
        clock_control: z.enum(["base", "none"]).optional(),
      })
      .optional(),
    webhook: z.strictObject({ url: z.url(), events: z.array(z.string()).optional() }).optional(),
    labels: labelsSchema.optional(),
  })
  .meta({
    id: "ProfileRequest",
    examples: [
      {
        target: "full pipeline",
        source: { kind: "report", report_ids: ["01a23007-a5e8-7481-a240-6068bf8be8a2"] },
      },
    ],
  });
export type ProfileRequest = z.infer<typeof profileRequestSchema>;

/** The request with its defaults filled in, as it is stored and shown. */
export const resolvedRequestSchema = profileRequestSchema
  .extend({
    engine: z.enum(["vllm", "sglang", "none"]).nullable(),
    model: z.string().nullable(),
    concurrency: z.number().int(),
    top_n: z.number().int(),
    rank: z.number().int(),
    objective: z.literal("bottleneck"),
  })
  .meta({ id: "ResolvedProfileRequest" });
export type ResolvedRequest = z.infer<typeof resolvedRequestSchema>;

const time = z.iso.datetime().describe("RFC 3339, UTC");

export const progressSchema = z.object({
  phase: z.string(),
  done: z.number().nullable(),
  total: z.number().nullable(),
  message: z.string().nullable(),
});
export type Progress = z.infer<typeof progressSchema>;

export const profileSchema = z
  .object({
    id: z.uuid().describe("version 7"),
    schema_version: z.literal(PROFILE_SCHEMA_VERSION),
    state: profileStateSchema,
    reused: z.boolean(),
    progress: progressSchema.nullable(),
    request: resolvedRequestSchema,
    created_at: time,
    updated_at: time,
    started_at: time.nullable(),
    finished_at: time.nullable(),
    last_event: z.number().int().describe("number of the newest event of this profile"),
    failure: failureSchema.nullable(),
    capture: z
      .object({
        pool: z.string(),
        workload: z.string().nullable().describe("name of the workload that was chosen; null: the request's command"),
        worker_id: z.string().nullable().describe("who began the newest attempt; null: nobody has"),
        attempts: z.number().int().describe("how often a worker began"),
      })
      .nullable()
      .describe("null: the profile is about uploaded reports"),
    links: z.record(z.string(), z.string()),
  })
  .meta({ id: "Profile" });
export type Profile = z.infer<typeof profileSchema>;

/** An uploaded report or timeline as POST /reports answers it. */
export const uploadedReportSchema = z
  .object({
    id: z.uuid(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    bytes: z.number().int(),
    format: z.enum([...REPORT_FORMATS, ...TIMELINE_KINDS]),
    compression: z.enum(["none", "gzip", "zstd"]),
    created_at: time,
    links: z.record(z.string(), z.string()),
  })
  .meta({ id: "UploadedReport" });
export type UploadedReport = z.infer<typeof uploadedReportSchema>;

/** What an uploaded file is. */
export type UploadFormat = ReportFormat | TimelineKind;
