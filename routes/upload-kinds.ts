import type { OpenBytes } from "../src/base/bytes.ts";
import { ok } from "../src/base/result.ts";
import type { UploadFormat } from "../src/model/profile.ts";
import type { ReadFailure } from "../src/model/report.ts";
import type { Detect } from "../src/profiles/ports.ts";
import { detectReport } from "../src/report/detect.ts";
import { detectTimeline } from "../src/timeline/detect.ts";

/** Knows reports and timelines by their first bytes; anything else is refused with what it is and what to do. */
export const detectUpload: Detect<UploadFormat> = async (open: OpenBytes) => {
  const timeline = await detectTimeline(open);
  if (timeline.ok) return ok({ format: timeline.value.kind, compression: timeline.value.compression });
  const report = await detectReport(open);
  return report.ok ? report : { ok: false, error: withTimelines(report.error) };
};

/** A refusal of the reader of reports, which knows of no timelines. */
const withTimelines = (failure: ReadFailure): ReadFailure =>
  KINDS_EXPECTED.has(failure.code)
    ? {
        ...failure,
        message: `${failure.message}, or a timeline (SQLite of \`nsys export\`, output of \`nsys stats\`, JSON of torch's profiler)`,
      }
    : failure;

/** Refusals that end with what is expected. */
const KINDS_EXPECTED: ReadonlySet<ReadFailure["code"]> = new Set(["empty", "wrong_kind", "unknown_format"]);
