import type { ColumnType, Generated } from "kysely";
import type { ProfileState } from "../model/profile.ts";

/**
 * The tables, the same on SQLite and Postgres. Times are Unix milliseconds. JSON is kept as text: it comes back byte for
 * byte (key order included) and both databases read it with the same code.
 */
export interface Tables {
  profiles: ProfilesTable;
  events: EventsTable;
  outbox: OutboxTable;
  results: ResultsTable;
  reports: ReportsTable;
  profile_reports: ProfileReportsTable;
  storage_usage: StorageUsageTable;
  api_keys: ApiKeysTable;
  workers: WorkersTable;
  profile_artifacts: ProfileArtifactsTable;
}

/** Written once. */
type Fixed<T> = ColumnType<T, T, never>;

export interface ProfilesTable {
  id: Fixed<string>;
  schema_version: number;
  state: ProfileState;
  /** Number of the newest event: the next one is this plus 1, taken in the transaction that changes the state. */
  last_event: number;
  source_kind: Fixed<string>;
  target: Fixed<string>;
  model: Fixed<string | null>;
  /** `model` in the form that spellings of the same model share. */
  model_key: Fixed<string | null>;
  engine: Fixed<string | null>;
  session: Fixed<string | null>;
  revision: Fixed<string | null>;
  /** SHA-256 over what decides the result; equal fingerprints mean the same question about the same input. */
  fingerprint: Fixed<string>;
  /** JSON: the request with its defaults. */
  request: Fixed<string>;
  labels: Fixed<string>;
  progress: string | null;
  failure: string | null;
  /** How often work on it was begun. Who finishes must name the attempt that it began: a fencing token. */
  attempt: number;
  owner_key_id: Fixed<string | null>;
  created_at_ms: Fixed<number>;
  updated_at_ms: number;
  started_at_ms: number | null;
  finished_at_ms: number | null;
  /** Pool whose workers capture it; null: it is about uploaded reports. */
  pool: Fixed<string | null>;
  /** Name in workloads.yaml; null: uploaded reports, or a command that the request brings. */
  workload: Fixed<string | null>;
  /** Worker that began the newest capture attempt. */
  worker_id: string | null;
  /** How many of `attempt` were begun by a capture; the others by an analysis. */
  capture_attempts: number;
  /** JSON (`CaptureEnd`): how the capture ended, once it has. */
  capture: string | null;
}

export interface EventsTable {
  profile_id: Fixed<string>;
  seq: Fixed<number>;
  type: Fixed<string>;
  data: Fixed<string>;
  created_at_ms: Fixed<number>;
}

/** One row per event, in the transaction of the event: what has yet to be told to the outside. */
export interface OutboxTable {
  id: Generated<number>;
  profile_id: Fixed<string>;
  seq: Fixed<number>;
  created_at_ms: Fixed<number>;
  delivered_at_ms: number | null;
}

export interface ResultsTable {
  profile_id: Fixed<string>;
  schema_version: Fixed<number>;
  /** The JSON text as it is served. */
  body: Fixed<string>;
  /** SHA-256 of `body`, hex: its entity tag. */
  sha256: Fixed<string>;
  created_at_ms: Fixed<number>;
}

export interface ReportsTable {
  id: Fixed<string>;
  sha256: Fixed<string>;
  bytes: Fixed<number>;
  /** Tells a report from a timeline (TIMELINE_KINDS) as well. */
  format: Fixed<string>;
  compression: Fixed<string>;
  storage_key: Fixed<string>;
  owner_key_id: Fixed<string | null>;
  created_at_ms: Fixed<number>;
}

export interface ProfileReportsTable {
  profile_id: Fixed<string>;
  /** Order in the request, from 0. */
  position: Fixed<number>;
  report_id: Fixed<string>;
}

/** Bytes taken up by a kind of stored file; the row is the lock under which a quota is checked. */
export interface StorageUsageTable {
  kind: Fixed<string>;
  bytes: number;
}

export interface ApiKeysTable {
  id: Fixed<string>;
  /** SHA-256 of the secret part, hex. */
  secret_sha256: string;
  name: string;
  /** JSON array of roles. */
  roles: string;
  /** 1: may read uploaded and captured files as they are. */
  raw_artifacts: number;
  created_at_ms: Fixed<number>;
  expires_at_ms: number | null;
  revoked_at_ms: number | null;
  last_used_at_ms: number | null;
}

/** Processes on GPU hosts, as they last described themselves. */
export interface WorkersTable {
  id: Fixed<string>;
  pool: string;
  /** JSON: the body of its last PUT. */
  registration: string;
  first_seen_at_ms: Fixed<number>;
  last_heartbeat_at_ms: number;
}

/** Files that a capture handed in. */
export interface ProfileArtifactsTable {
  profile_id: Fixed<string>;
  name: Fixed<string>;
  sha256: string;
  bytes: number;
  storage_key: string;
  created_at_ms: number;
}
