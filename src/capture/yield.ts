import type { CaptureRecord } from "../model/capture.ts";
import type { Measured } from "./measure.ts";

/** What a capture gave: files of this host, and what is to be said about them. */
export interface CaptureYield extends Pick<Measured, "ended" | "failure" | "findings" | "report" | "survey"> {
  readonly parts: Pick<
    CaptureRecord,
    "engine_session" | "engine_session_reason" | "engine_reused" | "concurrency" | "warm_up" | "plan" | "runs"
  >;
}
