import type { Failure } from "../model/profile.ts";

/** Bytes of the evidence of a failure, as JSON. */
const MAX_EVIDENCE_BYTES = 16 * 1024;

/**
 * The failure with evidence of a bounded size: entries in their order for as long as there is room; of a text or list
 * that does not fit its end, which is where a log says what went wrong. `evidence_cut` names what is not whole.
 */
export function boundedEvidence(failure: Failure): Failure {
  if (size(failure.evidence) <= MAX_EVIDENCE_BYTES) return failure;
  const evidence: Record<string, unknown> = {};
  const cut: string[] = [];
  // Room for the names of what was cut.
  let room = MAX_EVIDENCE_BYTES - 1024;
  for (const [name, value] of Object.entries(failure.evidence)) {
    const left = room - size(name) - 2;
    const part = left >= size(value) ? value : endOf(value, left);
    if (part !== value && cut.join().length + name.length < 512) cut.push(name);
    if (part === undefined) continue;
    evidence[name] = part;
    room = left - size(part);
  }
  return { ...failure, evidence: { ...evidence, evidence_cut: cut } };
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "null");

/** The longest end of a text or list that takes at most `room` bytes; undefined where there is none. */
function endOf(value: unknown, room: number): string | unknown[] | undefined {
  if (typeof value !== "string" && !Array.isArray(value)) return undefined;
  let start = 0;
  let end = value.length;
  while (start < end) {
    const middle = Math.floor((start + end) / 2);
    if (size(value.slice(middle)) <= room) end = middle;
    else start = middle + 1;
  }
  return start === value.length ? undefined : value.slice(start);
}
