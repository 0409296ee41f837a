import type { HostThread, Lane } from "../../model/timeline.ts";
import { decodeText } from "./texts.ts";

/** A pid that SGLang's merger of ranks wrote: `[TP00-DP01] 0` (sglang, srt/utils/profile_merger.py). */
const LABELLED = /^\[([\w .:-]{1,64})\] ?(.*)$/;
const LONGEST = 128;

/** The text of a pid or tid, which is a number or a string. Null where it is neither or too long. */
export function readLabel(raw: string): string | null {
  if (raw.length > LONGEST) return null;
  if (raw.startsWith('"')) return decodeText(raw.slice(1, -1));
  return /^-?[\w.]+$/.test(raw) && raw !== "null" ? raw : null;
}

export interface Pid {
  /** Rank or process that a merger put in front; null in a file of one process. */
  readonly label: string | null;
  readonly id: string | null;
}

export function readPid(raw: string): Pid {
  const text = readLabel(raw);
  if (text === null) return { label: null, id: null };
  const labelled = LABELLED.exec(text);
  return labelled === null
    ? { label: null, id: text }
    : { label: labelled[1] as string, id: labelled[2] === "" ? null : (labelled[2] as string) };
}

/** A label of one kind of parallelism is the rank; `TP00-DP01` names a rank without its number in the job. */
export function rankOf(label: string): number | null {
  const number = /^(?:TP|rank)[ _:-]?(\d{1,6})$/i.exec(label)?.[1];
  return number === undefined ? null : Number(number);
}

/** `stream 7` and `7`. */
export const streamOf = (tid: string): string => /^stream (.+)$/i.exec(tid)?.[1] ?? tid;

export interface DraftLane extends Omit<Lane, "rank"> {
  readonly label: string | null;
}

/** The rank at the top level is that of the first file where files were merged: only rows of no other process have it. */
export const laneOf = ({ process, device, stream, label }: DraftLane, rankOfFile: number | null): Lane => ({
  process,
  rank: label !== null ? rankOf(label) : process === null ? rankOfFile : null,
  device,
  stream,
});

/** Where annotations of the GPU stand that no thread of the host has. */
export const NO_THREAD: HostThread = { process: null, thread: null };
