import { createHash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { processStartTime } from "../src/base/process-identity.ts";

/** Behind the name of a folder: pid and start time of the process that made it. */
const OWNER = /\.(\d+)-([0-9a-f]{12})$/;

async function identity(pid: number): Promise<string | null> {
  const startTime = await processStartTime(pid);
  return startTime === null ? null : createHash("sha256").update(startTime).digest("hex").slice(0, 12);
}

/** Gives names to folders of this process, so that the next one knows whose they were. */
export async function ownedNames(): Promise<(name: string) => string> {
  const suffix = `.${process.pid}-${await identity(process.pid)}`;
  return (name) => name + suffix;
}

/**
 * Removes the folders in `parent` whose process is gone: what a worker that was killed had not handed in cannot be
 * handed in any more, since another attempt has its profile by now.
 * @returns how many there were.
 */
export async function removeLeftFolders(parent: string): Promise<number> {
  let removed = 0;
  for (const name of await readdir(parent)) {
    const [, pid, owner] = OWNER.exec(name) ?? [];
    if (pid !== undefined && (await identity(Number(pid))) === owner) continue;
    await rm(join(parent, name), { recursive: true, force: true });
    removed++;
  }
  return removed;
}
