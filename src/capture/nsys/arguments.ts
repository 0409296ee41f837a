import { basename } from "node:path";

/** One recording of nsys. */
export interface NsysPlan {
  /** cuda_profiler_api: only between cudaProfilerStart and cudaProfilerStop, and the program ends with it. */
  readonly window: "from_start" | "cuda_profiler_api" | "session";
  /** Name of a session, from whose start (`nsys start`) to whose stop a window "session" is recorded. */
  readonly session?: string;
  /** Path of the recording; nsys adds `.nsys-rep` where it does not end so. */
  readonly output: string;
  readonly program: readonly string[];
}

export const NSYS_SUFFIX = ".nsys-rep";

/** Where the recording of a plan is found. */
export const recordingPath = ({ output }: Pick<NsysPlan, "output">): string =>
  output.endsWith(NSYS_SUFFIX) ? output : `${output}${NSYS_SUFFIX}`;

/**
 * Arguments of `nsys profile`, without the path of nsys. Options are those of Nsight Systems 2025.3 (its user guide; runs
 * on the H200). Kernels, copies and NVTX ranges are recorded; samples of the processor and its context switches are not:
 * they need a privilege and tell of the host. `--cuda-graph-trace=node`: by default a graph is one row without the names
 * of its kernels.
 *
 * No option keeps the environment and the command line of the program out of a recording: only a small environment
 * does (`childEnvironment`), so neither the recording nor its export may be shown.
 */
export function nsysProfileArguments({ window, session, output, program }: NsysPlan): string[] {
  const [executable] = program;
  // What begins with a dash would be read as an option of nsys.
  if (executable === undefined || executable === "" || executable.startsWith("-")) {
    throw new RangeError(`expected a program to start, found ${JSON.stringify(executable ?? null)}`);
  }
  return [
    "profile",
    "-t",
    "cuda,nvtx",
    "-s",
    "none",
    "--cpuctxsw=none",
    "--cuda-graph-trace=node",
    // Workers of engines are children, and some are forked.
    "--trace-fork-before-exec=true",
    // What comes behind the window is not waited for: nsys ends the program with it (measured: 1.7 s of 18.5 s).
    ...(window === "cuda_profiler_api" ? ["--capture-range=cudaProfilerApi", "--capture-range-end=stop-shutdown"] : []),
    // User guide of 2025.3, `nsys profile`: nothing is recorded before `nsys start`, and `nsys stop` ends the program too.
    ...(window === "session" ? ["--start-later=true", `--session-new=${session ?? ""}`] : []),
    "--stats=false",
    "--force-overwrite=true",
    "-o",
    output,
    ...program,
  ];
}

/** Arguments that open (`start`) or close (`stop`) the window of a session; the recording is where `nsys profile` was told. */
export const nsysSessionArguments = (verb: "start" | "stop", session: string): string[] => [
  verb,
  `--session=${session}`,
];

/** Arguments of `nsys export`: the recording as an SQLite file, the only form that is read here. */
export const nsysExportArguments = (recording: string, sqlite: string): string[] => [
  "export",
  "--type",
  "sqlite",
  "--force-overwrite=true",
  "--output",
  sqlite,
  recording,
];

/** What may be shown of a command line: options, and of files and the program the name only. */
export function shownProfile(nsys: string, plan: NsysPlan): string[] {
  const all = nsysProfileArguments({ ...plan, output: basename(plan.output) });
  const [executable = ""] = plan.program;
  return [
    nsys,
    ...all.slice(0, all.length - plan.program.length),
    basename(executable),
    ...(plan.program.length > 1 ? ["…"] : []),
  ];
}

export const shownExport = (nsys: string, recording: string, sqlite: string): string[] => [
  nsys,
  ...nsysExportArguments(basename(recording), basename(sqlite)),
];
