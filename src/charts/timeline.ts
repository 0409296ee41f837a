import { scaleLinear } from "d3-scale";
import { busySpanOf } from "../model/busy-span.ts";
import type { PipelineResult, ProfileResult } from "../model/result.ts";
import type { TimelineStrip } from "../model/timeline-strip.ts";
import { bodyTop, CHART_MARGIN, chartDocument, emptyChart } from "./document.ts";
import { formatMs, formatShare } from "./format.ts";
import { FAMILY_ORDER, familyClass, familyOf, stageStyle } from "./stage-palette.ts";
import { coordinate, element, textElement } from "./svg.ts";

export interface TimelineOptions {
  /** Prefix of the ids in the document; set it where several charts share one page. */
  readonly id?: string;
  readonly width?: number;
}

const WIDTH = 800;
const LANE = 72;
/** Under the columns: shows that there was work where it was too little for a column. */
const RUG = 4;
const LANE_GAP = 34;
const TITLE = "Timeline of the GPU";
/** Gaps that get a label. */
const GAPS = 4;
const CHARACTER = 6.4;

/**
 * When the GPU was busy, with what: a column for each bin of the result's strip, as high as the part of the bin in which
 * the GPU worked, split by family of stages; a line under it for each bin with any work. A lane for each stream or GPU. Its
 * size depends on the bins, not on the launches. Same result, same bytes; runs in a browser.
 */
export function timelineSvg(result: ProfileResult, options: TimelineOptions = {}): string {
  const id = options.id ?? "timeline";
  const width = options.width ?? WIDTH;
  if (result.kind === "kernel") {
    return emptyChart(id, TITLE, "The result is of one kernel: a timeline is that of a full pipeline.", width);
  }
  const strip = result.timeline?.strip ?? null;
  if (strip === null || strip.lanes.length === 0) {
    const why = result.timeline?.null_reasons.strip ?? "the profile has no timeline";
    return emptyChart(id, TITLE, `Not known: ${why}.`, width);
  }
  const gpus = [...new Set(result.provenance.gpus.flatMap(({ name }) => name ?? []))];
  const notes = notesOf(result, strip);
  const inner = width - 2 * CHART_MARGIN;
  const families = familiesOf(strip);
  const legend = legendOf(families, bodyTop(notes.length), inner);
  const parts = [legend.svg];
  let y = legend.bottom + 16;
  for (const lane of strip.lanes) {
    parts.push(laneOf(strip, lane, families, { x: CHART_MARGIN, y, width: inner }));
    y += LANE + RUG + LANE_GAP;
  }
  const bottom = y - LANE_GAP + 16;
  parts.push(gapLabels(result, strip, legend.bottom + 16, inner), axis(strip, bottom, inner));
  return chartDocument({
    id,
    title: [TITLE, ...gpus].join(" · "),
    description: descriptionOf(strip, families),
    notes,
    width,
    height: bottom + 30,
    style: stageStyle(),
    body: parts,
  });
}

interface FamilyOfStrip {
  readonly family: string;
  /** Positions among the stages of the strip. */
  readonly stages: readonly number[];
  readonly words: string;
}

/** Families in the order in which they are stacked, with what they hold in words. */
function familiesOf({ stages }: TimelineStrip): FamilyOfStrip[] {
  const found = new Map<string, number[]>();
  stages.forEach((stage, position) => {
    const family = familyOf(stage);
    found.set(family, [...(found.get(family) ?? []), position]);
  });
  return FAMILY_ORDER.flatMap((family) => {
    const own = found.get(family);
    if (own === undefined) return [];
    const names = own.map((position) => stages[position] ?? "");
    const words =
      family === "outside"
        ? "outside of the window"
        : names.length === 1 && names[0] === family
          ? family
          : `${family}: ${names.join(", ")}`;
    return [{ family, stages: own, words }];
  });
}

