import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../../base/result.ts";
import { PERMISSION_HINT } from "../host/preflight-refusals.ts";
import { ncuArguments } from "../ncu/arguments.ts";
import type { NcuLineCode } from "../ncu/lines.ts";
import { type NcuObservation, NcuOutput } from "../ncu/output.ts";
import { describeFailure, runCommand } from "../process/command.ts";
import { type Found, failed, good, skipped } from "./check.ts";
import { PROBE_PROGRAM } from "./probe-program.ts";

/** The counters of the trial: time, memory traffic and SM activity come from different units of the GPU. One pass. */
export const PROBE_METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "sm__cycles_active.avg"] as const;

/** A launch of the trial's report: its name and what `PROBE_METRICS` gave; null: no finite number. */
export interface ProbeLaunch {
  readonly name: string;
  readonly metrics: Readonly<Record<string, number | null>>;
}

export interface ProbeOptions {
  readonly ncu: string;
  /** Program with its arguments; null: a kernel of our own, which needs python3. */
  readonly program: readonly string[] | null;
  /** The whole environment of ncu and the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Made for this trial and removed after it. */
  readonly folder: string;
  /** Reads the report that ncu wrote. The error is a sentence. */
  readonly readReport: (path: string) => Promise<Result<readonly ProbeLaunch[], string>>;
  readonly timeoutMs?: number;
}

/** The first run of a version copies its section files; python and the driver's compiler take a second. */
const TIME_LIMIT_MS = 180_000;
const MAX_LOG_BYTES = 4 * 1024 * 1024;

/** Profiles one tiny launch; its counters must be numbers. */
export async function probe(options: ProbeOptions): Promise<Found> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  try {
    return await run(options);
  } finally {
    await rm(options.folder, { recursive: true, force: true });
  }
}

async function run(options: ProbeOptions): Promise<Found> {
  const { folder, env, ncu } = options;
  const program = options.program ?? (await ownProgram(folder, env));
  if (program === null) {
    return skipped(
      "python3 was not found on the PATH, and no program was given: profile-kernel worker check -- <program> <argument...>",
    );
  }
  const timeoutMs = options.timeoutMs ?? TIME_LIMIT_MS;
  // Alone first: what fails without ncu is no fault of ncu.
  const alone = await runCommand(program, { timeoutMs, env, cwd: folder });
  if (alone.code !== 0) {
    return failed(
      `the program of the trial fails without ncu: ${lastLine(alone.stdout) ?? describeFailure(program, alone)}`,
      "A CUDA program does not run here at all: check the driver's libraries (libcuda.so.1, ldconfig -p) and the GPU itself.",
    );
  }
  const output = join(folder, "probe.ncu-rep");
  const logFile = join(folder, "probe.log");
  const argv = [
    ncu,
    ...ncuArguments({
      mode: "run",
      filter: null,
      launches: { kind: "first", skip: 0, count: 1 },
      counters: { kind: "metrics", metrics: PROBE_METRICS },
      profileFromStart: true,
      cacheControl: "all",
      clockControl: "none",
      applyRules: false,
      process: null,
      port: null,
      output,
      logFile,
      program,
    }),
  ];
  const result = await runCommand(argv, { timeoutMs, env, cwd: folder });
  const seen = new NcuOutput();
  seen.push((await readFile(logFile).catch(() => Buffer.alloc(0))).subarray(0, MAX_LOG_BYTES), "log");
  seen.push(Buffer.from(`${result.stdout}\n${result.stderr}\n`), "program");
  seen.end();
  const said = seen.observation;
  const known = knownFailure(said);
  if (known) return known;
  if (result.timedOut) {
    return failed(
      `ncu did not end within ${timeoutMs / 1000} s`,
      "Look into dmesg for Xid lines and check that no other tool holds the GPU; run ncu by hand on a small program.",
    );
  }
  const report = (await readdir(folder)).find((name) => name.startsWith("probe.ncu-rep"));
  if (report === undefined) {
    return failed(
      `ncu wrote no report: ${evidence(said) ?? describeFailure(argv, result)}`,
      "Run ncu by hand on the same program; its message names the reason.",
    );
  }
  const launches = await options.readReport(join(folder, report));
  if (!launches.ok) return failed(`the report of ncu cannot be read: ${launches.error}`, "Use another version of ncu.");
  return judge(launches.value);
}

