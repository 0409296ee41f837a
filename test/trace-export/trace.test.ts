import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { analyzeTimelines } from "../../src/analysis/index.ts";
import { nameKey } from "../../src/analysis/names.ts";
import type { ProfileResult } from "../../src/model/result.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import { readTimeline } from "../../src/timeline/detect.ts";
import { traceEvents } from "../../src/trace-export/index.ts";
import { fixturePath } from "../helpers/fixtures.ts";
import { readTimelineFixture } from "../helpers/timeline-fixtures.ts";
import { type MadeRow, madeTimeline } from "../helpers/timelines.ts";

interface Event {
  readonly name: string;
  readonly cat?: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur: number;
  readonly pid: number;
  readonly tid: number;
  readonly args: Readonly<Record<string, unknown>>;
}

const folder = mkdtempSync(join(tmpdir(), "pk-trace-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function resultOf(timelines: readonly Timeline[], topN = 10): ProfileResult {
  const inputs = timelines.map((timeline) => ({ timeline, id: null, sha256: null }));
  const result = analyzeTimelines(inputs, [], { target: "full pipeline", topN });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function eventsOf(timelines: readonly Timeline[], result = resultOf(timelines)): Event[] {
  const text = [...traceEvents(timelines, result)].join("");
  return JSON.parse(text).traceEvents;
}

const ofCategory = (events: readonly Event[], cat: string): Event[] => events.filter((event) => event.cat === cat);
const rows = (list: readonly (Partial<MadeRow> & { at: number; us: number })[]): MadeRow[] =>
  list.map((row) => ({ name: "nvjet_tst_64x8", ...row }));

describe("traceEvents", () => {
  it("writes complete events and metadata with the fields of the format, and nothing else", async () => {
    const timeline = await readTimelineFixture(fixturePath("timelines/tiny-graph-nodes.nsys.sqlite.gz"));
    for (const event of eventsOf([timeline])) {
      expect(Number.isInteger(event.pid) && Number.isInteger(event.tid)).toBe(true);
      if (event.ph === "M") {
        expect(event.name).toMatch(/^(process|thread)_(name|sort_index)$/);
        expect(Object.keys(event.args)).toEqual([event.name.endsWith("_name") ? "name" : "sort_index"]);
      } else {
        expect(event.ph).toBe("X");
        expect(event.ts).toBeGreaterThan(0);
        expect(event.dur).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it("has every launch, copy and range, with times to the nanosecond, and reads back the same", async () => {
    const timeline = await readTimelineFixture(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
    const path = join(folder, "trace.json");
    writeFileSync(path, [...traceEvents([timeline], resultOf([timeline]))].join(""));
    const back = await readTimeline(path, folder);
    if (!back.ok) throw new Error(back.error.message);
    const { rows: own } = timeline;
    const { rows: read } = back.value;
    expect([read.count, back.value.ranges.count]).toEqual([own.count, timeline.ranges.count]);
    const shift = Number(read.start_ns[0]) - Number(own.start_ns[0]);
    for (let row = 0; row < own.count; row += 1) {
      expect(Number(read.start_ns[row]) - Number(own.start_ns[row])).toBe(shift);
      expect(Number(read.end_ns[row]) - Number(own.end_ns[row])).toBe(shift);
    }
    const kernelsOf = (one: Timeline) => {
      const result = resultOf([one], 1000);
      if (result.kind !== "pipeline") throw new Error("no pipeline");
      return [
        result.gpu_busy_us,
        result.kernels.map(({ detail }) => [detail.names.key, detail.timing, detail.stage?.stage]),
      ];
    };
    expect(kernelsOf(back.value)).toEqual(kernelsOf(timeline));
  });

  it("says of each launch the stage, and of listed kernels the verdict of its cluster", async () => {
    const timeline = await readTimelineFixture(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
    const result = resultOf([timeline]);
    if (result.kind !== "pipeline") throw new Error("no pipeline");
    // As counters would have said of every other cluster.
    for (const { detail } of result.kernels) {
      for (const { clusters } of detail.shapes) {
        clusters.forEach((cluster, at) => {
          if (at % 2 === 0) cluster.roofline = "memory-bound";
        });
      }
    }
    const kernels = ofCategory(eventsOf([timeline], result), "kernel");
    expect(kernels.every(({ args }) => typeof args.stage === "string" && typeof args.family === "string")).toBe(true);
    const byKey = new Map<string, Event[]>();
    for (const event of kernels) {
      const names = { mangled: null, function: null, demangled: event.name, display: event.name, simplified: false };
      const { key } = nameKey(names);
      byKey.set(key, [...(byKey.get(key) ?? []), event]);
    }
    let verdicts = 0;
    for (const { detail, fraction_of_pipeline } of result.kernels) {
      const own = byKey.get(detail.names.key) ?? [];
      expect(own.length).toBe(detail.timing.n);
      for (const { args } of own) expect(args.share).toBe(fraction_of_pipeline);
      for (const { grid, block, clusters } of detail.shapes) {
        const inShape = own.filter(
          ({ args }) => JSON.stringify([args.grid, args.block]) === JSON.stringify([grid, block]),
        );
        clusters.forEach(({ timing, roofline }, at) => {
          const inCluster = inShape.filter(({ args }) => args.cluster === at);
          expect(inCluster.length).toBe(timing.n);
          for (const { args } of inCluster) expect(args.roofline ?? null).toBe(roofline);
          if (roofline !== null) verdicts += inCluster.length;
        });
      }
    }
    expect(verdicts).toBeGreaterThan(0);
    expect(kernels.filter(({ args }) => args.verdict !== undefined).length).toBe(
      kernels.length - result.kernels.reduce((sum, { detail }) => sum + detail.timing.n, 0),
    );
  });

  it("puts what overlaps on one stream on a track of its own", () => {
    const events = eventsOf([
      madeTimeline({
        rows: rows([
          { at: 0, us: 10 },
          { at: 8, us: 10 },
          { at: 30, us: 5 },
        ]),
      }),
    ]);
    expect(ofCategory(events, "kernel").map(({ tid }) => tid)).toEqual([10, 11, 10]);
    const names = events.filter(({ name }) => name === "thread_name").map(({ args }) => args.name);
    expect(names).toEqual(["stream 7", "stream 7, overlapping 1", "idle for 10 us or more"]);
  });

  it("has a process for each rank and GPU, and gaps between what ran", () => {
    const timelines = [0, 1].map((rank) =>
      madeTimeline({
        rows: rows([
          { at: 0, us: 10, rank },
          { at: 110, us: 10, rank, device: 0 },
        ]),
      }),
    );
    const events = eventsOf(timelines);
    expect(events.filter(({ name }) => name === "process_name").map(({ args }) => args.name)).toEqual([
      "rank 0, GPU 0",
      "rank 1, GPU 0",
    ]);
    expect(ofCategory(events, "idle").map(({ pid, dur }) => [pid, dur])).toEqual([
      [1, 100],
      [10_001, 100],
    ]);
  });

  it("writes ranges that nest and ranges that were never closed", () => {
    const events = eventsOf([
      madeTimeline({
        rows: rows([
          { at: 0, us: 10 },
          { at: 100, us: 10 },
        ]),
        ranges: [
          { text: "step", at: 0, us: 100 },
          { text: "layer\u0001", at: 10, us: 20 },
          { text: "across", at: 20, us: 200 },
          { text: "open", at: 40, us: null },
        ],
      }),
    ]);
    expect(ofCategory(events, "user_annotation").map(({ name, tid, dur }) => [name, tid, dur])).toEqual([
      ["step", 10, 100],
      ["layer\u0001", 10, 20],
      ["across", 11, 200],
      ["open", 11, 70],
    ]);
  });

  it("cuts long names and texts, as they are written for each launch and range", () => {
    const long = "n".repeat(65_536);
    const writtenOf = (launches: number) => {
      const at = (from: number) => ({ at: from, us: 10, name: long, stream: `s${long}` });
      const timeline = madeTimeline({
        rows: rows([
          { at: 0, us: 10, name: "x".repeat(500) },
          ...Array.from({ length: launches }, (_, place) => at(20 * place)),
          { ...at(20 * launches), kind: "memcpy" },
        ]),
        ranges: [{ text: long, at: 0, us: 100 }],
      });
      const events = eventsOf([timeline]).filter(({ ph, cat }) => ph === "X" && cat !== "idle");
      const sizes = events.map(({ name, cat, args }) =>
        JSON.stringify([cat, name.length, name.at(-1), String(args.stream ?? "").length]),
      );
      return [...new Set(sizes)].map((one) => JSON.parse(one));
    };
    const cut = (name: number) => [
      ["kernel", 500, "x", 1],
      ["kernel", name, "…", 500],
      ["gpu_memcpy", name, "…", 500],
      ["user_annotation", 500, "…", 0],
    ];
    expect(writtenOf(10)).toEqual(cut(4096));
    // 4,096 characters for each of so many would be 20 MB.
    expect(writtenOf(5_000)).toEqual(cut(500));
  });

  it("hands on pieces of bounded size, whatever the number of launches", () => {
    const many = madeTimeline({
      rows: (function* () {
        for (let at = 0; at < 50_000; at += 1) yield { name: "nvjet_tst_64x8", at: at * 10, us: 5 };
      })(),
    });
    let longest = 0;
    let pieces = 0;
    for (const piece of traceEvents([many], resultOf([many]))) {
      longest = Math.max(longest, piece.length);
      pieces += 1;
    }
    expect(pieces).toBeGreaterThan(50);
    expect(longest).toBeLessThan(80 * 1024);
  });
});
