import { readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openBuffer, openFile } from "../../src/base/file-source.ts";
import { detectTimeline, readTimeline } from "../../src/timeline/detect.ts";
import { zstdFrame } from "../base/zstd-frames.ts";
import { fixture, fixturePath } from "../helpers/fixtures.ts";
import { temporaryFolder, totals, write } from "./nsys-files.ts";

const folder = temporaryFolder();
const database = fixture("timelines/tiny-graph-nodes.nsys.sqlite.gz");
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

describe("formats", () => {
  it.each([
    ["h200-pipeline.nsys.sqlite.gz", "nsys-sqlite", "gzip"],
    ["tiny-collective.nsys-stats.txt", "nsys-stats", "none"],
    ["h200-pipeline.torch-trace.json.gz", "torch-trace", "gzip"],
  ])("%s", async (file, kind, compression) => {
    const open = openFile(fixturePath(`timelines/${file}`));
    expect(await detectTimeline(open)).toEqual({ ok: true, value: { kind, compression } });
  });

  it.each([
    ["an object", '\ufeff {"deviceProperties": [], "traceEvents": []}', "torch-trace"],
    ["a list of events", '[{"ph": "X", "ts": 1}]', "torch-trace"],
  ])("JSON: %s", async (_name, json, kind) => {
    expect(await detectTimeline(openBuffer(text(json)))).toMatchObject({ ok: true, value: { kind } });
  });
});

describe("databases", () => {
  it.each([
    ["as it is", "none", database],
    ["gzip", "gzip", gzipSync(database)],
    ["zstd", "zstd", zstdFrame(database)],
    ["zstd in gzip", "gzip", gzipSync(zstdFrame(database))],
  ])("%s, and nothing is left of the copy", async (_name, compression, bytes) => {
    const work = temporaryFolder();
    const read = await readTimeline(write(folder, "any name", bytes), work);
    if (!read.ok) throw new Error(read.error.message);
    expect(read.value).toMatchObject({ format: "nsys-sqlite", compression, bytes_read: database.length });
    expect(totals(read.value, "kernel")).toMatchObject({ count: 16, ns: 7_554_019 });
    expect(readdirSync(work)).toEqual([]);
  });

  it("nothing is left of the copy of one that is refused", async () => {
    const work = temporaryFolder();
    const cut = gzipSync(database.subarray(0, database.length >> 1));
    expect(await readTimeline(write(folder, "cut", cut), work)).toMatchObject({
      ok: false,
      error: { code: "malformed" },
    });
    const torn = gzipSync(database).subarray(0, 9000);
    expect(await readTimeline(write(folder, "torn", torn), work)).toMatchObject({
      ok: false,
      error: { code: "malformed", evidence: { damage: "truncated" } },
    });
    const small = { maxBytes: 50_000, maxRows: 1000, maxHostRows: 1000 };
    expect(await readTimeline(write(folder, "large", gzipSync(database)), work, small)).toMatchObject({
      ok: false,
      error: { code: "too_large" },
    });
    expect(readdirSync(work)).toEqual([]);
  });
});

describe("refusals", () => {
  it("a report of nsys asks for its export", async () => {
    const read = await readTimeline(fixturePath("timelines/h200-pipeline.nsys-rep.first-40-bytes"), folder);
    expect(read).toMatchObject({
      ok: false,
      error: { code: "wrong_kind", hint: expect.stringContaining("nsys export --type sqlite") },
    });
  });

  it.each([
    ["a report of ncu", fixture("ncu/2025.3.1/h200/ranges-kernels.ncu-rep.gz"), "wrong_kind"],
    ["nothing", new Uint8Array(0), "empty"],
    ["prose", text("hello"), "unknown_format"],
    ["JSON of another kind", text('{"error": "not found"}'), "unknown_format"],
    ["output of nsys without kernels", text("CUDA API Statistics:\n\n"), "wrong_kind"],
  ])("%s", async (_name, bytes, code) => {
    expect(await readTimeline(write(folder, "wrong", bytes), folder)).toMatchObject({ ok: false, error: { code } });
  });

  it("a file that is not there is an error of the file system", async () => {
    await expect(readTimeline("/nonexistent/file", folder)).rejects.toMatchObject({ code: "ENOENT" });
  });
});
