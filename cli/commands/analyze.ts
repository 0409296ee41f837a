import {
  type AnalysisFailure,
  type AnalysisInput,
  analyze,
  launchResults,
  wantsMetric,
} from "../../src/analysis/index.ts";
import { shortKernelName } from "../../src/charts/kernel-name.ts";
import { visibleText } from "../../src/charts/visible-text.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import { readReport } from "../../src/report/detect.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { fileFailure, type Input, openInputs } from "../inputs.ts";
import { jsonText, write, writeLines, writeNamedFile } from "../output.ts";
import { readFailure } from "../read-failure.ts";
import { repeatedFinding, repeatedInputs } from "../same-input.ts";
import { terminalOf } from "../terminal.ts";
import { resultView } from "../views/result.ts";

export interface AnalyzeFlags {
  readonly target: string;
  readonly top: number;
  readonly json?: boolean;
  readonly launches?: boolean;
  readonly svg?: string;
  readonly fullNames?: boolean;
  readonly strict?: boolean;
}

/**
 * Reads reports and prints the verdicts: no service, no network. stdout gets the table, the result object (`--json`) or a
 * line a launch (`--launches`); stderr gets what went wrong.
 * @returns the exit code; @throws CommandFailure where there is nothing to print.
 */
export async function analyzeCommand(files: readonly string[], flags: AnalyzeFlags): Promise<ExitCode> {
  const inputs = await openInputs(files, process.stdin);
  try {
    // The hash is only in the JSON: a table does not wait for it.
    const hashed = flags.json === true || flags.launches === true;
    const reports: AnalysisInput[] = [];
    for (const input of inputs.items) reports.push(await readInput(input, hashed));
    await noteRepeated(inputs.items, reports, flags.launches === true);
    if (flags.launches === true) await printLaunches(reports);
    else
      await printResult(
        reports,
        flags,
        inputs.items.map(({ name }) => name),
      );
    if (flags.strict === true) refusePartial(inputs.items, reports);
    return EXIT.ok;
  } finally {
    await inputs.release();
  }
}

async function readInput(input: Input, hashed: boolean): Promise<AnalysisInput> {
  try {
    const [report, sha256] = await Promise.all([
      readReport(input.open, { wantMetric: wantsMetric }),
      hashed ? input.sha256() : null,
    ]);
    if (!report.ok) throw readFailure(input.name, report.error);
    return { report: report.value, id: null, sha256 };
  } catch (error) {
    throw fileFailure(input.name, error);
  }
}

/** The same report under two names is a finding; lines of launches have no place for it, so stderr gets it. */
async function noteRepeated(items: readonly Input[], reports: AnalysisInput[], onStderr: boolean): Promise<void> {
  for (const [index, earlier] of (await repeatedInputs(items)).entries()) {
    const input = reports[index];
    if (earlier === null || input === undefined) continue;
    const finding = repeatedFinding(items[index]?.name ?? "", earlier);
    if (onStderr) process.stderr.write(`profile-kernel: warning: ${visibleText(finding.message)}\n`);
    else {
      const { report } = input;
      reports[index] = { ...input, report: { ...report, findings: [...report.findings, finding] } };
    }
  }
}

async function printLaunches(reports: readonly AnalysisInput[]): Promise<void> {
  for (const report of reports) {
    for (const launch of launchResults(report)) await write(process.stdout, jsonText(launch, "line"));
  }
}

async function printResult(
  reports: readonly AnalysisInput[],
  flags: AnalyzeFlags,
  names: readonly string[],
): Promise<void> {
  const analyzed = analyze(reports, { target: flags.target, topN: flags.top });
  if (!analyzed.ok) throw analysisFailure(analyzed.error);
  const result = analyzed.value;
  if (flags.svg !== undefined) await writePicture(flags.svg, result);
  if (flags.json === true) return write(process.stdout, jsonText(result, "pretty"));
  const options = { inputs: names, fullNames: flags.fullNames === true };
  await writeLines(process.stdout, resultView(terminalOf(process.stdout, process.env), result, options));
}

function analysisFailure(failure: AnalysisFailure): CommandFailure {
  const { kernels } = failure.evidence;
  const hint =
    Array.isArray(kernels) && kernels.length > 0
      ? `The kernels are: ${kernels.map(String).map(shortKernelName).join(", ")}.`
      : failure.hint;
  return new CommandFailure(failure.code === "invalid_target" ? EXIT.usage : EXIT.noKernel, { ...failure, hint });
}

async function writePicture(path: string, result: ProfileResult): Promise<void> {
  const { rooflineSvg } = await import("../../src/charts/roofline.ts");
  await writeNamedFile(path, rooflineSvg(result));
}

function refusePartial(items: readonly Input[], reports: readonly AnalysisInput[]): void {
  const names = items.filter((_, index) => reports[index]?.report.partial).map(({ name }) => name);
  if (names.length === 0) return;
  throw new CommandFailure(EXIT.partial, {
    code: "partial",
    message: `${names.join(", ")} ends early; what was complete is printed`,
    hint: "Leave --strict out to accept the report of a run that was ended, or measure again.",
    evidence: { files: names },
  });
}
