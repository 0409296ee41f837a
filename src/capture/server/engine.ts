import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Failure } from "../../model/profile.ts";
import type { ServerWorkload } from "../../model/workload.ts";
import { type NcuPlan, ncuArguments } from "../ncu/arguments.ts";
import { type Group, startGroup } from "../process/group.ts";
import { type LogPatterns, watchLog } from "../process/log-patterns.ts";
import { sessionPids } from "../process/session.ts";
import { notedPatternsOf, warmPatternsOf } from "./engine-defaults.ts";
import { attachablePorts, type ListeningPort } from "./listening-ports.ts";

/** How an engine is started; everything that names this host is handed in. */
export interface EngineStart {
  readonly workload: ServerWorkload;
  /** Program and arguments, placeholders filled in. */
  readonly argv: readonly string[];
  readonly ncu: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Folder of this engine: its log, and what ncu writes. */
  readonly folder: string;
  readonly recordFolder: string;
}

/** An engine that runs under `ncu --mode launch`: it is attached to again and again while it stays warm. */
export interface Engine {
  readonly workload: ServerWorkload;
  readonly folder: string;
  readonly baseUrl: string;
  readonly log: LogPatterns;
  readonly group: Group;
  /** True from the end of its first process on. */
  readonly over: boolean;
  /** Its processes, and those of the ncu that holds it. */
  pids(): Promise<readonly number[]>;
  /** Processes of the engine that can be attached to now. */
  ports(): Promise<readonly ListeningPort[]>;
  /** Ends it with all its processes. `graceMs`: how long it may take, where that is less than its workload says. */
  stop(graceMs?: number): Promise<void>;
}

const LOOK_INTERVAL_MS = 100;
/** An attach ends in well under this (0.6 to 1.1 s measured) or never. */
const RELEASE_LIMIT_MS = 30_000;
/** For the shutdown of an engine that is canceled before it was of use: after a cancel nothing is left for 5 s. */
export const STOPPED_GRACE_MS = 1_500;

/** Starts the engine, held at its first CUDA call: `releaseAll` lets it go on. */
export async function launchEngine(start: EngineStart): Promise<Engine> {
  const { workload, folder } = start;
  const log = watchLog(warmPatternsOf(workload), notedPatternsOf(workload));
  const input = log.input();
  const argv = ncuArguments(launchPlan(start));
  const group = await startGroup({
    argv: [start.ncu, ...argv],
    cwd: start.cwd,
    env: start.env,
    outputPath: join(folder, "engine.log"),
    outputLimitBytes: workload.limits.output_bytes,
    recordFolder: start.recordFolder,
    onOutput: input,
  });
  let over = false;
  void group.ended.then(() => {
    over = true;
  });
  return {
    workload,
    folder,
    baseUrl: `http://127.0.0.1:${workload.port}`,
    log,
    group,
    get over() {
      return over;
    },
    pids: () => sessionPids(group.pid),
    ports: async () => attachablePorts(await sessionPids(group.pid)),
    stop: async (graceMs = Number.POSITIVE_INFINITY) => {
      const { signal, timeout_s } = workload.stop;
      await group.end({ signal, graceMs: Math.min(timeout_s * 1000, graceMs) });
    },
  };
}

const NOTHING: Pick<NcuPlan, "filter" | "launches" | "counters" | "applyRules"> = {
  filter: null,
  launches: { kind: "none" },
  counters: { kind: "metrics", metrics: ["launch__grid_size"] },
  applyRules: false,
};

const common = ({ workload, folder }: EngineStart, name: string) => ({
  profileFromStart: true,
  cacheControl: workload.ncu.cache_control ?? ("all" as const),
  clockControl: workload.ncu.clock_control ?? ("none" as const),
  process: workload.ncu.process ?? null,
  output: join(folder, name),
  logFile: join(folder, `${name}.log`),
});

const launchPlan = (start: EngineStart): NcuPlan => ({
  ...NOTHING,
  ...common(start, "launch"),
  mode: "launch",
  port: null,
  program: start.argv,
});

export interface ReleaseOptions {
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** True once the engine needs no more processes to be let go: it answers. */
  isUp(): Promise<boolean>;
}

/**
 * Lets go each process of the engine that is held at its first CUDA call, by an attach that profiles nothing, until the
 * engine answers. Each process of an engine over several GPUs is held by itself, on a port of its own.
 * @returns null, or why the engine cannot be attached to.
 */
export async function releaseAll(engine: Engine, start: EngineStart, options: ReleaseOptions): Promise<string | null> {
  const deadline = performance.now() + options.limitMs;
  const released = new Set<number>();
  while (!options.signal.aborted && !engine.over) {
    for (const { port, pid } of await engine.ports()) {
      if (released.has(pid)) continue;
      const problem = await release(engine, start, port, options.signal);
      if (problem !== null) return problem;
      released.add(pid);
    }
    if (released.size > 0 && (await options.isUp())) return null;
    if (performance.now() > deadline) {
      return released.size === 0
        ? `no process of the engine reached a CUDA call within ${options.limitMs / 1000} s`
        : null;
    }
    await sleep(LOOK_INTERVAL_MS, undefined, { signal: options.signal }).catch(() => {});
  }
  return options.signal.aborted ? "it was stopped" : "the engine ended";
}

/** One attach that matches no kernel, ended as soon as it is connected. */
async function release(engine: Engine, start: EngineStart, port: number, stop: AbortSignal): Promise<string | null> {
  const plan: NcuPlan = { ...NOTHING, ...common(start, `release-${port}`), mode: "attach", port, program: [] };
  const group = await startGroup({
    argv: [start.ncu, ...ncuArguments(plan)],
    cwd: start.cwd,
    env: start.env,
    outputPath: join(engine.folder, `release-${port}.out`),
    outputLimitBytes: 1024 * 1024,
    recordFolder: start.recordFolder,
  });
  let ended = false;
  void group.ended.then(() => {
    ended = true;
  });
  const deadline = performance.now() + RELEASE_LIMIT_MS;
  let text = "";
  while (!ended && !stop.aborted && !text.includes("Connected to process") && performance.now() < deadline) {
    await sleep(20);
    text = await readFile(plan.logFile, "utf8").catch(() => "");
  }
  const isConnected = text.includes("Connected to process");
  await group.end({ signal: "SIGTERM", graceMs: stop.aborted ? STOPPED_GRACE_MS : 5_000 });
  if (isConnected) return null;
  const out = await readFile(join(engine.folder, `release-${port}.out`), "utf8").catch(() => "");
  const errors = `${text}\n${out}`.split("\n").filter((line) => line.startsWith("==ERROR=="));
  return `ncu could not attach to it on port ${port}: ${errors[0]?.slice(0, 300) ?? "it said nothing"}`;
}

export const engineDied = (engine: Pick<Engine, "log">, when: string): Failure => ({
  code: "engine_died",
  message: `The engine ended ${when}.`,
  hint: "Its last lines are in the evidence and in the log. Start its command by hand on the host to see whether it runs without a profiler.",
  retryable: false,
  evidence: { log_end: engine.log.tail(40) },
});
