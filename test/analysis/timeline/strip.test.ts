import { describe, expect, it } from "vitest";
import { analyzeTimelines } from "../../../src/analysis/index.ts";
import type { Timeline } from "../../../src/model/timeline.ts";
import { STRIP_BINS, STRIP_LANES, STRIP_STAGES, type TimelineStrip } from "../../../src/model/timeline-strip.ts";
import { fixturePath } from "../../helpers/fixtures.ts";
import { readTimelineFixture } from "../../helpers/timeline-fixtures.ts";
import { type MadeRow, madeTimeline } from "../../helpers/timelines.ts";

const GEMM = "nvjet_tst_128x64";
const NORM = "rms_norm_kernel";

function summary(timelines: readonly Timeline[], window?: { from_us: number; to_us: number }) {
  const inputs = timelines.map((timeline) => ({ timeline, id: null, sha256: null }));
  const result = analyzeTimelines(inputs, [], { target: "full pipeline", ...(window ? { window } : {}) });
  if (!result.ok || result.value.kind !== "pipeline" || result.value.timeline === null) throw new Error("no pipeline");
  return { ...result.value, timeline: result.value.timeline };
}

function strip(...timelines: Timeline[]): TimelineStrip {
  const found = summary(timelines).timeline.strip;
  if (found === null) throw new Error("no strip");
  return found;
}

/** Microseconds of each stage of a lane. */
const sums = ({ stages, lanes, bin_us }: TimelineStrip, lane = 0): Record<string, number> =>
  Object.fromEntries(
    stages.map((stage, at) => [
      stage,
      Math.round(((lanes[lane]?.busy[at] ?? []).reduce((a, b) => a + b, 0) * bin_us) / 1000),
    ]),
  );

const rows = (list: readonly (Partial<MadeRow> & { at: number; us: number })[]): MadeRow[] =>
  list.map((row) => ({ name: GEMM, ...row }));

describe("the strip of a timeline", () => {
  it("holds the time of each stage where it was spent", () => {
    const made = strip(
      madeTimeline({
        rows: rows([
          { at: 0, us: 100 },
          { name: NORM, at: 200, us: 100 },
        ]),
      }),
    );
    expect([made.bins, made.bin_us, made.stages]).toEqual([STRIP_BINS, 1, ["gemm", "norm"]]);
    expect(made.lanes[0]?.busy[0]).toEqual(Array.from({ length: 300 }, (_, bin) => (bin < 100 ? 1000 : 0)));
    expect(made.lanes[0]?.busy[1]).toEqual(Array.from({ length: 300 }, (_, bin) => (bin < 200 ? 0 : 1000)));
  });

  it("counts time that overlaps once, for the row that began first", () => {
    const made = strip(
      madeTimeline({
        rows: rows([
          { at: 0, us: 200 },
          { name: NORM, at: 100, us: 200 },
          { at: 2900, us: 100 },
        ]),
      }),
    );
    expect(sums(made)).toEqual({ gemm: 300, norm: 100 });
  });

  it("shows few streams of one GPU apart, and several GPUs as one lane each", () => {
    const two = strip(
      madeTimeline({
        rows: rows([
          { at: 0, us: 300 },
          { at: 100, us: 300, stream: "9" },
        ]),
      }),
    );
    expect(two.lanes.map(({ stream }) => stream)).toEqual(["7", "9"]);
    const gpus = strip(
      madeTimeline({
        rows: rows([
          { at: 0, us: 300 },
          { at: 100, us: 300, device: 1 },
        ]),
      }),
    );
    expect(gpus.lanes.map(({ device, stream }) => [device, stream])).toEqual([
      [0, null],
      [1, null],
    ]);
  });

  it("shows the busiest lanes where there are too many, in half as many bins", () => {
    const made = strip(
      madeTimeline({
        rows: rows(Array.from({ length: 12 }, (_, device) => ({ at: device, us: 100 + device, device }))),
      }),
    );
    expect(made.lanes.map(({ device }) => device)).toEqual([4, 5, 6, 7, 8, 9, 10, 11]);
    expect([made.lanes.length, made.lanes_total, made.bins]).toEqual([STRIP_LANES, 12, STRIP_BINS / 2]);
  });

  it("marks work outside of the window", () => {
    const timeline = madeTimeline({
      rows: rows([
        { at: 0, us: 100 },
        { name: NORM, at: 60, us: 100, stream: "9" },
        { at: 140, us: 60 },
      ]),
    });
    const { strip: made } = summary([timeline], { from_us: 50, to_us: 150 }).timeline;
    if (made === null) throw new Error("no strip");
    expect(made.lanes.map(({ stream }) => stream)).toEqual(["7", "9"]);
    expect([sums(made), sums(made, 1)]).toEqual([
      { norm: 0, gemm: 60, outside: 40 },
      { norm: 100, gemm: 0, outside: 0 },
    ]);
  });

  it("lays ranks over one another by their clocks where these fit, else by their first activity", () => {
    const rank = (number: number, zero: bigint | null) =>
      madeTimeline({
        zero_unix_ns: zero,
        rows: rows([
          { at: 0, us: 100 },
          { at: 200, us: 100 },
        ]).map((row) => ({ ...row, rank: number })),
      });
    const near = strip(rank(0, 1_000_000_000n), rank(1, 1_000_050_000n));
    expect([near.aligned_by, Math.round(near.bin_us * near.bins)]).toEqual(["clock", 350]);
    const far = strip(rank(0, 1_000_000_000n), rank(1, 9_000_000_000n));
    expect([far.aligned_by, Math.round(far.bin_us * far.bins)]).toEqual(["first_activity", 300]);
    expect(strip(rank(0, null), rank(1, null)).aligned_by).toBe("first_activity");
  });

  it("is null with the reason where starts are not known", () => {
    const { timeline } = summary([madeTimeline({ has_starts: false, rows: rows([{ at: 0, us: 100 }]) })]);
    expect(timeline.strip).toBeNull();
    expect(timeline.null_reasons.strip).toBe("start times are absent or too coarse");
  });

  it("adds up to the busy time of the recording, with few stages by name", async () => {
    const timeline = await readTimelineFixture(fixturePath("timelines/h200-pipeline.nsys.sqlite.gz"));
    const result = summary([timeline]);
    const made = result.timeline.strip;
    if (made === null) throw new Error("no strip");
    expect(made.stages.length).toBeLessThanOrEqual(STRIP_STAGES + 1);
    const total = made.lanes.flatMap(({ busy }) => busy.flat()).reduce((a, b) => a + b, 0) * (made.bin_us / 1000);
    expect(total / (result.gpu_busy_us ?? 0)).toBeCloseTo(1, 2);
    expect((made.bin_us * made.bins) / (result.span_us ?? 0)).toBeCloseTo(1, 6);
  });
});
