import { writePieces } from "../src/base/write-pieces.ts";
import type { ProfileResult } from "../src/model/result.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../src/model/timeline.ts";
import { type TraceAnswer, traceTaskSchema } from "../src/model/trace-task.ts";
import { readTimeline } from "../src/timeline/detect.ts";
import { traceEvents } from "../src/trace-export/index.ts";
import { answerParent } from "./reader-process.ts";

/** Reads the timelines of a profile and writes them with its verdicts as a trace. */
async function run(data: unknown): Promise<TraceAnswer> {
  const { timelines, result, max_decompressed_bytes, folder, path, gzip } = traceTaskSchema.parse(data);
  const read: Timeline[] = [];
  for (const file of timelines) {
    const timeline = await readTimeline(file, folder, { ...DEFAULT_TIMELINE_LIMITS, maxBytes: max_decompressed_bytes });
    if (!timeline.ok) {
      const { message, hint, evidence, code } = timeline.error;
      const failure = { code: "timeline_unreadable", message, hint, retryable: false } as const;
      return { kind: "failure", failure: { ...failure, evidence: { ...evidence, reason: code } } };
    }
    read.push(timeline.value);
  }
  await writePieces(path, traceEvents(read, JSON.parse(result) as ProfileResult), gzip);
  return { kind: "written" };
}

answerParent(run);
