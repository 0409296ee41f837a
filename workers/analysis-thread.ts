import { parentPort } from "node:worker_threads";
import { type AnalysisInput, analyze, surveyOf, wantsMetric, withCapture } from "../src/analysis/index.ts";
import { openFile } from "../src/base/file-source.ts";
import { type AnalysisAnswer, type AnalysisTask, analysisTaskSchema } from "../src/model/jobs.ts";
import type { Failure } from "../src/model/profile.ts";
import { DEFAULT_READ_LIMITS, type ReadFailure } from "../src/model/report.ts";
import { profileResultSchema } from "../src/model/result.ts";
import { readReport } from "../src/report/detect.ts";

/** Reads the reports of a task and analyses them. Runs in a worker thread, apart from the service's loop. */
async function run(task: AnalysisTask): Promise<AnalysisAnswer> {
  const inputs: AnalysisInput[] = [];
  const limits = { ...DEFAULT_READ_LIMITS, maxBytes: task.max_decompressed_bytes };
  for (const { id, sha256, path } of task.reports) {
    const report = await readReport(openFile(path), { limits, wantMetric: wantsMetric });
    if (!report.ok) return { kind: "failure", failure: unreadable(report.error, id) };
    inputs.push({ report: report.value, id, sha256 });
  }
  const result = analyze(inputs, {
    target: task.target,
    topN: task.top_n,
    survey: surveyOf(task.capture?.record.plan ?? null),
  });
  if (!result.ok) {
    const { code, ...rest } = result.error;
    // A capture that ended early says better than what is missing after it why something is missing.
    if (task.capture?.failure) return { kind: "failure", failure: afterCapture(task.capture.failure, code) };
    // A target is checked before a profile is taken in.
    return {
      kind: "failure",
      failure: {
        ...rest,
        code: code === "invalid_target" ? "internal" : code,
        retryable: false,
        evidence: { ...rest.evidence },
      },
    };
  }
  return { kind: "result", body: JSON.stringify(profileResultSchema.parse(withCapture(result.value, task.capture))) };
}

const afterCapture = (failure: Failure, analysis: string): Failure => ({
  ...failure,
  evidence: { ...failure.evidence, analysis },
});

const unreadable = ({ code, message, hint, evidence }: ReadFailure, reportId: string): Failure => ({
  code: code === "no_kernels" ? "no_kernels_profiled" : "report_unreadable",
  message,
  hint,
  retryable: false,
  evidence: { ...evidence, reason: code, report_id: reportId },
});

// One task at a time is sent here. What fails unexpectedly ends the thread, and whoever sent the task sees that.
parentPort?.on("message", async (message: unknown) => {
  parentPort?.postMessage(await run(analysisTaskSchema.parse(message)));
});
