import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "../../base/result.ts";
import type { CaptureRecord } from "../../model/capture.ts";
import type { Finding } from "../../model/finding.ts";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import { budgetLeft, type Capture, nothing } from "../capture-parts.ts";
import { stopReason } from "../ncu/run.ts";
import { EXPORT_MS, nsysOptions } from "../nsys/options.ts";
import { nsysFailure, nsysMissing, stoppedFailure } from "../nsys/outcome.ts";
import { runNsysExport } from "../nsys/run.ts";
import { captureServerJob } from "../server/capture.ts";
import { portTaken } from "../server/listening-ports.ts";
import { counterConcurrency } from "../server/load-concurrency.ts";
import { concurrencyRecord, endEngine } from "../server/parts.ts";
import type { CaptureYield } from "../yield.ts";
import { kernelOfLine } from "./hang.ts";
import { budgetSpent, endedTheRun, PipelineLog } from "./log.ts";
import { FAILED, listed, type NotMeasured, type RankedKernel, unmeasured } from "./selection.ts";
import { filterFor, replayable } from "./server-launches.ts";
import { type MeasuredClusters, measureClusters } from "./server-measure.ts";
import { recordServer, type ServerRecording, type ServerWindow } from "./server-timeline.ts";

/** Launches that get counters: 0.65 s each (27 passes, ncu 2025.3.1, H200). */
const MAX_LAUNCHES = 32;
/** Launches that are looked at, at most: 0.013 s each without times (measured). */
const LOOKED_AT = 2_000;

/**
 * The full pipeline of an engine that serves requests: its timeline at the requested concurrency, from a start of its own
 * under nsys; then the counters of the kernels that take the time, from an engine under ncu and the load that ncu bears.
 * Both engines are never there at the same time. Once the timeline is ranked, what fails leaves its ranking (`partial`).
 * Throws only what `stop` is aborted with.
 */
export async function captureServerPipeline(options: Capture, workload: ServerWorkload): Promise<CaptureYield> {
  const { pipeline, request } = options;
  const concurrency = counterConcurrency(request.concurrency, workload);
  const parts = { concurrency: concurrencyRecord(options, concurrency) };
  if (pipeline.nsys === null) return nothing(nsysMissing(), options, parts);
  await endIdle(options);
  const taken = await portTaken(workload.port);
  if (taken !== null) return nothing(taken, options, parts);

  const log = new PipelineLog();
  const recorded = await record(options, workload, pipeline.nsys, log);
  if (!recorded.ok) {
    options.stop.throwIfAborted();
    return nothing(recorded.error, options, { ...parts, runs: log.runs }, log.findings);
  }
  return counters(options, workload, recorded.value, log);
}

/** The engine that an earlier profile left warm has the GPU: it is ended, and its lease serves on. */
async function endIdle({ warm, stop }: Capture): Promise<void> {
  if (warm === null) return;
  await endEngine(warm.engine, stop);
  await rm(warm.engine.folder, { recursive: true, force: true });
  stop.throwIfAborted();
}

interface Recorded extends ServerRecording {
  readonly kernels: readonly RankedKernel[];
  readonly timeline: string;
  readonly by: ServerWindow;
}

/** Records and ranks; once more, with a window of nsys, where the first recording holds no kernels. */
async function record(
  options: Capture,
  workload: ServerWorkload,
  nsys: string,
  log: PipelineLog,
): Promise<Result<Recorded, Failure>> {
  const by = workload.window ? "cuda_profiler_api" : "session";
  const first = await recordOnce(options, workload, nsys, by, 0, log);
  const left = budgetLeft(options);
  const mayNot = options.stop.aborted || (left !== null && left <= 0);
  if (first.ok || first.error.code !== "timeline_no_kernels" || mayNot) return first;
  const again = await recordOnce(options, workload, nsys, "session", 1, log);
  if (again.ok) log.findings.push(recordedAgain(first.error, by));
  return again;
}

