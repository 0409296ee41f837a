import { tmpdir } from "node:os";
import {
  type AnalysisFailure,
  type AnalysisInput,
  analyze,
  analyzeTimelines,
  launchResults,
  type RankFailure,
  type TimelineInput,
  type TimelineWindow,
  wantsMetric,
} from "../../src/analysis/index.ts";
import { shortKernelName } from "../../src/charts/kernel-name.ts";
import { visibleText } from "../../src/charts/visible-text.ts";
import type { ReadFailure } from "../../src/model/report.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import { readReport } from "../../src/report/detect.ts";
import { detectTimeline, readTimeline } from "../../src/timeline/detect.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { fileFailure, type Input, openInputs } from "../inputs.ts";
import { jsonText, write, writeLines, writeNamedFile, writeNamedPieces } from "../output.ts";
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
  readonly stagesSvg?: string;
  readonly timelineSvg?: string;
  readonly trace?: string;
  readonly window?: TimelineWindow;
  readonly fullNames?: boolean;
  readonly strict?: boolean;
}

/** What one input holds. */
type Content =
  | { readonly kind: "report"; readonly report: AnalysisInput }
  | { readonly kind: "timeline"; readonly timeline: TimelineInput };

/**
 * Reads reports and timelines and prints the verdicts: no service, no network. stdout gets the table, the result object
 * (`--json`) or a line a launch (`--launches`); stderr gets what went wrong.
 * @returns the exit code; @throws CommandFailure where there is nothing to print.
 */
export async function analyzeCommand(files: readonly string[], flags: AnalyzeFlags): Promise<ExitCode> {
  const inputs = await openInputs(files, process.stdin);
  try {
    // The hash is only in the JSON: a table does not wait for it.
    const hashed = flags.json === true || flags.launches === true;
    const contents: Content[] = [];
    for (const input of inputs.items) contents.push(await readInput(input, hashed));
    await noteRepeated(inputs.items, contents, flags.launches === true);
    const read = split(inputs.items, contents);
    if (read.timelines.length === 0 && flags.window !== undefined) throw windowWithoutTimeline();
    if (read.timelines.length === 0 && flags.trace !== undefined) throw traceWithoutTimeline();
    if (flags.launches === true) await printLaunches(read);
    else await printResult(read, flags);
    if (flags.strict === true) refusePartial(read);
    return EXIT.ok;
  } finally {
    await inputs.release();
  }
}

interface Read {
  readonly reports: readonly AnalysisInput[];
  readonly timelines: readonly TimelineInput[];
  /** What the inputs are called, in the order of `reports` and `timelines`. */
  readonly reportNames: readonly string[];
  readonly timelineNames: readonly string[];
}

function split(items: readonly Input[], contents: readonly Content[]): Read {
  const names = (kind: Content["kind"]): string[] =>
    items.filter((_, index) => contents[index]?.kind === kind).map(({ name }) => name);
  return {
    reports: contents.flatMap((content) => (content.kind === "report" ? content.report : [])),
    timelines: contents.flatMap((content) => (content.kind === "timeline" ? content.timeline : [])),
    reportNames: names("report"),
    timelineNames: names("timeline"),
  };
}

async function readInput(input: Input, hashed: boolean): Promise<Content> {
  try {
    const sha256 = hashed ? await input.sha256() : null;
    if ((await detectTimeline(input.open)).ok) {
      const timeline = await readTimeline(input.path, tmpdir());
      if (!timeline.ok) throw readFailure(input.name, timeline.error);
      return { kind: "timeline", timeline: { timeline: timeline.value, id: null, sha256 } };
    }
    const report = await readReport(input.open, { wantMetric: wantsMetric });
    if (!report.ok) throw readFailure(input.name, withTimelines(report.error));
    return { kind: "report", report: { report: report.value, id: null, sha256 } };
  } catch (error) {
    throw fileFailure(input.name, error);
  }
}

/** A refusal of the reader of reports, which knows of no timelines. */
const withTimelines = (failure: ReadFailure): ReadFailure =>
  failure.code === "unknown_format"
    ? {
        ...failure,
        message: `${failure.message}, or a timeline (SQLite of \`nsys export\`, output of \`nsys stats\`, JSON of torch's profiler)`,
      }
    : failure;

/** The same report under two names is a finding; lines of launches have no place for it, so stderr gets it. */
async function noteRepeated(items: readonly Input[], contents: Content[], onStderr: boolean): Promise<void> {
  for (const [index, earlier] of (await repeatedInputs(items)).entries()) {
    const content = contents[index];
    if (earlier === null || content === undefined) continue;
    const name = items[index]?.name ?? "";
    if (content.kind === "timeline") throw timelineTwice(name, earlier);
    const finding = repeatedFinding(name, earlier);
    if (onStderr) process.stderr.write(`profile-kernel: warning: ${visibleText(finding.message)}\n`);
    else {
      const { report: input } = content;
      const report = { ...input.report, findings: [...input.report.findings, finding] };
      contents[index] = { kind: "report", report: { ...input, report } };
    }
  }
}

