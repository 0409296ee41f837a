import { looksSecret, REDACTED, redactor } from "../base/redact.ts";
import type { ProfileRow } from "../db/profiles.ts";
import type { ReportRow } from "../db/reports.ts";
import {
  FULL_PIPELINE,
  PROFILE_SCHEMA_VERSION,
  type Profile,
  type ResolvedRequest,
  type UploadedReport,
  type UploadFormat,
} from "../model/profile.ts";
import type { Compression } from "../model/report.ts";

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/** A profile as the API shows it. `request`: that of the row, where the caller has it already. */
export function profileView(row: ProfileRow, given: ResolvedRequest = JSON.parse(row.request)): Profile {
  const request = withoutSecrets(given);
  const self = `/profiles/${row.id}`;
  return {
    id: row.id,
    schema_version: PROFILE_SCHEMA_VERSION,
    state: row.state,
    reused: false,
    progress: row.progress === null ? null : JSON.parse(row.progress),
    request,
    created_at: iso(row.created_at_ms),
    updated_at: iso(row.updated_at_ms),
    started_at: isoOrNull(row.started_at_ms),
    finished_at: isoOrNull(row.finished_at_ms),
    last_event: row.last_event,
    failure: row.failure === null ? null : JSON.parse(row.failure),
    capture:
      row.pool === null
        ? null
        : { pool: row.pool, workload: row.workload, worker_id: row.worker_id, attempts: row.capture_attempts },
    links: {
      self,
      result: `${self}/result`,
      roofline: `${self}/roofline.svg`,
      stages_picture: `${self}/stages.svg`,
      timeline_picture: `${self}/timeline.svg`,
      report: `${self}/report`,
      ...(hasTimeline(row, request) ? { timeline: `${self}/timeline`, trace: `${self}/trace.json` } : {}),
      ...(row.pool === null ? {} : { log: `${self}/log` }),
      cancel: `${self}/cancel`,
    },
  };
}

/** From uploads, or from the capture of a full pipeline. */
const hasTimeline = ({ pool }: ProfileRow, { source, target }: ResolvedRequest): boolean =>
  source?.kind === "report" ? (source.timeline_ids?.length ?? 0) > 0 : pool !== null && target === FULL_PIPELINE;

/** A command may carry secrets, and everyone with the role `reader` sees the profile. */
function withoutSecrets(request: ResolvedRequest): ResolvedRequest {
  const { source } = request;
  if (source?.kind !== "command") return request;
  const env = source.env && Object.fromEntries(Object.keys(source.env).map((name) => [name, REDACTED]));
  const redact = redactor(Object.values(source.env ?? {}));
  // An option and its value are two arguments: they are looked at together.
  const argv = source.argv.map((argument, position) => {
    const before = source.argv[position - 1] ?? "";
    return looksSecret(before.replace(/^-+/, "")) && before.startsWith("-") ? REDACTED : redact(argument);
  });
  return { ...request, source: { ...source, argv, ...(env ? { env } : {}) } };
}

/** Changes whenever the representation does: every change of the row moves one of the two. */
export const profileTag = (row: ProfileRow): string => `"${row.last_event}-${row.attempt}-${row.updated_at_ms}"`;

export function reportView(row: ReportRow): UploadedReport {
  return {
    id: row.id,
    sha256: row.sha256,
    bytes: row.bytes,
    format: row.format as UploadFormat,
    compression: row.compression as Compression,
    created_at: iso(row.created_at_ms),
    links: { self: `/reports/${row.id}` },
  };
}
