import { parentPort } from "node:worker_threads";
import {
  type AnalysisFailure,
  type AnalysisInput,
  analyze,
  analyzeTimelines,
  type RankFailure,
  surveyOf,
  type TimelineInput,
  wantsMetric,
  withCapture,
} from "../src/analysis/index.ts";
import { openFile } from "../src/base/file-source.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { type AnalysisAnswer, type AnalysisTask, analysisTaskSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";
import { DEFAULT_READ_LIMITS, type ReadFailure } from "../src/model/report.ts";
import { type ProfileResult, profileResultSchema } from "../src/model/result.ts";
import { DEFAULT_TIMELINE_LIMITS } from "../src/model/timeline.ts";
import { boundedEvidence } from "../src/profiles/bounded-evidence.ts";
import { readReport } from "../src/report/detect.ts";
import { readTimeline } from "../src/timeline/detect.ts";
import { answerParent } from "./reader-process.ts";

/** Reads the files of a task and analyses them. Runs in a worker thread or process, apart from the service's loop. */
async function run(task: AnalysisTask): Promise<AnalysisAnswer> {
  const reports: AnalysisInput[] = [];
  const limits = { ...DEFAULT_READ_LIMITS, maxBytes: task.max_decompressed_bytes };
  for (const { id, sha256, path } of task.reports) {
    const report = await readReport(openFile(path), { limits, wantMetric: wantsMetric });
    if (!report.ok) return { kind: "failure", failure: unreadable(report.error, { report_id: id }) };
    reports.push({ report: report.value, id, sha256 });
  }
  const timelines = await readTimelines(task);
  if (!timelines.ok) return { kind: "failure", failure: timelines.error };
  const result = analysed(task, reports, timelines.value);
  if (!result.ok) return { kind: "failure", failure: refused(result.error, task) };
  return { kind: "result", body: JSON.stringify(profileResultSchema.parse(withCapture(result.value, task.capture))) };
}

async function readTimelines(task: AnalysisTask): Promise<Result<TimelineInput[], Failure>> {
  const timelines: TimelineInput[] = [];
  const limits = { ...DEFAULT_TIMELINE_LIMITS, maxBytes: task.max_decompressed_bytes };
  for (const { id, sha256, path } of task.timelines) {
    if (task.folder === null) throw new Error("timelines are read in a process with a folder of its own");
    const timeline = await readTimeline(path, task.folder, limits);
    if (!timeline.ok) return err({ ...unreadable(timeline.error, { timeline_id: id }), code: "timeline_unreadable" });
    timelines.push({ timeline: timeline.value, id, sha256 });
  }
  return ok(timelines);
}

function analysed(
  { target, top_n, window, model, capture }: AnalysisTask,
  reports: readonly AnalysisInput[],
  timelines: readonly TimelineInput[],
): Result<ProfileResult, AnalysisFailure | RankFailure> {
  if (timelines.length === 0)
    return analyze(reports, { target, topN: top_n, model, survey: surveyOf(capture?.record.plan ?? null) });
  const plan = capture?.record.pipeline ?? null;
  return analyzeTimelines(timelines, reports, {
    target,
    topN: top_n,
    model,
    plan,
    ...(window === null ? {} : { window }),
  });
}

function refused(error: AnalysisFailure | RankFailure, task: AnalysisTask): Failure {
  if ("findings" in error) return notRanked(error, task);
  const { code, ...rest } = error;
  // A capture that ended early says better than what is missing after it why something is missing.
  if (task.capture?.failure) return afterCapture(task.capture.failure, code);
  // A target is checked before a profile is taken in.
  return {
    ...rest,
    code: code === "invalid_target" ? "internal" : code,
    retryable: false,
    evidence: { ...rest.evidence },
  };
}

/** Findings say what was known of the timelines before it was clear that they are not ranked. */
function notRanked({ code, message, hint, evidence, timeline, findings }: RankFailure, task: AnalysisTask): Failure {
  const id = timeline === null ? undefined : task.timelines[timeline]?.id;
  return boundedEvidence({
    code,
    message,
    hint,
    retryable: false,
    evidence: {
      ...evidence,
      ...(id === undefined ? {} : { timeline_id: id }),
      findings: findings.map(({ code, severity, message }) => ({ code, severity, message })),
    },
  });
}

const afterCapture = (failure: Failure, analysis: string): Failure => ({
  ...failure,
  evidence: { ...failure.evidence, analysis },
});

const unreadable = (
  { code, message, hint, evidence }: ReadFailure,
  file: Readonly<Record<string, string>>,
): Failure => ({
  code: code === "no_kernels" ? "no_kernels_profiled" : "report_unreadable",
  message,
  hint,
  retryable: false,
  evidence: { ...evidence, reason: code, ...file },
});

// One task at a time is sent here. What fails unexpectedly ends the thread or process, and whoever sent the task sees that.
if (parentPort !== null) {
  const port = parentPort;
  port.on("message", async (message: unknown) => {
    port.postMessage(await run(analysisTaskSchema.parse(message)));
  });
} else answerParent((task) => run(analysisTaskSchema.parse(task)));