const timelineTwice = (name: string, earlier: string): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "file_twice",
    message: `${name} holds the same bytes as ${earlier}`,
    hint: "Name each timeline once, one for each rank: its launches would be counted twice.",
    evidence: { file: name, same_as: earlier },
  });

const windowWithoutTimeline = (): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "window_without_timeline",
    message: "--window is a part of a timeline, and none was given",
    hint: "Give a timeline as well: SQLite of `nsys export`, or a trace of torch's profiler.",
    evidence: {},
  });

const traceWithoutTimeline = (): CommandFailure =>
  new CommandFailure(EXIT.usage, {
    code: "trace_without_timeline",
    message: "--trace writes the launches of a timeline, and none was given",
    hint: "Give a timeline as well: SQLite of `nsys export`, or a trace of torch's profiler.",
    evidence: {},
  });

async function printLaunches({ reports, timelineNames }: Read): Promise<void> {
  const [timeline] = timelineNames;
  if (timeline !== undefined) {
    throw new CommandFailure(EXIT.usage, {
      code: "launches_of_timeline",
      message: `--launches prints verdicts of launches, and ${timeline} is a timeline, which has none`,
      hint: "Leave --launches out, or give reports alone.",
      evidence: { file: timeline },
    });
  }
  for (const report of reports) {
    for (const launch of launchResults(report)) await write(process.stdout, jsonText(launch, "line"));
  }
}

async function printResult(read: Read, flags: AnalyzeFlags): Promise<void> {
  const result = resultOf(read, flags);
  await writePictures(flags, result);
  if (flags.trace !== undefined) await writeTrace(flags.trace, read, result);
  if (flags.json === true) return write(process.stdout, jsonText(result, "pretty"));
  const options = {
    inputs: read.reportNames,
    timelines: read.timelineNames,
    fullNames: flags.fullNames === true,
  };
  await writeLines(process.stdout, resultView(terminalOf(process.stdout, process.env), result, options));
}

function resultOf({ reports, timelines, timelineNames }: Read, flags: AnalyzeFlags): ProfileResult {
  const { target, top: topN, window } = flags;
  if (timelines.length === 0) {
    const analyzed = analyze(reports, { target, topN });
    if (!analyzed.ok) throw analysisFailure(analyzed.error);
    return analyzed.value;
  }
  const analyzed = analyzeTimelines(timelines, reports, { target, topN, ...(window === undefined ? {} : { window }) });
  if (analyzed.ok) return analyzed.value;
  throw "findings" in analyzed.error ? rankFailure(analyzed.error, timelineNames) : analysisFailure(analyzed.error);
}

function rankFailure({ code, message, hint, evidence, timeline, findings }: RankFailure, names: readonly string[]) {
  const name = timeline === null ? undefined : names[timeline];
  const isWindow = code.startsWith("timeline_window");
  const exitCode = isWindow ? EXIT.usage : code === "timeline_no_kernels" ? EXIT.noKernel : EXIT.untrusted;
  return new CommandFailure(exitCode, {
    code,
    message: name === undefined ? message : `${name}: ${message}`,
    hint,
    evidence: {
      ...(name === undefined ? {} : { file: name }),
      ...evidence,
      findings: findings.map((finding) => finding.code),
    },
  });
}

function analysisFailure(failure: AnalysisFailure): CommandFailure {
  const { kernels } = failure.evidence;
  const hint =
    Array.isArray(kernels) && kernels.length > 0
      ? `The kernels are: ${kernels.map(String).map(shortKernelName).join(", ")}.`
      : failure.hint;
  return new CommandFailure(failure.code === "invalid_target" ? EXIT.usage : EXIT.noKernel, { ...failure, hint });
}

/** Charts are loaded when one is asked for. */
async function writePictures({ svg, stagesSvg, timelineSvg }: AnalyzeFlags, result: ProfileResult): Promise<void> {
  if (svg !== undefined) {
    await writeNamedFile(svg, (await import("../../src/charts/roofline.ts")).rooflineSvg(result));
  }
  if (stagesSvg !== undefined) {
    await writeNamedFile(stagesSvg, (await import("../../src/charts/stages.ts")).stagesSvg(result));
  }
  if (timelineSvg !== undefined) {
    await writeNamedFile(timelineSvg, (await import("../../src/charts/timeline.ts")).timelineSvg(result));
  }
}

/** Loaded when it is asked for. */
async function writeTrace(path: string, { timelines }: Read, result: ProfileResult): Promise<void> {
  const { traceEvents } = await import("../../src/trace-export/index.ts");
  const pieces = traceEvents(
    timelines.map(({ timeline }) => timeline),
    result,
  );
  await writeNamedPieces(path, pieces, path.endsWith(".gz"));
}

function refusePartial({ reports, reportNames }: Read): void {
  const names = reportNames.filter((_, index) => reports[index]?.report.partial);
  if (names.length === 0) return;
  throw new CommandFailure(EXIT.partial, {
    code: "partial",
    message: `${names.join(", ")} ends early; what was complete is printed`,
    hint: "Leave --strict out to accept the report of a run that was ended, or measure again.",
    evidence: { files: names },
  });
}
