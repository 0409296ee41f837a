import { describe, expect, it } from "vitest";
import { itemsOf, kernelsOf } from "../../../src/analysis/kernels.ts";
import { CountedKernels, joinKernel } from "../../../src/analysis/pipeline/join.ts";
import { rankTimeline } from "../../../src/analysis/timeline/rank.ts";
import type { Launch } from "../../../src/model/launch.ts";
import { COMPUTE, DURATION, MEMORY } from "../../helpers/judge.ts";
import { launchOf, reportOf } from "../../helpers/metric-set.ts";
import { type MadeRow, madeTimeline, namesOf } from "../../helpers/timelines.ts";

const launch = (index: number, name: string, us: number, grid = 8, rest: Partial<Launch> = {}): Launch =>
  launchOf(
    { [COMPUTE]: 10, [MEMORY]: 90, [DURATION]: 1000 * us },
    { index, names: namesOf(name), grid: [grid, 1, 1], block: [128, 1, 1], ...rest },
  );
/** Launches one after the other, 10 us apart. */
const rows = (name: string, ...durations: readonly (number | readonly [us: number, grid: number])[]): MadeRow[] => {
  let at = 0;
  return durations.map((one) => {
    const [us, grid] = typeof one === "number" ? [one, 8] : one;
    at += us + 10;
    return { name, at: at - us, us, grid: [grid, 1, 1], block: [128, 1, 1] };
  });
};

function joined(made: readonly MadeRow[], launches: readonly Launch[]) {
  const ranking = rankTimeline([madeTimeline({ rows: made })]);
  if (!ranking.ok) throw new Error(ranking.error.message);
  const [kernel] = ranking.value.kernels;
  if (kernel === undefined) throw new Error("no kernel");
  const { kernels } = itemsOf([{ report: reportOf(launches), id: null, sha256: null }]);
  const result = joinKernel(kernel, new CountedKernels(kernelsOf(kernels)).of(kernel));
  return {
    clusters: (result.shapes ?? []).flatMap(({ clusters }) =>
      clusters.map(({ cluster, items, by }) => ({
        median: cluster.timing.median_us,
        launches: items.map((item) => item.launch.index),
        by,
      })),
    ),
    mismatched: result.mismatched.map((item) => item.launch.index),
    isKnown: result.counted !== null,
  };
}

describe("counters join a timeline", () => {
  it("by the number of the launch where both runs have as many, whatever the durations", () => {
    const { clusters, mismatched } = joined(rows("k", 100, 20, 100, 20), [
      launch(0, "k", 300),
      launch(1, "k", 290),
      launch(2, "k", 310),
      launch(3, "k", 40),
    ]);
    expect(clusters).toEqual([
      { median: 100, launches: [0, 2], by: "ordinal" },
      { median: 20, launches: [3, 1], by: "ordinal" },
    ]);
    expect(mismatched).toEqual([]);
  });

  it("by duration where the numbers differ", () => {
    const { clusters } = joined(rows("k", 100, 20, 100, 20, 20), [launch(0, "k", 110), launch(1, "k", 17)]);
    expect(clusters).toEqual([
      { median: 100, launches: [0], by: "duration" },
      { median: 20, launches: [1], by: "duration" },
    ]);
  });

  it("after scaling with the ratio of the medians where ncu was slower throughout", () => {
    const { clusters } = joined(rows("k", 100, 100, 100, 20), [
      launch(0, "k", 200),
      launch(1, "k", 202),
      launch(2, "k", 198),
      launch(3, "k", 200),
      launch(4, "k", 40),
    ]);
    expect(clusters).toEqual([
      { median: 100, launches: [2, 0, 3, 1], by: "scaled_duration" },
      { median: 20, launches: [4], by: "scaled_duration" },
    ]);
  });

  it("never by a duration that is further than 25 % from every cluster", () => {
    const { clusters, mismatched } = joined(rows("k", 100, 100, 100, 20), [
      launch(0, "k", 100),
      launch(1, "k", 100),
      launch(2, "k", 55),
    ]);
    expect(clusters.map(({ launches }) => launches)).toEqual([[0, 1], []]);
    expect(mismatched).toEqual([2]);
  });

  it("only within the same grid and block", () => {
    const { clusters, mismatched } = joined(rows("k", [100, 8], [100, 8], [90, 16]), [launch(0, "k", 100, 32)]);
    expect(clusters.every(({ by }) => by === null)).toBe(true);
    expect(mismatched).toEqual([0]);
    // As many launches, but the same number is of another shape: durations decide.
    const other = joined(rows("k", [100, 8], [90, 16]), [launch(0, "k", 90, 16), launch(1, "k", 100, 8)]);
    expect(other.clusters).toEqual([
      { median: 100, launches: [1], by: "duration" },
      { median: 90, launches: [0], by: "duration" },
    ]);
  });

  it("by the spelling of names that both tools share, and by the base name of CSV pages where that is one kernel", () => {
    expect(joined(rows("void ns::k<(int)8>(float *)", 10, 10), [launch(0, "void ns::k<8>(float*)", 10)]).isKnown).toBe(
      true,
    );
    const printed = { names: { ...namesOf("k"), demangled: null, simplified: true } };
    expect(joined(rows("void ns::k<8>(float *)", 10, 10), [launch(0, "", 10, 8, printed)]).isKnown).toBe(true);
    expect(joined(rows("void ns::other(float *)", 10, 10), [launch(0, "", 10, 8, printed)]).isKnown).toBe(false);
  });

  it("without launches that failed", () => {
    const { clusters, mismatched } = joined(rows("k", 100, 100, 100), [
      launch(0, "k", 100, 8, { failure: "LaunchFailed" }),
      launch(1, "k", 100),
    ]);
    expect(clusters).toEqual([{ median: 100, launches: [1], by: "duration" }]);
    expect(mismatched).toEqual([]);
  });
});
