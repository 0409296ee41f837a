import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type ByteSource, BytesError, type OpenBytes } from "../../src/base/bytes.ts";
import { ChunkSource } from "../../src/base/chunk-source.ts";
import { openDecompressed } from "../../src/base/compression.ts";
import { openBuffer } from "../../src/base/file-source.ts";
import { DEFAULT_TIMELINE_LIMITS } from "../../src/model/timeline.ts";
import { readTorchTrace } from "../../src/timeline/torch-trace/index.ts";
import { fixture } from "../helpers/fixtures.ts";
import { call, failureOfText, kernel, readBytes, readText, rowsOf, timelineOfText } from "./torch-build.ts";

const MB = 1024 ** 2;
const small = JSON.stringify(
  {
    schemaVersion: 1,
    traceEvents: [call("cudaLaunchKernel", 1, 1, 1), kernel('a\\"é}', 2.5, 1, { correlation: 1 }), kernel("b", 4, 1)],
    traceName: "/x/y.json",
  },
  null,
  1,
);

/** Chunks that are made when they are asked for. */
const streamed =
  (chunks: () => Iterable<Uint8Array>): OpenBytes =>
  async (): Promise<ByteSource> => {
    async function* each(): AsyncGenerator<Uint8Array> {
      yield* chunks();
    }
    return new ChunkSource(each(), async () => {});
  };

describe("files that are no trace", () => {
  test.each([
    ["", "empty"],
    [" \n ", "empty"],
    ["\ufeff", "empty"],
    ["hello", "unknown_format"],
    ["SQLite format 3\0", "unknown_format"],
    ['"text"', "unknown_format"],
    ["{}", "wrong_kind"],
    ['{"data":[1,2,3]}', "wrong_kind"],
    ['{"traceEvents":{"a":1}}', "wrong_kind"],
    ['{"traceEvents":null}', "wrong_kind"],
    ["[1,2,3]", "wrong_kind"],
    ['[{"a":1},{"a":2}]', "wrong_kind"],
    ['{"traceEvents":[],"traceEvents":[]}', "malformed"],
    ["{]", "malformed"],
    ['{"a"}', "malformed"],
    ['{"a":}', "malformed"],
    ['{"a":1 "b":2}', "malformed"],
    ['{"traceEvents":[]}{"traceEvents":[]}', "malformed"],
    ['{"traceEvents":[]} x', "malformed"],
    ['{"traceEvents":[{"ph":"X"} {"ph":"X"}]}', "malformed"],
    ['{"traceEvents":[{"ph":"X"},,{"ph":"X"}]}', "malformed"],
    ['{"traceEvents":[{"ph":"M","args":[}]}]}', "malformed"],
    ['{"traceEvents":[{"ph":"X","cat":"kernel","args":{"a":[1}}]}', "malformed"],
    ['{"traceEvents":[{"ph":"X","cat" "kernel"}]}', "malformed"],
    ['{"traceEvents":[{ph:"X"}]}', "malformed"],
    ['{"traceEvents":[{"ph":"X",}]}', "malformed"],
  ])("%j is refused as %s", async (text, code) => {
    const failure = await failureOfText(text);
    expect(failure.code).toBe(code);
    expect(failure.message).not.toBe("");
    expect(failure.hint).not.toBe("");
  });

  test("a list without events is a trace without rows", async () => {
    const timeline = await timelineOfText('{"traceEvents":[]}');
    expect(timeline).toMatchObject({ rows: { count: 0 }, zero_unix_ns: null, recording: { has_kernel_table: false } });
  });
});

const CHANGES = [0, 0x22, 0x5c, 0x7b, 0x7d, 0x5d, 0x2c, 0x31, 0xff];

describe("cut and changed files", () => {
  test("cut at any byte: refused, and never read in part", async () => {
    const bytes = Buffer.from(small);
    for (let length = 0; length < bytes.length; length++) {
      const result = await readBytes(bytes.subarray(0, length));
      expect(result.ok, `cut at ${length}`).toBe(false);
      if (!result.ok) expect(["malformed", "empty"], `cut at ${length}`).toContain(result.error.code);
    }
    expect((await readBytes(bytes)).ok).toBe(true);
  });

  test("the place and the complete events are named", async () => {
    const failure = await failureOfText(small.slice(0, small.lastIndexOf('"b"')));
    expect(failure).toMatchObject({ code: "malformed", evidence: { events: 2 } });
  });

  test("a byte changed anywhere gives rows or a refusal", async () => {
    const bytes = Buffer.from(small);
    for (let at = 0; at < bytes.length; at++) {
      for (let change = 0; change < 2; change++) {
        const changed = Buffer.from(bytes);
        changed[at] = CHANGES[(at + change * 4) % CHANGES.length]!;
        const result = await readBytes(changed);
        if (result.ok) expect(result.value.rows.count).toBeLessThanOrEqual(2);
        else expect(result.error.code).toMatch(/^(?:malformed|wrong_kind|empty|unknown_format)$/);
      }
    }
  });

  test("cut gzip data are refused with their place", async () => {
    const packed = gzipSync(fixture("timelines/h200-pipeline.torch-trace.json.gz"));
    const opened = await openDecompressed(openBuffer(packed.subarray(0, packed.length >> 1)), { maxBytes: 1e9 });
    if (!opened.ok) throw new Error(opened.error.message);
    const result = await readTorchTrace(opened.value.open, "gzip", DEFAULT_TIMELINE_LIMITS);
    expect(result).toMatchObject({ ok: false, error: { code: "malformed" } });
  });

  test("errors that are not about the bytes are thrown", async () => {
    const failing: OpenBytes = async () => ({
      size: null,
      position: 0,
      read: () => Promise.reject(new Error("disk")),
      skip: async () => 0,
      close: async () => {},
    });
    await expect(readTorchTrace(failing, "none", DEFAULT_TIMELINE_LIMITS)).rejects.toThrow("disk");
  });
});

