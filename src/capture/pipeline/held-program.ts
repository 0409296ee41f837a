import { setTimeout as sleep } from "node:timers/promises";
import { type NcuPlan, ncuArguments } from "../ncu/arguments.ts";
import { type GroupEnd, startGroup } from "../process/group.ts";
import { sessionOf, sessionPids } from "../process/session.ts";
import { attachablePorts, type ListeningPort } from "../server/listening-ports.ts";

export interface HeldStart {
  readonly ncu: string;
  readonly program: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** File for what the program prints. */
  readonly outputPath: string;
  readonly outputLimitBytes: number;
  readonly recordFolder: string;
}

/**
 * A program under `ncu --mode launch` that waits at its first CUDA call: what comes before (imports, mostly) is done
 * meanwhile, and the GPU is not touched. Measured on engine.py bench, H200, ncu 2025.3.1: held after 11.7 s, and 6.3 s
 * from the attachment to its window, where a start under ncu takes 15.7 s to there.
 */
export interface HeldProgram {
  /** Where the one process that is held can be attached to, or why the program cannot be used. */
  waiting(limitMs: number, stop: AbortSignal): Promise<ListeningPort | { readonly reason: string }>;
  /** Its processes. */
  pids(): Promise<readonly number[]>;
  /** False: the process is there, and is not one of it. */
  owns(pid: number): boolean;
  /** Ends all of it; a second call waits for the first. */
  end(graceMs: number): Promise<void>;
}

const LOOK_INTERVAL_MS = 50;
/** For its end, where nobody waits for it: it holds nothing. */
export const HELD_GRACE_MS = 2_000;

/** Starts the program, held. */
export async function holdProgram(start: HeldStart): Promise<HeldProgram> {
  const plan: NcuPlan = {
    filter: null,
    launches: { kind: "none" },
    counters: { kind: "metrics", metrics: ["launch__grid_size"] },
    applyRules: false,
    profileFromStart: true,
    cacheControl: "all",
    clockControl: "none",
    process: null,
    output: "",
    logFile: "",
    mode: "launch",
    port: null,
    program: start.program,
  };
  const group = await startGroup({
    argv: [start.ncu, ...ncuArguments(plan)],
    cwd: start.cwd,
    env: start.env,
    outputPath: start.outputPath,
    outputLimitBytes: start.outputLimitBytes,
    recordFolder: start.recordFolder,
  });
  let over: GroupEnd | null = null;
  void group.ended.then((end) => {
    over = end;
  });
  const pids = (): Promise<number[]> => sessionPids(group.pid);
  return {
    pids,
    owns: (pid) => [group.pid, null].includes(sessionOf(pid)),
    async waiting(limitMs, stop) {
      const deadline = performance.now() + limitMs;
      for (;;) {
        if (stop.aborted) return { reason: "it was stopped" };
        if (over !== null) return { reason: `it ended by itself (${howItEnded(over)})` };
        const ports = await attachablePorts(await pids());
        const [port, second] = ports;
        // Of several processes one would be measured and the others would wait for ever.
        if (second !== undefined) return { reason: `${ports.length} of its processes use the GPU` };
        if (port !== undefined) return port;
        if (performance.now() > deadline) return { reason: `it made no CUDA call within ${limitMs / 1000} s` };
        await sleep(LOOK_INTERVAL_MS, undefined, { signal: stop }).catch(() => {});
      }
    },
    end: (graceMs) => group.end({ signal: "SIGTERM", graceMs }).then(() => {}),
  };
}

const howItEnded = ({ code, signal, startError }: GroupEnd): string =>
  startError ?? (signal === null ? `exit code ${code}` : signal);