async function recordOnce(
  options: Capture,
  workload: ServerWorkload,
  nsys: string,
  by: ServerWindow,
  attempt: number,
  log: PipelineLog,
): Promise<Result<Recorded, Failure>> {
  options.onToolStart();
  const recording = await recordServer(options, workload, nsys, by, attempt);
  log.nsys("timeline", recording.run);
  if (recording.failure !== null || recording.path === null) {
    log.findings.push(...recording.findings);
    return err(recording.failure ?? stoppedFailure(stopReason(options.stop.reason)));
  }
  const tell = (phase: string): void => options.tell("capturing", { phase, done: 0, total: null, message: null });
  tell("export");
  const timeline = join(options.folder, `timeline-${attempt}.sqlite`);
  const exported = await runNsysExport(
    nsysOptions(options, nsys, `export-${attempt}`, EXPORT_MS),
    recording.path,
    timeline,
  );
  log.nsys("export", exported);
  // It holds what the export holds, and the environment of the engine with it.
  await rm(recording.path, { force: true });
  const failed = nsysFailure(exported, "export");
  if (failed !== null) return err(failed);

  tell("rank");
  const startedAt = performance.now();
  const ranked = await options.pipeline.rank(timeline);
  log.step("rank", performance.now() - startedAt);
  if (!ranked.ok) return ranked;
  log.findings.push(...recording.findings);
  return ok({ ...recording, kernels: ranked.value, timeline, by });
}

/** The counters of what a timeline ranks; once more, without it, where a kernel ended the run. */
async function counters(
  options: Capture,
  workload: ServerWorkload,
  recorded: Recorded,
  log: PipelineLog,
): Promise<CaptureYield> {
  const { request, stop } = options;
  const failed = new Map<string, "hang" | "fault">();
  let measured: MeasuredClusters | null = null;
  let report: string | null = null;
  const finish = (given: CaptureYield, ended: CaptureYield["ended"], failure: Failure | null): CaptureYield => ({
    ...given,
    ended,
    failure,
    report: given.report ?? report,
    findings: [...log.findings, ...given.findings],
    timeline: recorded.timeline,
    parts: {
      ...given.parts,
      warm_up: given.parts.warm_up ?? recorded.warmUp,
      plan: null,
      pipeline: planOf(options, workload, recorded, log, { measured, failed, failure }),
      runs: [...log.runs, ...given.parts.runs],
    },
  });
  const without = (ended: CaptureYield["ended"], failure: Failure | null): CaptureYield => {
    const concurrency = concurrencyRecord(options, counterConcurrency(request.concurrency, workload));
    return finish(nothing(failure ?? budgetSpent(), options, { concurrency }), ended, failure);
  };

  for (let attempt = 0; ; attempt++) {
    if (stop.aborted) return without("partial", stoppedFailure(stopReason(stop.reason)));
    const wanted = replayable(recorded.kernels, request.top_n).filter(({ kernel }) => !failed.has(kernel));
    // Collectives alone, say: that is no failure.
    if (wanted.length === 0) return without(failed.size === 0 ? "completed" : "partial", null);
    const left = budgetLeft(options);
    // The engine starts and warms up once more, which takes about as long as it did under nsys.
    if (left !== null && left < recorded.run.tookMs) return without("partial", budgetSpent());
    let given: CaptureYield;
    let now: MeasuredClusters | null = null;
    try {
      given = await measureOnce(options, workload, recorded, wanted, failed, log, (taken) => {
        now = taken;
      });
    } catch (error) {
      if (!stop.aborted) throw error;
      return without("partial", stoppedFailure(stopReason(stop.reason)));
    }
    const taken = now as MeasuredClusters | null;
    measured = taken?.selection ? taken : (measured ?? taken);
    // An engine that died of a kernel has a failure of its own.
    const culprit = endedBy(taken?.failure ?? given.failure, recorded.kernels);
    if (culprit !== null) {
      failed.set(culprit.kernel.kernel, culprit.how);
      log.findings.push(endedTheRun(culprit.kernel, culprit.how, attempt));
    }
    if (culprit === null || attempt === 1 || stop.aborted) {
      const isWhole = given.failure === null && failed.size === 0;
      return finish(given, isWhole ? given.ended : "partial", given.failure);
    }
    // Its names are taken again.
    if (given.report !== null) {
      report = join(options.folder, "counters-before.ncu-rep");
      await rename(given.report, report);
    }
    log.findings.push(...given.findings);
    log.runs.push(...given.parts.runs);
  }
}

