import type { ReadFailure } from "../model/report.ts";

const EXPECTED =
  "expected an Nsight Compute report (.ncu-rep, .ncu-repz) or a raw or details page of `ncu --csv`, also as gzip or zstd";
const RECORD = "record a report: ncu --set full -o NAME PROGRAM";
const RAW_PAGE = "export the raw page: ncu --import FILE.ncu-rep --csv --page raw --print-units base";
const NO_COUNTERS = `it is a timeline and holds no counters; ${RECORD}`;
const EXPORT = `export it and give the timeline: nsys export --type sqlite FILE.nsys-rep; for counters ${RECORD}`;
const NO_MEASUREMENTS = `it is compiled code without measurements; ${RECORD}`;
const UNPACK = "unpack it and give the report inside";

interface WrongKind {
  /** Completes "this is …". */
  readonly name: string;
  readonly hint: string;
  /** `text` is the head as latin-1, a character a byte. */
  readonly is: (text: string, head: Uint8Array) => boolean;
}

const starts =
  (...prefixes: string[]) =>
  (text: string): boolean =>
    prefixes.some((prefix) => text.startsWith(prefix));

/** e_machine of CUDA device code in ELF (EM_CUDA). */
const EM_CUDA = 190;
const isElf = starts("\x7fELF");
const isSqlite = starts("SQLite format 3\0");
const NSYS_TABLES = /CUPTI_ACTIVITY|TARGET_INFO_|META_DATA_CAPTURE|NVTX_EVENTS/;

/**
 * Kinds that no page of ncu can be mistaken for. One entry a kind, first match wins. Magic numbers: the formats' own
 * documents, as collected by file(1).
 */
const FOREIGN_KINDS: readonly WrongKind[] = [
  {
    name: "an Nsight Systems report (.nsys-rep)",
    hint: EXPORT,
    is: starts("NVIDIA Tegra Profiler Report"),
  },
  {
    name: "an SQLite export of Nsight Systems",
    hint: NO_COUNTERS,
    is: (text) => isSqlite(text) && NSYS_TABLES.test(text),
  },
  { name: "an SQLite database", hint: RECORD, is: isSqlite },
  { name: "xz data", hint: "decompress it first: xz -d FILE.xz", is: starts("\xfd7zXZ\0") },
  { name: "bzip2 data", hint: "decompress it first: bzip2 -d FILE.bz2", is: (text) => /^BZh[1-9]1AY&SY/.test(text) },
  { name: "lz4 data", hint: "decompress it first: lz4 -d FILE.lz4", is: starts("\x04\x22\x4d\x18") },
  { name: "a zip archive", hint: UNPACK, is: starts("PK\x03\x04", "PK\x05\x06", "PK\x07\x08") },
  { name: "a 7z archive", hint: UNPACK, is: starts("7z\xbc\xaf\x27\x1c") },
  { name: "a tar archive", hint: UNPACK, is: (text) => text.slice(257, 262) === "ustar" },
  { name: "a PNG picture", hint: RECORD, is: starts("\x89PNG\r\n\x1a\n") },
  { name: "a JPEG picture", hint: RECORD, is: starts("\xff\xd8\xff") },
  { name: "a GIF picture", hint: RECORD, is: (text) => /^GIF8[79]a/.test(text) },
  { name: "a PDF document", hint: RECORD, is: starts("%PDF-") },
  {
    name: "CUDA device code (cubin)",
    hint: NO_MEASUREMENTS,
    is: (text, head) => isElf(text) && head[18] === EM_CUDA && head[19] === 0,
  },
  { name: "an ELF program or library", hint: RECORD, is: isElf },
  { name: "CUDA device code (fatbin)", hint: NO_MEASUREMENTS, is: starts("\x50\xed\x55\xba") },
  {
    name: "a Git LFS pointer, not the file it stands for",
    hint: "fetch the file: git lfs pull",
    is: starts("version https://git-lfs"),
  },
  {
    name: "an HTML page",
    hint: "the download gave a page (a login or an error) instead of the file; fetch it again",
    is: (text) => /^\s{0,100}<(!doctype html|html|head|body)\b/i.test(text),
  },
  { name: "an XML document", hint: RECORD, is: (text) => /^\s{0,100}<\?xml\b/.test(text) },
];

/** Kinds that are looked for where the data are no page of ncu: program output in front of a page can look like them. */
const OTHER_KINDS: readonly WrongKind[] = [
  {
    name: "a trace of the PyTorch profiler",
    hint: NO_COUNTERS,
    is: (text) => /^\s{0,100}\{/.test(text) && /"(traceEvents|deviceProperties|schemaVersion)"/.test(text),
  },
  {
    name: "JSON",
    hint: RECORD,
    is: (text) => /^\s{0,100}(\{\s{0,100}["}]|\[\s{0,100}[\]{["\d])/.test(text),
  },
  {
    name: "a table of nsys stats",
    hint: `it is the summary of a timeline and holds no counters; ${RECORD}`,
    is: (text) => /^ {0,8}"?Time ?\(%\)"?[ ,]/m.test(text),
  },
  {
    name: "nothing but zero bytes",
    hint: "the file was not written to its end (disk full, a broken copy); copy it again or record it again",
    is: (_text, head) => head.every((byte) => byte === 0),
  },
];

/** The refusal for data of another kind, recognised by their first bytes; null where they may be a page of ncu. */
export function refuseForeign(head: Uint8Array): ReadFailure | null {
  return wrongKind(FOREIGN_KINDS, head);
}

/** The refusal for data that are no report, no page and not foreign. `head` is their beginning. */
export function refuse(head: Uint8Array): ReadFailure {
  if (head.length === 0) {
    return {
      code: "empty",
      message: `the file is empty; ${EXPECTED}`,
      hint: "the run was ended before ncu saved its report, or it was not copied; record or copy it again",
      evidence: { bytes: 0 },
    };
  }
  const kind = wrongKind(OTHER_KINDS, head);
  if (kind !== null) return kind;
  const first = Array.from(head.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return {
    code: "unknown_format",
    message: `${isText(head) ? "text" : "binary data"} of an unknown kind, starting with the bytes ${first}; ${EXPECTED}`,
    hint: `give the file that ncu wrote with -o, or ${RAW_PAGE}`,
    evidence: { first_bytes: first },
  };
}

function wrongKind(kinds: readonly WrongKind[], head: Uint8Array): ReadFailure | null {
  // Node decodes "latin1" as windows-1252, which maps some bytes elsewhere.
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  const kind = kinds.find(({ is }) => is(text, head));
  if (kind === undefined) return null;
  return {
    code: "wrong_kind",
    message: `this is ${kind.name}; ${EXPECTED}`,
    hint: kind.hint,
    evidence: { found: kind.name },
  };
}

/** No control characters but tab, line feed, carriage return and escape in the first bytes. */
function isText(head: Uint8Array): boolean {
  return head
    .subarray(0, 1024)
    .every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x1b);
}
