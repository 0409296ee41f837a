import { hash } from "node:crypto";
import type { ResolvedRequest } from "../model/profile.ts";

/**
 * The form in which spellings of one model agree: without the organisation before a slash, lower case, letters and
 * digits only. `DeepSeek V3` and `deepseek-ai/DeepSeek-V3` both give `deepseekv3`.
 */
export function modelKey(model: string): string {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase();
  return name.replace(/[^\p{L}\p{N}]/gu, "") || model.toLowerCase();
}

/**
 * SHA-256 over what decides a result: the question, and the bytes of its reports. Labels, session and the like are left
 * out. The fields stand in a fixed order, and so do those within them, since the schema gives them in its own.
 */
export function fingerprint(
  request: ResolvedRequest,
  modelKey: string | null,
  reportHashes: readonly string[],
): string {
  const { target, engine, concurrency, gpu, pool, rank, top_n, max_duration_s, window, revision, objective, ncu } =
    request;
  const question = [target, modelKey, engine, concurrency, gpu, pool, rank, top_n, max_duration_s, window, revision];
  const source = [request.source?.kind, reportHashes];
  return hash("sha256", JSON.stringify([question, objective, ncu, source]));
}
