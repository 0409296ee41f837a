import type { CaptureRecord } from "../model/capture.ts";
import type { Finding } from "../model/finding.ts";
import type { Failure } from "../model/profile.ts";

/** What a capture gave: files of this host, and what is to be said about them. */
export interface CaptureYield {
  readonly ended: "completed" | "partial" | "failed";
  readonly failure: Failure | null;
  readonly findings: readonly Finding[];
  /** Report to analyse, or null. */
  readonly report: string | null;
  readonly survey: string | null;
  readonly parts: Pick<
    CaptureRecord,
    "engine_session" | "engine_session_reason" | "engine_reused" | "concurrency" | "warm_up" | "plan" | "runs"
  >;
}
