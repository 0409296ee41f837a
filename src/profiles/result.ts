import type { Readable } from "node:stream";
import { ArtifactMissingError, type ByteRange } from "../artifacts/store.ts";
import { artifactsOfProfile } from "../db/artifacts.ts";
import { reportsOfProfile, timelinesOfProfile } from "../db/reports.ts";
import { type ResultRow, resultOfProfile } from "../db/results.ts";
import { RefusedError } from "../model/refusal.ts";
import { getProfile } from "./get.ts";
import type { ProfilePorts } from "./ports.ts";

/**
 * The stored result.
 * @throws RefusedError `not_ready` while it may still come; `not_found` when it never will.
 */
export async function getResult(ports: ProfilePorts, id: string): Promise<ResultRow> {
  const result = await resultOfProfile(ports.database.kysely, id);
  if (result) return result;
  const { state, failure } = await getProfile(ports, id);
  if (state === "failed") {
    throw new RefusedError(
      "not_found",
      `The profile has failed (${JSON.parse(failure ?? "{}").code}), so it has no result.`,
      {
        hint: `GET /profiles/${id} says why, in failure.`,
      },
    );
  }
  if (state === "canceled") throw new RefusedError("not_found", "The profile was canceled, so it has no result.");
  throw new RefusedError("not_ready", `The profile is ${state}; its result is not there yet.`, {
    hint: `Wait with GET /profiles/${id}?wait=30.`,
    retryAfterS: 1,
  });
}

/** A file to hand out; what it is, is known once it was taken for the analysis. */
export interface ReportFile {
  readonly sha256: string;
  readonly bytes: number;
  readonly storage_key: string;
  readonly format: string | null;
  readonly compression: string | null;
}

/**
 * A report of a profile, by its place in the request or in the outcome. A capture that was canceled or has failed has
 * those that its worker handed in before.
 * @throws RefusedError `not_found`
 */
export async function getProfileReport(ports: ProfilePorts, id: string, position: number): Promise<ReportFile> {
  const analysed = await reportsOfProfile(ports.database.kysely, id);
  const reports = analysed.length > 0 ? analysed : await capturedFiles(ports, id, "report-");
  const report = reports[position];
  if (report) return report;
  await getProfile(ports, id);
  throw new RefusedError(
    "not_found",
    `The profile has no report ${position}: it has ${reports.length}, counted from 0.`,
  );
}

/**
 * A timeline of a profile, by its place in the request or in the outcome. Of a capture it is without what tells of the
 * host: its worker took that out.
 * @throws RefusedError `not_found`
 */
export async function getProfileTimeline(ports: ProfilePorts, id: string, position: number): Promise<ReportFile> {
  const analysed = await timelinesOfProfile(ports.database.kysely, id);
  const timelines = analysed.length > 0 ? analysed : await capturedFiles(ports, id, "timeline-");
  const timeline = timelines[position];
  if (timeline) return timeline;
  await getProfile(ports, id);
  throw new RefusedError(
    "not_found",
    `The profile has no timeline ${position}: it has ${timelines.length}, counted from 0.`,
  );
}

async function capturedFiles(ports: ProfilePorts, id: string, prefix: "report-" | "timeline-"): Promise<ReportFile[]> {
  const number = (name: string): number => Number(name.slice(prefix.length));
  const artifacts = await artifactsOfProfile(ports.database.kysely, id);
  return artifacts
    .filter(({ name }) => name.startsWith(prefix))
    .sort((a, b) => number(a.name) - number(b.name))
    .map(({ sha256, bytes, storage_key }) => ({ sha256, bytes, storage_key, format: null, compression: null }));
}

/**
 * The bytes of a report or timeline as they were uploaded.
 * @throws RefusedError `not_found` where they are no longer stored.
 */
export async function readReportBytes(ports: ProfilePorts, report: ReportFile, range?: ByteRange): Promise<Readable> {
  try {
    return await ports.artifacts.read(report.storage_key, range);
  } catch (error) {
    if (!(error instanceof ArtifactMissingError)) throw error;
    throw new RefusedError("not_found", "The file is no longer stored.");
  }
}
