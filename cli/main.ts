#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import manifest from "../package.json" with { type: "json" };
import type { TimelineWindow } from "../src/analysis/index.ts";
import { EXIT, EXIT_HELP, type ExitCode } from "./exit-codes.ts";
import { asFailure, CommandFailure, failureText } from "./failure.ts";
import { allowReaderToLeave, ReaderLeft } from "./output.ts";

/** Each command is loaded when it runs: `analyze` never waits for the service's packages. */
function program(run: (command: Promise<ExitCode>) => Promise<void>): Command {
  const root = new Command("profile-kernel")
    .description("Which GPU kernels cost the time, what limits each, and what a fix could return.")
    .version(manifest.version)
    .configureHelp({ showGlobalOptions: true })
    // Failures leave through one door: message, hint and exit code of `main`.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
    .addHelpText("after", EXIT_HELP);

  root
    .command("analyze")
    .summary("verdicts of reports and timelines, without a service")
    .description(
      "Reads Nsight Compute reports (.ncu-rep, .ncu-repz, CSV pages raw and details) and timelines (SQLite of `nsys export`, output of `nsys stats`, JSON of torch's profiler; one a rank), gzip or zstd of these, and prints which kernels cost the time and what limits each.",
    )
    .argument("<file...>", "reports and timelines of one run; `-` is standard input")
    .addOption(
      new Option("-t, --target <name>", "kernel name, mangled or demangled name, /regex/, or the whole report")
        .default("full pipeline")
        .conflicts("launches"),
    )
    .addOption(
      new Option("-n, --top <count>", "kernels to list, by time").default(10).argParser(topCount).conflicts("launches"),
    )
    .addOption(new Option("--json", "the result object of the API instead of a table").conflicts("launches"))
    .option("--launches", "one JSON line per launch, in the order of the files")
    .addOption(
      new Option("--svg <file>", "also write the roofline chart to a file").argParser(namedFile).conflicts("launches"),
    )
    .addOption(
      new Option("--stages-svg <file>", "also write a picture of the stages of the pipeline to a file")
        .argParser(namedFile)
        .conflicts("launches"),
    )
    .addOption(
      new Option("--timeline-svg <file>", "also write a picture of when the GPU was busy to a file")
        .argParser(namedFile)
        .conflicts("launches"),
    )
    .addOption(
      new Option(
        "--trace <file>",
        "also write the timelines for chrome://tracing and ui.perfetto.dev, with stage and verdict on each launch; gzip where the name ends in .gz",
      )
        .argParser(namedFile)
        .conflicts("launches"),
    )
    .addOption(
      new Option(
        "--window <part>",
        "part of the timelines: nvtx:NAME, step:N, or FROM..TO in us from the first GPU activity",
      )
        .argParser(timelineWindow)
        .conflicts("launches"),
    )
    .option("--full-names", "kernel names as the report has them", false)
    .option("--strict", "exit with 5 where a report ends early", false)
    .addHelpText("after", ANALYZE_HELP)
    .action((files, flags) =>
      run(import("./commands/analyze.ts").then((command) => command.analyzeCommand(files, flags))),
    );

  root
    .command("stages")
    .summary("the pipeline stage of each kernel name on standard input")
    .description(
      "Reads kernel names on standard input, one a line (demangled, mangled or base names), and prints a JSON line for each: name, stage, family, the rule that matched, confidence from 0 to 1.",
    )
    .addHelpText("after", EXIT_HELP)
    .action(() =>
      run(import("./commands/stages.ts").then((command) => command.stagesCommand(process.stdin, process.stdout))),
    );

  root
    .command("serve")
    .summary("run the service")
    .description(
      "Starts the HTTP service and its workers, with embedded Redis and database unless the settings name others.",
    )
    .option("--host <address>", "address to listen on (setting HOST)")
    .option("--port <number>", "port to listen on, 0 for any free one (setting PORT)")
    .option("--data-dir <folder>", "folder of the embedded Redis, database and artifacts (setting DATA_DIR)")
    .addHelpText("after", EXIT_HELP)
    .action((flags) => run(import("./commands/serve.ts").then((command) => command.serveCommand(flags))));

  root
    .command("demo")
    .summary("a real report through the whole service")
    .description(
      "Starts the service, sends it a recorded report over HTTP, waits for the result, prints it, stops the service.",
    )
    .option("--svg <file>", "where the roofline chart is written", "roofline.svg")
    .addHelpText("after", EXIT_HELP)
    .action((flags) => run(import("./commands/demo.ts").then((command) => command.demoCommand(flags))));

  const worker = root
    .command("worker")
    .summary("profile workloads on this GPU host")
    .description("Runs the worker of a GPU host, or looks at the host before it is used.");

  worker
    .command("start")
    .summary("take captures until SIGTERM")
    .description(
      "Takes the jobs of its pool: leases GPUs, warms engines up, runs Nsight Compute and hands the reports to the API. Settings come from the environment (REDIS_URL, API_URL, API_KEY, WORKLOADS_FILE, …).",
    )
    .addHelpText("after", EXIT_HELP)
    .action(() => run(import("./commands/worker.ts").then((command) => command.workerStartCommand())));

  worker
    .command("check")
    .summary("look at this host, and name what to fix first")
    .description(
      "Looks at driver, tools, permissions, disk, workloads file, API and Redis with the settings of the worker, and profiles one tiny launch.",
    )
    .argument(
      "[program...]",
      "CUDA program to profile in place of the built-in kernel, behind `--`; the kernel needs python3",
    )
    .option("--json", "the list of checks as JSON")
    .addHelpText("after", EXIT_HELP)
    .action((program, flags) =>
      run(import("./commands/worker.ts").then((command) => command.workerCheckCommand(program, flags))),
    );

  return root;
}

