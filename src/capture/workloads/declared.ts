import { createHash, hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { err, ok, type Result } from "../../base/result.ts";
import type { DeclaredWorkload } from "../../model/worker.ts";
import type { Workload, WorkloadsFile } from "../../model/workload.ts";

/** A file that a workload names and that cannot be hashed. */
export interface FileProblem {
  readonly workload: string;
  /** As it stands in workloads.yaml. */
  readonly file: string;
  readonly message: string;
}

/** SHA-256 of a file's bytes as hex. */
export type FileHasher = (path: string) => Promise<Result<string, string>>;

/**
 * The workloads as a worker declares them, in the order of the file. Relative `files` stand beside workloads.yaml, in
 * `folder`. The hash covers the declaration with its defaults (keys sorted) and the bytes of its files.
 */
export async function declareWorkloads(
  file: WorkloadsFile,
  folder: string,
  hashFile: FileHasher = openFileHasher(),
): Promise<Result<DeclaredWorkload[], FileProblem[]>> {
  const declared: DeclaredWorkload[] = [];
  const problems: FileProblem[] = [];
  // One after the other: a disk reads one file at a time best.
  for (const workload of file.workloads) {
    const hashed = await workloadHash(workload, folder, hashFile);
    if (!hashed.ok) {
      problems.push(...hashed.error);
      continue;
    }
    declared.push({
      name: workload.name,
      kind: workload.kind,
      description: workload.description ?? null,
      model: workload.model,
      aliases: workload.aliases,
      engine: workload.engine,
      gpus: workload.gpus,
      sha256: hashed.value,
    });
  }
  return problems.length > 0 ? err(problems) : ok(declared);
}

/** Hash of one workload, to be compared with what was declared before it is run. */
export async function workloadHash(
  workload: Workload,
  folder: string,
  hashFile: FileHasher = openFileHasher(),
): Promise<Result<string, FileProblem[]>> {
  const problems: FileProblem[] = [];
  const files: string[][] = [];
  for (const file of workload.files) {
    const hashed = await hashFile(isAbsolute(file) ? file : resolve(folder, file));
    if (hashed.ok) files.push([file, hashed.value]);
    else problems.push({ workload: workload.name, file, message: hashed.error });
  }
  return problems.length > 0 ? err(problems) : ok(hash("sha256", canonical({ declaration: workload, files })));
}

/** Folder in which a workload runs. */
export const workingFolder = (workload: Workload, folder: string): string => resolve(folder, workload.cwd ?? ".");

/** JSON with sorted keys: the same declaration gives the same bytes, however it was written. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/**
 * Hashes files and remembers them by path, inode, size and times: a heartbeat every few seconds does not read model
 * files anew. A file is read as a stream.
 */
export function openFileHasher(): FileHasher {
  const known = new Map<string, { state: string; sha256: string }>();
  return async (path) => {
    try {
      const found = await stat(path, { bigint: true });
      if (found.isDirectory()) return err(`${path} is a folder; name the files in it`);
      if (!found.isFile()) return err(`${path} is no ordinary file`);
      const state = [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(" ");
      const before = known.get(path);
      if (before?.state === state) return ok(before.sha256);
      const sha256 = createHash("sha256");
      await pipeline(createReadStream(path), sha256);
      const digest = sha256.digest("hex");
      known.set(path, { state, sha256: digest });
      return ok(digest);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      if (code === "ENOENT" || code === "ENOTDIR") return err(`${path} does not exist`);
      return err(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
}
