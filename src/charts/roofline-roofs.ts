import { formatSi, significant } from "./format.ts";
import { spreadVertically } from "./place-labels.ts";
import type { BandwidthRoof, ComputeRoof, RooflineModel } from "./roofline-model.ts";
import { line, type Plot, radius } from "./roofline-plot.ts";
import { coordinate, element, textElement } from "./svg.ts";

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

/** A slanted roof with its band and its label. */
export function bandwidthLine(roof: BandwidthRoof, plot: Plot, model: RooflineModel): string {
  const run = slant(roof.bytesPerSecond, plot, model);
  if (run === null) return "";
  const { x, y } = plot;
  const [x1, y1, x2, y2] = [x.at(run.from[0]), y.at(run.from[1]), x.at(run.to[0]), y.at(run.to[1])];
  const main = roof.level === "dram";
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const text = `${LEVEL_NAMES[roof.level]} ${formatSi(roof.bytesPerSecond)}B/s${roof.estimated ? " (published)" : ""}`;
  const length = Math.hypot(x2 - x1, y2 - y1);
  const label =
    length < text.length * CHARACTER
      ? // Too short to carry its label: beside the upper end, level.
        { x: x2 + 4, y: y2 - 5, "text-anchor": "start" }
      : { transform: slantedAt(labelPlace(run, text, plot, model), angle), "text-anchor": "middle", dy: -6 };
  return [
    main && roof.highest > roof.lowest * 1.005 ? slantBand(roof, plot, model) : "",
    line("pk-roof", x1, y1, x2, y2, {
      "stroke-width": main ? 2 : 1,
      ...(main ? {} : { "stroke-opacity": 0.45 }),
      ...(roof.estimated ? { "stroke-dasharray": "7 5" } : {}),
    }),
    textElement(text, { class: main ? "pk-text" : "pk-quiet", ...label, "font-size": 11 }),
  ].join("\n");
}

/** Width of a character of the labels at 11 px, a little generous. */
const CHARACTER = 6.4;

const slantedAt = (at: { x: number; y: number }, degrees: number): string =>
  `translate(${coordinate(at.x)} ${coordinate(at.y)}) rotate(${coordinate(degrees)})`;

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
  const half = Math.min(0.5, ((text.length * CHARACTER) / 2 + 8) / length);
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

/** A horizontal roof: from the steepest memory roof on to the right edge. */
export function computeLine(roof: ComputeRoof, { box, x, y }: Plot, model: RooflineModel): string {
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

/** What each horizontal roof is, right of the plot. */
export function computeLabels(model: RooflineModel, { box, y }: Plot): string {
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
