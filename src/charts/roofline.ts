import type { ProfileResult } from "../model/result.ts";
import { pictureAttributes } from "./document.ts";
import { formatShare, formatSi, formatTick, significant } from "./format.ts";
import { chartStyle } from "./palette.ts";
import { legend } from "./roofline-legend.ts";
import { type RooflineModel, rooflineModel } from "./roofline-model.ts";
import { line, type Plot, SMALLEST_SHARE } from "./roofline-plot.ts";
import { circles } from "./roofline-points.ts";
import { bandwidthLine, computeLabels, computeLine } from "./roofline-roofs.ts";
import { logAxis } from "./scale.ts";
import { coordinate, element, escapeXml, textElement } from "./svg.ts";

export interface RooflineOptions {
  /** Prefix of the ids in the document; set it where several charts share one page. */
  readonly id?: string;
  /** Pixels per unit are fixed; the picture is this wide. */
  readonly width?: number;
}

const WIDTH = 960;
const PLOT_HEIGHT = 440;
const MARGIN = { top: 84, right: 176, bottom: 46, left: 66 };
const LEGEND_GAP = 26;

/**
 * The roofline of a result as an SVG document: operations per second over operations per byte of DRAM, both axes
 * logarithmic (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009), with the roofs of the memory levels and of
 * the precisions that the kernels use. Each roof is that of the heaviest kernel under it, at the clock of that launch; the
 * range over the other kernels is a band. Published instead of measured peaks are dashed. A kernel without counted
 * floating-point work has no place and is listed below. Same result, same bytes; runs in a browser.
 */
export function rooflineSvg(result: ProfileResult, options: RooflineOptions = {}): string {
  const id = options.id ?? "roofline";
  const width = options.width ?? WIDTH;
  const model = rooflineModel(result);
  const plot = plotOf(model, width);
  const bottom = MARGIN.top + PLOT_HEIGHT + MARGIN.bottom;
  const key = legend(model, { x: 24, y: bottom + LEGEND_GAP, width: width - 48 });
  const height = key.bottom + 20;
  return element(
    "svg",
    pictureAttributes(id, width, height),
    [
      element("title", { id: `${id}-title` }, escapeXml(titleOf(result, model))),
      element("desc", { id: `${id}-desc` }, escapeXml(description(model))),
      chartStyle(),
      element("rect", { class: "pk-ground", width, height }),
      heading(result, model),
      grid(plot),
      emptyNote(model, plot),
      ...model.bandwidthRoofs.map((roof) => bandwidthLine(roof, plot, model)),
      ...model.computeRoofs.map((roof) => computeLine(roof, plot, model)),
      circles(model, plot),
      computeLabels(model, plot),
      key.svg,
    ].join("\n"),
  )
    .replace(/\n{2,}/g, "\n")
    .concat("\n");
}

function titleOf(result: ProfileResult, model: RooflineModel): string {
  const subject = result.kind === "pipeline" ? "all kernels" : (model.points[0] ?? model.unplaced[0])?.name;
  return ["Roofline", subject, model.gpus.join(", ")].filter((part) => part !== undefined && part !== "").join(" · ");
}

function description(model: RooflineModel): string {
  const parts = [...model.points, ...model.unplaced]
    .sort((a, b) => a.rank - b.rank)
    .map((kernel) => {
      const place =
        "why" in kernel
          ? `not placed, ${kernel.why}`
          : `${formatSi(kernel.opsPerSecond)}FLOP/s ${kernel.precision} at ${significant(kernel.intensity)} FLOP/byte`;
      return `${kernel.rank} ${kernel.name}: ${kernel.roofline ?? "no verdict"}, ${place}`;
    });
  return `Operations per second over operations per byte of DRAM, logarithmic. ${parts.join("; ")}.`;
}

/** Every point, ridge and roof inside, with room for the circles. */
function plotOf(model: RooflineModel, width: number): Plot {
  const dram = model.bandwidthRoofs.find(({ level }) => level === "dram");
  const ridges = dram === undefined ? [] : model.computeRoofs.map((roof) => roof.opsPerSecond / dram.bytesPerSecond);
  const levels = model.kind === "kernel" ? model.points.flatMap(({ l2Intensity }) => l2Intensity ?? []) : [];
  const xs = [...model.points.map(({ intensity }) => intensity), ...ridges, ...levels];
  const x = padded(xs.length === 0 ? [0.1, 100] : xs, 3, 4);
  const attainable =
    dram === undefined
      ? []
      : [dram.highest * x[0] * 4, dram.highest * x[1] * (model.computeRoofs.length === 0 ? 1 : 0)];
  const ys = [
    ...model.points.map(({ opsPerSecond }) => opsPerSecond),
    ...model.computeRoofs.map(({ highest }) => highest),
    ...attainable,
  ];
  const y = padded(
    ys.filter((value) => value > 0).length === 0 ? [1e9, 1e12] : ys.filter((value) => value > 0),
    3,
    2.4,
  );
  const box = { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: PLOT_HEIGHT };
  return { box, x: logAxis(x, [box.x, box.x + box.width]), y: logAxis(y, [box.y + box.height, box.y]) };
}

