import { shortKernelName } from "../../src/charts/kernel-name.ts";
import type { KernelEntry, RooflineClass } from "../../src/model/result.ts";
import { formatPercent, formatShare, formatTflops, formatTime, MISSING } from "../format.ts";
import type { Cell } from "../layout.ts";
import type { Style } from "../terminal.ts";

export const CLASS_STYLES: Readonly<Record<RooflineClass, Style>> = {
  "compute-bound": "yellow",
  "memory-bound": "blue",
  "latency-bound": "magenta",
};

const LEVEL_STYLES: Readonly<Record<string, Style>> = { high: "red", medium: "yellow", low: "green" };

/** Superscript numbers behind dashes, and the reasons they stand for, once each. */
export class Footnotes {
  readonly #reasons: string[] = [];

  /** The dash with the number of its reason. */
  missing(reason: string): Cell {
    let index = this.#reasons.indexOf(reason);
    if (index < 0) index = this.#reasons.push(reason) - 1;
    return { text: `${MISSING}${superscript(index + 1)}`, style: "dim" };
  }

  lines(): string[] {
    return this.#reasons.map((reason, index) => `${superscript(index + 1)} ${reason}`);
  }
}

const superscript = (number: number): string =>
  [...String(number)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("");

/** Why a field is null: the result says so by the field's path. */
export const reasonFor = (entry: KernelEntry, path: string): string =>
  entry.detail.null_reasons[path] ?? "not collected";

const cellOf = (
  notes: Footnotes,
  entry: KernelEntry,
  path: string,
  value: number | null,
  format: (value: number) => string,
): Cell => (value === null ? notes.missing(reasonFor(entry, path)) : { text: format(value) });

/** `memory`, `compute`, `latency`: the class without its second half, which every row would repeat. */
export function classCell(entry: KernelEntry, notes: Footnotes): Cell {
  if (entry.roofline === null) return notes.missing(entry.detail.roofline_null_reason ?? "no verdict");
  return { text: entry.roofline.replace("-bound", ""), style: CLASS_STYLES[entry.roofline] };
}

export const nameCell = (entry: KernelEntry): Cell => ({ text: shortKernelName(entry.detail.names.display) });

export const stageCell = (entry: KernelEntry): Cell => ({ text: entry.pipeline_stage ?? "" });

export const limiterCell = (entry: KernelEntry): Cell => ({ text: entry.detail.limiter });

/** Total time of the kernel, which is what it is ranked by. */
export const timeCell = (entry: KernelEntry, notes: Footnotes): Cell =>
  cellOf(notes, entry, "detail.timing.total_us", entry.detail.timing.total_us, formatTime);

export const shareCell = (entry: KernelEntry, notes: Footnotes): Cell =>
  cellOf(
    notes,
    entry,
    "detail.share_of_report",
    entry.fraction_of_pipeline ?? entry.detail.share_of_report,
    formatShare,
  );

export const launchesCell = (entry: KernelEntry): Cell => ({ text: String(entry.detail.timing.n) });

/** `~` marks a figure that rests on a published peak, `>` a lower bound. */
export function memoryCell(entry: KernelEntry, notes: Footnotes): Cell {
  const mark = entry.detail.memory_basis === "estimated" ? "~" : "";
  return cellOf(
    notes,
    entry,
    "memory_bw_utilization",
    entry.memory_bw_utilization,
    (value) => mark + formatPercent(value),
  );
}

export function computeCell(entry: KernelEntry, notes: Footnotes): Cell {
  const { compute_basis: basis, compute_utilization: value } = entry.detail;
  const mark = basis === "estimated" ? "~" : basis === "lower_bound" ? ">" : "";
  return cellOf(notes, entry, "detail.compute_utilization", value, (known) => mark + formatPercent(known));
}

export const tflopsCell = (entry: KernelEntry, notes: Footnotes): Cell =>
  cellOf(notes, entry, "tflops", entry.tflops, formatTflops);

export const precisionCell = (entry: KernelEntry): Cell => ({
  text: entry.detail.dominant_precision?.replaceAll("_", " ") ?? "",
});

export const occupancyCell = (entry: KernelEntry, notes: Footnotes): Cell =>
  cellOf(notes, entry, "sm_occupancy", entry.sm_occupancy, formatPercent);

/** The level alone; its text stands below the table. */
export function headroomCell(entry: KernelEntry, notes: Footnotes): Cell {
  const { level } = entry.detail.headroom;
  if (level === null)
    return notes.missing(entry.detail.roofline_null_reason ?? reasonFor(entry, "detail.headroom.level"));
  const style = LEVEL_STYLES[level];
  return style === undefined ? { text: level } : { text: level, style };
}
