/**
 * Reading a report, side by side with NVIDIA's own tools in one run: `npm run bench:ncu -- REPORT [RUNS]` on a machine
 * that has Nsight Compute. Two comparisons, each alternating A B A B, medians of RUNS (default 5) after one warm-up:
 *
 * 1. whole processes: `ncu --import REPORT --csv --page raw` against `profile-kernel analyze REPORT`, as a table and as
 *    JSON (which adds the SHA-256 of the file);
 * 2. in one process each: NVIDIA's Python module `ncu_report` against this project's reader, both giving the values
 *    of the same metrics of every launch (the sums are compared, so neither can skip work). With the analysis on top
 *    this project's figure is printed too.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { analyze, wantsMetric } from "../src/analysis/index.ts";
import { openFile } from "../src/base/file-source.ts";
import type { Report } from "../src/model/report.ts";
import { readReport } from "../src/report/detect.ts";

const [reportPath, runsText] = process.argv.slice(2);
if (!reportPath) {
  console.error("usage: against-ncu REPORT [RUNS]   (environment: NCU, NCU_PYTHON_DIR, PYTHON, CLI)");
  process.exit(2);
}
const runs = Number(runsText ?? 5);
const cli = process.env.CLI ?? fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const ncu = process.env.NCU ?? "ncu";
const python = process.env.PYTHON ?? "python3";

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const spread = (values: readonly number[]): string =>
  `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)} ms`;

/** Milliseconds of a whole process whose output is read and thrown away. */
function processMilliseconds(program: string, args: readonly string[]): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(program, args, { stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1024 ** 3 });
  const elapsed = performance.now() - started;
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr.toString().slice(0, 500)}`);
  return elapsed;
}

/** The folder of ncu_report.py inside the installation that `ncu` belongs to. */
function ncuPythonDirectory(): string {
  const given = process.env.NCU_PYTHON_DIR;
  if (given) return given;
  const program = realpathSync(
    execFileSync("sh", ["-c", `command -v ${ncu}`])
      .toString()
      .trim(),
  );
  for (let folder = dirname(program); folder !== "/"; folder = dirname(folder)) {
    const candidate = join(folder, "extras/python");
    if (existsSync(join(candidate, "ncu_report.py"))) return candidate;
  }
  const installed = existsSync("/opt/nvidia/nsight-compute") ? readdirSync("/opt/nvidia/nsight-compute").sort() : [];
  const newest = installed.at(-1);
  if (newest) return `/opt/nvidia/nsight-compute/${newest}/extras/python`;
  throw new Error("extras/python of Nsight Compute was not found: set NCU_PYTHON_DIR");
}

async function read(path: string): Promise<Report> {
  const result = await readReport(openFile(path), { wantMetric: wantsMetric });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

/** Sum over all launches of the values of the given metrics, as the other side forms it. */
function checksum(report: Report, names: readonly string[]): { values: number; sum: number } {
  let values = 0;
  let sum = 0;
  for (const launch of report.launches) {
    for (const name of names) {
      const value = launch.metrics.number(name);
      if (value === null) continue;
      values++;
      sum += Math.log1p(Math.abs(value));
    }
  }
  return { values, sum };
}

const PYTHON_SIDE = `
import json, math, sys, time
sys.path.insert(0, sys.argv[2])
import ncu_report
names = json.load(open(sys.argv[3]))
def once():
    started = time.perf_counter()
    context = ncu_report.load_report(sys.argv[1])
    values, total = 0, 0.0
    for r in range(context.num_ranges()):
        rng = context.range_by_idx(r)
        for a in range(rng.num_actions()):
            action = rng.action_by_idx(a)
            for name in names:
                metric = action.metric_by_name(name)
                if metric is None or not metric.has_value(): continue
                value = metric.value()
                if not isinstance(value, (int, float)) or math.isnan(value) or math.isinf(value): continue
                values += 1
                total += math.log1p(abs(value))
    return (time.perf_counter() - started) * 1000, values, total
