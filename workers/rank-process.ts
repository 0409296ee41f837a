import { measurableKernels } from "../src/analysis/timeline/measurable.ts";
import { type RankFailure, rankTimeline } from "../src/analysis/timeline/rank.ts";
import { isCollectiveKernel } from "../src/model/collective.ts";
import type { Failure } from "../src/model/profile.ts";
import { DEFAULT_TIMELINE_LIMITS } from "../src/model/timeline.ts";
import { readNsysSqlite } from "../src/timeline/nsys-sqlite/index.ts";
import { takeOutHost } from "../src/timeline/nsys-sqlite/without-host.ts";
import { packed, type RankAnswer, rankTaskSchema } from "./rank-task.ts";
import { answerParent } from "./reader-process.ts";

/** Reads the export of a recording, ranks its kernels, and takes out of the file what tells of the machine. */
async function run(data: unknown): Promise<RankAnswer> {
  const { path, top_n, window, secrets } = rankTaskSchema.parse(data);
  const read = await readNsysSqlite(path, "none", DEFAULT_TIMELINE_LIMITS);
  if (!read.ok) {
    const { code, message, hint, evidence } = read.error;
    return failed({
      code: "timeline_unreadable",
      message,
      hint,
      retryable: false,
      evidence: { ...evidence, reason: code },
    });
  }
  const timeline = read.value;
  const ranking = rankTimeline([timeline], { window, isCollective: isCollectiveKernel });
  if (!ranking.ok) return failed(notRanked(ranking.error));
  const kernels = measurableKernels(timeline, ranking.value.kernels);
  await takeOutHost(path, { messages: timeline.recording.tool_messages, secrets });
  return packed(
    kernels.map((kernel, at) => (at < top_n * ROOM_FOR_COLLECTIVES ? kernel : { ...kernel, clusters: [] })),
  );
}

/** Collectives take no place among the kernels that are measured. */
const ROOM_FOR_COLLECTIVES = 4;

const failed = (failure: Failure): RankAnswer => ({ kind: "failure", failure });

const notRanked = ({ code, message, hint, evidence, findings }: RankFailure): Failure => ({
  code,
  message,
  hint,
  retryable: false,
  evidence: {
    ...evidence,
    findings: findings.map(({ code, severity, message }) => ({ code, severity, message })),
  },
});

answerParent(run);
