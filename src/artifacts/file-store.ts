import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  ArtifactMissingError,
  type ArtifactStore,
  ArtifactTooLargeError,
  type StagedArtifact,
  StorageFullError,
} from "./store.ts";

/** Where several processes write: nobody takes longer than this for one file. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1000;
const KEY = /^sha256\/[0-9a-f]{2}\/[0-9a-f]{64}$/;

/**
 * Files under one folder: `sha256/<first two digits>/<hash>`, written beside and renamed, so that a name is a whole file.
 * @param isAlone no other process writes here: then what lies unfinished was left by one that died.
 */
export async function openFileStore(folder: string, isAlone: boolean): Promise<ArtifactStore> {
  const incoming = join(folder, "incoming");
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  await removeAbandoned(incoming, isAlone ? 0 : ABANDONED_AFTER_MS);

  const pathOf = async (key: string): Promise<string> => {
    const path = join(folder, key);
    // Keys come from the database; a key of another shape must not reach the file system all the same.
    if (!KEY.test(key) || !(await exists(path))) throw new ArtifactMissingError(`no artifact ${key}`);
    return path;
  };

  return {
    async stage(source, maxBytes) {
      const path = join(incoming, randomUUID());
      const file = await open(path, "wx", 0o600);
      try {
        const { sha256, bytes } = await write(file, source, maxBytes);
        await file.sync();
        return staged(folder, path, sha256, bytes);
      } catch (error) {
        await rm(path, { force: true });
        throw isFull(error) ? new StorageFullError("no space is left on the disk", { cause: error }) : error;
      } finally {
        await file.close();
      }
    },
    async read(key, range) {
      return createReadStream(await pathOf(key), range ?? {});
    },
    localPath: pathOf,
  };
}

async function write(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ArtifactTooLargeError(maxBytes);
    hash.update(chunk);
    for (let written = 0; written < chunk.length; ) {
      written += (await file.write(chunk, written, chunk.length - written)).bytesWritten;
    }
  }
  return { sha256: hash.digest("hex"), bytes };
}

function staged(folder: string, path: string, sha256: string, bytes: number): StagedArtifact {
  return {
    sha256,
    bytes,
    path,
    async keep() {
      const key = `sha256/${sha256.slice(0, 2)}/${sha256}`;
      const target = join(folder, key);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await rename(path, target);
      await syncFolder(dirname(target));
      return key;
    },
    discard: () => rm(path, { force: true }),
  };
}

/** Makes a rename durable (fsync(2): the entry in the folder is not covered by the fsync of the file). */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function removeAbandoned(incoming: string, afterMs: number): Promise<void> {
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name);
    const info = await stat(path).catch(() => null);
    if (info && Date.now() - info.mtimeMs >= afterMs) await rm(path, { force: true });
  }
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
