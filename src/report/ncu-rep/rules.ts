import type { Hint, RuleMessage } from "../../model/launch.ts";
import { resolveMarkup } from "./markup.ts";
import type { Texts } from "./texts.ts";
import type { Wire } from "./wire.ts";

/** RuleResultMessageType of Nsight Compute's RuleResults.proto; 4 appears from 2024.1 on. */
const MESSAGE_TYPES: Readonly<Record<number, RuleMessage["type"]>> = {
  1: "info",
  2: "warning",
  3: "error",
  4: "optimization",
};
const SPEEDUP_TYPES: Readonly<Record<number, Hint["speedup_type"]>> = { 1: "local", 2: "global" };

interface Item {
  type: number;
  title: string | null;
  text: string | null;
  hasMessage: boolean;
  speedupType: number;
  speedupPercent: number | null;
  evidence: { metric: string; value: number | null; info: string | null }[];
}

/**
 * Reads one rule result {1 rule, 2 display name, 3 body {1 items}, 4 section} and gives each of its messages to `add`.
 * A rule without a body had nothing to say. With `onlyHints` only
 * items of type OPT are given.
 */
export function readRule(wire: Wire, texts: Texts, onlyHints: boolean, add: (message: RuleMessage) => void): void {
  let rule = "";
  let section: string | null = null;
  const items: Item[] = [];
  wire.message((field) => {
    if (field === 1) rule = texts.keep(wire.text());
    else if (field === 3) {
      wire.message((inner) => {
        if (inner === 1) items.push(readItem(wire, texts, onlyHints));
        else wire.skip();
      });
    } else if (field === 4) section = texts.keep(wire.text());
    else wire.skip();
  });
  for (const item of items) {
    const type = MESSAGE_TYPES[item.type] ?? "unknown";
    if (!item.hasMessage || (onlyHints && type !== "optimization")) continue;
    add({
      type,
      rule,
      section,
      title: item.title,
      text: item.text,
      speedup_type: SPEEDUP_TYPES[item.speedupType] ?? null,
      speedup_percent: item.speedupPercent,
      evidence: item.evidence,
    });
  }
}

function readItem(wire: Wire, texts: Texts, onlyHints: boolean): Item {
  const item: Item = {
    type: 0,
    title: null,
    text: null,
    hasMessage: false,
    speedupType: 0,
    speedupPercent: null,
    evidence: [],
  };
  wire.message((field) => {
    if (field === 1) readMessage(wire, texts, item);
    else if (onlyHints && item.hasMessage && MESSAGE_TYPES[item.type] !== "optimization") wire.skip();
    else if (field === 8) item.evidence.push(readFocusMetric(wire, texts));
    else if (field === 10) readSpeedup(wire, item);
    else wire.skip();
  });
  return item;
}

function readMessage(wire: Wire, texts: Texts, item: Item): void {
  item.hasMessage = true;
  wire.message((field) => {
    if (field === 1) item.text = texts.keep(resolveMarkup(wire.text()));
    else if (field === 2) item.type = wire.uint();
    else if (field === 4) item.title = texts.keep(resolveMarkup(wire.text()));
    else wire.skip();
  });
}

function readFocusMetric(wire: Wire, texts: Texts): Item["evidence"][number] {
  let metric = "";
  let value: number | null = null;
  let info: string | null = null;
  wire.message((field) => {
    if (field === 2) metric = texts.keep(wire.text());
    else if (field === 3) value = finite(wire.double());
    else if (field === 5) info = texts.keep(resolveMarkup(wire.text()));
    else wire.skip();
  });
  return { metric, value, info };
}

function readSpeedup(wire: Wire, item: Item): void {
  wire.message((field) => {
    if (field === 1) item.speedupType = wire.uint();
    else if (field === 2) item.speedupPercent = finite(wire.double());
    else wire.skip();
  });
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
