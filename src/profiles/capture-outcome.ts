import { v7 as uuidv7 } from "uuid";
import { ArtifactMissingError } from "../artifacts/store.ts";
import { openFile } from "../base/file-source.ts";
import { artifactsOfProfile, type ProfileArtifactRow } from "../db/artifacts.ts";
import type { Connection } from "../db/database.ts";
import { changeState, type ProfileRow, profileById } from "../db/profiles.ts";
import { addStoredReportBytes, insertProfileReports, insertReport, reportBySha256 } from "../db/reports.ts";
import type { CaptureEnd, Outcome } from "../model/capture.ts";
import type { Failure, Profile, UploadFormat } from "../model/profile.ts";
import { type RefusalItem, RefusedError } from "../model/refusal.ts";
import type { Compression } from "../model/report.ts";
import { isTimelineKind } from "../model/timeline.ts";
import { ANALYZING } from "./analysis.ts";
import { boundedEvidence } from "./bounded-evidence.ts";
import { failCapture, holding, IN_CAPTURE, superseded } from "./capture.ts";
import { captureAttempt } from "./capture-artifacts.ts";
import { queueOf } from "./job-queue.ts";
import type { Detect, ProfilePorts } from "./ports.ts";
import { profileView } from "./view.ts";

/** An artifact that is a report or a timeline, as far as its first bytes tell. */
interface CapturedFile {
  readonly artifact: ProfileArtifactRow;
  readonly format: UploadFormat;
  readonly compression: Compression;
}

/**
 * Ends a capture: its reports go to the analysis, or the profile has failed. The row, its event, its outbox entry and
 * the reports are one transaction. The same outcome of the same attempt again changes nothing and answers the profile.
 * @throws RefusedError `superseded`, `validation_failed` where the outcome contradicts itself or names files that were
 * not handed in, `not_found`.
 */
export async function finishCapture(
  ports: ProfilePorts,
  id: string,
  outcome: Outcome,
  detect: Detect<UploadFormat>,
): Promise<Profile> {
  const repeated = await handedInBefore(ports.database.kysely, id, outcome);
  if (repeated) return profileView(repeated);
  const row = await holding(ports, id, outcome);
  const files = await capturedFiles(ports, row, outcome, detect);
  // Why a capture ended early says more than that its report cannot be read.
  const failure =
    "failure" in files ? (outcome.failure ?? files.failure) : outcome.ended === "failed" ? outcome.failure : null;
  const end: CaptureEnd = {
    attempt: outcome.attempt,
    ended: failure === null ? outcome.ended : "failed",
    failure: outcome.failure && boundedEvidence(outcome.failure),
    findings: outcome.findings,
    record: outcome.record,
  };
  const capture = JSON.stringify(end);
  const changed = await ports.database.kysely.transaction().execute(async (transaction) => {
    const now = ports.now();
    if (failure !== null) {
      const attempt = { id, attempt: outcome.attempt };
      return failCapture(transaction, attempt, boundedEvidence(failure), now, { capture });
    }
    const changed = await changeState(transaction, {
      id,
      from: IN_CAPTURE,
      to: "analyzing",
      attempt: outcome.attempt,
      now_ms: now,
      columns: { capture, progress: JSON.stringify(ANALYZING) },
    });
    if (changed && !("failure" in files)) await addFiles(transaction, row, files, now);
    return changed;
  });
  if (!changed) return profileView(await endedMeanwhile(ports, id, outcome));
  ports.wakeUps.publish(id);
  if (changed.state === "analyzing") {
    try {
      await queueOf(ports, changed).add(id);
    } catch (error) {
      ports.warn(`the reports of profile ${id} were taken in but not queued; the reconciler will queue them`, error);
    }
  }
  return profileView(changed);
}

/** The profile where this attempt has handed its outcome in already: an answer was lost on the way, say. */
async function handedInBefore(connection: Connection, id: string, outcome: Outcome): Promise<ProfileRow | null> {
  const row = await profileById(connection, id);
  const same = row?.capture && captureAttempt(row) === outcome.attempt && row.worker_id === outcome.worker_id;
  return same ? row : null;
}

async function endedMeanwhile(ports: ProfilePorts, id: string, outcome: Outcome): Promise<ProfileRow> {
  const repeated = await handedInBefore(ports.database.kysely, id, outcome);
  if (repeated) return repeated;
  const row = await profileById(ports.database.kysely, id);
  throw row ? superseded(row) : new RefusedError("not_found", `There is no profile ${id}.`);
}

