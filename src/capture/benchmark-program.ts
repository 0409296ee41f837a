import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureRecord } from "../model/capture.ts";
import type { BenchmarkWorkload } from "../model/workload.ts";
import type { Capture } from "./capture-parts.ts";
import { fillIn } from "./workloads/placeholders.ts";

/** For `{seed}`: the same in every run, so that launches come again. */
const SEED = 1;

/**
 * The program's command line, once its output folder is there: what it writes is neither a log nor a report.
 * @param output Name of that folder: one each for programs that run at the same time.
 */
export async function benchmarkProgram(
  { request, folder }: Pick<Capture, "request" | "folder">,
  workload: BenchmarkWorkload,
  output = "output",
): Promise<readonly string[]> {
  const output_dir = join(folder, output);
  await mkdir(output_dir, { recursive: true, mode: 0o700 });
  return fillIn(workload.argv, {
    model: workload.model,
    concurrency: request.concurrency,
    seed: SEED,
    gpus: workload.gpus,
    rank: request.rank,
    output_dir,
  });
}

/** @param line The line that says that the program is warm; null: it was not seen. */
export function benchmarkWarmUp({ warm_up }: BenchmarkWorkload, line: string | null): CaptureRecord["warm_up"] {
  const { log_pattern, skip_launches } = warm_up;
  const words = [
    log_pattern === undefined
      ? "the workload declares no line that says that it is warm"
      : line === null
        ? "the line that says that it is warm was not seen"
        : "the line that says that it is warm was seen",
    skip_launches === 0
      ? "no launch was skipped"
      : `the first ${skip_launches} launches of each kernel were left out where there were others`,
  ];
  return {
    completed_by_load: null,
    completed_by_engine: null,
    engine_metric: null,
    log_patterns: log_pattern === undefined ? [] : [{ pattern: log_pattern, line }],
    skipped_launches: skip_launches,
    took_s: null,
    evidence: words.join("; "),
  };
}
