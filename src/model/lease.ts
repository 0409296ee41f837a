import { z } from "zod";

const time = z.iso.datetime().describe("RFC 3339, UTC");

export const LEASE_KINDS = ["profile", "benchmark"] as const;
export const leaseKindSchema = z.enum(LEASE_KINDS);
export type LeaseKind = z.infer<typeof leaseKindSchema>;

export const gpuIdSchema = z
  .string()
  .regex(/^(GPU|MIG)-[0-9A-Za-z-]{1,64}$/, "expected a GPU's uuid, as nvidia-smi -L prints it");

/** Body of POST /leases. Either `gpus` or `worker` says which GPUs. */
export const leaseRequestSchema = z
  .strictObject({
    kind: leaseKindSchema.default("benchmark"),
    gpus: z.array(gpuIdSchema).min(1).max(64).optional().describe("uuids; all are taken at once or none"),
    worker: z.string().min(1).max(128).optional().describe("all GPUs of this worker"),
    holder: z.string().min(1).max(256).describe("who holds it, for people who look: a host and a run, say"),
    ttl_s: z.number().min(5).max(3600).default(60).describe("ends by itself unless renewed within this"),
  })
  .meta({ id: "LeaseRequest" });
export type LeaseRequest = z.infer<typeof leaseRequestSchema>;

/** Body of PATCH /leases/{id}. */
export const leaseRenewalSchema = z
  .strictObject({
    ttl_s: z.number().min(5).max(3600).optional().describe("another ttl from now on; left out: as before"),
    token: z.number().int().optional().describe("its fencing token: renewed only if it is still this one"),
  })
  .meta({ id: "LeaseRenewal" });

/** The exclusive right to a set of GPUs, or a place in the queue for it. */
export const leaseSchema = z
  .object({
    id: z.uuid(),
    state: z.enum(["waiting", "held", "ended"]),
    kind: leaseKindSchema,
    gpus: z.array(gpuIdSchema),
    holder: z.string(),
    token: z.number().int().nullable().describe("fencing token: grows with each grant; null while waiting"),
    preemptible: z.boolean().describe("true: held for a warm engine that is idle; any other request ends it"),
    wanted: z.boolean().describe("true: it is held, and somebody else waits for one of its GPUs"),
    blocked_by: z
      .array(z.uuid())
      .describe("leases that hold or come first for one of its GPUs, at most 16; empty once held"),
    ttl_s: z.number(),
    requested_at: time,
    granted_at: time.nullable(),
    expires_at: time,
  })
  .meta({ id: "Lease" });
export type Lease = z.infer<typeof leaseSchema>;
