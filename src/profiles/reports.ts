import { v7 as uuidv7 } from "uuid";
import { ArtifactTooLargeError, type StagedArtifact, StorageFullError } from "../artifacts/store.ts";
import type { OpenBytes } from "../base/bytes.ts";
import { openBuffer, openFile } from "../base/file-source.ts";
import type { Result } from "../base/result.ts";
import {
  addStoredReportBytes,
  insertReport,
  type ReportRow,
  reportById,
  reportBySha256,
  storedReportBytes,
} from "../db/reports.ts";
import type { UploadedReport } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { Compression, ReadFailure, ReportFormat } from "../model/report.ts";
import type { Asker, ProfilePorts } from "./ports.ts";
import { reportView } from "./view.ts";

/** Looks at the first bytes of a file and says what it is, or why it is no report. */
export type Detect = (
  open: OpenBytes,
) => Promise<Result<{ readonly format: ReportFormat; readonly compression: Compression }, ReadFailure>>;

export interface Upload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** `Content-Length`, where the client says it. */
  readonly declaredBytes: number | null;
  readonly detect: Detect;
}

/** Enough to know a wrong kind of file by, so that a large one is refused before all of it has come. */
const HEAD_BYTES = 1024 * 1024;

/**
 * Takes in a report: streamed to storage, hashed on the way, kept once however often it is sent.
 * @returns the report, and whether these bytes were there before.
 * @throws RefusedError `content_too_large`, `quota_exceeded`, `report_unreadable`.
 */
export async function uploadReport(
  ports: ProfilePorts,
  asker: Asker,
  upload: Upload,
): Promise<{ report: UploadedReport; existed: boolean }> {
  const { maxReportBytes, reportQuotaBytes } = ports.limits;
  if ((upload.declaredBytes ?? 0) > maxReportBytes) throw tooLarge(maxReportBytes);
  const room = reportQuotaBytes - (await storedReportBytes(ports.database.kysely));
  if (room < (upload.declaredBytes ?? 1)) throw overQuota(reportQuotaBytes);

  const staged = await stage(ports, upload, room);
  let kept = false;
  try {
    const detected = await upload.detect(openFile(staged.path));
    if (!detected.ok) throw unreadable(detected.error);
    const { row, existed } = await ports.database.kysely.transaction().execute(async (transaction) => {
      const used = await addStoredReportBytes(transaction, 0);
      const existing = await reportBySha256(transaction, staged.sha256);
      if (!existing && used + staged.bytes > reportQuotaBytes) throw overQuota(reportQuotaBytes);
      // Kept also where the row exists: it puts the file back should somebody have removed it.
      const storage_key = await staged.keep();
      kept = true;
      if (existing) return { row: existing, existed: true };
      const report: ReportRow = {
        id: uuidv7(),
        sha256: staged.sha256,
        bytes: staged.bytes,
        format: detected.value.format,
        compression: detected.value.compression,
        storage_key,
        owner_key_id: asker.keyId,
        created_at_ms: ports.now(),
      };
      await insertReport(transaction, report);
      await addStoredReportBytes(transaction, staged.bytes);
      return { row: report, existed: false };
    });
    return { report: reportView(row), existed };
  } finally {
    if (!kept) await staged.discard();
  }
}

/** @throws RefusedError `not_found` */
export async function getReport(ports: ProfilePorts, id: string): Promise<UploadedReport> {
  const row = await reportById(ports.database.kysely, id);
  if (!row) throw new RefusedError("not_found", `There is no report ${id}.`);
  return reportView(row);
}

async function stage(ports: ProfilePorts, upload: Upload, room: number): Promise<StagedArtifact> {
  const { maxReportBytes, reportQuotaBytes } = ports.limits;
  let counted = 0;
  async function* watched(): AsyncGenerator<Uint8Array> {
    for await (const chunk of refusingWrongKinds(upload)) {
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
      throw new RefusedError("quota_exceeded", "No space is left to store the report.", {
        hint: "Free space on the disk of DATA_DIR.",
        retryAfterS: 60,
      });
    }
    throw error;
  } finally {
    ports.incoming.bytes -= counted;
  }
}

async function* refusingWrongKinds({ bytes, detect }: Upload): AsyncGenerator<Uint8Array> {
  let head: Uint8Array[] | null = [];
  let size = 0;
  for await (const chunk of bytes) {
    if (head) {
      head.push(chunk);
      size += chunk.length;
      if (size >= HEAD_BYTES) {
        const detected = await detect(openBuffer(Buffer.concat(head)));
        head = null;
        // What a cut-off head cannot tell is left to the look at the whole file.
        if (!detected.ok && (detected.error.code === "wrong_kind" || detected.error.code === "unknown_format")) {
          throw unreadable(detected.error);
        }
      }
    }
    yield chunk;
  }
}

const tooLarge = (maxBytes: number): RefusedError =>
  new RefusedError(
    "content_too_large",
    `The report is larger than ${maxBytes} bytes, the most that this service takes.`,
    {
      hint: "Compress it with gzip or zstd, profile fewer launches, or raise MAX_REPORT_BYTES.",
    },
  );

const overQuota = (quota: number): RefusedError =>
  new RefusedError("quota_exceeded", `The space for reports (${quota} bytes) is used up.`, {
    hint: "Raise REPORT_QUOTA_BYTES.",
    retryAfterS: 60,
  });

const unreadable = (failure: ReadFailure): RefusedError =>
  new RefusedError("report_unreadable", failure.message, {
    hint: failure.hint,
    errors: [{ pointer: "", code: failure.code, detail: failure.message }],
  });
