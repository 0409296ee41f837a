import type { Readable } from "node:stream";
import { ArtifactMissingError } from "../artifacts/store.ts";
import { artifactOfProfile, type ProfileArtifactRow, putArtifactRow } from "../db/artifacts.ts";
import type { Connection } from "../db/database.ts";
import { type ProfileRow, profileById } from "../db/profiles.ts";
import type { Artifact } from "../model/capture.ts";
import { FINAL_STATES } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import { IN_CAPTURE, superseded } from "./capture.ts";
import { getProfile } from "./get.ts";
import type { ProfilePorts } from "./ports.ts";
import { countBytes, type Incoming, stageBytes } from "./staging.ts";

export interface ArtifactUpload extends Incoming {
  readonly name: string;
  readonly attempt: number;
  readonly workerId: string;
  /** Hex, where the client says what is to arrive. */
  readonly sha256: string | null;
}

/** For so long after its end a profile takes what its last attempt still has: the files of a canceled run, its log. */
const LATE_LIMIT_MS = 10 * 60 * 1000;

/**
 * Takes in a file of a capture. Sending it again is harmless: of two with the same name the newest stays.
 * @throws RefusedError `superseded`, `bad_request` where other bytes came than were announced, `content_too_large`,
 * `quota_exceeded`, `not_found`.
 */
export async function putArtifact(ports: ProfilePorts, id: string, upload: ArtifactUpload): Promise<Artifact> {
  await takingFrom(ports, ports.database.kysely, id, upload);
  const staged = await stageBytes(ports, upload);
  let kept = false;
  try {
    const { sha256, bytes } = staged;
    if (upload.sha256 !== null && upload.sha256 !== sha256) throw otherBytes(upload.sha256, sha256, bytes);
    await ports.database.kysely.transaction().execute(async (transaction) => {
      await countBytes(transaction, ports, staged);
      await takingFrom(ports, transaction, id, upload);
      const storage_key = await staged.keep();
      kept = true;
      await putArtifactRow(transaction, {
        profile_id: id,
        name: upload.name,
        sha256,
        bytes,
        storage_key,
        created_at_ms: ports.now(),
      });
    });
    return { name: upload.name, sha256, bytes };
  } finally {
    if (!kept) await staged.discard();
  }
}

/** @throws RefusedError unless the profile takes this file from this attempt. */
async function takingFrom(
  ports: ProfilePorts,
  connection: Connection,
  id: string,
  { name, attempt, workerId }: ArtifactUpload,
): Promise<void> {
  const row = await profileById(connection, id);
  if (!row) throw new RefusedError("not_found", `There is no profile ${id}.`);
  // What was handed in as the outcome stays as it is; the log may be completed.
  const handedIn = row.capture !== null;
  if (attempt !== captureAttempt(row) || workerId !== row.worker_id || (handedIn && name !== "log")) {
    throw superseded(row);
  }
  if (IN_CAPTURE.includes(row.state) || row.state === "analyzing") return;
  const late = FINAL_STATES.has(row.state) && ports.now() - (row.finished_at_ms ?? 0) <= LATE_LIMIT_MS;
  if (!late) throw superseded(row);
}

/** The newest attempt that captured: analyses count on after it. */
export const captureAttempt = ({ attempt, capture }: ProfileRow): number =>
  capture === null ? attempt : JSON.parse(capture).attempt;

const otherBytes = (announced: string, arrived: string, bytes: number): RefusedError =>
  new RefusedError(
    "bad_request",
    `Content-Digest announces SHA-256 ${announced}; the ${bytes} bytes that arrived have ${arrived}.`,
    { hint: "Send the file again." },
  );

/**
 * The log of a capture.
 * @throws RefusedError `not_ready` while it may still come; `not_found` when it never will.
 */
export async function getLog(ports: ProfilePorts, id: string): Promise<ProfileArtifactRow> {
  const log = await artifactOfProfile(ports.database.kysely, id, "log");
  if (log) return log;
  const row = await getProfile(ports, id);
  if (row.pool === null) {
    throw new RefusedError("not_found", "The profile is about uploaded reports: nothing ran, so there is no log.");
  }
  if (FINAL_STATES.has(row.state)) {
    const why = row.worker_id === null ? "no worker had begun it" : `worker ${row.worker_id} handed in none`;
    throw new RefusedError(
      "not_found",
      `The profile has ${row.state === "canceled" ? "been canceled" : row.state} without a log: ${why}.`,
    );
  }
  throw new RefusedError("not_ready", `The profile is ${row.state}; its log is handed in when the capture ends.`, {
    hint: `Wait with GET /profiles/${id}?wait=30.`,
    retryAfterS: 1,
  });
}

/** @throws RefusedError `not_found` where the bytes are no longer stored. */
export async function readArtifactBytes(ports: ProfilePorts, artifact: ProfileArtifactRow): Promise<Readable> {
  try {
    return await ports.artifacts.read(artifact.storage_key);
  } catch (error) {
    if (!(error instanceof ArtifactMissingError)) throw error;
    throw new RefusedError("not_found", "This file is no longer stored.");
  }
}
