import { mkdtempSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { keepInput } from "../../cli/kept-input.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";

const MIB = 1024 ** 2;
const report = fixture(`${H200}tiny-full.ncu-rep.gz`);

let folder: string;
let file: FileHandle;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kept-input-"));
  file = await open(join(folder, "kept"), "wx+");
});
afterEach(async () => {
  await file.close();
  rmSync(folder, { recursive: true });
});

/** A stream without end, and how many bytes were taken from it. */
function endless(start: Uint8Array, next: Uint8Array): { stream: Readable; taken: () => number } {
  let taken = 0;
  const stream = Readable.from(
    (function* () {
      for (let chunk = start; ; chunk = next) {
        taken += chunk.length;
        yield Buffer.from(chunk);
      }
    })(),
    { objectMode: false },
  );
  return { stream, taken: () => taken };
}

it.each([
  { kind: "plain", bytes: report },
  { kind: "gzip", bytes: gzipSync(report) },
])("keeps a report whole: $kind", async ({ bytes }) => {
  const pieces = Array.from({ length: Math.ceil(bytes.length / 60_000) }, (_none, at) =>
    bytes.subarray(at * 60_000, (at + 1) * 60_000),
  );
  await keepInput("stdin", Readable.from(pieces, { objectMode: false }), file, 64 * MIB);
  const kept = Buffer.alloc(bytes.length + 1);
  expect((await file.read(kept, 0, kept.length, 0)).bytesRead).toBe(bytes.length);
  expect(kept.subarray(0, -1).equals(bytes)).toBe(true);
});

it.each([
  { kind: "zeros", start: Buffer.alloc(65_536), next: Buffer.alloc(65_536), code: "wrong_kind" },
  { kind: "text", start: Buffer.from("y\n"), next: Buffer.alloc(65_536, "y\n"), code: "unknown_format" },
  {
    kind: "gzip of text",
    start: gzipSync(Buffer.alloc(8 * MIB, "y\n")),
    next: Buffer.alloc(65_536, 1),
    code: "unknown_format",
  },
])("gives up endless $kind after its head", async ({ start, next, code }) => {
  const { stream, taken } = endless(start, next);
  await expect(keepInput("stdin", stream, file, 1024 * MIB)).rejects.toMatchObject({ exitCode: 3, code });
  expect(taken()).toBeLessThan(2 * MIB);
  expect(stream.destroyed).toBe(true);
});

it("gives up a report without end at the limit", async () => {
  const { stream, taken } = endless(report.subarray(0, MIB), Buffer.alloc(65_536));
  await expect(keepInput("stdin", stream, file, 4 * MIB)).rejects.toMatchObject({
    exitCode: 3,
    code: "input_too_large",
    message: expect.stringContaining(`${4 * MIB} bytes`),
    hint: expect.stringContaining("TMPDIR"),
  });
  expect(taken()).toBeLessThan(6 * MIB);
  expect((await file.stat()).size).toBeLessThanOrEqual(4 * MIB);
});
