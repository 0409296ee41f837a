import type { CaptureRecord } from "../model/capture.ts";
import type { Measured } from "./measure.ts";

/** What a capture gave: files of this host, and what is to be said about them. */
export interface CaptureYield extends Pick<Measured, "ended" | "failure" | "findings" | "report" | "survey"> {
  /** The SQLite export of a recording of nsys; it holds the environment of the program. Null: none was made. */
  readonly timeline: string | null;
  readonly parts: Pick<
    CaptureRecord,
    | "engine_session"
    | "engine_session_reason"
    | "engine_reused"
    | "concurrency"
    | "warm_up"
    | "plan"
    | "pipeline"
    | "runs"
  >;
}