once()
print(json.dumps([once() for _ in range(int(sys.argv[4]))]))
`;

const workspace = mkdtempSync(join(tmpdir(), "against-ncu-"));
try {
  const contenders: [name: string, program: string, args: readonly string[]][] = [
    ["ncu --import … --csv --page raw", ncu, ["--import", reportPath, "--csv", "--page", "raw"]],
    ["profile-kernel analyze …", process.execPath, [cli, "analyze", reportPath]],
    ["profile-kernel analyze … --json", process.execPath, [cli, "analyze", reportPath, "--json"]],
    ["node -e 0 (starting Node alone)", process.execPath, ["-e", "0"]],
  ];
  const times = contenders.map((): number[] => []);
  for (let run = -1; run < runs; run++) {
    for (const [position, [, program, args]] of contenders.entries()) {
      const milliseconds = processMilliseconds(program, args);
      if (run >= 0) times[position]?.push(milliseconds);
    }
  }
  const theirs = median(times[0] ?? []);
  console.log(`whole processes, median of ${runs} (target: 10 times as fast as ncu):`);
  for (const [position, [name]] of contenders.entries()) {
    const own = times[position] ?? [];
    const ratio = position === 0 ? "" : `, ${(theirs / median(own)).toFixed(1)} times as fast`;
    console.log(`  ${name.padEnd(40)} ${median(own).toFixed(0)} ms (${spread(own)})${ratio}`);
  }

  const names = [...new Set((await read(reportPath)).launches.flatMap((launch) => [...launch.metrics.names()]))]
    .filter((name) => !name.startsWith("breakdown:") && !name.startsWith("group:"))
    .sort();
  const namesFile = join(workspace, "names.json");
  const scriptFile = join(workspace, "read.py");
  writeFileSync(namesFile, JSON.stringify(names));
  writeFileSync(scriptFile, PYTHON_SIDE);
  const output = execFileSync(python, [scriptFile, reportPath, ncuPythonDirectory(), namesFile, String(runs)], {
    maxBuffer: 1024 ** 2,
  });
  const pythonRuns = JSON.parse(output.toString()) as [number, number, number][];

  const reading: number[] = [];
  const analysing: number[] = [];
  let sums = { values: 0, sum: 0 };
  for (let run = -1; run < runs; run++) {
    const started = performance.now();
    const report = await read(reportPath);
    sums = checksum(report, names);
    const readAt = performance.now();
    const result = analyze([{ report, id: null, sha256: null }], { target: "full pipeline" });
    if (!result.ok) throw new Error(result.error.message);
    if (run < 0) continue;
    reading.push(readAt - started);
    analysing.push(performance.now() - started);
  }
  const pythonMilliseconds = pythonRuns.map(([milliseconds]) => milliseconds);
  const [, pythonValues, pythonSum] = pythonRuns[0] ?? [0, 0, 0];
  console.log(`in one process, ${names.length} metrics of every launch, median of ${runs}:`);
  console.log(
    `  Python ncu_report                      ${median(pythonMilliseconds).toFixed(1)} ms, ${pythonValues} values`,
  );
  console.log(`  this reader                            ${median(reading).toFixed(1)} ms, ${sums.values} values`);
  console.log(`  this reader and the whole analysis     ${median(analysing).toFixed(1)} ms`);
  console.log(
    `  ratio                                  ${(median(pythonMilliseconds) / median(reading)).toFixed(1)} times as fast (target: 3)`,
  );
  const equal = pythonValues === sums.values && Math.abs(pythonSum - sums.sum) <= 1e-9 * Math.abs(pythonSum);
  console.log(
    `  values equal                           ${equal ? "yes" : `NO: ${pythonValues} values, sum ${pythonSum} against ${sums.values}, ${sums.sum}`}`,
  );
  if (!equal) process.exitCode = 1;
} finally {
  rmSync(workspace, { recursive: true, force: true });
}
