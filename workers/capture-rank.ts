import { err, ok } from "../src/base/result.ts";
import type { PipelinePorts } from "../src/capture/capture-parts.ts";
import { stopReason } from "../src/capture/ncu/run.ts";
import { stoppedFailure } from "../src/capture/nsys/outcome.ts";
import type { AnalysisLimits } from "./analysis-failures.ts";
import { type RankTask, rankAnswerSchema, unpacked } from "./rank-task.ts";
import { askProcess } from "./reader-process.ts";

/** The built file: beside the bundle, or in dist/ when this runs from source. */
const RANK_ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/rank-process.js" : "./rank-process.js",
  import.meta.url,
);

/** Ranks the timeline of a capture in a process of its own; `stop` ends that. See `PipelinePorts.rank`. */
export async function rankCapture(
  task: RankTask,
  limits: AnalysisLimits,
  stop: AbortSignal,
): ReturnType<PipelinePorts["rank"]> {
  const reply = await askProcess(
    {
      entry: RANK_ENTRY,
      task: () => task,
      answer: rankAnswerSchema,
      limits,
      readerCrashed: (killedBy) => ({
        code: "timeline_unreadable",
        message: `Reading the timeline ended the process that read (${killedBy}): nsys wrote a database that is damaged.`,
        hint: "Look for a full disk in the log, then submit the profile again.",
        retryable: true,
        evidence: { reason: "reader_crashed", signal: killedBy },
      }),
    },
    stop,
  );
  if (reply.kind === "aborted") return err(stoppedFailure(stopReason(stop.reason)));
  if (reply.kind === "failure") return err(reply.failure);
  return reply.answer.kind === "failure" ? err(reply.answer.failure) : ok(unpacked(reply.answer));
}
