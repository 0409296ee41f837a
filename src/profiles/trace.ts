import { ArtifactMissingError } from "../artifacts/store.ts";
import { timelinesOfProfile } from "../db/reports.ts";
import { RefusedError } from "../model/refusal.ts";
import type { MadeTrace, ProfilePorts } from "./ports.ts";
import { getResult } from "./result.ts";

/** What a trace is made of, and what tells whether it has changed. */
export interface TraceSource {
  readonly sha256: string;
  readonly result: string;
  readonly timelines: readonly string[];
}

/**
 * The result and the timelines of a profile.
 * @throws RefusedError `not_ready` while the result may still come; `not_found` where it never will or there is no timeline.
 */
export async function getTraceSource(ports: ProfilePorts, id: string): Promise<TraceSource> {
  const { body, sha256 } = await getResult(ports, id);
  const files = await timelinesOfProfile(ports.database.kysely, id);
  if (files.length === 0)
    throw new RefusedError("not_found", "The profile has no timeline, so there is no trace of it.");
  try {
    const timelines = await Promise.all(files.map(({ storage_key }) => ports.artifacts.localPath(storage_key)));
    return { sha256, result: body, timelines };
  } catch (error) {
    if (!(error instanceof ArtifactMissingError)) throw error;
    throw new RefusedError("not_found", "A timeline of the profile is no longer stored.");
  }
}

/**
 * The launches of the timelines with stage and verdict, in the Trace Event Format.
 * @returns null where `signal` fired before. @throws RefusedError `unavailable`
 */
export async function makeTrace(
  ports: ProfilePorts,
  { result, timelines }: TraceSource,
  gzip: boolean,
  signal: AbortSignal,
): Promise<Extract<MadeTrace, { readonly kind: "made" }> | null> {
  const made = await ports.makeTrace({ result, timelines, gzip }, signal);
  switch (made.kind) {
    case "made":
      return made;
    case "aborted":
      return null;
    case "busy":
      throw new RefusedError("unavailable", "Other traces are being made.", { retryAfterS: 10 });
    case "failure":
      throw new RefusedError("unavailable", made.failure.message, { hint: made.failure.hint });
  }
}
