import { describe, expect, test } from "vitest";
import { laneTimes } from "../../../src/analysis/timeline/exclusive.ts";
import { timesOf } from "../../../src/analysis/timeline/times.ts";
import { launches, madeTimeline } from "../../helpers/timelines.ts";

describe("times of a timeline", () => {
  test("sum, exclusive and union differ where kernels of one stream overlap", () => {
    const times = timesOf(
      madeTimeline({
        rows: [
          { name: "a", at: 0, us: 10 },
          { name: "b", at: 8, us: 10 },
          { name: "c", at: 30, us: 5 },
        ],
      }),
    );
    expect(times).toMatchObject({
      kernels: 3,
      distinct_names: 3,
      kernel_sum_ns: 25_000,
      kernel_exclusive: { ns: 23_000 },
      kernel_union: { ns: 23_000 },
      busy: { ns: 23_000 },
      span: { ns: 35_000 },
      idle: { ns: 12_000 },
      overlap_pairs: 1,
      kernel_overlap_between_streams: { ns: 0 },
      largest_kernel: { row: 0, name: "a", ns: 10_000 },
    });
  });

  test("exclusive time of a stream ignores other streams; the union does not", () => {
    const times = timesOf(
      madeTimeline({
        rows: [
          { name: "a", at: 0, us: 10, stream: "7" },
          { name: "b", at: 5, us: 10, stream: "8" },
        ],
      }),
    );
    expect(times.kernel_exclusive.ns).toBe(20_000);
    expect(times.kernel_union.ns).toBe(15_000);
    expect(times.kernel_overlap_between_streams.ns).toBe(5_000);
    expect(times.overlap_pairs).toBe(0);
  });

  test("busy time is a union for each process and GPU, summed; another number is the union of all", () => {
    const times = timesOf(
      madeTimeline({
        rows: [
          { name: "a", at: 0, us: 10, process: "1", device: 0 },
          { name: "a", at: 5, us: 10, process: "2", device: 1 },
          { name: "a", at: 2, us: 10, process: "2", device: 0 },
        ],
      }),
    );
    expect(times.busy.ns).toBe(30_000);
    expect(times.busy_all.ns).toBe(15_000);
    expect(
      times.gpu_uses.map(({ process, device, kernels, busy }) => [process, device, kernels, busy.ns]),
    ).toStrictEqual([
      ["1", 0, 1, 10_000],
      ["2", 1, 1, 10_000],
      ["2", 0, 1, 10_000],
    ]);
  });

  test("copies, sets and whole graphs are busy time and no kernels", () => {
    const times = timesOf(
      madeTimeline({
        rows: [
          { name: "k", at: 0, us: 10 },
          { name: "[CUDA memcpy Host-to-Device]", kind: "memcpy", at: 20, us: 4, bytes: 100 },
          { name: "[CUDA memcpy Host-to-Device]", kind: "memcpy", at: 30, us: 4, bytes: 50 },
          { name: "[CUDA memcpy Device-to-Host]", kind: "memcpy", at: 40, us: 9 },
          { name: "[CUDA memset]", kind: "memset", at: 50, us: 1, bytes: 8 },
          { name: "graph", kind: "graph", at: 60, us: 20 },
        ],
      }),
    );
    expect(times.kernels).toBe(1);
    expect(times.busy.ns).toBe(48_000);
    expect(times.copies).toStrictEqual([
      { name: "[CUDA memcpy Device-to-Host]", count: 1, ns: 9_000, bytes: null },
      { name: "[CUDA memcpy Host-to-Device]", count: 2, ns: 8_000, bytes: 150 },
    ]);
    expect(times.sets).toStrictEqual([{ name: "[CUDA memset]", count: 1, ns: 1_000, bytes: 8 }]);
    expect(times.graphs).toStrictEqual([{ name: "graph", count: 1, ns: 20_000, bytes: null }]);
  });

  test("without usable starts only sums are known, and the rest says why", () => {
    const times = timesOf(madeTimeline({ rows: launches("k", 3, { period: 0 }), has_starts: false }));
    expect(times.kernel_sum_ns).toBe(30_000);
    for (const field of ["busy", "span", "idle", "kernel_exclusive", "kernel_union"] as const)
      expect(times[field]).toStrictEqual({ ns: null, null_reason: "start times are absent or too coarse" });
    expect(times.overlap_pairs).toBe(0);
  });

  test("an empty timeline has no span, and nothing is NaN", () => {
    const times = timesOf(madeTimeline({}));
    expect(times.busy.ns).toBe(0);
    expect(times.span).toStrictEqual({ ns: null, null_reason: "no GPU activity was recorded" });
    expect(JSON.stringify(times)).not.toContain("NaN");
  });
});

