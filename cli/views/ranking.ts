import { shortKernelName } from "../../src/charts/kernel-name.ts";
import { truncate, visibleText } from "../../src/charts/visible-text.ts";
import { busySpanOf } from "../../src/model/busy-span.ts";
import type { KernelEntry, PipelineResult } from "../../src/model/result.ts";
import { adviceFor, hintSentences } from "../advice.ts";
import { counted, formatShare, formatTime, orMissing } from "../format.ts";
import { type Cell, type Column, paragraph, table } from "../layout.ts";
import { paint, type Terminal } from "../terminal.ts";
import { findingsView } from "./findings.ts";
import { header } from "./header.ts";
import {
  CLASS_STYLES,
  classCell,
  computeCell,
  Footnotes,
  headroomCell,
  launchesCell,
  limiterCell,
  memoryCell,
  nameCell,
  occupancyCell,
  precisionCell,
  shareCell,
  stageCell,
  tflopsCell,
  timeCell,
} from "./kernel-cells.ts";
import { planView } from "./plan.ts";

export interface ViewOptions {
  /** What the reports are called, in the order of the result's provenance. */
  readonly inputs: readonly string[];
  /** What the timelines are called, in the order of the result's provenance. */
  readonly timelines?: readonly string[];
  /** Names as the report has them instead of shortened ones. */
  readonly fullNames: boolean;
}

interface RankingColumn extends Column {
  readonly cell: (entry: KernelEntry, notes: Footnotes) => Cell;
  /** Shown from this width of the terminal on. */
  readonly from?: number;
}

const COLUMNS: readonly RankingColumn[] = [
  { title: "kernel", align: "left", flexible: true, cell: nameCell },
  { title: "bound", align: "left", cell: classCell },
  { title: "limiter", align: "left", drop: 1, cell: limiterCell },
  { title: "stage", align: "left", from: 110, drop: 5, cell: stageCell },
  { title: "n", align: "right", from: 100, cell: launchesCell },
  { title: "time", align: "right", cell: timeCell },
  { title: "share", align: "right", cell: shareCell },
  { title: "BW", align: "right", cell: memoryCell },
  { title: "SM", align: "right", drop: 2, cell: computeCell },
  { title: "TFLOPS", align: "right", drop: 4, cell: tflopsCell },
  { title: "", align: "left", from: 100, cell: precisionCell },
  { title: "occ", align: "right", drop: 3, cell: occupancyCell },
  { title: "headroom", align: "left", cell: headroomCell },
];

/** A pipeline result for people: what is partial, the ranked table, where to look next, and what to doubt. */
export function rankingView(terminal: Terminal, result: PipelineResult, options: ViewOptions): string[] {
  const notes = new Footnotes();
  const columns = COLUMNS.filter(({ from }) => from === undefined || terminal.width >= from);
  const rows = result.kernels.map((entry, index) => [
    { text: String(index + 1) },
    ...columns.map((column) => column.cell(entry, notes)),
  ]);
  return [
    ...header(terminal, result, options.inputs, options.timelines),
    ...summary(terminal, result),
    "",
    ...table(terminal, [{ title: "#", align: "right" }, ...columns], rows),
    ...legend(terminal, result, notes),
    "",
    ...composites(terminal, result),
    ...planView(terminal, result),
    ...whereNext(terminal, result, options),
    ...findingsView(terminal, result),
  ];
}

function summary(terminal: Terminal, result: PipelineResult): string[] {
  const shown = result.kernels.length;
  const rest = result.kernels_total - shown;
  const kernelUs = result.timeline?.kernels_exclusive_us ?? result.report_us;
  const time = kernelUs === null ? "" : `, ${formatTime(kernelUs)} of kernel time`;
  const text = `${counted(result.kernels_total, "kernel")} in ${counted(result.launches, "launch", "launches")}${time}${rest > 0 ? `; the ${shown} with the most time are shown (--top)` : ""}`;
  return [...idleFirst(terminal, result), ...paragraph(terminal, "", text), ...stageLine(terminal, result)];
}

/**
 * Where the GPU idles for more than half of its span, no kernel can return more than the busy part. Not said where the
 * span says nothing about idle time: one long gap makes it so, or kernels are missing.
 */
function idleFirst(terminal: Terminal, result: PipelineResult): string[] {
  const { gpu_busy_us: busy, timeline, findings } = result;
  const span = busySpanOf(result);
  if (busy === null || span === null || span.us <= 0 || busy / span.us >= 0.5) return [];
  if (timeline !== null && timeline.idle === null) return [];
  if (findings.some(({ code }) => code === "span_holds_one_long_gap")) return [];
  const all = span.isSum ? ", all spans added up," : "";
  const text = `The GPU was busy for ${formatTime(busy)} of ${formatTime(span.us)}${all} (${formatShare(busy / span.us)}): nothing done to a kernel returns more than that.`;
  return paragraph(terminal, "", text, "yellow");
}