function notesOf(result: PipelineResult, strip: TimelineStrip): string[] {
  const { gpu_busy_us, span_us } = result;
  const span = busySpanOf(result);
  const share = gpu_busy_us === null || span === null || span.us <= 0 ? null : gpu_busy_us / span.us;
  const several = new Set(strip.lanes.map((lane) => lane.timeline)).size > 1;
  return [
    `${span_us === null ? "" : `${formatMs(span_us)}; `}${share === null ? "" : `the GPU was busy for ${formatShare(share)} of ${span?.isSum === true ? "all spans added up" : "it"}. `}Height: part of each ${formatMs(strip.bin_us)} in which it worked; below: whether it did at all.`,
    ...(several && strip.aligned_by === "first_activity"
      ? ["Timelines are laid over one another at their first activity: their clocks are not known to agree."]
      : []),
    ...(strip.lanes_total > strip.lanes.length
      ? [`The ${strip.lanes.length} busiest of ${strip.lanes_total} lanes are shown.`]
      : []),
  ];
}

const sum = (numbers: readonly number[] | undefined): number => (numbers ?? []).reduce((a, b) => a + b, 0);

const laneName = ({ rank, device, stream }: TimelineStrip["lanes"][number]): string =>
  [
    ...(rank === null ? [] : [`rank ${rank}`]),
    device === null ? "GPU" : `GPU ${device}`,
    ...(stream === null ? [] : [`stream ${stream}`]),
  ].join(" · ");

function descriptionOf(strip: TimelineStrip, families: readonly FamilyOfStrip[]): string {
  const lanes = strip.lanes.map((lane) => {
    const parts = families.map(({ family, stages }) => {
      const us = stages.reduce((all, stage) => all + sum(lane.busy[stage]), 0) * (strip.bin_us / 1000);
      return `${family} ${formatMs(us)}`;
    });
    return `${laneName(lane)}: ${parts.join(", ")}`;
  });
  return `Busy time over ${formatMs(strip.bin_us * strip.bins)}, in ${strip.bins} parts, by family of stages. ${lanes.join("; ")}.`;
}

function legendOf(families: readonly FamilyOfStrip[], top: number, width: number): { svg: string; bottom: number } {
  const parts: string[] = [];
  let [x, y] = [CHART_MARGIN, top];
  for (const { family, words } of families) {
    const length = words.length * CHARACTER + 34;
    if (x > CHART_MARGIN && x + length > CHART_MARGIN + width) [x, y] = [CHART_MARGIN, y + 18];
    parts.push(
      element("rect", { class: familyClass(family), x, y: y - 10, width: 11, height: 11 }),
      textElement(words, { class: "pk-text", x: x + 16, y, "font-size": 11 }),
    );
    x += length;
  }
  return { svg: parts.join("\n"), bottom: y + 14 };
}

/** Columns in units of bins and thousandths, scaled by one transform: short, and the same for every width. */
function laneOf(
  strip: TimelineStrip,
  lane: TimelineStrip["lanes"][number],
  families: readonly FamilyOfStrip[],
  at: { readonly x: number; readonly y: number; readonly width: number },
): string {
  const heights = families.map(({ stages }) =>
    Array.from({ length: strip.bins }, (_, bin) =>
      stages.reduce((all, stage) => all + (lane.busy[stage]?.[bin] ?? 0), 0),
    ),
  );
  const ground = new Array<number>(strip.bins).fill(0);
  const columns = families.map(({ family }, position) => {
    const own = heights[position] ?? [];
    const path = columnsPath(own, ground);
    own.forEach((height, bin) => {
      ground[bin] = (ground[bin] ?? 0) + height;
    });
    return path === "" ? "" : element("path", { class: familyClass(family), d: path });
  });
  const busy = sum(families.map(({ family }, at) => (family === "outside" ? 0 : sum(heights[at]))));
  const base = at.y + LANE;
  const scale = `scale(${precise(at.width / strip.bins)} ${precise(-LANE / 1000)})`;
  return [
    textElement(laneName(lane), { class: "pk-text", x: at.x, y: at.y - 6, "font-weight": "bold" }),
    textElement(`busy ${formatShare(busy / (1000 * strip.bins))}`, {
      class: "pk-quiet",
      x: at.x + at.width,
      y: at.y - 6,
      "text-anchor": "end",
    }),
    element("rect", {
      class: familyClass("idle"),
      x: at.x,
      y: at.y,
      width: at.width,
      height: LANE,
      "fill-opacity": 0.45,
    }),
    element(
      "g",
      { transform: `translate(${coordinate(at.x)} ${coordinate(base)}) ${scale}` },
      columns.filter((column) => column !== "").join("\n"),
    ),
    rug(families, heights, { ...at, y: base + 1 }, strip.bins),
  ].join("\n");
}

