import { join } from "node:path";
import type { Result } from "../base/result.ts";
import type { CaptureRecord } from "../model/capture.ts";
import type { Finding } from "../model/finding.ts";
import type { Failure, Progress, ResolvedRequest } from "../model/profile.ts";
import type { Workload } from "../model/workload.ts";
import type { MeasureOptions } from "./measure.ts";
import type { NcuPlan } from "./ncu/arguments.ts";
import type { KernelFilter } from "./ncu/kernel-filter.ts";
import type { NcuRunLimits } from "./ncu/run.ts";
import type { PipelineFailure } from "./nsys/outcome.ts";
import type { RankedKernel } from "./pipeline/selection.ts";
import type { EngineKeeper, HeldLease, WarmEngine } from "./server/warm-engine.ts";
import type { CaptureYield } from "./yield.ts";

/** What a full pipeline needs beside ncu. Handed in: this folder knows no analysis and reads no timeline. */
export interface PipelinePorts {
  /** Path of nsys; null: this host has none. */
  readonly nsys: string | null;
  /** Counters that the analyses declare (`metricsToAsk`); what was left out of them, in words. */
  readonly ask: {
    readonly sections: readonly string[];
    readonly metrics: readonly string[];
    readonly notes: readonly string[];
  };
  /**
   * Reads an export of nsys, judges whether it can be trusted, and ranks its kernels, most time first. Where that went
   * well the file holds no more of the machine (environment, command lines, paths), and may be handed in: no other file
   * may. The error's code `timeline_no_kernels` has the recording made once more.
   */
  rank(timelinePath: string): Promise<Result<readonly RankedKernel[], PipelineFailure>>;
}

/** A capture, with everything that it may touch. */
export interface Capture {
  readonly request: ResolvedRequest;
  readonly workload: Workload;
  /** Requests with the same key can share a warm engine. */
  readonly engineKey: string;
  readonly lease: HeldLease;
  /** The engine of this workload that an earlier profile left warm, taken; null: none. */
  readonly warm: WarmEngine | null;
  readonly ncu: string;
  /** This ncu can hold a program and attach to it. */
  readonly canAttach: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Folder of this attempt; its files are handed in from there. */
  readonly folder: string;
  /** Folder of an engine that is started now: it outlives the attempt. */
  readonly engineFolder: string;
  /** Values to take out of whatever is shown. */
  readonly secrets: readonly string[];
  readonly recordFolder: string;
  readonly clockControl: "none" | null;
  readonly engines: EngineKeeper;
  readonly summarize: MeasureOptions["summarize"];
  readonly group: MeasureOptions["group"];
  readonly pipeline: PipelinePorts;
  /** Fires with why it must stop. */
  readonly stop: AbortSignal;
  /** `performance.now()` at which the request's budget is spent; null: it has none. */
  readonly deadline: number | null;
  /** What the memory of the GPUs says about replay, once the engine has filled it. */
  memoryFindings(): Promise<readonly Finding[]>;
  tell(state: "warming_up" | "capturing", progress: Progress | null): void;
  /** Called once, right before the first run of ncu starts. */
  onToolStart(): void;
}

/** Launches of one kernel that get counters where neither request nor workload says so. */
const DEFAULT_MAX_LAUNCHES = 12;
/** A result of one metric takes some 0.1 MB in a report (measured, ncu 2025.3.1): 500 launches are 50 MB. */
const DEFAULT_SURVEY_LAUNCHES = 500;

/** ncu says by itself that a launch takes long after some 5 s (measured); replaying a collective never ends. */
const HANG_MS = 30_000;
/** Below this a capture does not start, and a run ends. */
export const DISK_FLOOR_BYTES = 512 * 1024 * 1024;

/** What the request asks ncu for; `--set full` for a single kernel. */
export function wantedCounters({ request }: Pick<Capture, "request">): NcuPlan["counters"] {
  const { set, sections = [], metrics = [] } = request.ncu ?? {};
  const isOpen = set === undefined && sections.length === 0 && metrics.length === 0;
  return { kind: "set", set: set ?? (isOpen ? "full" : ""), sections, metrics };
}

/** What every run of ncu of this capture has in common. */
export function commonPlan(
  { request, workload, clockControl, folder }: Pick<Capture, "request" | "workload" | "clockControl" | "folder">,
  filter: KernelFilter | null,
  name: string,
): Pick<NcuPlan, "filter" | "cacheControl" | "clockControl" | "process" | "output" | "logFile"> {
  return {
    filter,
    cacheControl: request.ncu?.cache_control ?? workload.ncu.cache_control ?? "all",
    clockControl: clockControl ?? request.ncu?.clock_control ?? workload.ncu.clock_control ?? "none",
    process: workload.ncu.process ?? null,
    output: join(folder, `${name}.ncu-rep`),
    logFile: join(folder, `${name}.ncu.log`),
  };
}

export const measureLimits = ({ workload, summarize, group }: Pick<Capture, "workload" | "summarize" | "group">) => ({
  summarize,
  group,
  maxLaunches: workload.ncu.max_launches ?? DEFAULT_MAX_LAUNCHES,
  surveyLaunches: workload.ncu.survey_launches ?? DEFAULT_SURVEY_LAUNCHES,
});

/** What every run of ncu of this capture is bounded by. */
export const runLimits = (options: Pick<Capture, "workload" | "deadline">): NcuRunLimits => ({
  startMs: options.workload.limits.start_s * 1000,
  stallMs: options.workload.limits.stall_s * 1000,
  hangMs: HANG_MS,
  // Between launches the program works: only the whole run is limited.
  idleMs: null,
  totalMs: timeLeft(options),
  outputBytes: options.workload.limits.output_bytes,
  reportBytes: options.workload.limits.report_bytes,
  diskFloorBytes: DISK_FLOOR_BYTES,
  graceMs: 30_000,
  shortGraceMs: 2_500,
});

/** Milliseconds that one more tool run may take: the workload's limit, or what the request's budget leaves. */
function timeLeft(options: Pick<Capture, "workload" | "deadline">): number {
  const limit = options.workload.limits.total_s * 1000;
  return Math.max(1, Math.min(limit, budgetLeft(options) ?? limit));
}

/** Milliseconds of the request's budget that are left; null: it has none. */
export const budgetLeft = ({ deadline }: Pick<Capture, "deadline">): number | null =>
  deadline === null ? null : deadline - performance.now();

const NO_CONCURRENCY = "the program keeps its own arguments: nothing is sent to it";

export const programConcurrency = ({ request }: Pick<Capture, "request">): CaptureRecord["concurrency"] => ({
  requested: request.concurrency,
  in_flight: null,
  batch: null,
  rule: NO_CONCURRENCY,
});

/** A capture that ended before any run of ncu. */
export function nothing(
  failure: Failure,
  options: Pick<Capture, "request">,
  parts: Partial<CaptureYield["parts"]> = {},
  findings: readonly Finding[] = [],
): CaptureYield {
  return {
    ended: "failed",
    failure,
    findings,
    report: null,
    survey: null,
    timeline: null,
    parts: {
      engine_session: "none",
      engine_session_reason: null,
      engine_reused: false,
      concurrency: programConcurrency(options),
      warm_up: null,
      plan: null,
      pipeline: null,
      runs: [],
      ...parts,
    },
  };
}
