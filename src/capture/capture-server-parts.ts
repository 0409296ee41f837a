import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureRecord } from "../model/capture.ts";
import type { Finding } from "../model/finding.ts";
import type { ServerWorkload } from "../model/workload.ts";
import type { Capture } from "./capture-parts.ts";
import type { EngineStart } from "./engine.ts";
import type { CounterConcurrency } from "./load-concurrency.ts";
import type { Pollution } from "./log-patterns.ts";
import { fillIn } from "./placeholders.ts";

/** Requests of one window: the first has prefill and decode, the second shows what comes again. */
const REQUESTS_PER_WINDOW = 2;

/** Warm-up takes prompts of its own, so that none of the window is in the engine's prefix cache. */
export const WARM_UP_SEED = 1_000_003;

export async function engineStart(options: Capture, workload: ServerWorkload): Promise<EngineStart> {
  // Its own: what it writes there is neither a log nor a report.
  const outputFolder = join(options.engineFolder, "output");
  await mkdir(outputFolder, { recursive: true, mode: 0o700 });
  return {
    workload,
    argv: fillIn([...workload.argv, ...workload.counter_args], {
      port: workload.port,
      model: workload.model,
      concurrency: options.request.concurrency,
      seed: workload.load.seed,
      gpus: workload.gpus,
      rank: options.request.rank,
      output_dir: outputFolder,
    }),
    ncu: options.ncu,
    env: options.env,
    cwd: options.cwd,
    folder: options.engineFolder,
    recordFolder: options.recordFolder,
  };
}

/** The same requests in every window of a workload. */
export const windowLoad = (workload: ServerWorkload, baseUrl: string, { batch, inFlight }: CounterConcurrency) => ({
  baseUrl,
  workload,
  batch: batch ?? 1,
  inFlight,
  seed: workload.load.seed,
  requests: REQUESTS_PER_WINDOW * inFlight,
});

export const concurrencyRecord = (
  { request }: Pick<Capture, "request">,
  { inFlight, batch, rule }: CounterConcurrency,
): CaptureRecord["concurrency"] => ({ requested: request.concurrency, in_flight: inFlight, batch, rule });

export const pollutionFindings = ({ total, lines }: Pollution): Finding[] =>
  total === 0
    ? []
    : [
        {
          code: "jit_inside_window",
          severity: "warning",
          message: `The engine printed ${total} lines about compilation or graph capture while it was profiled: launches of the window are not those of a warm engine.`,
          launch: null,
          evidence: { lines: total, first: lines[0] ?? null },
        },
      ];

export const loadFindings = (problems: readonly string[]): Finding[] =>
  [...new Set(problems)].slice(0, 5).map((problem) => ({
    code: "load_not_as_sent",
    severity: "warning" as const,
    message: `The load of the window was not answered as it should be: ${problem}`,
    launch: null,
    evidence: {},
  }));
