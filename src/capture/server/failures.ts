import type { Failure } from "../../model/profile.ts";
import { type Engine, engineDied } from "./engine.ts";
import type { ListeningPort } from "./listening-ports.ts";

/** Why an engine that is warm cannot be attached to. */
export const notReachable = (engine: Engine): Failure =>
  engine.over
    ? engineDied(engine, "before it was profiled")
    : {
        code: "ncu_failed",
        message: "No process of the engine listens for Nsight Compute any more.",
        hint: "The engine is ended; the next profile starts another one. If this repeats, declare warm_engine: never.",
        retryable: true,
        evidence: { log_end: engine.log.tail(40) },
      };

/** Counters of somebody else's program are thrown away. */
export const foreignProcess = (pid: number, { port, pid: expected }: ListeningPort): Failure => ({
  code: "ncu_failed",
  message: `Nsight Compute attached to process ${pid}, which is not of the engine: on port ${port} process ${expected} was expected. Nothing of it is used.`,
  hint: "Another program held by ncu runs on this host. End it, or profile when it is gone.",
  retryable: true,
  evidence: { pid, expected_pid: expected, port },
});

/** An engine that ended, or never began, before it answered. */
export const startFailed = (
  engine: Engine,
  end: { code: number | null; signal: string | null; startError: string | null },
): Failure => ({
  code: end.startError === null ? "engine_start_failed" : "program_missing",
  message:
    end.startError === null
      ? `The engine ended before it answered (${end.signal === null ? `exit code ${end.code}` : end.signal}).`
      : `The engine could not be started: ${end.startError}.`,
  hint: "Its last lines are in the evidence and in the log. Start its command by hand on the host to see whether it runs without a profiler.",
  retryable: false,
  evidence: { exit_code: end.code, signal: end.signal, log_end: engine.log.tail(40) },
});
