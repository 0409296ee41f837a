import { createHash } from "node:crypto";
import { listProfiles, type ProfileFilter, type ProfilePosition } from "../db/profiles.ts";
import { modelKey } from "../model/model-name.ts";
import { FULL_PIPELINE, type Profile, type ProfileState } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { ProfilePorts } from "./ports.ts";
import { profileView } from "./view.ts";

export interface ListQuery {
  readonly state?: ProfileState | undefined;
  /** Any spelling of the model. */
  readonly model?: string | undefined;
  readonly engine?: string | undefined;
  readonly target?: string | undefined;
  readonly session?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * Profiles, newest first. The cursor holds the place of the last item and a hash of the filter.
 * @throws RefusedError `invalid_query` for a cursor that is broken or belongs to another filter.
 */
export async function listProfilePage(
  ports: ProfilePorts,
  query: ListQuery,
): Promise<{ items: Profile[]; next_cursor: string | null }> {
  const filter: ProfileFilter = {
    state: query.state,
    model_key: query.model === undefined ? undefined : modelKey(query.model),
    engine: query.engine?.toLowerCase(),
    target: query.target !== undefined && ports.targets.isFullPipeline(query.target) ? FULL_PIPELINE : query.target,
    session: query.session,
  };
  const filterHash = createHash("sha256").update(JSON.stringify(filter)).digest("base64url").slice(0, 12);
  const after = query.cursor === undefined ? null : readCursor(query.cursor, filterHash);
  // One more than asked for tells whether there is a next page.
  const rows = await listProfiles(ports.database.kysely, filter, after, query.limit + 1);
  const page = rows.slice(0, query.limit);
  const last = page.at(-1);
  return {
    items: page.map((row) => profileView(row)),
    next_cursor: rows.length > query.limit && last ? writeCursor(last, filterHash) : null,
  };
}

const writeCursor = ({ created_at_ms, id }: ProfilePosition, filterHash: string): string =>
  Buffer.from(JSON.stringify([created_at_ms, id, filterHash])).toString("base64url");

function readCursor(cursor: string, filterHash: string): ProfilePosition {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    content = null;
  }
  const [time, id, hash] = Array.isArray(content) ? content : [];
  if (!Number.isSafeInteger(time) || typeof id !== "string" || !/^[0-9a-f-]{36}$/.test(id)) {
    throw wrongCursor("it is not one that this service gave");
  }
  if (hash !== filterHash) throw wrongCursor("it belongs to a list with another filter");
  return { created_at_ms: time, id };
}

const wrongCursor = (why: string): RefusedError =>
  new RefusedError("invalid_query", `The cursor cannot be used: ${why}.`, {
    hint: "Pass next_cursor of the page before, with the same filter, or leave cursor out to start again.",
    errors: [{ pointer: "?cursor", code: "invalid_query", detail: why }],
  });
