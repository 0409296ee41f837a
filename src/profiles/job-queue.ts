import type { ProfileRow } from "../db/profiles.ts";
import type { JobQueue } from "../queue/queues.ts";
import type { ProfilePorts } from "./ports.ts";

/** The queue in which a profile waits for its next step: that of its pool until reports are there, then the analysis. */
export const queueOf = ({ queues }: ProfilePorts, { pool, state }: Pick<ProfileRow, "pool" | "state">): JobQueue =>
  pool === null || state === "analyzing" ? queues.analysis : queues.capture(pool);