/** Where the busy time goes, by stage. */
function stageLine(terminal: Terminal, { stages, coverage }: PipelineResult): string[] {
  if (stages === null) return [];
  const shares = stages.map(({ stage, share }) => `${stage} ${formatShare(share)}`).join(", ");
  const counted = coverage === null || coverage === 0 ? "" : `; ${formatShare(coverage)} of it has counters`;
  return paragraph(terminal, "", `Busy time by stage: ${shares}${counted}`);
}

function legend(terminal: Terminal, result: PipelineResult, notes: Footnotes): string[] {
  const bases = new Set(result.kernels.flatMap(({ detail }) => [detail.compute_basis, detail.memory_basis]));
  const shares = result.kernels.some(({ fraction_of_pipeline: fraction }) => fraction !== null)
    ? "share: of the GPU's busy time"
    : "share: of the kernel time in the reports";
  const words = [
    `${shares}; BW: of the DRAM peak; SM: compute, of the peak; occ: achieved occupancy`,
    ...(bases.has("estimated") ? ["~ rests on a published peak"] : []),
    ...(bases.has("lower_bound") ? ["> lower bound"] : []),
  ];
  return [words.join("; "), ...notes.lines()].flatMap((text) => paragraph(terminal, "", visibleText(text), "dim"));
}

function composites(terminal: Terminal, result: PipelineResult): string[] {
  if (result.composites.length === 0) return [];
  return [
    paint(terminal, "bold", "Measured as a whole (several kernels at once; in no sum above)"),
    ...result.composites.flatMap(({ kind, display, duration_us: us }) =>
      paragraph(
        terminal,
        "  ",
        `${kind}${display === kind ? "" : ` ${visibleText(display)}`}: ${us === null ? "no duration" : formatTime(us)}`,
      ),
    ),
    "",
  ];
}

function whereNext(terminal: Terminal, result: PipelineResult, options: ViewOptions): string[] {
  if (result.kernels.length === 0) return [];
  if (result.kernels.every(({ detail }) => detail.launch === null)) {
    const text = "Times only: for verdicts give a report of ncu of the same program beside the timeline.";
    return [...paragraph(terminal, "", text), ""];
  }
  return [
    paint(terminal, "bold", "Where to look next"),
    ...result.kernels.flatMap((entry, index) => {
      if (entry.detail.launch === null) return [];
      const label = `${String(index + 1).padStart(String(result.kernels.length).length + 1)}  `;
      const indent = " ".repeat(label.length);
      const { display } = entry.detail.names;
      const name = options.fullNames
        ? visibleText(display)
        : truncate(shortKernelName(display), terminal.width - label.length);
      const verdict = entry.optimization_headroom ?? `no verdict: ${entry.detail.roofline_null_reason ?? "unknown"}`;
      const style = entry.roofline === null ? "dim" : CLASS_STYLES[entry.roofline];
      return [
        ...paragraph(terminal, label, name, "bold"),
        ...paragraph(terminal, indent, visibleText(verdict), style),
        ...bothTimes(entry).flatMap((text) => paragraph(terminal, indent, text, "dim")),
        ...adviceFor(entry).flatMap((advice) => paragraph(terminal, `${indent}- `, advice)),
        ...ruleOfNvidia(entry).flatMap((rule) => paragraph(terminal, `${indent}- `, visibleText(rule))),
      ];
    }),
    "",
  ];
}

/** How long the launches that the verdict speaks for took in the timeline and under ncu. */
function bothTimes({ detail }: KernelEntry): string[] {
  const { launch, saving_us: saving, saving_of_busy: share } = detail;
  const own = detail.shapes
    .flatMap(({ clusters }) => clusters)
    .find(({ launches, ncu_over_timeline: ratio }) => ratio !== null && launches.includes(launch?.index ?? -1));
  if (own === undefined || own.ncu_median_us === null || own.ncu_over_timeline === null) return [];
  const times = `median ${orMissing(own.timing.median_us, formatTime)} in the timeline, ${formatTime(own.ncu_median_us)} under ncu (ratio ${own.ncu_over_timeline.toFixed(2)})`;
  const gain =
    saving === null || share === null
      ? ""
      : `; what was measured of it at its roof: ${formatTime(saving)} less, ${formatShare(share)} of the busy time`;
  return [times + gain];
}

/**
 * This rule promises much for any kernel with DRAM traffic, whether or not its data could be compressed (57 % for an
 * attention kernel at 59 % of the DRAM peak, Nsight Compute 2025.3.1), so it points nowhere.
 */
const SAYS_LITTLE = "MemoryL2Compression";

/** Where there is something to gain, the rule of Nsight Compute with the largest estimate for the whole kernel. */
function ruleOfNvidia(entry: KernelEntry): string[] {
  const { level } = entry.detail.headroom;
  if (level !== "high" && level !== "medium") return [];
  const hints = entry.detail.hints.filter(({ rule, speedup_type: type }) => type === "global" && rule !== SAYS_LITTLE);
  return hintSentences(hints, 1).map((sentence) => `Nsight Compute's largest estimate: ${sentence}`);
}
