import { busySpanOf } from "../model/busy-span.ts";
import type { PipelineResult, ProfileResult } from "../model/result.ts";
import { bodyTop, CHART_MARGIN, chartDocument, emptyChart } from "./document.ts";
import { formatMs, formatShare } from "./format.ts";
import { familyClass, familyOf, stageStyle } from "./stage-palette.ts";
import { element, escapeXml, textElement } from "./svg.ts";

export interface StagesOptions {
  /** Prefix of the ids in the document; set it where several charts share one page. */
  readonly id?: string;
  readonly width?: number;
}

const WIDTH = 800;
const BAR = 30;
const ROW = 20;
/** Width of an average character of a sans-serif font at 12 px, a little generous. */
const CHARACTER = 6.9;
const TITLE = "Stages of the pipeline";

type Stage = NonNullable<PipelineResult["stages"]>[number];

/**
 * The stages of a pipeline as shares of the time in which the GPU was busy, one bar; busy and idle time of the GPU in a bar
 * of their own. Colour is the family of the stage. Same result, same bytes; runs in a browser.
 */
export function stagesSvg(result: ProfileResult, options: StagesOptions = {}): string {
  const id = options.id ?? "stages";
  const width = options.width ?? WIDTH;
  if (result.kind === "kernel") {
    return emptyChart(id, TITLE, "The result is of one kernel: stages are those of a full pipeline.", width);
  }
  const { stages } = result;
  if (stages === null || stages.length === 0) {
    return emptyChart(id, TITLE, `Not known: ${result.null_reasons.stages ?? "no stage took any time"}.`, width);
  }
  const gpus = [...new Set(result.provenance.gpus.flatMap(({ name }) => name ?? []))];
  const all = stages.reduce((sum, { share }) => sum + share, 0);
  const notes = notesOf(result, all);
  const inner = width - 2 * CHART_MARGIN;
  const top = bodyTop(notes.length);
  const parts: string[] = [];
  let y = top;
  const idle = idleBar(result, y, inner);
  if (idle !== null) {
    parts.push(idle);
    y += BAR + 34;
  }
  parts.push(heading("Busy time by stage", y), stack(stages, Math.max(1, all), y + 8, inner));
  y += BAR + 36;
  const rows = table(stages, y, inner);
  return chartDocument({
    id,
    title: [TITLE, ...gpus].join(" · "),
    description: descriptionOf(result, stages),
    notes,
    width,
    height: rows.bottom + 12,
    style: stageStyle(),
    body: [...parts, rows.svg],
  });
}

const plainFormat = (us: number | null): string => (us === null ? "not known" : formatMs(us));

function notesOf(result: PipelineResult, all: number): string[] {
  const span = busySpanOf(result);
  const within =
    span === null ? "" : span.isSum ? ` in spans of ${formatMs(span.us)} in all` : ` in a span of ${formatMs(span.us)}`;
  return [
    `The GPU was busy for ${plainFormat(result.gpu_busy_us)}${within}. Shares are of the busy time.`,
    ...(all > 1.005 ? [`Streams that work at once count each, so the shares add up to ${formatShare(all)}.`] : []),
  ];
}

function descriptionOf(result: PipelineResult, stages: readonly Stage[]): string {
  const listed = stages.map(({ stage, share, total_us }) => `${stage} ${formatShare(share)}, ${formatMs(total_us)}`);
  return `Busy ${plainFormat(result.gpu_busy_us)}, idle ${plainFormat(result.gpu_idle_us)}. Of the busy time: ${listed.join("; ")}.`;
}

const heading = (text: string, y: number): string =>
  textElement(text, { class: "pk-text", x: CHART_MARGIN, y, "font-weight": "bold" });

