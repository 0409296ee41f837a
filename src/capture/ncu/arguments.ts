import { basename } from "node:path";
import type { KernelFilter } from "./kernel-filter.ts";

/** One run of ncu. */
export interface NcuPlan {
  /** run: start the program and profile it. launch: start it and hold it. attach: profile one that was started by launch. */
  readonly mode: "run" | "launch" | "attach";
  /** Null: every kernel. */
  readonly filter: KernelFilter | null;
  readonly launches:
    | { readonly kind: "first"; readonly skip: number; readonly count: number }
    /** These invocations of each of these functions, from 1: an invocation that one needs is taken of all. */
    | {
        readonly kind: "ordinals";
        readonly names: readonly string[];
        readonly ordinals: readonly number[];
        /** What the names are and the ordinals count; function where it is left out. */
        readonly base?: "function" | "mangled";
      }
    /** So many launches of each kernel with the same grid, block and shared memory. */
    | { readonly kind: "per_config"; readonly count: number }
    | { readonly kind: "all" }
    /** No launch at all: lets a held program go. */
    | { readonly kind: "none" };
  readonly counters: /** An empty set: the sections and metrics alone. */
    | {
        readonly kind: "set";
        readonly set: string;
        readonly sections: readonly string[];
        readonly metrics: readonly string[];
      }
    | { readonly kind: "metrics"; readonly metrics: readonly string[] };
  /** False: wait for cudaProfilerStart. */
  readonly profileFromStart: boolean;
  readonly cacheControl: "all" | "none";
  readonly clockControl: "base" | "none";
  readonly applyRules: boolean;
  /** File name of the executable to profile, of those that the program starts (`--target-processes-filter`). */
  readonly process: string | null;
  /** Port of the held program that is to be attached to; null: the first that is found. */
  readonly port: number | null;
  /** Path of the report. ncu adds `.ncu-rep` where it does not end so. */
  readonly output: string;
  readonly logFile: string;
  /** Empty for attach. */
  readonly program: readonly string[];
}

/** A function name that no program has. */
const NO_KERNEL = "profile_kernel_matches_no_kernel";

/**
 * Arguments of ncu for a plan, without the path of ncu itself. Options are those of Nsight Compute 2025.3.1
 * (`ncu --help`); `--target-processes` is refused by `--mode attach` (measured).
 */
export function ncuArguments(plan: NcuPlan): string[] {
  const { mode, program } = plan;
  if (mode === "attach") return [...attachOptions(plan), ...profileOptions(plan)];
  const [executable] = program;
  // What begins with a dash would be read as an option of ncu.
  if (executable === undefined || executable === "" || executable.startsWith("-")) {
    throw new RangeError(`expected a program to start, found ${JSON.stringify(executable ?? null)}`);
  }
  if (mode === "launch") {
    const port = plan.port === null ? [] : ["--port", String(plan.port)];
    return ["--mode", "launch", "--config-file", "off", ...port, ...processOptions(plan), ...program];
  }
  return [...processOptions(plan), ...profileOptions(plan), ...program];
}

const attachOptions = ({ port }: NcuPlan): string[] => [
  "--mode",
  "attach",
  "--hostname",
  "127.0.0.1",
  ...(port === null ? [] : ["--port", String(port), "--max-connections", "2"]),
];

const processOptions = ({ process }: NcuPlan): string[] => [
  "--target-processes",
  "all",
  ...(process === null ? [] : ["--target-processes-filter", process]),
];

function profileOptions(plan: NcuPlan): string[] {
  return [
    // A stray ncu.cfg in the working folder would change the run.
    "--config-file",
    "off",
    "-f",
    "-o",
    plan.output,
    "--log-file",
    plan.logFile,
    "--replay-mode",
    "kernel",
    ...launchOptions(plan),
    ...counterOptions(plan),
    ...(plan.profileFromStart ? [] : ["--profile-from-start", "off"]),
    "--cache-control",
    plan.cacheControl,
    "--clock-control",
    plan.clockControl,
    "--apply-rules",
    plan.applyRules ? "yes" : "no",
    // Source text would make the report confidential.
    "--import-source",
    "no",
  ];
}

function launchOptions({ launches, filter }: NcuPlan): string[] {
  const names = filter === null ? [] : [...filter.argv];
  switch (launches.kind) {
    case "all":
      return names;
    case "none":
      return ["--kernel-name-base", "function", "-k", NO_KERNEL];
    case "first":
      return [
        ...names,
        ...(launches.skip === 0 ? [] : ["--launch-skip", String(launches.skip)]),
        "--launch-count",
        String(launches.count),
      ];
    case "per_config":
      return [...names, "--filter-mode", "per-launch-config", "--launch-count", String(launches.count)];
    case "ordinals":
      // The identifier holds the names: a filter beside it could only take launches away.
      return [
        "--kernel-name-base",
        launches.base ?? "function",
        "--kernel-id",
        kernelId(launches.names, launches.ordinals),
      ];
  }
}

/**
 * `--kernel-id context:stream:[regex:]name:invocation`, all contexts and streams. Measured on ncu 2025.3.1: invocations
 * count the launches of a function name, from 1, whatever its template arguments and the filter, and with
 * `--kernel-name-base mangled` those of a mangled name; the option may be given once; the number and, with
 * `regex:`, the name are regular expressions. Both are anchored, so that 1 does not match 11. A colon separates the parts,
 * so in a name a dot stands for it.
 */
export function kernelId(names: readonly string[], ordinals: readonly number[]): string {
  const sorted = [...new Set(ordinals)].sort((a, b) => a - b);
  if (sorted.length === 0 || sorted.some((ordinal) => !Number.isSafeInteger(ordinal) || ordinal < 1)) {
    throw new RangeError(`expected invocations from 1 on, found [${ordinals.join(", ")}]`);
  }
  const wanted = [...new Set(names)];
  const [name = "", ...more] = wanted;
  if (wanted.length === 0 || wanted.includes(""))
    throw new RangeError("expected names of functions, found an empty one");
  // The form that was measured for several.
  const isPlain = sorted.length === 1 && more.length === 0 && /^\w+$/.test(name);
  const kernel = isPlain ? name : `regex:^(${wanted.map(asPattern).join("|")})$`;
  return `::${kernel}:${sorted.length === 1 ? sorted[0] : `^(${sorted.join("|")})$`}`;
}

const asPattern = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll(":", ".");

function counterOptions({ counters }: NcuPlan): string[] {
  const metrics = counters.metrics.length === 0 ? [] : ["--metrics", counters.metrics.join(",")];
  if (counters.kind === "metrics") return metrics;
  return [
    ...(counters.set === "" ? [] : ["--set", counters.set]),
    ...counters.sections.flatMap((section) => ["--section", section]),
    ...metrics,
  ];
}

/**
 * What may be shown of a command line: the path and options of ncu; of its files and of the program the name only, since
 * folders and arguments of programs tell of the host and hold secrets.
 */
export function shownArguments(ncu: string, given: NcuPlan): string[] {
  const plan = { ...given, output: basename(given.output), logFile: basename(given.logFile) };
  const all = ncuArguments(plan);
  const options = plan.mode === "attach" ? all : all.slice(0, all.length - plan.program.length);
  const [executable] = plan.program;
  return [
    ncu,
    ...options,
    ...(plan.mode === "attach" || executable === undefined
      ? []
      : [basename(executable), ...(plan.program.length > 1 ? ["…"] : [])]),
  ];
}
