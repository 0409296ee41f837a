import type { ReadFailure } from "../model/report.ts";

const EXPECTED =
  "expected a timeline: an SQLite export of Nsight Systems, output of nsys stats, or a trace of torch's profiler as JSON, also as gzip or zstd";
export const EXPORT = "nsys export --type sqlite FILE.nsys-rep";

interface WrongKind {
  /** Completes "this is …". */
  readonly name: string;
  readonly hint: string;
  readonly magic: string;
}

/** Kinds that are taken for a timeline. First bytes as the tools write them (Nsight Systems 2025.3, Nsight Compute 2025.3). */
const WRONG_KINDS: readonly WrongKind[] = [
  {
    name: "an Nsight Systems report (.nsys-rep), which only nsys itself can read",
    hint: `export it and give the .sqlite file: ${EXPORT}`,
    magic: "NVIDIA Tegra Profiler Report",
  },
  {
    name: "an Nsight Compute report (.ncu-rep), which holds counters and no timeline",
    hint: "give it as a report; a timeline is recorded with: nsys profile -t cuda,nvtx PROGRAM",
    magic: "NVR\0",
  },
];

/** The refusal for data that are no timeline. `head` is their beginning. */
export function refuse(head: Uint8Array): ReadFailure {
  if (head.length === 0) {
    return {
      code: "empty",
      message: `the file is empty; ${EXPECTED}`,
      hint: "the run was ended before the profiler wrote its file, or it was not copied; record or copy it again",
      evidence: { bytes: 0 },
    };
  }
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 64)).toString("latin1");
  const kind = WRONG_KINDS.find(({ magic }) => text.startsWith(magic));
  if (kind !== undefined) {
    return {
      code: "wrong_kind",
      message: `this is ${kind.name}; ${EXPECTED}`,
      hint: kind.hint,
      evidence: { found: kind.name },
    };
  }
  const first = Array.from(head.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return {
    code: "unknown_format",
    message: `data of an unknown kind, starting with the bytes ${first}; ${EXPECTED}`,
    hint: `export a recording of Nsight Systems: ${EXPORT}`,
    evidence: { first_bytes: first },
  };
}
