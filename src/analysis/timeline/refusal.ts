import type { Finding } from "../../model/finding.ts";
import type { TIMELINE_REFUSAL_CODES } from "../../model/words.ts";

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
