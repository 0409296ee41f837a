import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CaptureRecord } from "../../model/capture.ts";
import type { Finding } from "../../model/finding.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import type { Capture } from "../capture-parts.ts";
import type { Measured, MeasureOptions } from "../measure.ts";
import type { KernelFilter } from "../ncu/kernel-filter.ts";
import type { Pollution } from "../process/log-patterns.ts";
import { fillIn } from "../workloads/placeholders.ts";
import { type Engine, type EngineStart, STOPPED_GRACE_MS } from "./engine.ts";
import type { CounterConcurrency } from "./load-concurrency.ts";
import type { WarmEngine } from "./warm-engine.ts";

/** Requests of one window: the first has prefill and decode, the second shows what comes again. */
const REQUESTS_PER_WINDOW = 2;

/** Warm-up takes prompts of its own, so that none of the window is in the engine's prefix cache. */
export const WARM_UP_SEED = 1_000_003;

export async function engineStart(options: Capture, workload: ServerWorkload): Promise<EngineStart> {
  return {
    workload,
    argv: await engineCommand(options, workload, [...workload.argv, ...workload.counter_args], options.engineFolder),
    ncu: options.ncu,
    env: options.env,
    cwd: options.cwd,
    folder: options.engineFolder,
    recordFolder: options.recordFolder,
  };
}

/** Program and arguments of an engine, placeholders filled in. */
export async function engineCommand(
  { request }: Pick<Capture, "request">,
  { port, model, load, gpus }: ServerWorkload,
  argv: readonly string[],
  folder: string,
): Promise<string[]> {
  // Its own: what it writes there is neither a log nor a report.
  const output_dir = join(folder, "output");
  await mkdir(output_dir, { recursive: true, mode: 0o700 });
  const { concurrency, rank } = request;
  return fillIn(argv, { port, model, concurrency, seed: load.seed, gpus, rank, output_dir });
}

/** The same requests in every window of a workload. */
export const windowLoad = (
  workload: ServerWorkload,
  baseUrl: string,
  { batch, inFlight }: CounterConcurrency,
  requestsEach = REQUESTS_PER_WINDOW,
) => ({
  baseUrl,
  workload,
  batch: batch ?? 1,
  inFlight,
  seed: workload.load.seed,
  requests: requestsEach * inFlight,
});

/** One of the calls that open and close the window of an engine. */
export async function callEngine(
  baseUrl: string,
  { method, path, body }: NonNullable<ServerWorkload["window"]>["open"],
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    signal: AbortSignal.any([signal, AbortSignal.timeout(120_000)]),
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${method} ${path} of the engine was answered with ${response.status}`);
}

/** What a capture does with an engine that is warm: which launches it looks at, under which load. */
export interface ServerJob {
  readonly filter: KernelFilter;
  /** Of each of those that are in flight at a time. */
  readonly requestsEach?: number;
  /** Ends an engine that is of no use any more, where its lease is not to go with it. */
  end?(warm: WarmEngine): Promise<void>;
  measure(options: MeasureOptions): Promise<Measured>;
}

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

/** Ends an engine as its workload says, or at once where the capture is stopped meanwhile. */
export async function endEngine(engine: Pick<Engine, "stop">, stop: AbortSignal): Promise<void> {
  const hurry = (): void => void engine.stop(STOPPED_GRACE_MS);
  stop.addEventListener("abort", hurry, { once: true });
  await engine.stop(stop.aborted ? STOPPED_GRACE_MS : undefined);
  stop.removeEventListener("abort", hurry);
}
