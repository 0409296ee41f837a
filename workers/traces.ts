import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../src/config.ts";
import { type TraceTask, traceAnswerSchema } from "../src/model/trace-task.ts";
import type { MadeTrace, MakeTrace } from "../src/profiles/ports.ts";
import { askProcess } from "./reader-process.ts";

/** The built file: see ANALYSIS_ENTRY. */
const TRACE_ENTRY = new URL(
  import.meta.url.endsWith(".ts") ? "../dist/trace-process.js" : "./trace-process.js",
  import.meta.url,
);
/** Those that wait for the one that is made; more are refused. */
const MOST_WAITING = 8;

type Limits = Pick<Config, "ANALYSIS_TIMEOUT_S" | "ANALYSIS_MEMORY_MB" | "MAX_DECOMPRESSED_BYTES">;

/**
 * Makes traces on demand, one at a time: each timeline is read anew, in a process of its own, since a damaged database can
 * end the process that reads it. What is handed out is an open file without a name, so that nothing stays behind.
 */
export function traceMaker(limits: Limits): MakeTrace {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return (request, signal) => {
    if (waiting >= MOST_WAITING) return Promise.resolve({ kind: "busy" });
    waiting += 1;
    const made = last
      .then(() => make(limits, request, signal))
      .finally(() => {
        waiting -= 1;
      });
    last = made.catch(() => {});
    return made;
  };
}

async function make(
  limits: Limits,
  { timelines, result, gzip }: Parameters<MakeTrace>[0],
  signal: AbortSignal,
): Promise<MadeTrace> {
  if (signal.aborted) return { kind: "aborted" };
  const own = await mkdtemp(join(tmpdir(), "profile-kernel-trace-"));
  try {
    const path = join(own, "trace");
    const reply = await askProcess(
      {
        entry: TRACE_ENTRY,
        task: (folder): TraceTask => ({
          timelines: [...timelines],
          result,
          max_decompressed_bytes: limits.MAX_DECOMPRESSED_BYTES,
          folder,
          path,
          gzip,
        }),
        answer: traceAnswerSchema,
        limits: { timeoutMs: limits.ANALYSIS_TIMEOUT_S * 1000, memoryMb: limits.ANALYSIS_MEMORY_MB },
        readerCrashed: (killedBy) => ({
          code: "timeline_unreadable",
          message: `Reading ended the process that read (${killedBy}): a database that is damaged so that SQLite cannot refuse it.`,
          hint: "Export the timeline again and upload that.",
          retryable: false,
          evidence: { reason: "reader_crashed", signal: killedBy },
        }),
      },
      signal,
    );
    if (reply.kind !== "answer") return reply;
    if (reply.answer.kind === "failure") return reply.answer;
    const handle = await open(path);
    const { size } = await handle.stat();
    return { kind: "made", bytes: size, stream: handle.createReadStream() };
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}