const ANALYZE_HELP = `
Examples:
  profile-kernel analyze run.ncu-rep
  profile-kernel analyze run.ncu-rep --target fused_moe_kernel
  profile-kernel analyze rank0.ncu-rep rank1.ncu-rep --json > result.json
  profile-kernel analyze run.sqlite run.ncu-rep
  profile-kernel analyze run.sqlite run.ncu-rep --trace trace.json.gz
  profile-kernel analyze rank0.json.gz rank1.json.gz --window step:3
  ncu --import run.ncu-rep --csv --page raw | profile-kernel analyze -

stdout carries the table or the JSON, stderr the errors: with --json and --launches
as one line {"error":{"code","message","hint","evidence"}}. A report that ends early
is said so first ("partial": true) and exits with 0, with --strict with 5.
${EXIT_HELP}`;

function topCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1000) {
    throw new InvalidArgumentError("Expected a whole number from 1 to 1000.");
  }
  return count;
}

function timelineWindow(text: string): TimelineWindow {
  const [, nvtx, step, from, to] =
    /^(?:nvtx:(.+)|step:(\d{1,9})|(\d{1,15}(?:\.\d+)?)\.\.(\d{1,15}(?:\.\d+)?))$/s.exec(text) ?? [];
  if (nvtx !== undefined) return { nvtx };
  if (step !== undefined) return { step: Number(step) };
  if (from !== undefined && to !== undefined) return { from_us: Number(from), to_us: Number(to) };
  throw new InvalidArgumentError("Expected nvtx:NAME, step:N or FROM..TO, as in 1000..2500.");
}

function namedFile(path: string): string {
  if (path === "-" || path === "") throw new InvalidArgumentError("Expected the name of a file.");
  return path;
}

async function main(argv: readonly string[]): Promise<ExitCode> {
  for (const stream of [process.stdout, process.stderr]) allowReaderToLeave(stream);
  const format = argv.includes("--json") || argv.includes("--launches") ? "json" : "text";
  let exitCode: ExitCode = EXIT.ok;
  try {
    await program(async (command) => {
      exitCode = await command;
    }).parseAsync([...argv], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof ReaderLeft) return EXIT.ok;
    // Help and version end here too: they were written, and their code is 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
    if (error instanceof CommanderError && error.code === "commander.help") return EXIT.usage;
    const failure = error instanceof CommanderError ? usageFailure(error) : asFailure(error);
    process.stderr.write(failureText(failure, format));
    return failure.exitCode;
  }
}

const usageFailure = (error: CommanderError): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "usage",
    message: error.message.replace(/^error: /, ""),
    hint: "--help shows how the command is used.",
  });

process.exitCode = await main(process.argv.slice(2));
