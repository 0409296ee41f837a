import { createHash } from "node:crypto";
import type { ResolvedRequest } from "../model/profile.ts";

/**
 * The form in which spellings of one model agree: without the organisation before a slash, lower case, letters and
 * digits only. `DeepSeek V3` and `deepseek-ai/DeepSeek-V3` both give `deepseekv3`.
 */
export function modelKey(model: string): string {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/[^\p{L}\p{N}]/gu, "") || model.toLowerCase();
}

/** JSON with sorted keys: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === "object" && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : item,
  );
}

/** SHA-256 over what decides a result: the question, and the bytes of its reports. Labels, session and the like are left out. */
export function fingerprint(request: ResolvedRequest, reportHashes: readonly string[]): string {
  const { session: _session, labels: _labels, reuse: _reuse, force: _force, source, model, ...question } = request;
  const key = {
    ...question,
    model: model === null ? null : modelKey(model),
    source: { kind: source?.kind ?? null, reports: reportHashes },
  };
  return createHash("sha256").update(canonicalJson(key)).digest("hex");
}
