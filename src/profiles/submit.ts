import { validate as isUuid, v7 as uuidv7 } from "uuid";
import { insertProfile } from "../db/profiles.ts";
import { reportsByIds } from "../db/reports.ts";
import { PROFILE_SCHEMA_VERSION, type Profile, type ProfileRequest } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import { fingerprint, modelKey } from "./fingerprint.ts";
import type { Asker, ProfilePorts } from "./ports.ts";
import { reportIds, requestText, resolveRequest } from "./resolve-request.ts";
import { profileView } from "./view.ts";

/**
 * Takes a profile in. The row, its first event and its outbox entry are one transaction; from then on it ends in
 * exactly one final state. A queue that is away does not matter: the row is the truth, and the reconciler queues it.
 * @throws RefusedError
 */
export async function submitProfile(ports: ProfilePorts, asker: Asker, body: ProfileRequest): Promise<Profile> {
  const request = resolveRequest(body, ports.targets);
  const text = requestText(request);
  const ids = reportIds(request);
  const db = ports.database.kysely;
  const reports = await reportsByIds(
    db,
    ids.filter((id) => isUuid(id)),
  );
  const hashes = ids.map((id, position) => {
    const report = reports.get(id);
    if (report) return report.sha256;
    throw new RefusedError("no_such_report", `There is no report ${JSON.stringify(id.slice(0, 100))}.`, {
      hint: "Upload it with POST /reports; the answer holds its id.",
      errors: [
        {
          pointer: `/source/report_ids/${position}`,
          code: "no_such_report",
          detail: `given: ${JSON.stringify(id.slice(0, 100))}; expected an id from POST /reports`,
        },
      ],
    });
  });
  const now = ports.now();
  const model_key = request.model === null ? null : modelKey(request.model);
  const row = await db.transaction().execute((transaction) =>
    insertProfile(
      transaction,
      {
        id: uuidv7(),
        schema_version: PROFILE_SCHEMA_VERSION,
        source_kind: "report",
        target: request.target,
        model: request.model,
        model_key,
        engine: request.engine,
        session: request.session ?? null,
        revision: request.revision ?? null,
        fingerprint: fingerprint(request, model_key, hashes),
        request: text,
        labels: JSON.stringify(request.labels ?? {}),
        owner_key_id: asker.keyId,
        created_at_ms: now,
      },
      ids,
    ),
  );
  try {
    await ports.queue.add(row.id);
  } catch (error) {
    ports.warn(`profile ${row.id} was taken in but not queued; the reconciler will queue it`, error);
  }
  return profileView(row, request);
}