function idleBar({ gpu_busy_us: busy, gpu_idle_us: idle, null_reasons }: PipelineResult, y: number, width: number) {
  if (busy === null) return null;
  if (idle === null) {
    const why = null_reasons.gpu_idle_us ?? "";
    return [
      heading("GPU time", y),
      textElement(`Idle time is not known: ${why}`, { class: "pk-quiet", x: CHART_MARGIN, y: y + 20 }),
    ].join("\n");
  }
  const whole = busy + idle;
  if (whole <= 0) return null;
  return [
    heading("GPU time", y),
    bar(
      [
        { name: "busy", share: busy / whole, us: busy, family: "busy" },
        { name: "idle", share: idle / whole, us: idle, family: "idle" },
      ],
      1,
      y + 8,
      width,
    ),
  ].join("\n");
}

const stack = (stages: readonly Stage[], whole: number, y: number, width: number): string =>
  bar(
    stages.map(({ stage, share, total_us }) => ({ name: stage, share, us: total_us, family: familyOf(stage) })),
    whole,
    y,
    width,
  );

interface Segment {
  readonly name: string;
  readonly share: number;
  readonly us: number;
  readonly family: string;
}

/** Segments beside one another, named where the name fits. */
function bar(segments: readonly Segment[], whole: number, y: number, width: number): string {
  const parts: string[] = [];
  let x = CHART_MARGIN;
  for (const { name, share, us, family } of segments) {
    const length = (share / whole) * width;
    const percent = formatShare(share);
    parts.push(
      element(
        "rect",
        {
          class: familyClass(family),
          x,
          y,
          // A hairline of ground between neighbours, which may have one colour.
          width: Math.max(0.5, length - 1),
          height: BAR,
          "data-stage": name,
        },
        element("title", {}, escapeXml(`${name} ${percent}, ${formatMs(us)}`)),
      ),
    );
    const label = [`${name} ${percent} · ${formatMs(us)}`, `${name} ${percent}`, name, percent].find(
      (text) => text.length * CHARACTER + 10 <= length,
    );
    if (label !== undefined) {
      const at = { x: x + 6, y: y + BAR / 2 + 4 };
      parts.push(textElement(label, { class: family === "idle" ? "pk-text" : "pk-on-fill", ...at }));
    }
    x += length;
  }
  return parts.join("\n");
}

/** Ends of the columns of a row. */
const AT = { dot: 6, name: 20, family: 190, share: 370, time: 470, bar: 490 };

/** Every stage in words, with its share as a length again for who compares small ones. */
function table(stages: readonly Stage[], top: number, width: number): { svg: string; bottom: number } {
  const most = stages.reduce((max, { share }) => Math.max(max, share), 0);
  const head = [
    ["stage", AT.name, "start"],
    ["family", AT.family, "start"],
    ["of busy time", AT.share, "end"],
    ["ms", AT.time, "end"],
  ] as const;
  const parts = head.map(([text, x, anchor]) =>
    textElement(text, { class: "pk-quiet", x: CHART_MARGIN + x, y: top, "text-anchor": anchor }),
  );
  let y = top;
  for (const { stage, family, share, total_us } of stages) {
    y += ROW;
    const color = familyClass(familyOf(stage));
    const cell = (text: string, x: number, anchor: string, tone = "pk-text"): string =>
      textElement(text, { class: tone, x: CHART_MARGIN + x, y, "text-anchor": anchor });
    parts.push(
      element("rect", { class: color, x: CHART_MARGIN + AT.dot - 5, y: y - 10, width: 11, height: 11 }),
      cell(stage, AT.name, "start"),
      cell(family, AT.family, "start", "pk-quiet"),
      cell(formatShare(share), AT.share, "end"),
      cell(formatMs(total_us).replace(" ms", ""), AT.time, "end"),
      element("rect", {
        class: color,
        x: CHART_MARGIN + AT.bar,
        y: y - 9,
        width: Math.max(0.5, (share / most) * (width - AT.bar)),
        height: 9,
      }),
    );
  }
  return { svg: parts.join("\n"), bottom: y };
}
