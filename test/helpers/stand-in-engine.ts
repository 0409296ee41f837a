import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type LogPatterns, watchLog } from "../../src/capture/process/log-patterns.ts";
import { type ServerWorkload, serverWorkloadSchema } from "../../src/model/workload.ts";
import { endAtExit } from "./end-at-exit.ts";

/** Program that stands in for a serving engine. */
export const STAND_IN_ENGINE = fileURLToPath(new URL("../stand-in/engine.mjs", import.meta.url));

export interface StandInEngine {
  readonly baseUrl: string;
  /** Its output, watched since its start. */
  readonly output: LogPatterns;
  /** All that it printed. */
  log(): string;
  readonly ended: Promise<{ exitCode: number | null; signal: string | null }>;
  end(): Promise<void>;
}

/** Starts the engine. Waits until it listens. */
export async function startStandInEngine(
  args: readonly string[],
  watch: { required?: readonly string[]; noted?: readonly string[]; env?: Record<string, string> } = {},
): Promise<StandInEngine> {
  const child = endAtExit(
    spawn(process.execPath, [STAND_IN_ENGINE, ...args], {
      env: { PATH: process.env.PATH ?? "", ...watch.env },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const output = watchLog(watch.required ?? [], watch.noted);
  const listening = watchLog(["listening on"]);
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    const sinks = [output.input(), listening.input()];
    stream.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      for (const sink of sinks) sink(text);
    });
  }
  const ended = once(child, "close").then(([exitCode, signal]) => ({ exitCode, signal }));
  const over = new AbortController();
  void ended.then(() => over.abort(new Error(`the engine ended: ${log}`)));
  const engine = { output, ended, log: () => log, end: () => endOf(child, ended) };
  await listening.waitFor(over.signal);
  const line = listening.seen()[0]?.line ?? "";
  return { ...engine, baseUrl: line.slice(line.indexOf("http")) };
}

async function endOf(child: ReturnType<typeof spawn>, ended: Promise<unknown>): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** A workload of kind `server`; tests state what they are about. */
export const serverWorkload = (fields: object = {}): ServerWorkload =>
  serverWorkloadSchema.parse({
    kind: "server",
    name: "stand-in",
    model: "stand-in",
    engine: "vllm",
    argv: ["engine"],
    port: 8000,
    ...fields,
  });
