import { type AnalysisTask, analysisAnswerSchema } from "../src/model/jobs.ts";
import type { AnalysisLimits, AnalysisOutcome } from "./analysis-failures.ts";
import { ANALYSIS_ENTRY } from "./analysis-threads.ts";
import { askProcess } from "./reader-process.ts";

/** Analyses in a process of its own: see `askProcess`. Whatever the process does, this resolves. */
export async function analyseInProcess(
  task: AnalysisTask,
  limits: AnalysisLimits,
  signal: AbortSignal,
): Promise<AnalysisOutcome> {
  const reply = await askProcess(
    {
      entry: ANALYSIS_ENTRY,
      task: (folder) => ({ ...task, folder }),
      answer: analysisAnswerSchema,
      limits,
      readerCrashed: (killedBy) => ({
        code: "timeline_unreadable",
        message: `Reading ended the process that read (${killedBy}): a database that is damaged so that SQLite cannot refuse it.`,
        hint: "Check it with `sqlite3 FILE 'PRAGMA integrity_check'`, export it again and upload that.",
        retryable: false,
        evidence: { reason: "reader_crashed", signal: killedBy, timeline_ids: task.timelines.map(({ id }) => id) },
      }),
    },
    signal,
  );
  return reply.kind === "answer" ? reply.answer : reply;
}
