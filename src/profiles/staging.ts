import { ArtifactTooLargeError, type StagedArtifact, StorageFullError } from "../artifacts/store.ts";
import { isStored } from "../db/artifacts.ts";
import type { Connection } from "../db/database.ts";
import { addStoredReportBytes, storedReportBytes } from "../db/reports.ts";
import { RefusedError } from "../model/refusal.ts";
import type { ProfilePorts } from "./ports.ts";

export interface Incoming {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** `Content-Length`, where the client says it. */
  readonly declaredBytes: number | null;
}

/**
 * Streams bytes to the storage, where they wait to be kept or discarded.
 * @throws RefusedError `content_too_large`, `quota_exceeded`; whatever the source throws.
 */
export async function stageBytes(ports: ProfilePorts, { bytes, declaredBytes }: Incoming): Promise<StagedArtifact> {
  const { maxReportBytes, reportQuotaBytes } = ports.limits;
  if ((declaredBytes ?? 0) > maxReportBytes) throw tooLarge(maxReportBytes);
  const room = reportQuotaBytes - (await storedReportBytes(ports.database.kysely));
  if (room < (declaredBytes ?? 1)) throw overQuota(reportQuotaBytes);

  let counted = 0;
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      counted += chunk.length;
      ports.incoming.bytes += chunk.length;
      if (ports.incoming.bytes > room) throw overQuota(reportQuotaBytes);
      yield chunk;
    }
  }
  try {
    return await ports.artifacts.stage(watched(), maxReportBytes);
  } catch (error) {
    if (error instanceof ArtifactTooLargeError) throw tooLarge(error.maxBytes);
    if (error instanceof StorageFullError) {
      throw new RefusedError("quota_exceeded", "No space is left to store the file.", {
        hint: "Free space on the disk of DATA_DIR.",
        retryAfterS: 60,
      });
    }
    throw error;
  } finally {
    ports.incoming.bytes -= counted;
  }
}

/**
 * Counts staged bytes against the quota unless the same are stored already. Inside a transaction it is also the lock
 * under which hashes are looked at: whoever adds a file comes by here, one after the other.
 * @throws RefusedError `quota_exceeded`
 */
export async function countBytes(
  transaction: Connection,
  ports: ProfilePorts,
  { sha256, bytes }: Pick<StagedArtifact, "sha256" | "bytes">,
): Promise<void> {
  const used = await addStoredReportBytes(transaction, 0);
  if (await isStored(transaction, sha256)) return;
  if (used + bytes > ports.limits.reportQuotaBytes) throw overQuota(ports.limits.reportQuotaBytes);
  await addStoredReportBytes(transaction, bytes);
}

const tooLarge = (maxBytes: number): RefusedError =>
  new RefusedError(
    "content_too_large",
    `The file is larger than ${maxBytes} bytes, the most that this service takes.`,
    {
      hint: "Compress it with gzip or zstd, profile fewer launches, or raise MAX_REPORT_BYTES.",
    },
  );

const overQuota = (quota: number): RefusedError =>
  new RefusedError("quota_exceeded", `The space for reports (${quota} bytes) is used up.`, {
    hint: "Raise REPORT_QUOTA_BYTES.",
    retryAfterS: 60,
  });
