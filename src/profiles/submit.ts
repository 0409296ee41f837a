import { validate as isUuid, v7 as uuidv7 } from "uuid";
import { insertProfile, type NewProfile, type ProfileRow } from "../db/profiles.ts";
import { reportsByIds } from "../db/reports.ts";
import { chooseWorkload } from "../fleet/choose.ts";
import { workersNow } from "../fleet/workers.ts";
import { modelKey } from "../model/model-name.ts";
import {
  PROFILE_SCHEMA_VERSION,
  type Profile,
  type ProfileRequest,
  type ReportSource,
  type ResolvedRequest,
} from "../model/profile.ts";
import { type RefusalItem, RefusedError } from "../model/refusal.ts";
import { isTimelineKind } from "../model/timeline.ts";
import { fingerprint } from "./fingerprint.ts";
import { queueOf } from "./job-queue.ts";
import type { Asker, ProfilePorts } from "./ports.ts";
import { type GivenFile, givenFiles, invalid, quote, requestText, resolveRequest } from "./resolve-request.ts";
import { profileView } from "./view.ts";

/** What a request is about: uploaded files, or what a worker is to run. */
interface Subject {
  readonly request: ResolvedRequest;
  readonly columns: Pick<NewProfile, "source_kind" | "pool" | "workload">;
  /** Hashes that a fingerprint takes in. */
  readonly measured: readonly string[];
  /** Reports, then timelines. */
  readonly fileIds: readonly string[];
}

/**
 * Takes a profile in. The row, its first event and its outbox entry are one transaction; from then on it ends in
 * exactly one final state. A queue that is away does not matter: the row is the truth, and the reconciler queues it.
 * @throws RefusedError
 */
export async function submitProfile(ports: ProfilePorts, asker: Asker, body: ProfileRequest): Promise<Profile> {
  const resolved = resolveRequest(body, ports.targets);
  // Before anything is looked up by texts that the database does not take.
  requestText(resolved);
  const { source } = resolved;
  const subject =
    source?.kind === "report" ? await reportSubject(ports, resolved, source) : await captureSubject(ports, resolved);
  const row = await insert(ports, asker, subject);
  try {
    await queueOf(ports, row).add(row.id);
  } catch (error) {
    ports.warn(`profile ${row.id} was taken in but not queued; the reconciler will queue it`, error);
  }
  return profileView(row, subject.request);
}

function insert(
  ports: ProfilePorts,
  asker: Asker,
  { request, columns, measured, fileIds }: Subject,
): Promise<ProfileRow> {
  const model_key = request.model === null ? null : modelKey(request.model);
  const profile: NewProfile = {
    id: uuidv7(),
    schema_version: PROFILE_SCHEMA_VERSION,
    ...columns,
    target: request.target,
    model: request.model,
    model_key,
    engine: request.engine,
    session: request.session ?? null,
    revision: request.revision ?? null,
    fingerprint: fingerprint(request, model_key, measured),
    request: requestText(request),
    labels: JSON.stringify(request.labels ?? {}),
    owner_key_id: asker.keyId,
    created_at_ms: ports.now(),
  };
  return ports.database.kysely.transaction().execute((transaction) => insertProfile(transaction, profile, fileIds));
}

async function reportSubject(ports: ProfilePorts, request: ResolvedRequest, source: ReportSource): Promise<Subject> {
  const files = givenFiles(source);
  const rows = await reportsByIds(
    ports.database.kysely,
    files.map(({ id }) => id).filter((id) => isUuid(id)),
  );
  const measured = files.map((file) => {
    const row = rows.get(file.id);
    if (!row) throw unknownFile(file);
    return row.sha256;
  });
  const misplaced = files.flatMap((file) => misplacedFile(file, rows.get(file.id)?.format ?? "") ?? []);
  if (misplaced.length > 0) throw invalid(misplaced);
  const columns = { source_kind: "report", pool: null, workload: null };
  return { request, columns, measured, fileIds: files.map(({ id }) => id) };
}

const unknownFile = ({ id, pointer, kind }: GivenFile): RefusedError =>
  new RefusedError("no_such_report", `There is no ${kind} ${quote(id)}.`, {
    hint: "Upload it with POST /reports; the answer holds its id.",
    errors: [{ pointer, code: "no_such_report", detail: `given: ${quote(id)}; expected an id from POST /reports` }],
  });

/** A timeline among the reports, or the other way round; null where it stands right. */
function misplacedFile({ id, pointer, kind }: GivenFile, format: string): RefusalItem | null {
  const is = isTimelineKind(format) ? "timeline" : "report";
  if (is === kind) return null;
  const detail = `given: ${quote(id)}, which is a ${is} (${format}); a ${is} belongs in ${is}_ids`;
  return { pointer, code: "validation_failed", detail };
}

async function captureSubject(ports: ProfilePorts, request: ResolvedRequest): Promise<Subject> {
  const { pool, workload } = chooseWorkload(request, await workersNow(ports));
  const { source } = request;
  const command = source?.kind === "command" ? [source.argv, source.cwd, Object.entries(source.env ?? {})] : null;
  return {
    // A workload that is named says which model and engine it runs.
    request: {
      ...request,
      model: request.model ?? workload?.model ?? null,
      engine: request.engine ?? workload?.engine ?? null,
    },
    columns: { source_kind: source?.kind ?? "workload", pool, workload: workload?.name ?? null },
    measured: [pool, workload === null ? JSON.stringify(command) : `${workload.name}:${workload.sha256}`],
    fileIds: [],
  };
}