describe("ends and exclusive times of rows", () => {
  test("a kernel that runs past the next one is clipped at its start, and its followers keep their time", () => {
    const { end_ns, exclusive_ns, impossible } = laneTimes(
      madeTimeline({
        rows: [
          { name: "bad", at: 0, us: 3_400_000 },
          { name: "b", at: 10, us: 10 },
          { name: "c", at: 30, us: 10 },
        ],
      }),
    );
    expect([...end_ns]).toStrictEqual([10_000, 20_000, 40_000]);
    expect([...exclusive_ns]).toStrictEqual([10_000, 10_000, 10_000]);
    expect(impossible).toStrictEqual({
      count: 1,
      clipped_ns: 3_399_990_000,
      kernel_count: 1,
      kernel_clipped_ns: 3_399_990_000,
      first: 0,
      worst: 0,
    });
  });

  test("under programmatic dependent launch the next one starts early and ends later: nothing is clipped", () => {
    const { exclusive_ns, impossible } = laneTimes(
      madeTimeline({
        rows: [
          { name: "a", at: 0, us: 10 },
          { name: "b", at: 9, us: 10 },
          { name: "c", at: 18, us: 10 },
        ],
      }),
    );
    expect(impossible.count).toBe(0);
    expect([...exclusive_ns]).toStrictEqual([10_000, 9_000, 9_000]);
  });

  test("the tick of coarse clocks is allowed for, and no more", () => {
    const rows = (us: number) => [
      { name: "a", at: 0, us },
      { name: "b", at: 5, us: 5 },
    ];
    expect(laneTimes(madeTimeline({ rows: rows(11), tick_ns: 1000 })).impossible.count).toBe(0);
    expect(laneTimes(madeTimeline({ rows: rows(12), tick_ns: 1000 })).impossible.count).toBe(1);
    expect(laneTimes(madeTimeline({ rows: rows(11) })).impossible.count).toBe(1);
  });

  test("one wrong row does not hide another before it", () => {
    const { end_ns, impossible } = laneTimes(
      madeTimeline({
        rows: [
          { name: "bad", at: 0, us: 1_000 },
          { name: "worse", at: 10, us: 2_000 },
          { name: "c", at: 30, us: 10 },
        ],
      }),
    );
    expect(impossible.count).toBe(2);
    expect([...end_ns]).toStrictEqual([10_000, 30_000, 40_000]);
  });

  test("a copy or set counts as the next one; another stream does not", () => {
    const next = (kind: "memcpy" | "kernel", stream: string) =>
      laneTimes(
        madeTimeline({
          rows: [
            { name: "a", at: 0, us: 100 },
            { name: "next", kind, at: 10, us: 5, stream },
          ],
        }),
      ).impossible.count;
    expect(next("memcpy", "7")).toBe(1);
    expect(next("memcpy", "8")).toBe(0);
    expect(next("kernel", "8")).toBe(0);
  });

  test("rows on no stream (migrations of managed memory) follow no order", () => {
    const rows = [
      { name: "[CUDA memcpy Unified Host-to-Device]", kind: "memcpy" as const, at: 0, us: 100, stream: null },
      { name: "[CUDA memcpy Unified Host-to-Device]", kind: "memcpy" as const, at: 10, us: 5, stream: null },
    ];
    expect(laneTimes(madeTimeline({ rows })).impossible.count).toBe(0);
  });
});
