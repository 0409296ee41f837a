import type { ProfileResult } from "../model/result.ts";
import { chartStyle, classOf } from "./palette.ts";
import { type Box, placeLabels, spreadVertically } from "./place-labels.ts";
import { legend, MOST_ROWS } from "./roofline-legend.ts";
import {
  type BandwidthRoof,
  type ComputeRoof,
  type RooflineModel,
  type RoofPoint,
  rooflineModel,
} from "./roofline-model.ts";
import { formatShare, formatSi, formatTick, type LogAxis, logAxis, significant } from "./scale.ts";
import { coordinate, element, escapeXml, textElement } from "./svg.ts";

export interface RooflineOptions {
  /** Prefix of the ids in the document; set it where several charts share one page. */
  readonly id?: string;
  /** Pixels per unit are fixed; the picture is this wide. */
  readonly width?: number;
}

const WIDTH = 960;
const PLOT_HEIGHT = 440;
const MARGIN = { top: 84, right: 156, bottom: 46, left: 66 };
const LEGEND_GAP = 26;
/** Area of a circle = share of the time: this radius would be a share of 1. */
const FULL_RADIUS = 32;
const SMALLEST_RADIUS = 3.5;

interface Plot {
  readonly box: Box;
  readonly x: LogAxis;
  readonly y: LogAxis;
}

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
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${coordinate(height)}`,
      width,
      height,
      role: "img",
      "aria-labelledby": `${id}-title ${id}-desc`,
      "font-family": "sans-serif",
      "font-size": 12,
    },
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

const radius = (share: number | null): number =>
  Math.max(SMALLEST_RADIUS, FULL_RADIUS * Math.sqrt(Math.min(1, share ?? 0)));

/** Every point, ridge and roof inside, with room for the circles. */
function plotOf(model: RooflineModel, width: number): Plot {
  const dram = model.bandwidthRoofs.find(({ level }) => level === "dram");
  const ridges = dram === undefined ? [] : model.computeRoofs.map((roof) => roof.opsPerSecond / dram.bytesPerSecond);
  const levels =
    model.kind === "kernel" ? model.points.flatMap((point) => point.levels.map(({ intensity }) => intensity)) : [];
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
    model.kind === "pipeline"
      ? "Circle area is the share of kernel time."
      : "Diamonds: the same work over the bytes of L2 and L1.",
    `Each roof is at the clock of ${model.kind === "pipeline" ? "the heaviest kernel under it" : "this launch"}${banded ? ", shaded where the other kernels' differ" : ""}.`,
    ...(roofs.some(({ estimated }) => estimated) ? ["Dashed: published peak, not measured."] : []),
  ];
  return [
    textElement(titleOf(result, model), { class: "pk-text", x: 24, y: 32, "font-size": 17, "font-weight": "bold" }),
    ...inLines(sentences).map((text, index) => textElement(text, { class: "pk-quiet", x: 24, y: 52 + index * 16 })),
  ].join("\n");
}

/** Characters that fit beside each other under the title. */
const SUBTITLE = 126;

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

const line = (
  className: string,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  more: Record<string, string | number> = {},
): string => element("line", { class: className, x1, y1, x2, y2, ...more });

const LEVEL_NAMES = { dram: "DRAM", l2: "L2", l1: "L1" } as const;

/** Where the slanted roof runs inside the plot: from the left or lower edge to the highest compute roof. */
function slant(
  bytesPerSecond: number,
  { x, y }: Plot,
  model: RooflineModel,
): { from: [number, number]; to: [number, number] } | null {
  const ceiling = model.computeRoofs.reduce((most, roof) => Math.max(most, roof.opsPerSecond), 0) || y.domain[1];
  const first = Math.max(x.domain[0], y.domain[0] / bytesPerSecond);
  const last = Math.min(x.domain[1], ceiling / bytesPerSecond);
  if (first >= last) return null;
  return { from: [first, first * bytesPerSecond], to: [last, last * bytesPerSecond] };
}

function bandwidthLine(roof: BandwidthRoof, plot: Plot, model: RooflineModel): string {
  const run = slant(roof.bytesPerSecond, plot, model);
  if (run === null) return "";
  const { x, y } = plot;
  const [x1, y1, x2, y2] = [x.at(run.from[0]), y.at(run.from[1]), x.at(run.to[0]), y.at(run.to[1])];
  const main = roof.level === "dram";
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const text = `${LEVEL_NAMES[roof.level]} ${formatSi(roof.bytesPerSecond)}B/s${roof.estimated ? " (published)" : ""}`;
  const at = labelPlace(run, text, plot, model);
  return [
    main && roof.highest > roof.lowest * 1.005 ? slantBand(roof, plot, model) : "",
    line("pk-roof", x1, y1, x2, y2, {
      "stroke-width": main ? 2 : 1,
      ...(main ? {} : { "stroke-opacity": 0.45 }),
      ...(roof.estimated ? { "stroke-dasharray": "7 5" } : {}),
    }),
    textElement(text, {
      class: main ? "pk-text" : "pk-quiet",
      transform: `translate(${coordinate(at.x)} ${coordinate(at.y)}) rotate(${coordinate(angle)})`,
      "text-anchor": "middle",
      dy: -6,
      "font-size": 11,
    }),
  ].join("\n");
}

function slantBand(roof: BandwidthRoof, plot: Plot, model: RooflineModel): string {
  const low = slant(roof.lowest, plot, model);
  const high = slant(roof.highest, plot, model);
  if (low === null || high === null) return "";
  const corners = [low.from, low.to, high.to, high.from].map(
    ([x, y]) => `${coordinate(plot.x.at(x))},${coordinate(plot.y.at(y))}`,
  );
  return element("polygon", { class: "pk-band", points: corners.join(" "), "fill-opacity": 0.12 });
}

/** The part of a slanted roof where its label covers the fewest circles. */
function labelPlace(
  run: { from: [number, number]; to: [number, number] },
  text: string,
  { x, y }: Plot,
  model: RooflineModel,
): { x: number; y: number } {
  const [x1, y1, x2, y2] = [x.at(run.from[0]), y.at(run.from[1]), x.at(run.to[0]), y.at(run.to[1])];
  const length = Math.hypot(x2 - x1, y2 - y1);
  const half = Math.min(0.5, (text.length * 3.2 + 8) / length);
  let best = { x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
  let least = Number.POSITIVE_INFINITY;
  for (let step = 0; step <= 20; step++) {
    const t = half + (1 - 2 * half) * (step / 20);
    const at = { x: x1 + (x2 - x1) * t, y: y1 + (y2 - y1) * t };
    const cost = model.points.reduce((sum, point) => {
      const along = ((x.at(point.intensity) - x1) * (x2 - x1) + (y.at(point.opsPerSecond) - y1) * (y2 - y1)) / length;
      const across = ((x.at(point.intensity) - x1) * (y2 - y1) - (y.at(point.opsPerSecond) - y1) * (x2 - x1)) / length;
      const r = radius(point.share) + 12;
      const apart = Math.max(0, Math.abs(along - t * length) - half * length);
      return sum + (apart < r && across > -r - 14 && across < r ? 1 : 0);
    }, 0);
    if (cost < least) {
      least = cost;
      best = at;
    }
  }
  return best;
}

/** From the steepest memory roof on to the right edge. */
function computeLine(roof: ComputeRoof, { box, x, y }: Plot, model: RooflineModel): string {
  const fastest = model.bandwidthRoofs.reduce((most, level) => Math.max(most, level.bytesPerSecond), 0);
  const dram = model.bandwidthRoofs.find(({ level }) => level === "dram");
  const start = fastest === 0 ? box.x : Math.max(box.x, x.at(roof.opsPerSecond / fastest));
  const ridge = dram === undefined ? start : Math.max(start, x.at(roof.opsPerSecond / dram.bytesPerSecond));
  const right = box.x + box.width;
  const at = y.at(roof.opsPerSecond);
  const dash = roof.estimated ? { "stroke-dasharray": "7 5" } : {};
  const banded = roof.highest > roof.lowest * 1.005;
  return [
    banded
      ? element("rect", {
          class: "pk-band",
          x: ridge,
          y: y.at(roof.highest),
          width: right - ridge,
          height: y.at(roof.lowest) - y.at(roof.highest),
          "fill-opacity": 0.12,
        })
      : "",
    ridge > start ? line("pk-roof", start, at, ridge, at, { "stroke-width": 1, "stroke-opacity": 0.35, ...dash }) : "",
    line("pk-roof", ridge, at, right, at, { "stroke-width": roof.path === null ? 2 : 1, ...dash }),
    dram === undefined ? "" : element("circle", { class: "pk-text", cx: ridge, cy: at, r: 3 }),
  ].join("\n");
}

function computeLabels(model: RooflineModel, { box, y }: Plot): string {
  const dram = model.bandwidthRoofs.find(({ level }) => level === "dram");
  const right = box.x + box.width;
  const heights = model.computeRoofs.map((roof) => y.at(roof.opsPerSecond));
  const places = spreadVertically(heights, 30, box.y - 6, box.y + box.height - 16);
  return model.computeRoofs
    .map((roof, index) => {
      const wanted = heights[index] ?? 0;
      const at = places[index] ?? wanted;
      const notes = [
        ...(roof.path === null ? [] : [roof.path]),
        ...(dram === undefined ? [] : [`ridge ${significant(roof.opsPerSecond / dram.bytesPerSecond)} FLOP/B`]),
        ...(roof.estimated ? ["published"] : []),
      ];
      return [
        line("pk-roof", right, wanted, right + 12, at, { "stroke-width": 1, "stroke-opacity": 0.45 }),
        textElement(`${roof.label} ${significant(roof.opsPerSecond / 1e12)} TFLOP/s`, {
          class: "pk-text",
          x: right + 16,
          y: at + 1,
          "font-size": 11,
        }),
        textElement(notes.join(", "), {
          class: "pk-quiet",
          x: right + 16,
          y: at + 14,
          "font-size": 10,
        }),
      ].join("\n");
    })
    .join("\n");
}

/** Large circles first, so that small ones stay visible; the numbers above all of them. */
function circles(model: RooflineModel, plot: Plot): string {
  const { box, x, y } = plot;
  const bySize = [...model.points].sort((a, b) => (b.share ?? 0) - (a.share ?? 0) || a.rank - b.rank);
  const discs = bySize.map((point) => ({
    x: x.at(point.intensity),
    y: y.at(point.opsPerSecond),
    r: radius(point.share),
  }));
  const numbered = new Set(model.points.slice(0, MOST_ROWS).map(({ rank }) => rank));
  const labels = placeLabels(
    discs,
    bySize.map(({ rank }) => (numbered.has(rank) ? { width: String(rank).length * 7 + 2, height: 13 } : null)),
    box,
  );
  const drawn = bySize.map((point, index) => {
    const { x: cx, y: cy, r } = discs[index] ?? { x: 0, y: 0, r: 0 };
    return [
      ...(model.kind === "kernel" ? levelMarks(point, cx, cy, plot) : []),
      element(
        "circle",
        {
          class: classOf(point.roofline),
          cx,
          cy,
          r,
          "fill-opacity": 0.32,
          "stroke-width": 1.5,
          "data-rank": String(point.rank),
        },
        element("title", {}, escapeXml(tooltip(point))),
      ),
    ].join("\n");
  });
  const numbers = bySize.map((point, index) => {
    const at = labels[index];
    const disc = discs[index];
    if (at == null || disc === undefined) return "";
    return [
      at.leader ? leader(disc, at) : "",
      textElement(String(point.rank), {
        class: "pk-halo",
        x: at.x,
        y: at.y + 4,
        "text-anchor": "middle",
        "font-size": 11,
        "font-weight": "bold",
        "stroke-width": 3,
        "stroke-linejoin": "round",
        "paint-order": "stroke",
      }),
    ].join("");
  });
  return [...drawn, ...numbers].join("\n");
}

function leader(disc: { x: number; y: number; r: number }, label: { x: number; y: number }): string {
  const length = Math.hypot(label.x - disc.x, label.y - disc.y);
  const [dx, dy] = [(label.x - disc.x) / length, (label.y - disc.y) / length];
  return line("pk-roof", disc.x + dx * disc.r, disc.y + dy * disc.r, label.x - dx * 7, label.y - dy * 7, {
    "stroke-width": 0.75,
    "stroke-opacity": 0.6,
  });
}

function levelMarks(point: RoofPoint, cx: number, cy: number, { x }: Plot): string[] {
  return point.levels.map(({ level, intensity }) => {
    const at = x.at(intensity);
    const label = level === "l2" ? "L2" : "L1";
    return [
      line("pk-roof", cx, cy, at, cy, { "stroke-width": 0.75, "stroke-opacity": 0.5, "stroke-dasharray": "2 3" }),
      element("path", {
        class: classOf(point.roofline),
        d: `M${coordinate(at)} ${coordinate(cy - 6)}l6 6-6 6-6-6z`,
        "fill-opacity": 0.32,
        "stroke-width": 1.5,
        "data-level": level,
      }),
      textElement(label, { class: "pk-quiet", x: at, y: cy + 20, "text-anchor": "middle", "font-size": 10 }),
    ].join("\n");
  });
}

function tooltip(point: RoofPoint): string {
  const share = point.share === null ? "" : `, ${formatShare(point.share)} of the time`;
  return `${point.rank} ${point.name}: ${point.roofline ?? "no verdict"}, ${formatSi(point.opsPerSecond)}FLOP/s ${point.precision}, ${significant(point.intensity)} FLOP/byte${share}`;
}