/** The reports, then the timelines of an outcome in its order, each once; or why the profile fails though the capture did not. */
async function capturedFiles(
  ports: ProfilePorts,
  { id }: ProfileRow,
  outcome: Outcome,
  detect: Detect<UploadFormat>,
): Promise<readonly CapturedFile[] | { readonly failure: Failure }> {
  const artifacts = new Map(
    (await artifactsOfProfile(ports.database.kysely, id)).map((artifact) => [artifact.name, artifact]),
  );
  const errors = contradictions(outcome, artifacts);
  if (errors.length > 0) {
    throw new RefusedError(
      "validation_failed",
      `Wrong in the outcome: ${errors.map(({ pointer }) => pointer).join(", ")}.`,
      {
        errors,
      },
    );
  }
  if (outcome.ended === "failed") return [];
  const files = new Map<string, CapturedFile>();
  for (const [names, isTimeline] of [
    [outcome.reports, false],
    [outcome.timelines, true],
  ] as const) {
    for (const name of names) {
      const artifact = artifacts.get(name);
      // The same bytes under two names: their launches must not count twice.
      if (!artifact || files.has(artifact.sha256)) continue;
      const detected = await look(ports, artifact, detect);
      if ("failure" in detected) return detected;
      if (isTimelineKind(detected.format) !== isTimeline) return { failure: otherKind(artifact, detected.format) };
      files.set(artifact.sha256, { artifact, ...detected });
    }
  }
  return [...files.values()];
}

const otherKind = ({ name, sha256 }: ProfileArtifactRow, format: UploadFormat): Failure => ({
  code: isTimelineKind(format) ? "report_unreadable" : "timeline_unreadable",
  message: `The file ${name} of this profile is ${format}, and was named as ${isTimelineKind(format) ? "a report" : "a timeline"}.`,
  hint: "This is a fault of the worker: give it the version of the service.",
  retryable: false,
  evidence: { artifact: name, sha256, format },
});

async function look(
  ports: ProfilePorts,
  { name, sha256, storage_key }: ProfileArtifactRow,
  detect: Detect<UploadFormat>,
): Promise<{ readonly format: UploadFormat; readonly compression: Compression } | { readonly failure: Failure }> {
  try {
    const detected = await detect(openFile(await ports.artifacts.localPath(storage_key)));
    if (detected.ok) return detected.value;
    const { code, message, hint, evidence } = detected.error;
    return {
      failure: {
        code: "report_unreadable",
        message,
        hint,
        retryable: false,
        evidence: { ...evidence, reason: code, artifact: name, sha256 },
      },
    };
  } catch (error) {
    if (!(error instanceof ArtifactMissingError)) throw error;
    return {
      failure: {
        code: "report_missing",
        message: `The file ${name} of this profile is no longer in the storage.`,
        hint: "Submit the profile again.",
        retryable: true,
        evidence: { artifact: name, sha256 },
      },
    };
  }
}

function contradictions(outcome: Outcome, artifacts: ReadonlyMap<string, ProfileArtifactRow>): RefusalItem[] {
  const { ended, failure, reports, timelines, record } = outcome;
  const wrong = (pointer: string, detail: string): RefusalItem => ({ pointer, code: "validation_failed", detail });
  const errors: RefusalItem[] = [];
  if (ended === "completed" && failure !== null)
    errors.push(wrong("/failure", "given with `completed`; expected null"));
  if (ended !== "completed" && failure === null) errors.push(wrong("/failure", `given: null; \`${ended}\` needs one`));
  if (ended !== "failed" && reports.length + timelines.length === 0) {
    errors.push(wrong("/reports", `given: none; \`${ended}\` needs at least one`));
  }
  for (const field of ["worker_id", "attempt"] as const) {
    if (record[field] === outcome[field]) continue;
    errors.push(
      wrong(`/record/${field}`, `given: ${record[field]}; expected ${outcome[field]}, as outside the record`),
    );
  }
  const named = [
    ...reports.map((name, position) => ({ name, pointer: `/reports/${position}` })),
    ...timelines.map((name, position) => ({ name, pointer: `/timelines/${position}` })),
  ];
  for (const { name, pointer } of named) {
    if (name === "log") errors.push(wrong(pointer, 'given: "log"; a log is not analysed'));
    else if (!artifacts.has(name)) {
      errors.push(
        wrong(pointer, `given: "${name}"; no such file was handed in by PUT /profiles/{id}/artifacts/${name}`),
      );
    }
  }
  return errors;
}

/** Their bytes were counted when they came in. */
async function addFiles(
  transaction: Connection,
  { id, owner_key_id }: ProfileRow,
  files: readonly CapturedFile[],
  now: number,
): Promise<void> {
  // The lock under which hashes are looked at.
  await addStoredReportBytes(transaction, 0);
  const ids: string[] = [];
  for (const { artifact, format, compression } of files) {
    const { sha256, bytes, storage_key } = artifact;
    const existing = await reportBySha256(transaction, sha256);
    const reportId = existing?.id ?? uuidv7();
    if (!existing) {
      const report = { id: reportId, sha256, bytes, format, compression, storage_key };
      await insertReport(transaction, { ...report, owner_key_id, created_at_ms: now });
    }
    ids.push(reportId);
  }
  await insertProfileReports(transaction, id, ids);
}
