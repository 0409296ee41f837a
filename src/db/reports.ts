import type { Kysely, Selectable } from "kysely";
import { isTimelineKind } from "../model/timeline.ts";
import type { ReportsTable, Tables } from "./tables.ts";

export type ReportRow = Selectable<ReportsTable>;

export async function reportById(db: Kysely<Tables>, id: string): Promise<ReportRow | null> {
  return (await db.selectFrom("reports").selectAll().where("id", "=", id).executeTakeFirst()) ?? null;
}

export async function reportBySha256(db: Kysely<Tables>, sha256: string): Promise<ReportRow | null> {
  return (await db.selectFrom("reports").selectAll().where("sha256", "=", sha256).executeTakeFirst()) ?? null;
}

export async function reportsByIds(db: Kysely<Tables>, ids: readonly string[]): Promise<Map<string, ReportRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("reports").selectAll().where("id", "in", ids).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** The reports of a profile in the order of its request. */
export async function reportsOfProfile(db: Kysely<Tables>, profileId: string): Promise<ReportRow[]> {
  return (await filesOfProfile(db, profileId)).filter(({ format }) => !isTimelineKind(format));
}

/** The timelines of a profile in the order of its request. */
export async function timelinesOfProfile(db: Kysely<Tables>, profileId: string): Promise<ReportRow[]> {
  return (await filesOfProfile(db, profileId)).filter(({ format }) => isTimelineKind(format));
}

/** Reports and timelines of a profile, reports first. */
export function filesOfProfile(db: Kysely<Tables>, profileId: string): Promise<ReportRow[]> {
  return db
    .selectFrom("profile_reports")
    .innerJoin("reports", "reports.id", "profile_reports.report_id")
    .selectAll("reports")
    .where("profile_reports.profile_id", "=", profileId)
    .orderBy("profile_reports.position")
    .execute();
}

/** Bytes of all stored reports. */
export async function storedReportBytes(db: Kysely<Tables>): Promise<number> {
  const row = await db.selectFrom("storage_usage").select("bytes").where("kind", "=", "reports").executeTakeFirst();
  return row?.bytes ?? 0;
}

/**
 * Adds to the bytes of all stored reports and returns the sum. Inside a transaction this is also the lock under which
 * hash and quota are looked at: whoever adds a report comes by here, one after the other.
 */
export async function addStoredReportBytes(db: Kysely<Tables>, bytes: number): Promise<number> {
  const row = await db
    .updateTable("storage_usage")
    .set((builder) => ({ bytes: builder("bytes", "+", bytes) }))
    .where("kind", "=", "reports")
    .returning("bytes")
    .executeTakeFirstOrThrow();
  return row.bytes;
}

export async function insertReport(db: Kysely<Tables>, report: ReportRow): Promise<void> {
  await db.insertInto("reports").values(report).execute();
}

/** Gives a profile its reports and timelines, in this order. */
export async function insertProfileReports(
  db: Kysely<Tables>,
  profile_id: string,
  reportIds: readonly string[],
): Promise<void> {
  if (reportIds.length === 0) return;
  await db
    .insertInto("profile_reports")
    .values(reportIds.map((report_id, position) => ({ profile_id, position, report_id })))
    .execute();
}
