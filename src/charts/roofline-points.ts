import { formatShare, formatSi, significant } from "./format.ts";
import { classOf } from "./palette.ts";
import { placeLabels } from "./place-labels.ts";
import { MOST_ROWS } from "./roofline-legend.ts";
import type { RooflineModel, RoofPoint } from "./roofline-model.ts";
import { line, type Plot, radius } from "./roofline-plot.ts";
import { coordinate, element, escapeXml, textElement } from "./svg.ts";

/** Large circles first, so that small ones stay visible; the numbers above all of them. */
export function circles(model: RooflineModel, plot: Plot): string {
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
      ...(model.kind === "kernel" ? l2Mark(point, cx, cy, plot) : []),
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

function l2Mark(point: RoofPoint, cx: number, cy: number, { x }: Plot): string[] {
  if (point.l2Intensity === null) return [];
  const at = x.at(point.l2Intensity);
  return [
    line("pk-roof", cx, cy, at, cy, { "stroke-width": 0.75, "stroke-opacity": 0.5, "stroke-dasharray": "2 3" }),
    element("path", {
      class: classOf(point.roofline),
      d: `M${coordinate(at)} ${coordinate(cy - 6)}l6 6-6 6-6-6z`,
      "fill-opacity": 0.32,
      "stroke-width": 1.5,
      "data-level": "l2",
    }),
    textElement("L2", { class: "pk-quiet", x: at, y: cy + 20, "text-anchor": "middle", "font-size": 10 }),
  ];
}

function tooltip(point: RoofPoint): string {
  const share = point.share === null ? "" : `, ${formatShare(point.share)} of the time`;
  return `${point.rank} ${point.name}: ${point.roofline ?? "no verdict"}, ${formatSi(point.opsPerSecond)}FLOP/s ${point.precision}, ${significant(point.intensity)} FLOP/byte${share}`;
}
