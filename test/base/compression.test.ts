import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type ByteSource, BytesError, type OpenBytes } from "../../src/base/bytes.ts";
import { openDecompressed } from "../../src/base/compression.ts";
import { openBuffer, openFile } from "../../src/base/file-source.ts";
import { fixture, fixturePath, H200 } from "../helpers/fixtures.ts";
import { repeatedBlock, zstdFrame } from "./zstd-frames.ts";

const limits = { maxBytes: 1024 ** 4 };
const plain = fixture(`${H200}ranges-kernels.ncu-rep.gz`);
const zstd = fixture(`${H200}ranges-kernels.ncu-repz`);

async function unwrap(open: OpenBytes, maxBytes = limits.maxBytes): Promise<{ open: OpenBytes; compression: string }> {
  const result = await openDecompressed(open, { maxBytes });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

/** All bytes in reads of the given size, or the error that ended them and how many came before. */
async function drain(source: ByteSource, size: number): Promise<{ bytes: Buffer; error: BytesError | null }> {
  const parts: Buffer[] = [];
  try {
    for (;;) {
      const part = await source.read(size);
      if (part.length === 0) return { bytes: Buffer.concat(parts), error: null };
      parts.push(Buffer.from(part));
    }
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return { bytes: Buffer.concat(parts), error };
  } finally {
    await source.close();
  }
}

/** How the data fail, when they are opened or while they are read. */
async function failure(bytes: Uint8Array): Promise<string | null> {
  const opened = await openDecompressed(openBuffer(bytes), limits);
  if (!opened.ok) return opened.error.code;
  return (await drain(await opened.value.open(), 65_536)).error?.code ?? null;
}

/** The same bytes in every run, which no format starts with. */
const noise = (seed: string, length: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 32) }, (_none, at) => createHash("sha256").update(`${seed}${at}`).digest()),
  );

const VARIANTS: readonly { name: string; bytes: Uint8Array; compression: string }[] = [
  { name: "plain", bytes: plain, compression: "none" },
  { name: "gzip", bytes: gzipSync(plain), compression: "gzip" },
  {
    name: "gzip of three members",
    bytes: Buffer.concat(
      [plain.subarray(0, 7), plain.subarray(7, 90_000), plain.subarray(90_000)].map((part) => gzipSync(part)),
    ),
    compression: "gzip",
  },
  { name: "gzip padded with zeros", bytes: Buffer.concat([gzipSync(plain), Buffer.alloc(512)]), compression: "gzip" },
  { name: "zstd", bytes: zstd, compression: "zstd" },
  {
    name: "zstd of raw blocks in two frames",
    bytes: Buffer.concat([zstdFrame(plain.subarray(0, 200_000)), zstdFrame(plain.subarray(200_000))]),
    compression: "zstd",
  },
  {
    name: "zstd behind a skippable frame",
    bytes: Buffer.concat([Buffer.from([0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]), zstd]),
    compression: "zstd",
  },
  { name: "gzip of zstd", bytes: gzipSync(zstd), compression: "gzip" },
  { name: "zstd of gzip", bytes: zstdFrame(gzipSync(plain)), compression: "zstd" },
];

describe.each(VARIANTS)("$name", ({ bytes, compression }) => {
  it.each([1000, 4097, 10 ** 7])("gives the same bytes in reads of %d", async (size) => {
    const unwrapped = await unwrap(openBuffer(bytes));
    expect(unwrapped.compression).toBe(compression);
    const { bytes: found, error } = await drain(await unwrapped.open(), size);
    expect(error).toBeNull();
    expect(found.equals(plain)).toBe(true);
  });

  it("skips, and opens again from the start", async () => {
    const { open } = await unwrap(openBuffer(bytes));
    for (let round = 0; round < 2; round += 1) {
      const source = await open();
      expect(await source.skip(123_456)).toBe(123_456);
      expect(source.position).toBe(123_456);
      expect(Buffer.from(await source.read(10)).equals(plain.subarray(123_456, 123_466))).toBe(true);
      expect(await source.skip(10 ** 9)).toBe(plain.length - 123_466);
      expect(await source.read(10)).toHaveLength(0);
      expect(source.position).toBe(plain.length);
      await source.close();
    }
  });
});

