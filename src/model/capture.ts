import { z } from "zod";
import { findingSchema } from "./finding.ts";
import { pipelinePlanSchema } from "./pipeline-plan.ts";
import { failureSchema, progressSchema, resolvedRequestSchema } from "./profile.ts";
import { workerIdSchema } from "./worker.ts";

/** Payload of a queue `capture-<pool>`: the id is all; what is to be done is asked for by `begin`. */
export const captureJobSchema = z.strictObject({ version: z.literal(1), profile_id: z.uuid() });
export type CaptureJob = z.infer<typeof captureJobSchema>;

export const captureQueueName = (pool: string): string => `capture-${pool}`;

/** States that a worker moves a profile through. */
export const CAPTURE_STATES = ["waiting_for_gpu", "warming_up", "capturing"] as const;

/** Names the attempt that speaks; whoever speaks for an older one is told `superseded` (409). */
const attemptFields = {
  worker_id: workerIdSchema,
  attempt: z.number().int().min(1),
  lease_token: z.number().int().nullable().describe("fencing token of the lease; null until there is one"),
};

/** Body of POST /profiles/{id}/events. `begin` takes the profile in hand: it gets a new attempt. */
export const captureEventSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("begin"), worker_id: workerIdSchema }),
    z.strictObject({
      type: z.literal("state"),
      ...attemptFields,
      state: z.enum(CAPTURE_STATES),
      progress: progressSchema.nullable(),
    }),
    z.strictObject({ type: z.literal("progress"), ...attemptFields, progress: progressSchema }),
  ])
  .meta({ id: "CaptureEvent" });
export type CaptureEvent = z.infer<typeof captureEventSchema>;

/** Answer to an event. */
export const captureOrderSchema = z
  .object({
    attempt: z.number().int(),
    request: resolvedRequestSchema,
    workload: z.string().nullable().describe("name in workloads.yaml; null: the request brings a command"),
    session_id: z.string().nullable(),
  })
  .meta({ id: "CaptureOrder" });
export type CaptureOrder = z.infer<typeof captureOrderSchema>;

/** Names that artifacts have. Reports are analysed; the rest is kept beside them. */
export const artifactNameSchema = z
  .string()
  .regex(/^(report|survey|timeline)-\d{1,3}$|^log$/, "expected report-<n>, survey-<n>, timeline-<n> or log");