/** Every counter of the launch must be a finite number, and the time above 0. */
export function judge(launches: readonly ProbeLaunch[]): Found {
  const [launch] = launches;
  if (launch === undefined) {
    return failed(
      "ncu ended well and profiled nothing",
      "The program launched no kernel that ncu could see: another library may hold its injection slot (CUDA_INJECTION64_PATH), or driver and ncu do not fit.",
    );
  }
  const missing = PROBE_METRICS.filter((name) => !Number.isFinite(launch.metrics[name] ?? Number.NaN));
  if (missing.length > 0) {
    return failed(
      `counters of ${launch.name} are no numbers: ${missing.join(", ")}`,
      "This ncu cannot read the counters of this GPU with this driver: install another version of Nsight Compute and set NCU to it.",
    );
  }
  const [time, bytes, cycles] = PROBE_METRICS.map((name) => launch.metrics[name] ?? 0);
  if ((time ?? 0) <= 0) return failed(`${launch.name} took no time at all`, "Use another version of Nsight Compute.");
  return good(
    `${launch.name}: ${((time ?? 0) / 1000).toFixed(1)} us, ${bytes} bytes read from device memory, ${(cycles ?? 0).toFixed(0)} active cycles an SM`,
  );
}

/** What ncu's lines mean for a host, first cause first. */
const CAUSES: readonly (readonly [NcuLineCode, string, string])[] = [
  ["not_permitted", "ncu may not read the counters", PERMISSION_HINT],
  [
    "resource_unavailable",
    "another tool holds the counters",
    "Pause DCGM's profiling (dcgmi profile --pause; the field dcgm in workloads.yaml does so for each capture), stop dcgm-exporter's profiling fields, and end other profilers.",
  ],
  [
    "lock_file",
    "ncu cannot use its lock file",
    "The lock file in TMPDIR belongs to another user: remove it, or give the worker a DATA_DIR of its own.",
  ],
  [
    "gpu_unsupported",
    "this ncu does not know this GPU",
    "Install an Nsight Compute that lists the chip (ncu --list-chips), and set NCU to it.",
  ],
  [
    "driver_incompatible",
    "driver and ncu do not fit",
    "Update the driver, or install the Nsight Compute of the driver's CUDA version and set NCU to it.",
  ],
  [
    "subscribers",
    "another library subscribes to the profiling interface of the program",
    "Start the worker without CUDA_INJECTION64_PATH, LD_PRELOAD and the like.",
  ],
  ["clock_lock", "ncu cannot lock the clocks", "Report this: the trial does not ask for locked clocks."],
  [
    "installation",
    "ncu does not find its own folder",
    "Set NCU to the real path of ncu in its installation folder, not to a copy or a wrapper.",
  ],
  ["save_failed", "ncu cannot write its report", "Free space in the file system of DATA_DIR."],
  ["no_metrics", "ncu found no metrics to collect", "Use an Nsight Compute that supports this GPU."],
];

function knownFailure(said: NcuObservation): Found | null {
  for (const [code, message, fix] of CAUSES) {
    const lines = said.lines.get(code);
    if (lines !== undefined) return failed(`${message}: ${lines.lines[0] ?? code}`, fix);
  }
  return null;
}

function evidence(said: NcuObservation): string | null {
  for (const code of [
    "other_error",
    "launch_failed",
    "unknown_error",
    "driver_error",
    "usage",
    "profile_error",
  ] as const) {
    const line = said.lines.get(code)?.lines[0];
    if (line !== undefined) return line;
  }
  return null;
}

async function ownProgram(folder: string, env: Readonly<Record<string, string>>): Promise<string[] | null> {
  const found = await runCommand(["python3", "--version"], { timeoutMs: 30_000, env });
  if (found.code !== 0) return null;
  const path = join(folder, "probe.py");
  await writeFile(path, PROBE_PROGRAM, { mode: 0o600 });
  // Isolated: no module of the working folder or of PYTHONPATH takes part.
  return ["python3", "-I", path];
}

const lastLine = (text: string): string | null => text.trim().split("\n").at(-1)?.trim().slice(0, 300) || null;