describe("damaged and cut data", () => {
  it.each([
    { kind: "gzip", bytes: gzipSync(plain) },
    { kind: "zstd", bytes: zstd },
  ])("$kind that ends too early gives what came before, then says so", async ({ bytes }) => {
    for (const length of [Math.floor(bytes.length / 2), bytes.length - 1]) {
      const { open } = await unwrap(openBuffer(bytes.subarray(0, length)));
      const { bytes: found, error } = await drain(await open(), 1000);
      expect(error).toMatchObject({ code: "truncated" });
      expect(found.equals(plain.subarray(0, found.length))).toBe(true);
      expect(found.length).toBeGreaterThan(length);
    }
  });

  it.each([1000, 4097, 10 ** 7])("all that came out before the damage is read, in reads of %d", async (size) => {
    const bytes = gzipSync(plain);
    const whole = bytes.subarray(0, bytes.length - 8);
    const wrongSum = Buffer.concat([whole, Buffer.alloc(8, 0xee)]);
    const junk = Buffer.concat([bytes, Buffer.from("junk")]);
    const farJunk = Buffer.concat([bytes, gzipSync(plain), noise("far", 70_000)]);
    const cases = [
      { data: bytes.subarray(0, bytes.length - 4), code: "truncated", gives: plain },
      { data: whole, code: "truncated", gives: plain },
      { data: wrongSum, code: "damaged", gives: plain },
      { data: junk, code: "trailing", gives: plain, names: `from byte ${bytes.length} on` },
      {
        data: farJunk,
        code: "trailing",
        gives: Buffer.concat([plain, plain]),
        names: `from byte ${2 * bytes.length} on`,
      },
      {
        data: Buffer.concat([zstd, Buffer.from("junk")]),
        code: "trailing",
        gives: plain,
        names: `byte ${zstd.length}`,
      },
      { data: zstdFrame(junk), code: "trailing", gives: plain },
    ];
    for (const { data, code, gives, names = "" } of cases) {
      const { open } = await unwrap(openBuffer(data));
      const { bytes: found, error } = await drain(await open(), size);
      expect(error).toMatchObject({ code });
      expect(error?.message).toContain(names);
      expect(found.equals(gives)).toBe(true);
    }
  });

  it("gives what stands before a damaged block of a gzip stream, and the error on every later call", async () => {
    const parts = [plain.subarray(0, 300_000), plain.subarray(300_000, 400_000)];
    const bytes = Buffer.concat(parts.map((part) => gzipSync(part)));
    bytes.fill(0xff, gzipSync(parts[0] as Uint8Array).length + 10); // block type 3 does not exist
    const source = await (await unwrap(openBuffer(bytes))).open();
    expect(Buffer.from(await source.read(10 ** 6)).equals(parts[0] as Buffer)).toBe(true);
    for (let call = 0; call < 3; call += 1) await expect(source.read(1)).rejects.toMatchObject({ code: "damaged" });
    await expect(source.skip(1)).rejects.toMatchObject({ code: "damaged" });
    await source.close();
  });

  it("a limit inside another wrapping is a limit, not an early end", async () => {
    const source = await (await unwrap(openBuffer(zstdFrame(gzipSync(Buffer.alloc(128 * 1024 ** 2)))))).open();
    await expect(source.skip(1024 ** 4)).rejects.toMatchObject({ code: "too_large" });
    await source.close();
    const outer = gzipSync(
      zstdFrame(
        Buffer.alloc(0),
        Array.from({ length: 1024 }, () => repeatedBlock(0, 128 * 1024)),
      ),
    );
    const other = await (await unwrap(openBuffer(outer))).open();
    await expect(other.skip(1024 ** 4)).rejects.toMatchObject({ code: "too_large" });
    await other.close();
  });

  it("data of some bytes cannot be opened", async () => {
    for (const bytes of [gzipSync(plain), zstd]) {
      for (const length of [4, 9, 40]) expect(await failure(bytes.subarray(0, length))).toBe("truncated");
    }
  });

  it("gzip with a wrong checksum is damaged", async () => {
    const bytes = gzipSync(plain);
    bytes.writeUInt32LE(0x12345678, bytes.length - 8);
    const { error } = await drain(await (await unwrap(openBuffer(bytes))).open(), 65_536);
    expect(error).toMatchObject({ code: "damaged" });
  });

  it.each(["a", "b", "c", "d"])("zstd with noise (%s) behind its header is damaged or cut", async (seed) => {
    expect(await failure(Buffer.concat([zstd.subarray(0, 12), noise(seed, 5000)]))).toMatch(/^(damaged|truncated)$/);
  });
});