describe("pieces", () => {
  test.each([1, 2, 3, 7, 64])("of %d bytes give the same as the whole", async (size) => {
    const bytes = Buffer.from(small);
    const open = streamed(function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    });
    const result = await readTorchTrace(open, "none", DEFAULT_TIMELINE_LIMITS);
    const whole = await readBytes(bytes);
    expect(result).toStrictEqual(whole);
  });

  test("events across the edges of what is held", async () => {
    const events = Array.from({ length: 400 }, (_, at) =>
      kernel(`k${at}`, at + 1, 0.5, { "Input Dims": 'x\\"]}'.repeat(1 + ((at * 7919) % 3000)) }),
    );
    const timeline = await timelineOfText(JSON.stringify(events));
    expect(rowsOf(timeline).map(({ name }) => name)).toStrictEqual(events.map(({ name }) => name));
  });
});

describe("what is too large", () => {
  const limits = DEFAULT_TIMELINE_LIMITS;

  test("nesting", async () => {
    for (const text of [
      `{"a":${"[".repeat(2000)}${"]".repeat(2000)},"traceEvents":[]}`,
      `[{"ph":"i","args":${'{"a":'.repeat(100_000)}`,
      `[{"ph":"X","cat":"kernel","args":{"x":${"[".repeat(1_000_000)}`,
    ]) {
      expect((await failureOfText(text)).code).toBe("malformed");
    }
  });

  test("a string of a gigabyte is passed over in bounded memory, as value, as key and in an event", async () => {
    // Whole repetitions, so that no piece ends inside an escape; what the reader takes at once does.
    const piece = Buffer.alloc(MB - 1, "\\\\x");
    const long = function* (): Generator<Uint8Array> {
      for (let at = 0; at < 340; at++) yield piece;
    };
    const open = streamed(function* () {
      yield Buffer.from('{"note":"');
      yield* long();
      yield Buffer.from(
        '","traceEvents":[{"ph":"X","cat":"kernel","name":"a","ts":1,"dur":1},{"ph":"X","cat":"kernel","name":"',
      );
      yield* long();
      yield Buffer.from('","ts":2,"dur":1},{"ph":"X","cat":"kernel","name":"b","ts":3,"dur":1}],"');
      yield* long();
      yield Buffer.from('":1}');
    });
    const before = process.memoryUsage();
    const result = await readTorchTrace(open, "none", limits);
    const after = process.memoryUsage();
    if (!result.ok) throw new Error(result.error.message);
    expect(rowsOf(result.value).map(({ name }) => name)).toStrictEqual(["a", "b"]);
    expect(result.value.recording.dropped).toMatchObject([{ reason: "malformed", count: 1 }]);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(64 * MB);
  });

  test("a number that never ends", async () => {
    const open = streamed(function* () {
      yield Buffer.from('{"schemaVersion":');
      for (let at = 0; at < 64; at++) yield Buffer.alloc(MB, "1");
      yield Buffer.from(',"traceEvents":[]}');
    });
    const result = await readTorchTrace(open, "none", limits);
    expect(result).toMatchObject({ ok: true, value: { schema_version: null } });
  });

  test("bytes and rows", async () => {
    expect(await readText(small, { ...limits, maxBytes: 100 })).toMatchObject({
      ok: false,
      error: { code: "too_large" },
    });
    expect(await readText(small, { ...limits, maxRows: 1 })).toMatchObject({ ok: false, error: { code: "too_large" } });
    expect(await readText(small, { ...limits, maxRows: 2 })).toMatchObject({ ok: true });
  });

  test("data that grow too large when decompressed", async () => {
    const open: OpenBytes = async () => ({
      size: null,
      position: 0,
      read: () => Promise.reject(new BytesError("too_large", "more than 5 bytes after decompression")),
      skip: async () => 0,
      close: async () => {},
    });
    expect(await readTorchTrace(open, "gzip", limits)).toMatchObject({ ok: false, error: { code: "too_large" } });
  });

  test("ids that are far from each other take no more than a table of them", async () => {
    const count = 200_000;
    const open = streamed(function* () {
      yield Buffer.from("[");
      for (let at = 0; at < count; at++) {
        yield Buffer.from(`{"ph":"X","cat":"cpu_op","name":"o","args":{"External id":${1 + at * 5_000_011}}},`);
      }
      yield Buffer.from('{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"External id":5000012}}]');
    });
    const before = process.memoryUsage().arrayBuffers;
    const result = await readTorchTrace(open, "none", limits);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MB);
    if (!result.ok) throw new Error(result.error.message);
    expect(rowsOf(result.value)).toMatchObject([{ op: "o" }]);
  });

  test("a stream of its own for every row", async () => {
    const count = 2 ** 18 + 10;
    const open = streamed(function* () {
      yield Buffer.from("[");
      for (let at = 0; at < count; at++) {
        yield Buffer.from(`${at === 0 ? "" : ","}{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"tid":${at}}`);
      }
      yield Buffer.from("]");
    });
    expect(await readTorchTrace(open, "none", limits)).toMatchObject({ ok: false, error: { code: "too_large" } });
  });
});
