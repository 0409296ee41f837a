import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planMeasurement, type SurveyCluster, type SurveyLaunch } from "../../src/capture/plan.ts";

const launch = (ordinal: number, us: number, more: Partial<SurveyLaunch> = {}): SurveyLaunch => ({
  functionName: "k",
  kernel: "k",
  ordinal,
  grid: [8, 1, 1],
  block: [128, 1, 1],
  duration_ns: us * 1000,
  ...more,
});
const cluster = (...launches: SurveyLaunch[]): SurveyCluster => ({ kernel: launches[0]?.kernel ?? "", launches });
const NO_SKIP = { maxLaunches: 12, skip: 0 };

describe("which launches get counters", () => {
  it("takes all where there are few, without naming them", () => {
    const plan = planMeasurement([cluster(launch(1, 10), launch(2, 11))], NO_SKIP);
    expect(plan).toMatchObject({ selection: { kind: "first", skip: 0, count: 2 }, count: 2 });
    expect(plan.clusters).toMatchObject([
      { grid: "8x1x1", block: "128x1x1", launches: 2, median_us: 10, chosen: [1, 2] },
    ]);
    expect(plan.reason).toBe("1 of 1 duration clusters get counters");
  });

  it("takes the median of a cluster and its neighbours", () => {
    const launches = [14, 10, 12, 13, 11].map((us, index) => launch(index + 1, us));
    expect(planMeasurement([cluster(...launches)], { ...NO_SKIP, maxLaunches: 1 })).toMatchObject({
      selection: { kind: "ordinals", names: ["k"], ordinals: [3] },
      count: 1,
    });
    expect(planMeasurement([cluster(...launches)], NO_SKIP).clusters[0]?.chosen).toEqual([3, 4, 5]);
  });

  it("sees the short cluster too, once it holds a tenth of the time, and says which it left out", () => {
    const long = cluster(launch(1, 100), launch(3, 101), launch(5, 102));
    const short = cluster(launch(2, 40));
    const tiny = cluster(launch(4, 1));
    const plan = planMeasurement([tiny, short, long], { ...NO_SKIP, maxLaunches: 2 });
    expect(plan.clusters.map(({ chosen }) => chosen)).toEqual([[3], [2]]);
    expect(plan.reason).toBe("2 of 3 duration clusters get counters; 1 hold less than 10 % of the time each");
    const one = planMeasurement([tiny, short, long], { ...NO_SKIP, maxLaunches: 1 });
    expect(one.clusters.map(({ chosen }) => chosen)).toEqual([[3], []]);
    expect(one.reason).toContain("1 are over the limit of launches");
  });

  it("leaves the first launches of a function out, unless a cluster has no other", () => {
    const cold = cluster(launch(1, 100));
    const warm = cluster(launch(2, 50), launch(3, 50));
    expect(planMeasurement([warm], { maxLaunches: 12, skip: 2 }).clusters[0]?.chosen).toEqual([3]);
    const both = planMeasurement([cold, warm], { maxLaunches: 12, skip: 1 });
    expect(both.clusters.map(({ chosen }) => chosen)).toEqual([[1], [2, 3]]);
  });

  it("keeps within its limit, sees the heaviest cluster, and counts what its selection takes", () => {
    const surveys = fc.array(
      fc.record({ name: fc.constantFrom("a", "b", "c"), us: fc.integer({ min: 1, max: 1000 }) }),
      { minLength: 1, maxLength: 60 },
    );
    const limits = fc.record({ maxLaunches: fc.integer({ min: 1, max: 20 }), skip: fc.integer({ min: 0, max: 5 }) });
    fc.assert(
      fc.property(surveys, limits, (survey, given) => {
        const counts = new Map<string, number>();
        const clusters = new Map<string, SurveyLaunch[]>();
        for (const { name, us } of survey) {
          const ordinal = (counts.get(name) ?? 0) + 1;
          counts.set(name, ordinal);
          const key = `${name}${Math.floor(Math.log(us))}`;
          const made = launch(ordinal, us, { functionName: name, kernel: name });
          clusters.set(key, [...(clusters.get(key) ?? []), made]);
        }
        const all = [...clusters.values()].flat();
        const plan = planMeasurement(
          [...clusters.values()].map((launches) => cluster(...launches)),
          given,
        );
        const { selection } = plan;
        const taken =
          selection.kind === "first"
            ? all.slice(selection.skip, selection.skip + selection.count)
            : all.filter(
                ({ functionName, ordinal }) =>
                  selection.names.includes(functionName) && selection.ordinals.includes(ordinal),
              );
        expect(taken.length).toBe(plan.count);
        expect(plan.count).toBeGreaterThan(0);
        expect(plan.count).toBeLessThanOrEqual(given.maxLaunches);
        expect(plan.clusters[0]?.chosen.length).toBeGreaterThan(0);
        const totals = plan.clusters.map(({ total_us }) => total_us);
        expect(totals).toEqual([...totals].sort((a, b) => b - a));
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});