describe("limits", () => {
  it("stops at the limit of bytes", async () => {
    const { open } = await unwrap(openBuffer(gzipSync(plain)), 100_000);
    const { bytes, error } = await drain(await open(), 1000);
    expect(error).toMatchObject({ code: "too_large" });
    expect(bytes.length).toBeLessThanOrEqual(100_000);
  });

  it.each([
    { kind: "gzip", bytes: gzipSync(Buffer.alloc(128 * 1024 ** 2)) },
    {
      kind: "zstd",
      bytes: zstdFrame(
        Buffer.alloc(0),
        Array.from({ length: 1024 }, () => repeatedBlock(0, 128 * 1024)),
      ),
    },
  ])("stops $kind that grows without end", async ({ bytes }) => {
    const source = await (await unwrap(openBuffer(bytes))).open();
    await expect(source.skip(1024 ** 4)).rejects.toMatchObject({ code: "too_large" });
    expect(source.position).toBeLessThan(70 * 1024 ** 2);
    await source.close();
  });

  it("unwraps two layers and no more", async () => {
    const three = gzipSync(gzipSync(gzipSync(plain)));
    expect(await openDecompressed(openBuffer(three), limits)).toMatchObject({ ok: false, error: { code: "too_deep" } });
    expect(await openDecompressed(openBuffer(gzipSync(gzipSync(plain))), limits)).toMatchObject({ ok: true });
  });

  it("refuses a zstd window that no report needs", async () => {
    // Window_Descriptor 0x90: 256 MiB.
    const bytes = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 0x01, 0x00, 0x00]);
    const opened = await openDecompressed(openBuffer(bytes), limits);
    expect(opened).toMatchObject({ ok: false, error: { code: "too_large" } });
  });

  it("is done with a zstd block that asks for minutes of copying", async () => {
    // 98,047 sequences of the longest match each, in 16 bytes: Literals_Section of one byte, three tables of one code.
    const block = Buffer.from([(1 << 3) | 1, 0x61, 255, 255, 255, 0b0101_0100, 0, 0, 52, 0x80]);
    const header = Buffer.alloc(3);
    header.writeUIntLE((block.length << 3) | (2 << 1) | 1, 0, 3);
    expect(await failure(zstdFrame(Buffer.alloc(0), [Buffer.concat([header, block])]))).toBe("damaged");
  });
});

describe("openFile", () => {
  it("seeks on skip and reads across its buffer", async () => {
    const path = fixturePath(`${H200}h200-full.raw.csv.gz`);
    const whole = fixture(`${H200}h200-full.raw.csv.gz`);
    const bytes = await drain(await openFile(path)(), 1 << 20);
    const source = await openFile(path)();
    expect(source.size).toBe(bytes.bytes.length);
    expect(await source.skip(1000)).toBe(1000);
    expect(Buffer.from(await source.read(70_000)).equals(bytes.bytes.subarray(1000, 71_000))).toBe(true);
    expect(await source.read(1)).toHaveLength(0);
    expect(await source.skip(5)).toBe(0);
    await source.close();
    const { open } = await unwrap(openFile(path));
    expect((await drain(await open(), 999)).bytes.equals(whole)).toBe(true);
  });

  it("rejects where the file system does", async () => {
    await expect(openFile("/no/such/file")()).rejects.toMatchObject({ code: "ENOENT" });
  });
});
