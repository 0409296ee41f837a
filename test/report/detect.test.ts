import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openBuffer, openFile } from "../../src/base/file-source.ts";
import { detectReport, readExtras, readReport } from "../../src/report/detect.ts";
import { repeatedBlock, zstdFrame } from "../base/zstd-frames.ts";
import { fixture, fixturePath, H200 } from "../helpers/fixtures.ts";

const report = fixture(`${H200}ranges-kernels.ncu-rep.gz`);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

describe("formats", () => {
  it.each([
    { file: "ranges-kernels.ncu-rep.gz", format: "ncu-rep", compression: "gzip" },
    { file: "ranges-kernels.ncu-repz", format: "ncu-rep", compression: "zstd" },
    { file: "h200-full.raw.csv.gz", format: "ncu-csv-raw", compression: "gzip" },
    { file: "tiny-full.raw-base-units.csv.gz", format: "ncu-csv-raw", compression: "gzip" },
    { file: "h200-full.details.csv.gz", format: "ncu-csv-details", compression: "gzip" },
  ])("$file is $format in $compression", async ({ file, format, compression }) => {
    const open = openFile(fixturePath(`${H200}${file}`));
    expect(await detectReport(open)).toEqual({ ok: true, value: { format, compression } });
    const read = await readReport(open);
    expect(read).toMatchObject({ ok: true, value: { format, compression, partial: false } });
  });

  it("the same report gives the same launches however it is wrapped", async () => {
    const wrapped = [report, gzipSync(report), zstdFrame(report), gzipSync(zstdFrame(report))].map(openBuffer);
    const opens = [...wrapped, openFile(fixturePath(`${H200}ranges-kernels.ncu-repz`))];
    const seen = await Promise.all(
      opens.map(async (open) => {
        const read = await readReport(open);
        if (!read.ok) throw new Error(read.error.message);
        const extras = await readExtras(open, 2, "launch__grid_size");
        return JSON.stringify({
          extras,
          report: { ...read.value, compression: null },
          metrics: read.value.launches.map(({ metrics }) =>
            [...metrics.names()].map((name) => [name, metrics.number(name), metrics.text(name)]),
          ),
        });
      }),
    );
    expect(new Set(seen).size).toBe(1);
  });

  it("CSV pages hold no instances and no rule results", async () => {
    const open = openFile(fixturePath(`${H200}h200-full.raw.csv.gz`));
    expect(await readExtras(open, 0, "gpu__time_duration.sum")).toEqual({
      ok: true,
      value: { instances: [], rules: [] },
    });
  });
});

const elf = (machine: number): Uint8Array => {
  const bytes = new Uint8Array(64);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes[18] = machine;
  return bytes;
};
const tar = new Uint8Array(1024);
tar.set(text("name"), 0);
tar.set(text("ustar"), 257);

