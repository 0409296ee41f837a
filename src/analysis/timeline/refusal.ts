import type { Finding } from "../../model/finding.ts";

/** Why a timeline is not ranked, or not over the window that was asked for. */
export const TIMELINE_REFUSAL_CODES = [
  "timeline_no_kernels",
  "timeline_graph_level_only",
  "timeline_incomplete",
  "timeline_merged_ranks",
  "timeline_degenerate",
  "timeline_not_comparable",
  "timeline_window_invalid",
  "timeline_window_not_found",
  "timeline_window_empty",
] as const;
export type TimelineRefusalCode = (typeof TIMELINE_REFUSAL_CODES)[number];

export interface TimelineRefusal {
  readonly code: TimelineRefusalCode;
  /** What was found, where, and what was expected. */
  readonly message: string;
  /** What to do. */
  readonly hint: string;
  readonly evidence: Finding["evidence"];
}

export function finding(
  code: string,
  severity: Finding["severity"],
  message: string,
  evidence: Finding["evidence"] = {},
): Finding {
  return { code, severity, message, launch: null, evidence };
}

/** A name in a message or in evidence: real ones reach some thousand characters. */
export const shortened = (name: string, longest = 160): string =>
  name.length <= longest ? name : `${name.slice(0, longest - 1)}…`;

export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${count} ${count === 1 ? one : several}`;

/** Verb after `counted`. */
export const are = (count: number): string => (count === 1 ? "is" : "are");
