import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import { timesOf } from "../../../src/analysis/timeline/times.ts";
import { type MadeHostRow, type MadeRow, madeTimeline } from "../../helpers/timelines.ts";

/** Whole microseconds up to here; the oracle looks at each of them. */
const END = 200;

const rowsArbitrary = fc.array(
  fc.record({
    name: fc.constantFrom("a", "b", "c"),
    kind: fc.constantFrom("kernel" as const, "kernel" as const, "memcpy" as const),
    at: fc.nat(END - 31),
    us: fc.integer({ min: 1, max: 30 }),
    stream: fc.constantFrom("7", "8"),
    device: fc.constantFrom(0, 1),
    grid: fc.constantFrom([1, 1, 1] as const, [2, 1, 1] as const),
  }),
  { minLength: 1, maxLength: 40 },
);

const callsArbitrary = fc.array(
  fc.record({
    text: fc.constantFrom("cudaMalloc", "cudaLaunchKernel_v7000", "cudaLaunchKernel"),
    at: fc.nat(END),
    us: fc.nat(60),
    thread: fc.constantFrom("1", "2"),
  }),
  { minLength: 1, maxLength: 20 },
);

const covers = (row: { at: number; us: number | null }, us: number): boolean =>
  row.at <= us && us < row.at + (row.us ?? 0);

/** Microseconds in which one of the rows runs. */
function busyOf(rows: readonly MadeRow[]): boolean[] {
  return Array.from({ length: END }, (_, us) => rows.some((row) => covers(row, us)));
}

const count = (flags: readonly boolean[]): number => flags.filter(Boolean).length;

/** Ends of rows, those of one stream that end after a later one clipped; by brute force. */
function clipped(rows: readonly MadeRow[]): MadeRow[] {
  const sorted = rows.toSorted((a, b) => a.at - b.at || a.us - b.us);
  const result = [...sorted];
  for (let row = sorted.length - 1; row >= 0; row -= 1) {
    const own = sorted[row]!;
    const followers = sorted
      .map((other, position) => ({ other, position }))
      .filter(({ other, position }) => position > row && other.stream === own.stream && other.device === own.device);
    const [next] = followers;
    const possible = followers.find(({ other, position }) => result[position]!.us === other.us);
    // 1 ns is the tick, far below the microseconds of this test.
    if (next && possible && own.at + own.us > possible.other.at + possible.other.us)
      result[row] = { ...own, us: next.other.at - own.at };
  }
  return result;
}

const idleOf = (rows: readonly MadeRow[]): boolean[] => {
  const busy = busyOf(rows);
  const [first, last] = [busy.indexOf(true), busy.lastIndexOf(true)];
  return busy.map((isBusy, us) => !isBusy && us > first && us < last);
};

const byDevice = (rows: readonly MadeRow[]): MadeRow[][] =>
  [0, 1].map((device) => rows.filter((row) => row.device === device)).filter((own) => own.length > 0);

describe("against counting every microsecond", () => {
  test("busy, union, span and idle time as recorded", () => {
    fc.assert(
      fc.property(rowsArbitrary, (rows) => {
        const times = timesOf(madeTimeline({ rows }));
        const uses = byDevice(rows);
        const sum = (list: readonly number[]) => list.reduce((a, b) => a + b, 0) * 1000;
        expect(times.busy.ns).toBe(sum(uses.map((own) => count(busyOf(own)))));
        expect(times.busy_all.ns).toBe(sum([count(busyOf(rows))]));
        expect(times.idle.ns).toBe(sum(uses.map((own) => count(idleOf(own)))));
        const kernels = rows.filter(({ kind }) => kind === "kernel");
        expect(times.kernel_union.ns).toBe(sum(byDevice(kernels).map((own) => count(busyOf(own)))));
        const streams = byDevice(kernels).flatMap((own) =>
          ["7", "8"].map((stream) => own.filter((row) => row.stream === stream)),
        );
        // On one stream exclusive times add up to the union.
        expect(times.kernel_exclusive.ns).toBe(sum(streams.map((own) => count(busyOf(own)))));
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  test("ranked sums, idle gaps and the host's calls in them", () => {
    let ranked = 0;
    fc.assert(
      fc.property(rowsArbitrary, callsArbitrary, (rows, calls) => {
        const result = rankTimeline([madeTimeline({ rows, calls: calls as MadeHostRow[] })]);
        if (!result.ok) return;
        ranked += 1;
        const ranking = result.value;
        const view = clipped(rows);
        const uses = byDevice(view).map(idleOf);
        expect(ranking.idle?.total_us).toBe(uses.reduce((sum, idle) => sum + count(idle), 0));
        expect(ranking.busy_us).toBe(byDevice(view).reduce((sum, own) => sum + count(busyOf(own)), 0));
        const host = new Map<string, number>();
        for (const call of calls) {
          const name = call.text.replace("_v7000", "");
          const us = uses.reduce(
            (sum, idle) => sum + idle.filter((isIdle, at) => isIdle && covers(call, at)).length,
            0,
          );
          if (us > 0) host.set(name, (host.get(name) ?? 0) + us);
        }
        expect(new Map(ranking.idle?.host.calls?.map(({ name, overlap_us }) => [name, overlap_us]))).toStrictEqual(
          new Map([...host].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))),
        );
        const recorded = rows.filter(({ kind }) => kind === "kernel").reduce((sum, { us }) => sum + us, 0);
        expect(ranking.kernels_recorded_us).toBe(recorded);
        for (const { timing, shapes, exclusive_us } of ranking.kernels) {
          const clusters = shapes?.flatMap((shape) => shape.clusters) ?? [];
          expect(clusters.reduce((sum, cluster) => sum + cluster.timing.n, 0)).toBe(timing.n);
          expect(clusters.reduce((sum, cluster) => sum + cluster.exclusive_us, 0)).toBeCloseTo(exclusive_us, 9);
        }
      }),
      { seed: 4, numRuns: 1500 },
    );
    expect(ranked).toBeGreaterThan(100);
  });
});
