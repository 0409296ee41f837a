import { readdirSync, readFileSync } from "node:fs";
import { type NcuObservation, NcuOutput } from "../../src/capture/ncu/output.ts";
import type { NcuRun } from "../../src/capture/ncu/run.ts";
import { fixturePath } from "../helpers/fixtures.ts";

/** Bytes of a recorded console output, with or without its folder. */
export const log = (name: string): Buffer => readFileSync(fixturePath(`logs/${name}.txt`));

/** Names of all recorded outputs of ncu. */
export const LOGS = [
  ...readdirSync(fixturePath("logs")),
  ...readdirSync(fixturePath("logs/hand-written")).map((name) => `hand-written/${name}`),
]
  .filter((name) => name.endsWith(".txt") && !/^(?:ncu-(?:list|version)|nvidia-smi)/.test(name))
  .map((name) => name.replace(/\.txt$/, ""))
  .sort();

export function observe(bytes: Buffer, chunk = bytes.length): NcuObservation {
  const output = new NcuOutput();
  for (let at = 0; at < bytes.length; at += chunk) output.push(bytes.subarray(at, at + chunk));
  output.end();
  return output.observation;
}

/** A run that ended as given; what ncu said is read from `bytes`. */
export function runOf(bytes: Buffer, more: Partial<NcuRun> = {}): NcuRun {
  const observed = observe(bytes);
  return {
    argv: ["/opt/ncu"],
    mode: "run",
    endedBy: "itself",
    exit: { code: 0, signal: null, outputBytes: 0, outputTruncated: false, startError: null },
    observed,
    reportPath: observed.report,
    reportBytes: 1,
    tookMs: 1000,
    firstLaunchAfterMs: null,
    outputTail: [],
    processesLeft: false,
    ...more,
  };
}
