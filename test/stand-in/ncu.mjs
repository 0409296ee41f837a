#!/usr/bin/env node
// Stands in for Nsight Compute in tests: it replays recorded output and reports, and reacts to signals as recorded. It
// exists nowhere but in tests. STAND_IN_SCENARIO names a file of scenarios/ (default: tiny-full).
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { useGpus } from "./gpu-use.mjs";
import { attach } from "./ncu-attach.mjs";
import { launch } from "./ncu-launch.mjs";
import { readOptions, recorded } from "./ncu-options.mjs";
import { run } from "./ncu-run.mjs";

if (process.env.STAND_IN_INNER === undefined) {
  // The real `ncu` is a shell script over the program proper: a signal to it alone ends only the script.
  const inner = spawn(process.execPath, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...process.env, STAND_IN_INNER: "1" },
  });
  inner.on("exit", (code, signal) => {
    if (signal !== null) process.kill(process.pid, signal);
    else process.exit(code);
  });
} else {
  delete process.env.STAND_IN_INNER;
  await main();
}

async function main() {
  const { refused, options } = readOptions(process.argv.slice(2));
  if (refused) return fail(refused);
  if (options.version) return say(recorded("ncu-version.txt"));
  if (options.listSets) return say(recorded("ncu-list-sets.txt"));
  if (options.listSections) return say(recorded("ncu-list-sections.txt"));
  // No recording: only what is asked of it.
  if (options.help)
    return say(
      "usage: ncu [options] [program] [program-arguments]\n  --mode arg\n  --kernel-id arg\n  --log-file arg\n",
    );
  if (options.output !== undefined && existsSync(reportPath(options.output)) && !options.force) {
    return fail([`==ERROR== File ${options.output} already exists. Use '-f' for overwriting the file.`]);
  }
  useGpus(options.mode ?? "run");
  if (options.mode === "launch") return launch(options);
  if (options.mode === "attach") return attach(options);
  if (options.program.length === 0) return fail(["==ERROR== No program to profile."]);
  return run(options);
}

function reportPath(output) {
  return output.endsWith(".ncu-rep") ? output : `${output}.ncu-rep`;
}

function say(text) {
  process.stdout.write(text);
}

function fail(lines) {
  process.stdout.write(`${lines.join("\n")}\n`);
  process.exitCode = 1;
}
