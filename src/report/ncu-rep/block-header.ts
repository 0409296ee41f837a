import type { LaunchKind } from "../../model/launch.ts";
import { readSession, type Session } from "./session.ts";
import { type Wire, WireError } from "./wire.ts";

/**
 * Kinds of entries in a payload, in the order in which they are stored, with the field of BlockHeader that counts them
 * (Nsight Compute 2025.3.1, ProfilerReport.proto: NumSources, NumResults, NumRangeResults, NumCmdlistResults,
 * NumGraphResults).
 */
export const ENTRY_KINDS = [
  { kind: "source", field: 1 },
  { kind: "kernel", field: 2 },
  { kind: "range", field: 7 },
  { kind: "cmdlist", field: 8 },
  { kind: "graph", field: 9 },
] as const satisfies readonly { kind: EntryKind; field: number }[];

export type EntryKind = "source" | LaunchKind;

export interface BlockHeader {
  /** How many entries of each kind the payload holds, in {@link ENTRY_KINDS} order. */
  readonly counts: readonly number[];
  /** Sum of counters that this reader does not know (fields 10 and up). */
  readonly unknownCount: number;
  readonly payloadSize: number;
  readonly processId: number | null;
  readonly strings: readonly string[];
}

const FIRST_UNKNOWN_FIELD = 10;

/** Names of metrics in one block; the largest known table has 2,300. */
const MAX_STRINGS = 200_000;

/**
 * Reads one BlockHeader. What it says about the session is merged into `session`. Throws WireError where the bytes are no BlockHeader.
 */
export function readBlockHeader(wire: Wire, session: Session): BlockHeader {
  const counts = ENTRY_KINDS.map(() => 0);
  const strings: string[] = [];
  let unknownCount = 0;
  let payloadSize = 0;
  let processId: number | null = null;
  const seen = new Set<number>();
  /** A number that is written at most once: twice means that a tag was damaged, and entries would be taken for others. */
  const once = (field: number): number => {
    if (seen.has(field)) throw new WireError(`field ${field} of a block header twice`, wire.pos);
    seen.add(field);
    return wire.uint();
  };
  wire.fields((field) => {
    const kind = ENTRY_KINDS.findIndex((entry) => entry.field === field);
    if (kind >= 0) counts[kind] = once(field);
    else if (field === 3) readSession(wire, session);
    else if (field === 4) {
      wire.message((inner) => {
        if (inner !== 1) wire.skip();
        else if (strings.push(wire.text()) > MAX_STRINGS) {
          throw new WireError(`more than ${MAX_STRINGS} strings`, wire.pos);
        }
      });
    } else if (field === 5) payloadSize = once(field);
    else if (field === 6) {
      wire.message((inner) => {
        if (inner === 1) processId = wire.uint();
        else wire.skip();
      });
    } else if (field >= FIRST_UNKNOWN_FIELD && wire.isUint()) unknownCount += wire.uint();
    else wire.skip();
  });
  return { counts, unknownCount, payloadSize, processId, strings };
}
