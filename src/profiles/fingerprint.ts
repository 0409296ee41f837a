import { hash } from "node:crypto";
import type { ResolvedRequest } from "../model/profile.ts";

/**
 * SHA-256 over what decides a result: the question, and what is measured. Labels, session and the like are left
 * out. The fields stand in a fixed order, and so do those within them, since the schema gives them in its own.
 * @param measured hashes of the reports; for a capture the pool, and the hash of the workload or the command itself.
 */
export function fingerprint(request: ResolvedRequest, modelKey: string | null, measured: readonly string[]): string {
  const { target, engine, concurrency, gpu, pool, rank, top_n, max_duration_s, window, revision, objective, ncu } =
    request;
  const question = [target, modelKey, engine, concurrency, gpu, pool, rank, top_n, max_duration_s, window, revision];
  const source = [request.source?.kind ?? "workload", measured];
  return hash("sha256", JSON.stringify([question, objective, ncu, source]));
}