function padded(values: readonly number[], below: number, above: number): [number, number] {
  const lowest = values.reduce((a, b) => Math.min(a, b));
  const highest = values.reduce((a, b) => Math.max(a, b));
  return [lowest / below, highest * above];
}

function heading(result: ProfileResult, model: RooflineModel): string {
  const roofs = [...model.computeRoofs, ...model.bandwidthRoofs];
  const banded = roofs.some((roof) => roof.highest > roof.lowest * 1.005);
  const sentences = [
    model.kind === "pipeline" ? areaSentence(model) : null,
    model.kind === "kernel" && model.points.some(({ l2Intensity }) => l2Intensity !== null)
      ? "Diamond: the same work over the bytes of L2."
      : null,
    `Each roof is at the clock of ${model.kind === "pipeline" ? "the heaviest kernel under it" : "this launch"}${banded ? ", shaded where the other kernels' differ" : ""}.`,
    roofs.some(({ estimated }) => estimated) ? "Dashed: published peak, not measured." : null,
  ].filter((sentence) => sentence !== null);
  return [
    textElement(titleOf(result, model), { class: "pk-text", x: 24, y: 32, "font-size": 17, "font-weight": "bold" }),
    ...inLines(sentences).map((text, index) => textElement(text, { class: "pk-quiet", x: 24, y: 52 + index * 16 })),
  ].join("\n");
}

/** Circles too small to be seen are drawn larger than their share. */
function areaSentence({ points, isTimed }: RooflineModel): string {
  const enlarged = points.some(({ share }) => share !== null && share < SMALLEST_SHARE);
  const least = enlarged ? ` (that of ${formatShare(SMALLEST_SHARE)} for smaller ones)` : "";
  return `Circle area is the share of ${isTimed ? "GPU busy time" : "kernel time"}${least}.`;
}

/** Characters that fit beside each other under the title. */
const SUBTITLE = 160;

function inLines(sentences: readonly string[]): string[] {
  const lines: string[] = [];
  for (const sentence of sentences) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + sentence.length <= SUBTITLE)
      lines[lines.length - 1] = `${last} ${sentence}`;
    else lines.push(sentence);
  }
  return lines;
}

/** An empty plot says that it is empty on purpose. */
function emptyNote(model: RooflineModel, { box }: Plot): string {
  if (model.points.length > 0) return "";
  return textElement("No kernel here has both counted operations and DRAM traffic", {
    class: "pk-quiet",
    x: box.x + box.width / 2,
    y: box.y + 24,
    "text-anchor": "middle",
  });
}

function grid({ box, x, y }: Plot): string {
  const right = box.x + box.width;
  const bottom = box.y + box.height;
  return [
    ...x.ticks.map((value) => line("pk-grid", x.at(value), box.y, x.at(value), bottom)),
    ...y.ticks.map((value) => line("pk-grid", box.x, y.at(value), right, y.at(value))),
    ...x.ticks.map((value) =>
      textElement(formatTick(value), {
        class: "pk-quiet",
        x: x.at(value),
        y: bottom + 18,
        "text-anchor": "middle",
        "font-size": 11,
      }),
    ),
    ...y.ticks.map((value) =>
      textElement(formatSi(value, String), {
        class: "pk-quiet",
        x: box.x - 8,
        y: y.at(value) + 4,
        "text-anchor": "end",
        "font-size": 11,
      }),
    ),
    textElement("Arithmetic intensity: operations per byte of DRAM", {
      class: "pk-text",
      x: box.x + box.width / 2,
      y: bottom + 38,
      "text-anchor": "middle",
    }),
    textElement("Operations per second (dominant precision)", {
      class: "pk-text",
      transform: `translate(18 ${coordinate(box.y + box.height / 2)}) rotate(-90)`,
      "text-anchor": "middle",
    }),
  ].join("\n");
}
