import { rm } from "node:fs/promises";
import { join } from "node:path";
import { err, ok, type Result } from "../../base/result.ts";
import type { Failure } from "../../model/profile.ts";
import type { BenchmarkWorkload } from "../../model/workload.ts";
import { budgetLeft, type Capture } from "../capture-parts.ts";
import { EXPORT_MS, nsysOptions } from "../nsys/options.ts";
import { nsysFailure, recordedProgramFailure } from "../nsys/outcome.ts";
import { runNsysExport, runNsysProfile } from "../nsys/run.ts";
import { watchLog } from "../process/log-patterns.ts";
import { type PipelineLog, programFailed, recordedAgain } from "./log.ts";
import type { RankedKernel } from "./selection.ts";

type Window = BenchmarkWorkload["window"];

/** A capture of a program's pipeline: what of `Capture` it touches. */
export type ProgramCapture = Pick<
  Capture,
  | "request"
  | "workload"
  | "ncu"
  | "canAttach"
  | "env"
  | "cwd"
  | "folder"
  | "secrets"
  | "recordFolder"
  | "clockControl"
  | "summarize"
  | "pipeline"
  | "stop"
  | "deadline"
  | "tell"
  | "onToolStart"
>;

/** A timeline of a benchmark program that is ranked. */
export interface Recorded {
  readonly kernels: readonly RankedKernel[];
  /** The export, as the ranking left it: see `PipelinePorts.rank`. */
  readonly timeline: string;
  readonly window: Window;
  /** Milliseconds of one run of the program under nsys. */
  readonly programMs: number;
  /** A signal ended the program while it was recorded; null: none did. */
  readonly programFailure: Failure | null;
}

/** The recording of a benchmark program: nsys, its export, the ranking. */
export class TimelineRecorder {
  readonly #options: ProgramCapture;
  readonly #workload: BenchmarkWorkload;
  readonly #nsys: string;
  readonly #program: readonly string[];
  readonly #log: PipelineLog;
  /** The line that says that the program is warm, where it was declared and seen. */
  warmLine: string | null = null;

  constructor(
    options: ProgramCapture,
    workload: BenchmarkWorkload,
    nsys: string,
    program: readonly string[],
    log: PipelineLog,
  ) {
    this.#options = options;
    this.#workload = workload;
    this.#nsys = nsys;
    this.#program = program;
    this.#log = log;
  }

  /** Records and ranks; a timeline without kernels is recorded once more. */
  async record(): Promise<Result<Recorded, Failure>> {
    const { window } = this.#workload;
    const first = await this.#attempt(window, 0);
    if (first.ok || first.error.code !== "timeline_no_kernels" || this.#mustStop()) return first;
    // A window that holds no kernel may never have been opened; without one there is nothing to do but to try again.
    const again = await this.#attempt("from_start", 1);
    if (again.ok) this.#log.findings.push(recordedAgain(window));
    return again;
  }

  #mustStop(): boolean {
    const left = budgetLeft(this.#options);
    return this.#options.stop.aborted || (left !== null && left <= 0);
  }

  async #attempt(window: Window, attempt: number): Promise<Result<Recorded, Failure>> {
    const { folder, pipeline } = this.#options;
    const { log_pattern } = this.#workload.warm_up;
    const output = join(folder, `timeline-${attempt}.nsys-rep`);
    const sqlite = join(folder, `timeline-${attempt}.sqlite`);
    const log = watchLog(log_pattern === undefined ? [] : [log_pattern]);
    this.#tell("timeline");
    this.#options.onToolStart();
    const recording = await runNsysProfile(
      { ...nsysOptions(this.#options, this.#nsys, `timeline-${attempt}`), onOutput: log.input() },
      { window, output, program: this.#program },
    );
    this.warmLine = log.seen()[0]?.line ?? this.warmLine;
    this.#log.nsys("timeline", recording);
    const failed = nsysFailure(recording, "timeline");
    if (failed !== null) return err(failed);

    this.#tell("export");
    const exporting = nsysOptions(this.#options, this.#nsys, `export-${attempt}`, EXPORT_MS);
    const exported = await runNsysExport(exporting, output, sqlite);
    this.#log.nsys("export", exported);
    // It holds what the export holds, and the environment of the program with it.
    await rm(output, { force: true });
    const notExported = nsysFailure(exported, "export");
    if (notExported !== null) return err(notExported);

    this.#tell("rank");
    const startedAt = performance.now();
    const ranked = await pipeline.rank(sqlite);
    this.#log.step("rank", performance.now() - startedAt);
    if (!ranked.ok) return ranked;
    const end = recordedProgramFailure(recording, window === "cuda_profiler_api");
    if (end?.code === "application_failed") this.#log.findings.push(programFailed(end));
    // A signal cut off what the program would have done.
    const programFailure = end?.code === "application_crashed" ? end : null;
    return ok({ kernels: ranked.value, timeline: sqlite, window, programMs: recording.tookMs, programFailure });
  }

  #tell(phase: string): void {
    this.#options.tell("capturing", { phase, done: 0, total: null, message: null });
  }
}
