import { once } from "node:events";
import { createWriteStream, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { repeatedBlock, zstdFrame } from "../base/zstd-frames.ts";
import { fixturePath, H200, samplesDir } from "../helpers/fixtures.ts";
import { hostileChild } from "./hostile.ts";
import {
  block,
  bytesField,
  doubleField,
  FILE_HEADER,
  kernel,
  metric,
  uint32,
  uintField,
  varint,
} from "./report-builder.ts";

/** FULL=1: every report cut at 200 places and 10,000 mutations; otherwise a part of both. */
const FULL = process.env.FULL === "1";
const CUTS = FULL ? 200 : 8;
const MUTATIONS = FULL ? 10_000 : 400;
/** Nothing that is read may take more memory, whatever it says about itself; the process alone has about 80 MB. */
const MAX_MB = 300;

const samples = samplesDir();
const reports = [
  ...readdirSync(fixturePath(H200))
    .filter((name) => name.endsWith(".ncu-rep.gz"))
    .map((name) => fixturePath(H200 + name)),
  ...(samples === null ? [] : readdirSync(join(samples, "rep")).map((name) => join(samples, "rep", name))),
].sort();
const child = await hostileChild();
afterAll(() => child.remove());
const perReport = Math.ceil(MUTATIONS / reports.length);

describe.each(reports.map((path) => ({ name: path.split("/").at(-1) ?? "", path })))("$name", ({ path }) => {
  it(`cut at ${CUTS} places gives its complete launches and says where it ends`, { timeout: 600_000 }, async () => {
    const result = await child.run("cuts", path, CUTS);
    expect(result.problems).toEqual([]);
    expect(result.read + result.refused).toBe(CUTS + 1);
    expect(result.peakMb).toBeLessThan(MAX_MB);
  });

  it(`survives ${perReport} mutations and names what is lost`, { timeout: 1_200_000 }, async () => {
    const result = await child.run("mutations", path, 1 + reports.indexOf(path) * 100_000, perReport);
    expect(result.problems).toEqual([]);
    expect(result.silent).toEqual([]);
    expect(result.read + result.refused).toBe(perReport + 1);
    expect(result.peakMb).toBeLessThan(MAX_MB);
  });
});

describe.each(["ranges-kernels.ncu-repz", "ranges-kernels.ncu-rep.gz", "ranges-kernels.raw-base-units.csv.gz"])(
  "%s",
  (name) => {
    const count = FULL ? 5000 : 150;
    it(`survives damage inside the compressed data, ${count} times`, { timeout: 600_000 }, async () => {
      const result = await child.run("wrapped", fixturePath(H200 + name), 1, count);
      expect(result.problems).toEqual([]);
      expect(result.read + result.refused).toBe(count);
      expect(result.refused).toBeGreaterThan(0);
      expect(result.peakMb).toBeLessThan(MAX_MB);
    });
  },
);

const MIB = 1024 ** 2;
/** `count` copies of the same bytes. */
const copies = (count: number, bytes: Uint8Array): Buffer => Buffer.alloc(count * bytes.length, bytes);
const optimization = bytesField(1, Buffer.concat([bytesField(1, "x"), uintField(2, 4)]));

/** Files made to exhaust a reader, by name: chunks that are written one after another. */
const EXTREMES: readonly { name: string; chunks: () => Iterable<Uint8Array>; ends: RegExp }[] = [
  {
    name: "10 GB of zeros in gzip",
    *chunks() {
      const member = gzipSync(Buffer.alloc(100 * MIB));
      for (let count = 0; count < 103; count += 1) yield member;
    },
    ends: /^wrong_kind: .*zero bytes/,
  },
  {
    name: "10 GB of device code in gzip",
    *chunks() {
      yield gzipSync(Buffer.concat([FILE_HEADER, block({ counters: { 1: 1 }, payloadSize: 4_000_000_000 })]));
      const member = gzipSync(Buffer.alloc(100 * MIB));
      for (let count = 0; count < 103; count += 1) yield member;
    },
    ends: /^too_large: .*times as many/,
  },
  {
    name: "10 GB of zeros behind a launch in zstd",
    *chunks() {
      yield zstdFrame(Buffer.concat([FILE_HEADER, block({ counters: { 2: 1 }, entries: [kernel("k")] })]));
      yield zstdFrame(
        Buffer.alloc(0),
        Array.from({ length: 80_000 }, () => repeatedBlock(0, 131_072)),
      );
    },
    ends: /^1 launches, report_damaged/,
  },
  {
    name: "a result of 4 GB",
    *chunks() {
      yield gzipSync(
        Buffer.concat([FILE_HEADER, block({ counters: { 2: 1 }, payloadSize: 4_294_967_295 }), uint32(4_294_967_291)]),
      );
      yield gzipSync(Buffer.alloc(100 * MIB));
    },
    ends: /^too_large: .*times as many/,
  },
  {
    name: "a string table of 8 million empty strings",
    chunks: () => {
      const header = Buffer.concat([
        varint(4 * 8 + 2),
        varint(15 * MIB),
        copies(15 * 512 * 1024, Buffer.from([0x0a, 0x00])),
      ]);
      return [FILE_HEADER, uint32(header.length), header];
    },
    ends: /^malformed: .*strings/,
  },
  {
    name: "a hundred megabytes of names",
    *chunks() {
      yield FILE_HEADER;
      for (let count = 0; count < 100; count += 1) yield block({ strings: [`${count}`.padEnd(MIB - 1, "n")] });
    },
    ends: /^too_large: .*in memory/,
  },
  {
    name: "more launches than a report may have",
    *chunks() {
      yield FILE_HEADER;
      const one = block({ counters: { 2: 100 }, entries: Array.from({ length: 100 }, () => kernel("k")) });
      for (let count = 0; count < 2100; count += 1) yield one;
    },
    ends: /^too_large: .*launches/,
  },
  {
    name: "launches that share no layout",
    *chunks() {
      yield FILE_HEADER;
      const count = 4000;
      yield block({ strings: Array.from({ length: count }, (_none, index) => `m${index}`) });
      // The same metrics, but each launch begins with another one.
      const metrics = Array.from({ length: count }, (_none, id) => bytesField(13, metric(id, 1)));
      const starts = metrics.map((_none, id) => Buffer.concat(metrics.slice(0, id)).length);
      const twice = Buffer.concat([...metrics, ...metrics]);
      for (const start of starts) {
        const rotated = twice.subarray(start, start + twice.length / 2);
        yield block({ counters: { 2: 1 }, entries: [kernel("k", [], [rotated])] });
      }
    },
    ends: /^too_large: .*in memory/,
  },
  {
    name: "a launch with millions of hints",
    chunks: () => [
      FILE_HEADER,
      block({
        counters: { 2: 1 },
        entries: [
          kernel(
            "k",
            [],
            [
              bytesField(
                19,
                Buffer.concat([bytesField(1, "r"), bytesField(3, copies(3_000_000, bytesField(1, optimization)))]),
              ),
            ],
          ),
        ],
      }),
    ],
    ends: /^malformed: .*nested messages/,
  },
  {
    name: "launches with a megabyte of text each",
    *chunks() {
      yield FILE_HEADER;
      for (let count = 0; count < 300; count += 1) {
        const text = `${count}`.padEnd(MIB - 1, "\u00fc".repeat(3));
        yield block({ counters: { 2: 1 }, entries: [kernel(text.slice(0, 300_000))] });
      }
    },
    ends: /^too_large: .*in memory/,
  },
  {
    name: "a launch that disagrees with itself millions of times",
    chunks: () => [
      FILE_HEADER,
      block({
        counters: { 2: 1 },
        strings: ["a"],
        entries: [
          kernel("k", [], [copies(1_250_000, Buffer.concat([0, 1].map((value) => bytesField(13, metric(0, value)))))]),
        ],
      }),
    ],
    ends: /^1 launches, duplicate_metric_disagrees/,
  },
  {
    name: "a launch with millions of metrics without names",
    chunks: () => [
      FILE_HEADER,
      block({
        counters: { 2: 1 },
        strings: ["a"],
        entries: [kernel("k", [], [copies(2_500_000, bytesField(13, metric(1, 1)))])],
      }),
    ],
    ends: /^1 launches, metric_name_out_of_range/,
  },
  {
    name: "ranges of millions of threads",
    chunks: () => [
      FILE_HEADER,
      block({
        counters: { 2: 1 },
        entries: [kernel("k", [], [bytesField(21, copies(5_000_000, bytesField(2, Buffer.alloc(0))))])],
      }),
    ],
    ends: /^malformed: .*nested messages/,
  },
  {
    name: "millions of blocks",
    *chunks() {
      yield FILE_HEADER;
      const many = copies(10_000, block({ extra: doubleField(60, 1) }));
      for (let count = 0; count < 100; count += 1) yield many;
    },
    ends: /^too_large: .*blocks without a launch/,
  },
];

describe("files made to exhaust a reader", () => {
  const folder = mkdtempSync(join(tmpdir(), "hostile-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(EXTREMES)("$name", { timeout: 300_000 }, async ({ name, chunks, ends }) => {
    const path = join(folder, name.replaceAll(/\W/g, "-"));
    writeFileSync(path, "");
    const file = createWriteStream(path);
    for (const chunk of chunks()) {
      if (!file.write(chunk)) await once(file, "drain");
    }
    file.end();
    await once(file, "finish");
    const result = await child.run("one", path);
    rmSync(path);
    expect(result.problems).toEqual([]);
    expect(result.last).toMatch(ends);
    expect(result.peakMb).toBeLessThan(MAX_MB);
  });
});