/** Enough digits that the last of some hundred bins still ends where it should. */
const precise = (value: number): string => String(Number(value.toPrecision(8)));

/** Neighbouring bins of one height on one ground are one rectangle. */
function columnsPath(heights: readonly number[], ground: readonly number[]): string {
  let path = "";
  for (let bin = 0; bin < heights.length; ) {
    const [height, from] = [heights[bin] ?? 0, ground[bin] ?? 0];
    let end = bin + 1;
    while (end < heights.length && heights[end] === height && ground[end] === from) end += 1;
    if (height > 0) path += `M${bin} ${from}h${end - bin}v${height}h${bin - end}z`;
    bin = end;
  }
  return path;
}

/** The family with the most time of each bin in which anything ran. */
function rug(
  families: readonly FamilyOfStrip[],
  heights: readonly (readonly number[])[],
  at: { readonly x: number; readonly y: number; readonly width: number },
  bins: number,
): string {
  const most = Array.from({ length: bins }, (_, bin) => {
    let [best, height] = [-1, 0];
    heights.forEach((own, family) => {
      if ((own[bin] ?? 0) > height) [best, height] = [family, own[bin] ?? 0];
    });
    return best;
  });
  const paths = families.map(({ family }, position) => {
    const path = columnsPath(
      most.map((best) => (best === position ? 1 : 0)),
      most.map(() => 0),
    );
    return path === "" ? "" : element("path", { class: familyClass(family), d: path });
  });
  const scale = `scale(${precise(at.width / bins)} ${RUG})`;
  return element(
    "g",
    { transform: `translate(${coordinate(at.x)} ${coordinate(at.y)}) ${scale}` },
    paths.filter((path) => path !== "").join("\n"),
  );
}

/** The longest gaps in words, where it is known where they lie in the picture. */
function gapLabels({ timeline }: PipelineResult, strip: TimelineStrip, y: number, width: number): string {
  if (timeline?.idle == null || timeline.window !== null || strip.lanes.length !== 1) return "";
  const whole = strip.bins * strip.bin_us;
  return timeline.idle.largest
    .slice(0, GAPS)
    .flatMap(({ start_us, duration_us }) => {
      const text = `idle ${formatMs(duration_us)}`;
      if ((duration_us / whole) * width < text.length * CHARACTER + 8) return [];
      const x = CHART_MARGIN + ((start_us + duration_us / 2) / whole) * width;
      return [textElement(text, { class: "pk-quiet", x, y: y + 14, "text-anchor": "middle", "font-size": 11 })];
    })
    .join("\n");
}

function axis(strip: TimelineStrip, y: number, width: number): string {
  const scale = scaleLinear()
    .domain([0, (strip.bins * strip.bin_us) / 1000])
    .range([CHART_MARGIN, CHART_MARGIN + width]);
  return scale
    .ticks(8)
    .map((ms) =>
      [
        element("line", { class: "pk-roof", x1: scale(ms), y1: y - 12, x2: scale(ms), y2: y - 7, "stroke-width": 1 }),
        textElement(`${ms}${ms === 0 ? " ms" : ""}`, {
          class: "pk-quiet",
          x: scale(ms),
          y: y + 6,
          "text-anchor": ms === 0 ? "start" : "middle",
          "font-size": 11,
        }),
      ].join("\n"),
    )
    .join("\n");
}