/** What was read before, during and after a capture: evidence that goes into the result's provenance. Nulls have reasons. */
export const captureRecordSchema = z
  .object({
    worker_id: workerIdSchema,
    attempt: z.number().int(),
    workload: z.string().nullable(),
    workload_kind: z.enum(["benchmark", "server", "command"]),
    workload_sha256: z.string().nullable(),
    engine_session: z
      .enum(["warm", "per_tool", "none"])
      .describe("warm: attached to an engine that runs on; per_tool: started for each tool; none: a program that ends"),
    engine_session_reason: z.string().nullable().describe("why not warm"),
    engine_reused: z.boolean().describe("true: the engine was warm from an earlier profile"),
    lease: z
      .object({ id: z.uuid(), token: z.number().int(), gpus: z.array(z.string()), waited_s: z.number() })
      .nullable(),
    gpus: z.array(z.object({ uuid: z.string(), name: z.string(), driver_version: z.string() })),
    tools: z.object({ ncu: z.string().nullable(), nsys: z.string().nullable() }),
    concurrency: z.object({
      requested: z.number().int(),
      in_flight: z
        .number()
        .int()
        .nullable()
        .describe("requests at a time under ncu: 1 or 4; null: a benchmark program keeps its own"),
      batch: z.number().int().nullable().describe("prompts inside one request"),
      rule: z.string(),
    }),
    preflight: z.array(
      z.object({
        gpu: z.string(),
        counters_permitted: z.boolean().nullable(),
        other_processes: z.number().int().nullable(),
        memory_used_bytes: z.number().nullable(),
        memory_total_bytes: z.number().nullable(),
        sm_clock_hz: z.number().nullable(),
        sm_clock_max_hz: z.number().nullable(),
        throttle_reasons: z.array(z.string()).nullable(),
        persistence_mode: z.boolean().nullable(),
        mig: z.boolean().nullable(),
        disk_free_bytes: z.number().nullable(),
        null_reasons: z.record(z.string(), z.string()),
      }),
    ),
    warm_up: z
      .object({
        completed_by_load: z.number().int().nullable(),
        completed_by_engine: z.number().nullable(),
        engine_metric: z.string().nullable(),
        log_patterns: z.array(z.object({ pattern: z.string(), line: z.string().nullable() })),
        skipped_launches: z.number().int().nullable(),
        took_s: z.number().nullable(),
        evidence: z.string().describe("in words"),
      })
      .nullable(),
    plan: z
      .object({
        survey_launches: z.number().int().nullable(),
        timed_launches: z
          .number()
          .int()
          .nullable()
          .describe(
            "launches of the survey whose time was taken; each of the others has that of the nearest of its shape",
          ),
        clusters: z
          .array(
            z.object({
              kernel: z.string(),
              grid: z.string(),
              block: z.string(),
              launches: z.number().int(),
              median_us: z.number(),
              total_us: z.number(),
              chosen: z.array(z.number().int()).describe("ordinals among the launches of the kernel's name, from 1"),
            }),
          )
          .nullable(),
        kernels: z
          .array(
            z.object({
              kernel: z.string(),
              n: z.number().int(),
              total_us: z.number(),
              mean_us: z.number(),
              median_us: z.number(),
              p90_us: z.number(),
              min_us: z.number(),
              max_us: z.number(),
              spread: z.number().nullable(),
            }),
          )
          .nullable()
          .describe("times of every launch that the survey saw, by kernel; null: there was no survey"),
        launches: z.number().int().nullable().describe("launches that were to get counters"),
        passes: z.number().int().nullable(),
        reason: z.string(),
      })
      .nullable(),
    pipeline: pipelinePlanSchema.nullable().default(null).describe("of a full pipeline; null: one kernel was measured"),
    runs: z.array(
      z.object({
        tool: z.enum(["ncu", "nsys"]),
        purpose: z
          .enum(["shapes", "survey", "counters", "timeline", "export"])
          .describe(
            "shapes: every launch without its time; survey: times; counters: counters; timeline: the recording of a run; export: of that recording",
          ),
        argv: z.array(z.string()).describe("redacted: options of the tool and the program's name"),
        exit_code: z.number().int().nullable(),
        signal: z.string().nullable(),
        ended_by: z
          .string()
          .describe("itself, count_reached, time_limit, stall, canceled, lease_lost, disk_full, output_limit"),
        took_s: z.number(),
        first_launch_after_s: z
          .number()
          .nullable()
          .describe("from the start of the tool to its first line about a launch"),
        launches: z.number().int().nullable(),
      }),
    ),
    own_time_s: z.number().nullable().describe("from the lease to the start of ncu: what the service itself took"),
  })
  .meta({ id: "CaptureRecord" });
export type CaptureRecord = z.infer<typeof captureRecordSchema>;

/**
 * Body of POST /profiles/{id}/outcome: how a capture ended. Whether a report is complete is known from here and never
 * from the file: a report of a killed run looks whole. `partial`: it ended early, `failure` says why, and complete
 * launches were handed in.
 */
export const outcomeSchema = z
  .strictObject({
    ...attemptFields,
    ended: z.enum(["completed", "partial", "failed"]),
    failure: failureSchema.nullable(),
    findings: z.array(findingSchema).max(1000),
    reports: z.array(artifactNameSchema).max(64).describe("artifacts to analyse, in order"),
    timelines: z
      .array(artifactNameSchema)
      .max(64)
      .default([])
      .describe("artifacts that are timelines of the run, one a rank; what tells of the host is taken out of them"),
    record: captureRecordSchema,
  })
  .meta({ id: "Outcome" });
export type Outcome = z.infer<typeof outcomeSchema>;

/** What is kept of an outcome: the end of the capture, which the result tells about. */
export const captureEndSchema = z.strictObject({
  attempt: outcomeSchema.shape.attempt,
  ended: outcomeSchema.shape.ended,
  failure: outcomeSchema.shape.failure,
  findings: outcomeSchema.shape.findings,
  record: outcomeSchema.shape.record,
});
export type CaptureEnd = z.infer<typeof captureEndSchema>;

/** Answer to PUT /profiles/{id}/artifacts/{name}. */
export const artifactSchema = z
  .object({ name: artifactNameSchema, sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.number().int() })
  .meta({ id: "Artifact" });
export type Artifact = z.infer<typeof artifactSchema>;
