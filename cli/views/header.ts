import { visibleText } from "../../src/charts/visible-text.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import { counted, formatClock, formatCount } from "../format.ts";
import { paragraph } from "../layout.ts";
import { paint, type Terminal } from "../terminal.ts";

/** What the reader must know before any number: files that end early, then the GPU with its clocks, then the sources. */
export function header(
  terminal: Terminal,
  result: ProfileResult,
  inputs: readonly string[],
  timelines: readonly string[] = [],
): string[] {
  return [
    ...partial(terminal, result, inputs),
    ...gpus(terminal, result),
    ...timelineLines(terminal, result, timelines),
    ...reports(terminal, result, inputs),
  ];
}

function timelineLines(terminal: Terminal, result: ProfileResult, names: readonly string[]): string[] {
  return result.provenance.timelines.flatMap((timeline, index) => {
    const parts = [
      visibleText(names[index] ?? `timeline ${index + 1}`),
      `${timeline.tool}${timeline.tool_version === null ? "" : ` ${visibleText(timeline.tool_version)}`}`,
      timeline.driver_version === null ? null : `driver ${visibleText(timeline.driver_version)}`,
      timeline.rows === 0 ? "sums by name" : counted(timeline.rows, "GPU activity", "GPU activities"),
    ];
    return paragraph(terminal, "", parts.filter((part) => part !== null).join(" · "));
  });
}

const inputName = (inputs: readonly string[], index: number): string =>
  visibleText(inputs[index] ?? `report ${index + 1}`);

function partial(terminal: Terminal, result: ProfileResult, inputs: readonly string[]): string[] {
  const torn = result.provenance.reports.flatMap((report, index) => {
    if (!report.partial) return [];
    const where = report.partial_at_byte === null ? "" : ` at byte ${formatCount(report.partial_at_byte)}`;
    return `PARTIAL: ${inputName(inputs, index)} ends early${where}. ${counted(report.launches, "complete launch", "complete launches")} were read; what follows is missing.`;
  });
  if (torn.length === 0) return result.partial ? [paint(terminal, "red", "PARTIAL: the capture ended early."), ""] : [];
  return [...torn.flatMap((text) => paragraph(terminal, "", text, "red")), ""];
}

/** Clocks stand here because every percentage is relative to the clock of its launch. */
function gpus(terminal: Terminal, result: ProfileResult): string[] {
  return result.provenance.gpus.flatMap((gpu) => {
    const parts = [
      gpu.name === null ? "GPU unknown" : visibleText(gpu.name),
      gpu.compute_capability === null ? null : `CC ${gpu.compute_capability}`,
      gpu.sm_count === null ? null : `${gpu.sm_count} SMs`,
      clock("SM", gpu.sm_clock_hz, gpu.sm_clock_max_hz),
      clock("DRAM", gpu.dram_clock_hz, null),
    ];
    return paragraph(terminal, "", parts.filter((part) => part !== null).join(" · "));
  });
}

function clock(domain: string, seen: { min: number | null; max: number | null }, limit: number | null): string | null {
  if (seen.min === null || seen.max === null) return null;
  const low = formatClock(seen.min);
  const high = formatClock(seen.max);
  const range = low === high ? high : `${low.replace(" GHz", "")} to ${high}`;
  return `${domain} ${range}${limit === null ? "" : ` (maximum ${formatClock(limit)})`}`;
}

function reports(terminal: Terminal, result: ProfileResult, inputs: readonly string[]): string[] {
  return result.provenance.reports.flatMap((report, index) => {
    const parts = [
      inputName(inputs, index),
      `${report.tool}${report.tool_version === null ? "" : ` ${visibleText(report.tool_version)}`}`,
      report.driver_version === null ? null : `driver ${visibleText(report.driver_version)}`,
      counted(report.launches, "launch", "launches"),
    ];
    return paragraph(terminal, "", parts.filter((part) => part !== null).join(" · "));
  });
}
