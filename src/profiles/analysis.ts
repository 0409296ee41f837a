import { createHash } from "node:crypto";
import { changeColumns, changeState, type ProfileRow, profileById } from "../db/profiles.ts";
import { filesOfProfile, type ReportRow } from "../db/reports.ts";
import { insertResult } from "../db/results.ts";
import type { CaptureEnd } from "../model/capture.ts";
import { type Failure, FINAL_STATES, type Progress, type ResolvedRequest } from "../model/profile.ts";
import { RESULT_SCHEMA_VERSION } from "../model/result.ts";
import { isTimelineKind } from "../model/timeline.ts";
import type { ProfilePorts } from "./ports.ts";

type AttemptFile = Pick<ReportRow, "id" | "sha256" | "storage_key">;

/** Work on a profile that was begun; only who holds the newest attempt can finish it. */
export interface AnalysisAttempt {
  readonly profileId: string;
  readonly attempt: number;
  readonly request: ResolvedRequest;
  readonly reports: readonly AttemptFile[];
  readonly timelines: readonly AttemptFile[];
  /** How the reports were captured; null: they were uploaded. */
  readonly capture: CaptureEnd | null;
}

/** How far an analysis is, nobody knows: it takes a second or so. */
export const ANALYZING: Progress = { phase: "analysis", done: null, total: null, message: null };

/** A process that dies at a profile this often dies because of it. */
const MAX_ATTEMPTS = 5;

/**
 * Begins the analysis of a profile, or begins it again where the one who had begun it is gone.
 * @returns null where there is nothing to do: the profile has ended, or was begun too often and has failed now.
 */
export async function beginAnalysis(ports: ProfilePorts, profileId: string): Promise<AnalysisAttempt | null> {
  const now = ports.now();
  const begun = await ports.database.kysely.transaction().execute(async (transaction) => {
    const found = await profileById(transaction, profileId);
    if (!found || FINAL_STATES.has(found.state)) return null;
    // What is to be captured first has no reports yet, whoever asks.
    if (found.pool !== null && found.state !== "analyzing") return null;
    const analyses = found.attempt - found.capture_attempts;
    if (analyses >= MAX_ATTEMPTS) {
      await changeState(transaction, failing(profileId, found.attempt, diedTooOften(analyses), now));
      return null;
    }
    const row =
      found.state === "analyzing"
        ? await changeColumns(transaction, {
            id: profileId,
            state: "analyzing",
            attempt: found.attempt,
            now_ms: now,
            columns: { attempt: found.attempt + 1 },
          })
        : await changeState(transaction, {
            id: profileId,
            from: ["queued"],
            to: "analyzing",
            attempt: found.attempt,
            now_ms: now,
            columns: {
              attempt: found.attempt + 1,
              started_at_ms: now,
              progress: JSON.stringify(ANALYZING),
            },
          });
    return row && { row, files: await filesOfProfile(transaction, profileId) };
  });
  ports.wakeUps.publish(profileId);
  return begun && attemptOf(begun.row, begun.files);
}

const attemptOf = (row: ProfileRow, files: readonly ReportRow[]): AnalysisAttempt => ({
  profileId: row.id,
  attempt: row.attempt,
  request: JSON.parse(row.request),
  reports: files.filter(({ format }) => !isTimelineKind(format)),
  timelines: files.filter(({ format }) => isTimelineKind(format)),
  capture: row.capture === null ? null : JSON.parse(row.capture),
});

/** False once the profile has ended or another attempt has taken over: then nobody wants the outcome. */
export async function isWanted(ports: ProfilePorts, { profileId, attempt }: AnalysisAttempt): Promise<boolean> {
  const row = await profileById(ports.database.kysely, profileId);
  return row !== null && row.state === "analyzing" && row.attempt === attempt;
}

/** Calls `listener` whenever the profile changes, until the returned function is called. */
export const onProfileChange = (ports: ProfilePorts, profileId: string, listener: () => void): (() => void) =>
  ports.wakeUps.listen(profileId, listener);

/**
 * Stores the result and the final state in one transaction.
 * @param body the result as JSON text, served as it is.
 * @returns false where the profile has ended otherwise meanwhile; nothing is stored then.
 */
export async function finishAnalysis(
  ports: ProfilePorts,
  { profileId, attempt }: AnalysisAttempt,
  body: string,
): Promise<boolean> {
  const now = ports.now();
  const sha256 = createHash("sha256").update(body).digest("hex");
  const row = await ports.database.kysely.transaction().execute(async (transaction) => {
    const changed = await changeState(transaction, {
      id: profileId,
      from: ["analyzing"],
      to: "succeeded",
      attempt,
      now_ms: now,
      columns: { progress: null, finished_at_ms: now },
    });
    if (changed) {
      await insertResult(transaction, {
        profile_id: profileId,
        schema_version: RESULT_SCHEMA_VERSION,
        body,
        sha256,
        created_at_ms: now,
      });
    }
    return changed;
  });
  ports.wakeUps.publish(profileId);
  return row !== null;
}

/** Ends the profile as failed. Returns false where it has ended otherwise meanwhile. */
export async function failAnalysis(
  ports: ProfilePorts,
  { profileId, attempt }: AnalysisAttempt,
  failure: Failure,
): Promise<boolean> {
  const row = await ports.database.kysely
    .transaction()
    .execute((transaction) => changeState(transaction, failing(profileId, attempt, failure, ports.now())));
  ports.wakeUps.publish(profileId);
  return row !== null;
}

const failing = (id: string, attempt: number, failure: Failure, now: number) =>
  ({
    id,
    from: ["queued", "analyzing"],
    to: "failed",
    attempt,
    now_ms: now,
    columns: { progress: null, failure: JSON.stringify(failure), finished_at_ms: now },
    data: { code: failure.code },
  }) as const;

const diedTooOften = (attempts: number): Failure => ({
  code: "analysis_crashed",
  message: `The process that analysed this profile ended ${attempts} times before it was done.`,
  hint: "Look for the reason in the log of the service and in that of the system (out of memory, say), then submit the profile again.",
  retryable: true,
  evidence: { attempts },
});