/** What people send instead of a report. `found`: what the refusal must say; `hint`: what it must advise. */
const WRONG: readonly { kind: string; bytes: Uint8Array; code: string; found: RegExp; hint: RegExp }[] = [
  { kind: "nothing", bytes: new Uint8Array(0), code: "empty", found: /empty/, hint: /again/ },
  { kind: "nothing in gzip", bytes: gzipSync(""), code: "empty", found: /empty/, hint: /again/ },
  { kind: "zeros", bytes: new Uint8Array(100_000), code: "wrong_kind", found: /zero bytes/, hint: /again/ },
  { kind: "one zero", bytes: new Uint8Array(1), code: "wrong_kind", found: /zero bytes/, hint: /again/ },
  {
    kind: "zip",
    bytes: Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 0, 0),
    code: "wrong_kind",
    found: /zip archive/,
    hint: /unpack/,
  },
  {
    kind: "empty zip",
    bytes: Uint8Array.of(0x50, 0x4b, 5, 6, 0, 0),
    code: "wrong_kind",
    found: /zip archive/,
    hint: /unpack/,
  },
  { kind: "tar in gzip", bytes: gzipSync(tar), code: "wrong_kind", found: /tar archive/, hint: /unpack/ },
  {
    kind: "7z",
    bytes: Uint8Array.of(0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c),
    code: "wrong_kind",
    found: /7z/,
    hint: /unpack/,
  },
  {
    kind: "PNG",
    bytes: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0),
    code: "wrong_kind",
    found: /PNG/,
    hint: /ncu/,
  },
  { kind: "JPEG", bytes: Uint8Array.of(0xff, 0xd8, 0xff, 0xe0), code: "wrong_kind", found: /JPEG/, hint: /ncu/ },
  { kind: "GIF", bytes: text("GIF89a\u0001\u0001"), code: "wrong_kind", found: /GIF/, hint: /ncu/ },
  { kind: "PDF", bytes: text("%PDF-1.7\n%\u00e2"), code: "wrong_kind", found: /PDF/, hint: /ncu/ },
  {
    kind: "xz",
    bytes: readFileSync(fixturePath(`${H200}h200-full-with-cubins.ncu-rep.xz`)),
    code: "wrong_kind",
    found: /xz/,
    hint: /xz -d/,
  },
  { kind: "bzip2", bytes: text("BZh91AY&SY\u0001"), code: "wrong_kind", found: /bzip2/, hint: /bzip2 -d/ },
  { kind: "lz4", bytes: Uint8Array.of(4, 0x22, 0x4d, 0x18, 0x64), code: "wrong_kind", found: /lz4/, hint: /lz4 -d/ },
  {
    kind: "SQLite",
    bytes: text("SQLite format 3\0\u0010\0 CREATE TABLE t"),
    code: "wrong_kind",
    found: /SQLite database/,
    hint: /ncu/,
  },
  {
    kind: "nsys export",
    bytes: text("SQLite format 3\0\u0010\0 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL"),
    code: "wrong_kind",
    found: /Nsight Systems/,
    hint: /no counters/,
  },
  {
    kind: "nsys report",
    bytes: text("NVIDIA Tegra Profiler Report 36398880.\n\u000b"),
    code: "wrong_kind",
    found: /nsys-rep/,
    hint: /nsys export --type sqlite/,
  },
  {
    kind: "nsys stats",
    bytes: text("Time (%),Total Time (ns),Instances\n50.0,100,2\n"),
    code: "wrong_kind",
    found: /nsys stats/,
    hint: /ncu/,
  },
  {
    kind: "torch trace",
    bytes: text('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}'),
    code: "wrong_kind",
    found: /PyTorch/,
    hint: /no counters/,
  },
  { kind: "JSON", bytes: text('\n {"error": "not found"}'), code: "wrong_kind", found: /JSON/, hint: /ncu/ },
  { kind: "JSON list", bytes: text("[1, 2]"), code: "wrong_kind", found: /JSON/, hint: /ncu/ },
  {
    kind: "HTML",
    bytes: text("\n<!DOCTYPE html><html><body>502 Bad Gateway ==PROF== </body></html>"),
    code: "wrong_kind",
    found: /HTML/,
    hint: /again/,
  },
  { kind: "XML", bytes: text('<?xml version="1.0"?><Error/>'), code: "wrong_kind", found: /XML/, hint: /ncu/ },
  {
    kind: "Git LFS pointer",
    bytes: text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    code: "wrong_kind",
    found: /Git LFS/,
    hint: /git lfs pull/,
  },
  { kind: "cubin", bytes: elf(190), code: "wrong_kind", found: /cubin/, hint: /without measurements/ },
  { kind: "ELF program", bytes: elf(62), code: "wrong_kind", found: /ELF program/, hint: /ncu/ },
  {
    kind: "fatbin",
    bytes: Uint8Array.of(0x50, 0xed, 0x55, 0xba, 1, 0),
    code: "wrong_kind",
    found: /fatbin/,
    hint: /without measurements/,
  },
  {
    kind: "source page",
    bytes: text('"#","Address","Source","Warp Stall Sampling (All Samples)"\n"1","0x7f","MOV R1",  "3"\n'),
    code: "wrong_kind",
    found: /source page/i,
    hint: /--page raw/,
  },
  {
    kind: "session page",
    bytes: fixture(`${H200}h200-full.session.csv`),
    code: "wrong_kind",
    found: /session page/i,
    hint: /--page raw/,
  },
  {
    kind: "console text",
    bytes: fixture(`${H200}h200-full.details.txt.gz`),
    code: "wrong_kind",
    found: /console|text/i,
    hint: /--page raw/,
  },
  {
    kind: "random text",
    bytes: text("hello, this is some text\nwith lines\n"),
    code: "unknown_format",
    found: /text of an unknown kind/,
    hint: /-o/,
  },
  {
    kind: "random bytes",
    bytes: Uint8Array.from({ length: 999 }, (_none, at) => (at * 151 + 7) % 251),
    code: "unknown_format",
    found: /binary data/,
    hint: /-o/,
  },
  { kind: "other magic", bytes: text("NVR2\u0002\0\0\0"), code: "unknown_format", found: /4e 56 52 32/, hint: /-o/ },
  { kind: "magic alone", bytes: report.subarray(0, 4), code: "malformed", found: /header/, hint: /again/ },
  {
    kind: "header alone",
    bytes: report.subarray(0, 10),
    code: "no_kernels",
    found: /without a launch/,
    hint: /No kernels were profiled/,
  },
  {
    kind: "gzip header alone",
    bytes: gzipSync("x").subarray(0, 12),
    code: "malformed",
    found: /too early/,
    hint: /again/,
  },
  {
    kind: "no gzip behind the magic",
    bytes: Uint8Array.of(0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9),
    code: "malformed",
    found: /damaged/,
    hint: /again/,
  },
  {
    kind: "three times gzip",
    bytes: gzipSync(gzipSync(gzipSync("x"))),
    code: "too_large",
    found: /deep/,
    hint: /decompress/,
  },
  {
    kind: "terabytes in zstd",
    bytes: zstdFrame(
      Buffer.alloc(0),
      Array.from({ length: 2000 }, () => repeatedBlock(0, 131_072)),
    ),
    code: "wrong_kind",
    found: /zero bytes/,
    hint: /again/,
  },
];

describe("refusals say what was found, what is expected and what to do", () => {
  it.each(WRONG)("$kind", async ({ bytes, code, found, hint }) => {
    const read = await readReport(openBuffer(bytes));
    if (read.ok) throw new Error("read");
    expect(read.error).toMatchObject({
      code,
      message: expect.stringMatching(found),
      hint: expect.stringMatching(hint),
    });
    if (code === "wrong_kind" || code === "unknown_format") expect(read.error.message).toMatch(/Nsight Compute|ncu/);
    expect(Object.keys(read.error.evidence).length).toBeGreaterThan(0);
    const detected = await detectReport(openBuffer(bytes));
    expect(detected.ok ? null : detected.error.code).toBe(detected.ok ? null : code);
  });

  it("a version of the file that is not known is refused by name", async () => {
    const other = Buffer.from(report);
    other[9] = 8;
    expect(await readReport(openBuffer(other))).toMatchObject({
      ok: false,
      error: {
        code: "unsupported_version",
        message: expect.stringContaining("version 8"),
        evidence: { version: 8, expected: 7 },
      },
    });
  });
});
