import { v7 as uuidv7 } from "uuid";
import { openBuffer, openFile } from "../base/file-source.ts";
import { insertReport, type ReportRow, reportById, reportBySha256 } from "../db/reports.ts";
import type { UploadedReport, UploadFormat } from "../model/profile.ts";
import { RefusedError } from "../model/refusal.ts";
import type { ReadFailure } from "../model/report.ts";
import type { Asker, Detect, ProfilePorts } from "./ports.ts";
import { countBytes, type Incoming, stageBytes } from "./staging.ts";
import { reportView } from "./view.ts";

export interface Upload extends Incoming {
  readonly detect: Detect<UploadFormat>;
}

/** Enough to know a wrong kind of file by, so that a large one is refused before all of it has come. */
const HEAD_BYTES = 1024 * 1024;

/**
 * Takes in a report or timeline: streamed to storage, hashed on the way, kept once however often it is sent.
 * @returns what is stored, and whether these bytes were there before.
 * @throws RefusedError `content_too_large`, `quota_exceeded`, `report_unreadable`.
 */
export async function uploadReport(
  ports: ProfilePorts,
  asker: Asker,
  upload: Upload,
): Promise<{ report: UploadedReport; existed: boolean }> {
  const staged = await stageBytes(ports, { ...upload, bytes: refusingWrongKinds(upload) });
  let kept = false;
  try {
    const detected = await upload.detect(openFile(staged.path));
    if (!detected.ok) throw unreadable(detected.error);
    const { row, existed } = await ports.database.kysely.transaction().execute(async (transaction) => {
      await countBytes(transaction, ports, staged);
      const existing = await reportBySha256(transaction, staged.sha256);
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

const unreadable = (failure: ReadFailure): RefusedError =>
  new RefusedError("report_unreadable", failure.message, {
    hint: failure.hint,
    errors: [{ pointer: "", code: failure.code, detail: failure.message }],
  });
