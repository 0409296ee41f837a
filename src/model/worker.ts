import { z } from "zod";

const time = z.iso.datetime().describe("RFC 3339, UTC");

/** Id of a worker: chosen by itself, kept over restarts (host name and pool by default). */
export const workerIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);

/** Name of a pool: a part of its queue's name, in which BullMQ allows no colon. */
export const poolSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "expected 1 to 64 of letters, digits, '.', '_' and '-'");

/** One GPU as nvidia-smi names it. */
export const workerGpuSchema = z
  .object({
    index: z.number().int(),
    uuid: z.string().regex(/^(GPU|MIG)-[0-9A-Za-z-]{1,64}$/),
    name: z.string().max(256),
    driver_version: z.string().max(64),
    memory_total_bytes: z
      .number()
      .int()
      .nullable()
      .describe("null: the driver does not say (MIG devices, unified memory)"),
    compute_capability: z.string().max(16).nullable(),
    mig_mode: z.enum(["enabled", "disabled"]).nullable().describe("null: the GPU does not have it"),
  })
  .meta({ id: "WorkerGpu" });
export type WorkerGpu = z.infer<typeof workerGpuSchema>;

const toolSchema = z.object({ path: z.string(), version: z.string() }).nullable();

/** A workload as a worker declares it: no command line, no environment. */
export const declaredWorkloadSchema = z
  .object({
    name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/),
    kind: z.enum(["benchmark", "server"]),
    description: z.string().max(1024).nullable(),
    model: z.string().max(256),
    aliases: z.array(z.string().max(256)),
    engine: z.enum(["vllm", "sglang", "none"]),
    gpus: z.number().int(),
    sha256: z
      .string()
      .describe("hash over the declaration and the files it names: changes when what would run changes"),
  })
  .meta({ id: "DeclaredWorkload" });
export type DeclaredWorkload = z.infer<typeof declaredWorkloadSchema>;

/** Body of PUT /workers/{id}: registration and heartbeat in one. */
export const workerRegistrationSchema = z
  .strictObject({
    version: z.string().max(64),
    pool: poolSchema,
    gpus: z.array(workerGpuSchema).max(64),
    tools: z.object({
      ncu: toolSchema,
      nsys: toolSchema,
      ncu_sets: z.array(z.string()).describe("names that --set takes on this host"),
    }),
    workloads: z.array(declaredWorkloadSchema).max(256),
    allow_commands: z.boolean(),
    profile_id: z.uuid().nullable().describe("what it works on"),
    stopping: z.boolean().describe("true: it takes no more jobs"),
  })
  .meta({ id: "WorkerRegistration" });
export type WorkerRegistration = z.infer<typeof workerRegistrationSchema>;

/** A worker sends a heartbeat this often; it counts as lost after `WORKER_LOST_AFTER_S` without one. */
export const HEARTBEAT_INTERVAL_S = 5;
export const WORKER_LOST_AFTER_S = 20;

export const workerSchema = workerRegistrationSchema
  .extend({
    id: workerIdSchema,
    state: z.enum(["live", "stopping", "lost"]),
    first_seen_at: time,
    last_heartbeat_at: time,
    heartbeat_age_s: z.number(),
  })
  .meta({ id: "Worker" });
export type Worker = z.infer<typeof workerSchema>;

/** GET /workloads: a workload, and who declares it. */
export const knownWorkloadSchema = declaredWorkloadSchema
  .extend({
    workers: z.array(
      z.object({
        id: workerIdSchema,
        pool: z.string(),
        state: z.enum(["live", "stopping", "lost"]),
        heartbeat_age_s: z.number(),
      }),
    ),
  })
  .meta({ id: "KnownWorkload" });
export type KnownWorkload = z.infer<typeof knownWorkloadSchema>;
