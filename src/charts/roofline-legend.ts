import { formatShare } from "./format.ts";
import { classOf } from "./palette.ts";
import type { ChartKernel, RooflineModel } from "./roofline-model.ts";
import { element, textElement } from "./svg.ts";
import { truncate } from "./visible-text.ts";

const ROW = 20;
/** Rows that a reader still looks through; the table has the rest. Kernels beyond have no number in the plot either. */
export const MOST_ROWS = 40;
/** Width of an average character of a sans-serif font at 12 px, a little generous. */
const CHARACTER = 6.9;

/** Up to so many rows stand in one column, with room for long names. */
const ONE_COLUMN = 12;
/** Where the columns of a row start: number, dot, share (right end), class and limiter, name. */
const AT = { number: 16, dot: 27, share: 82, note: 96, name: 286 };

/**
 * Who is who: rank, share, class and name; then the kernels that have no place in the plot, with the reason. `bottom` is
 * the base line of the last row.
 */
export function legend(
  model: RooflineModel,
  area: { readonly x: number; readonly y: number; readonly width: number },
): { readonly svg: string; readonly bottom: number } {
  const parts: string[] = [];
  let y = area.y;
  const group = (title: string, kernels: readonly ChartKernel[], note: (kernel: ChartKernel) => string): void => {
    if (kernels.length === 0) return;
    parts.push(textElement(title, { class: "pk-text", x: area.x, y, "font-weight": "bold" }));
    y += ROW;
    const shown = kernels.slice(0, MOST_ROWS);
    const columns = shown.length > ONE_COLUMN ? 2 : 1;
    const width = (area.width - (columns - 1) * 24) / columns;
    const rows = Math.ceil(shown.length / columns);
    shown.forEach((kernel, index) => {
      const x = area.x + Math.floor(index / rows) * (width + 24);
      parts.push(row(kernel, note(kernel), x, y + (index % rows) * ROW, width));
    });
    y += rows * ROW;
    if (kernels.length > shown.length) {
      parts.push(textElement(`and ${kernels.length - shown.length} more`, { class: "pk-quiet", x: area.x, y }));
      y += ROW;
    }
    y += 8;
  };
  group(
    model.kind === "pipeline" ? "Kernels by time" : "Kernel, share of the kernel time in its report",
    model.points,
    (kernel) => `${verdict(kernel)} · ${kernel.limiter}`,
  );
  for (const why of new Set(model.unplaced.map((kernel) => kernel.why))) {
    group(
      `Not placed: ${why}`,
      model.unplaced.filter((kernel) => kernel.why === why),
      (kernel) => `${verdict(kernel)} · ${dram(kernel)}`,
    );
  }
  if (model.unlisted > 0) {
    parts.push(
      textElement(`${model.unlisted} ${model.isTimed ? "more in the timeline" : "more in the report"}, not shown`, {
        class: "pk-quiet",
        x: area.x,
        y,
      }),
    );
    y += ROW + 8;
  }
  return { svg: parts.join("\n"), bottom: y - ROW - 8 };
}

const verdict = ({ roofline }: ChartKernel): string => roofline ?? "no verdict";

const dram = ({ dramUtilization }: ChartKernel): string =>
  dramUtilization === null ? "DRAM –" : `DRAM ${formatShare(dramUtilization)}`;

function row(kernel: ChartKernel, note: string, x: number, y: number, width: number): string {
  const share = kernel.share === null ? "–" : formatShare(kernel.share);
  const name = truncate(kernel.name, Math.floor((width - AT.name) / CHARACTER));
  return [
    textElement(String(kernel.rank), {
      class: "pk-text",
      x: x + AT.number,
      y,
      "text-anchor": "end",
      "font-weight": "bold",
    }),
    element("circle", {
      class: classOf(kernel.roofline),
      cx: x + AT.dot,
      cy: y - 4,
      r: 5,
      "fill-opacity": 0.32,
      "stroke-width": 1.5,
    }),
    textElement(share, { class: "pk-text", x: x + AT.share, y, "text-anchor": "end" }),
    textElement(note, { class: "pk-quiet", x: x + AT.note, y }),
    textElement(name, { class: "pk-text", x: x + AT.name, y }),
  ].join("\n");
}
