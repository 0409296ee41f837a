import type { ReadFailure } from "../model/report.ts";

const EXPECTED =
  "expected an Nsight Compute report (.ncu-rep, .ncu-repz) or a raw or details page of `ncu --csv`, also as gzip or zstd";
const RECORD = "record a report: ncu --set full -o NAME PROGRAM";
const RAW_PAGE = "export the raw page: ncu --import FILE.ncu-rep --csv --page raw --print-units base";

interface WrongKind {
  /** Completes "this is …". */
  readonly name: string;
  readonly hint: string;
  readonly is: (head: Uint8Array, text: string) => boolean;
}

const startsWith =
  (...bytes: number[]) =>
  (head: Uint8Array): boolean =>
    bytes.every((byte, at) => head[at] === byte);

const startsWithText =
  (prefix: string) =>
  (_head: Uint8Array, text: string): boolean =>
    text.startsWith(prefix);

const uint16 = (head: Uint8Array, at: number): number => (head[at] ?? 0) | ((head[at + 1] ?? 0) << 8);

/** e_machine of CUDA device code in ELF (EM_CUDA). */
const EM_CUDA = 190;

/** One line a kind, first match wins. Magic numbers: the formats' own documents, as collected by file(1). */
const WRONG_KINDS: readonly WrongKind[] = [
  {
    name: "an Nsight Systems report (.nsys-rep)",
    hint: `it is a timeline and holds no counters; ${RECORD}`,
    is: startsWithText("NVIDIA Tegra Profiler Report"),
  },
  {
    name: "an SQLite export of Nsight Systems",
    hint: `it is a timeline and holds no counters; ${RECORD}`,
    is: (_head, text) =>
      text.startsWith("SQLite format 3\0") && /CUPTI_ACTIVITY|TARGET_INFO_|META_DATA_CAPTURE|NVTX_EVENTS/.test(text),
  },
  { name: "an SQLite database", hint: RECORD, is: startsWithText("SQLite format 3\0") },
  { name: "xz data", hint: "decompress it first: xz -d FILE.xz", is: startsWith(0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00) },
  {
    name: "bzip2 data",
    hint: "decompress it first: bzip2 -d FILE.bz2",
    is: (head, text) => /^BZh[1-9]/.test(text) && head[4] === 0x31,
  },
  { name: "lz4 data", hint: "decompress it first: lz4 -d FILE.lz4", is: startsWith(0x04, 0x22, 0x4d, 0x18) },
  {
    name: "a zip archive",
    hint: "unpack it and give the report inside",
    is: (head) => startsWith(0x50, 0x4b)(head) && [0x0403, 0x0605, 0x0807].includes(uint16(head, 2)),
  },
  {
    name: "a 7z archive",
    hint: "unpack it and give the report inside",
    is: startsWith(0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c),
  },
  {
    name: "a tar archive",
    hint: "unpack it and give the report inside",
    is: (_head, text) => text.slice(257, 262) === "ustar",
  },
  { name: "a PNG picture", hint: RECORD, is: startsWith(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) },
  { name: "a JPEG picture", hint: RECORD, is: startsWith(0xff, 0xd8, 0xff) },
  { name: "a GIF picture", hint: RECORD, is: startsWithText("GIF8") },
  { name: "a PDF document", hint: RECORD, is: startsWithText("%PDF-") },
  {
    name: "CUDA device code (cubin)",
    hint: `it is compiled code without measurements; ${RECORD}`,
    is: (head) => startsWith(0x7f, 0x45, 0x4c, 0x46)(head) && uint16(head, 18) === EM_CUDA,
  },
  { name: "an ELF program or library", hint: RECORD, is: startsWith(0x7f, 0x45, 0x4c, 0x46) },
  {
    name: "CUDA device code (fatbin)",
    hint: `it is compiled code without measurements; ${RECORD}`,
    is: startsWith(0x50, 0xed, 0x55, 0xba),
  },
  {
    name: "a Git LFS pointer, not the file it stands for",
    hint: "fetch the file: git lfs pull",
    is: startsWithText("version https://git-lfs"),
  },
  {
    name: "an HTML page",
    hint: "the download gave a page (a login or an error) instead of the file; fetch it again",
    is: (_head, text) => /^\s{0,100}<(!doctype html|html|head|body)\b/i.test(text),
  },
  { name: "an XML document", hint: RECORD, is: (_head, text) => /^\s{0,100}<\?xml\b/.test(text) },
  {
    name: "a trace of the PyTorch profiler",
    hint: `it is a timeline and holds no counters; ${RECORD}`,
    is: (_head, text) => /^\s{0,100}\{/.test(text) && /"(traceEvents|deviceProperties|schemaVersion)"/.test(text),
  },
  { name: "JSON", hint: RECORD, is: (_head, text) => /^\s{0,100}(\{\s{0,100}["}]|\[\s{0,100}[\]{["\d])/.test(text) },
  {
    name: "the source page of ncu",
    hint: `it lists instructions, not launches; ${RAW_PAGE}`,
    is: (_head, text) => /^"?#"?,"?(Address|Source)"?[,\r\n]/m.test(text),
  },
  {
    name: "the session page of ncu",
    hint: `it holds no metrics; ${RAW_PAGE}`,
    is: (_head, text) =>
      /^(Launch Settings|Session Info)\r?$/m.test(text) || /^"?Launch Attribute"?,"?Value"?\r?$/m.test(text),
  },
  {
    name: "the console text of ncu",
    hint: `it is shortened for people; give the .ncu-rep (ncu -o NAME …) or ${RAW_PAGE}`,
    is: (_head, text) =>
      /^ {2,8}Section: \S/m.test(text) || /\(\d+, \d+, \d+\)x\(\d+, \d+, \d+\), Context \d+, Stream \d+/.test(text),
  },
  {
    name: "a log of ncu without a table",
    hint: "look in it for ==ERROR==; the report is the file named after `==PROF== Report:`",
    is: (_head, text) => /^==(PROF|ERROR|WARNING)== /m.test(text),
  },
  {
    name: "a table of nsys stats",
    hint: `it is a timeline's summary and holds no counters; ${RECORD}`,
    is: (_head, text) => /^"?Time \(%\)"?,|^"?Time\(%\)"?,|Total Time \(ns\)/m.test(text),
  },
  {
    name: "nothing but zero bytes",
    hint: "the file was not written to its end (disk full, a broken copy); copy it again or record it again",
    is: (head) => head.every((byte) => byte === 0),
  },
];

/** The refusal for bytes that are no report. `head` is the beginning of the data after decompression. */
export function refuse(head: Uint8Array): ReadFailure {
  if (head.length === 0) {
    return {
      code: "empty",
      message: `the file is empty; ${EXPECTED}`,
      hint: "the run was ended before ncu saved its report, or the upload sent no body; record or send it again",
      evidence: { bytes: 0 },
    };
  }
  const text = new TextDecoder("latin1").decode(head);
  const kind = WRONG_KINDS.find(({ is }) => is(head, text));
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
    message: `${isText(head) ? "text" : "binary data"} of an unknown kind, starting with the bytes ${first}; ${EXPECTED}`,
    hint: `give the file that ncu wrote with -o, or ${RAW_PAGE}`,
    evidence: { first_bytes: first },
  };
}

/** No control characters but tab, line feed, carriage return and escape in the first bytes. */
function isText(head: Uint8Array): boolean {
  return head
    .subarray(0, 1024)
    .every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x1b);
}
