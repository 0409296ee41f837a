import type { Readable } from "node:stream";
import type { ArtifactStore } from "../artifacts/store.ts";
import type { OpenBytes } from "../base/bytes.ts";
import type { Result } from "../base/result.ts";
import type { Database } from "../db/database.ts";
import type { Failure, UploadFormat } from "../model/profile.ts";
import type { Compression, ReadFailure, ReportFormat } from "../model/report.ts";
import type { Queues } from "../queue/queues.ts";
import type { WakeUps } from "../queue/wake-ups.ts";

/** What the analysis knows about targets, handed in so that use cases do not depend on it. */
export interface Targets {
  isFullPipeline(target: string): boolean;
  /** Why the target cannot be used (a pattern that does not compile, say), or null. */
  problem(target: string): string | null;
}

/** Looks at the first bytes of a file and says what it is, or why it is none of the kinds that are taken. */
export type Detect<Format extends UploadFormat = ReportFormat> = (
  open: OpenBytes,
) => Promise<Result<{ readonly format: Format; readonly compression: Compression }, ReadFailure>>;

/** A trace of a profile, or why there is none. `stream` has to be read or destroyed. */
export type MadeTrace =
  | { readonly kind: "made"; readonly bytes: number; readonly stream: Readable }
  | { readonly kind: "failure"; readonly failure: Failure }
  | { readonly kind: "busy" }
  | { readonly kind: "aborted" };

export type MakeTrace = (
  request: {
    /** Local files, one a rank. */
    readonly timelines: readonly string[];
    /** The result as JSON text. */
    readonly result: string;
    readonly gzip: boolean;
  },
  signal: AbortSignal,
) => Promise<MadeTrace>;

/** Everything the use cases reach the outside through. */
export interface ProfilePorts {
  readonly database: Database;
  readonly queues: Queues;
  readonly wakeUps: WakeUps;
  readonly artifacts: ArtifactStore;
  readonly targets: Targets;
  readonly limits: {
    readonly maxReportBytes: number;
    readonly reportQuotaBytes: number;
    /** A profile that waits for a worker fails when its pool has had none for so long. */
    readonly noWorkerTimeoutMs: number;
  };
  /** Bytes of uploads that are on their way in this process: they count against the quota before they are stored. */
  readonly incoming: { bytes: number };
  readonly makeTrace: MakeTrace;
  /** Unix milliseconds. */
  now(): number;
  /** Told what went wrong without the request failing: the queue was away, say. */
  warn(message: string, error: unknown): void;
}

/** Who asks, as far as use cases care. */
export interface Asker {
  readonly keyId: string | null;
  /** May act on what belongs to other keys. */
  readonly isAdmin: boolean;
}
