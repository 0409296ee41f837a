import { chartStyle } from "./palette.ts";
import { coordinate, element, escapeXml, textElement } from "./svg.ts";

export interface ChartDocument {
  /** Prefix of the ids in the document. */
  readonly id: string;
  readonly title: string;
  /** For who does not see the picture: all that it says. */
  readonly description: string;
  /** Lines under the title. */
  readonly notes: readonly string[];
  readonly width: number;
  readonly height: number;
  /** Further style sheets. */
  readonly style?: string;
  readonly body: readonly string[];
}

export const CHART_MARGIN = 24;
/** Where the body begins under so many lines of notes. */
export const bodyTop = (notes: number): number => 58 + notes * 16;

/** Of the root of a picture: `id` is the prefix of the ids of its title and description. */
export const pictureAttributes = (id: string, width: number, height: number) => ({
  xmlns: "http://www.w3.org/2000/svg",
  viewBox: `0 0 ${coordinate(width)} ${coordinate(height)}`,
  width,
  height,
  role: "img",
  "aria-labelledby": `${id}-title ${id}-desc`,
  "font-family": "sans-serif",
  "font-size": 12,
});

/** A picture with its title, read by screen readers, on the ground of the reader's system. */
export function chartDocument({ id, title, description, notes, width, height, style, body }: ChartDocument): string {
  const shown = [
    element("title", { id: `${id}-title` }, escapeXml(title)),
    element("desc", { id: `${id}-desc` }, escapeXml(description)),
    chartStyle(),
    ...(style === undefined ? [] : [style]),
    element("rect", { class: "pk-ground", width, height }),
    textElement(title, { class: "pk-text", x: CHART_MARGIN, y: 32, "font-size": 17, "font-weight": "bold" }),
    ...notes.map((note, index) => textElement(note, { class: "pk-quiet", x: CHART_MARGIN, y: 52 + index * 16 })),
    ...body,
  ];
  return `${element("svg", pictureAttributes(id, width, height), shown.filter((part) => part !== "").join("\n"))}\n`;
}

/** A picture that only says why there is nothing to draw. */
export const emptyChart = (id: string, title: string, reason: string, width: number): string =>
  chartDocument({ id, title, description: reason, notes: [reason], width, height: 84, body: [] });