/** One start of the engine, or the one that is still warm, and the runs of ncu on it. */
async function measureOnce(
  options: Capture,
  workload: ServerWorkload,
  { kernels }: Recorded,
  wanted: readonly RankedKernel[],
  failed: ReadonlyMap<string, "hang" | "fault">,
  log: PipelineLog,
  onMeasured: (measured: MeasuredClusters) => void,
): Promise<CaptureYield> {
  const { request, pipeline, engines, engineKey, engineFolder, lease, stop } = options;
  const began = performance.now();
  // After a kernel that hung the engine may live on.
  const warm = failed.size > 0 && engines.holds(lease) ? await engines.take(engineKey, () => true) : null;
  await mkdir(engineFolder, { recursive: true, mode: 0o700 });
  const { ncu } = workload;
  return captureServerJob(
    { ...options, warm },
    { ...workload, ncu: { ...ncu, survey_launches: ncu.survey_launches ?? LOOKED_AT } },
    {
      filter: filterFor(wanted),
      // One has a prefill and decode steps: more would only be looked at again.
      requestsEach: 1,
      async end({ engine }) {
        await endEngine(engine, stop);
        await rm(engine.folder, { recursive: true, force: true });
      },
      async measure(how) {
        log.step("start", performance.now() - began);
        const maxLaunches = launchLimit(options, workload);
        const job = { kernels, topN: request.top_n, maxLaunches, failed, ask: pipeline.ask };
        const measured = await measureClusters(how, job);
        for (const { purpose, took_s } of measured.runs)
          if (purpose !== "timeline" && purpose !== "export") log.step(purpose, took_s * 1000);
        onMeasured(measured);
        return measured;
      },
    },
  );
}

/** `max_launches` is of one kernel. */
const launchLimit = ({ request }: Capture, { ncu }: ServerWorkload): number =>
  Math.min(MAX_LAUNCHES, (ncu.max_launches ?? MAX_LAUNCHES) * request.top_n);

/** The kernel whose replay ended the run, where the run tells. */
function endedBy(
  failure: Failure | null,
  kernels: readonly RankedKernel[],
): { readonly kernel: RankedKernel; readonly how: "hang" | "fault" } | null {
  const how = failure?.code === "capture_stalled" ? "hang" : failure?.code === "kernel_fault" ? "fault" : null;
  const printed = failure?.evidence.kernel;
  if (how === null || typeof printed !== "string") return null;
  const kernel = kernelOfLine(printed, kernels);
  return kernel === null ? null : { kernel, how };
}

interface Came {
  readonly measured: MeasuredClusters | null;
  readonly failed: ReadonlyMap<string, "hang" | "fault">;
  readonly failure: Failure | null;
}

function planOf(
  options: Capture,
  workload: ServerWorkload,
  recorded: Recorded,
  log: PipelineLog,
  { measured, failed, failure }: Came,
): NonNullable<CaptureRecord["pipeline"]> {
  const { request, pipeline } = options;
  const { kernels, by, run } = recorded;
  const selection = measured?.selection ?? unmeasured(kernels, request.top_n, failure);
  const lost = [...failed].flatMap(([kernel, reason]): NotMeasured[] => {
    if (selection.chosen.every((cluster) => cluster.kernel !== kernel)) return [];
    const total_ns = kernels.find((one) => one.kernel === kernel)?.total_ns ?? 0;
    return [{ kernel, cluster: null, total_ns, reason, because: FAILED[reason] }];
  });
  const left_out = [...lost, ...selection.left_out];
  return {
    timeline: { tool: "nsys", window: by, program_s: run.tookMs / 1000 },
    kernels: kernels.length,
    chosen: selection.chosen.filter(({ kernel }) => !failed.has(kernel)),
    ...listed(left_out),
    launches: selection.launches,
    names: selection.names.length,
    // Those that ncu took are of another load than the timeline's: they tell nothing about its launches.
    ordinals: null,
    passes: measured?.passes ?? null,
    metrics: pipeline.ask.metrics.length,
    reason: measured?.reason || `no counters were taken${failure === null ? "" : `: ${failure.code}`}`,
    steps: [...log.steps],
    notes: notesOf(options, workload, recorded),
  };
}

function notesOf({ request, pipeline }: Capture, workload: ServerWorkload, { window }: Recorded): string[] {
  const { rule } = counterConcurrency(request.concurrency, workload);
  const added = workload.counter_args.filter((argument) => argument.startsWith("-"));
  const names = added.map((argument) => argument.split("=")[0]).join(", ");
  return [
    `timeline: ${request.concurrency} requests of one prompt in flight${window === null ? "" : `, ${window.requests} of them completed in a window of ${window.seconds.toFixed(1)} s`}`,
    `counters: another start of the engine; ${rule}. Launches join the timeline by shape and time, not by their number`,
    ...(names === "" ? [] : [`for the counters the engine was started with ${names} (counter_args)`]),
    ...pipeline.ask.notes,
  ];
}

const recordedAgain = ({ message }: Failure, by: ServerWindow): Finding => ({
  code: "timeline_recorded_again",
  severity: "warning",
  message: `The first recording held no kernels (${message}). The engine was recorded once more, between nsys start and nsys stop.`,
  launch: null,
  evidence: { window: by },
});
