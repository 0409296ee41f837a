import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ReportSummary } from "../../src/capture/measure.ts";
import { planMeasurement, type SurveyLaunch } from "../../src/capture/plan.ts";
import { group, summarize } from "../../workers/capture-survey.ts";
import { temporaryFolder } from "../helpers/databases.ts";
import { fixture, H200 } from "../helpers/fixtures.ts";

/** Writes a recorded report to where ncu would have, and reads it. */
async function survey(name: string, target: string): Promise<ReportSummary> {
  const path = join(temporaryFolder(), "survey-0.ncu-rep");
  writeFileSync(path, fixture(`${H200}${name}.ncu-rep.gz`));
  const read = await summarize(path, target);
  if (!read.ok) throw new Error(read.error.message);
  return read.value;
}

const timed = ({ matching }: ReportSummary): SurveyLaunch[] =>
  matching.flatMap((launch) => (launch.duration_ns === null ? [] : [{ ...launch, duration_ns: launch.duration_ns }]));

describe("what a report holds for a capture", () => {
  it("is every launch that matches, numbered within its function", async () => {
    const { launches, failedLaunches, kernels, allCountersNaN, matching } = await survey("tiny-full", "stream_add");
    expect({ launches, failedLaunches, allCountersNaN }).toEqual({
      launches: 12,
      failedLaunches: 0,
      allCountersNaN: false,
    });
    expect(kernels).toEqual(["stream_add", "fma_chain", "pointer_walk", "smem_tile"]);
    expect(matching.map(({ functionName, ordinal }) => [functionName, ordinal])).toEqual(
      [1, 2, 3].map((n) => ["stream_add", n]),
    );
    for (const { duration_ns, grid, block } of matching) {
      expect(duration_ns).toBeGreaterThan(1000);
      expect([grid, block]).toEqual([
        [2048, 1, 1],
        [256, 1, 1],
      ]);
    }
  });

  it("counts ordinals over all launches of a function, also where the target means only some", async () => {
    const all = await survey("h200-sections", "/.*/");
    const some = await survey("h200-sections", "/gemm|nvjet/");
    expect(all.matching.length).toBe(all.launches);
    const byName = new Map<string, number>();
    for (const { functionName, ordinal } of all.matching) {
      expect(ordinal).toBe((byName.get(functionName) ?? 0) + 1);
      byName.set(functionName, ordinal);
    }
    for (const launch of some.matching) expect(all.matching).toContainEqual(launch);
    expect(group(timed(all)).times.reduce((sum, { n }) => sum + n, 0)).toBe(all.launches);
  });

  it("groups by kernel, shape and duration, so that each group can be chosen from", async () => {
    const read = await survey("h200-sections", "/.*/");
    const { matching } = read;
    const { clusters } = group(timed(read));
    expect(clusters.flatMap(({ launches }) => launches)).toHaveLength(matching.length);
    for (const { kernel, launches } of clusters) {
      const durations = launches.map(({ duration_ns }) => duration_ns);
      expect(Math.max(...durations)).toBeLessThanOrEqual(1.5 * Math.min(...durations));
      expect(new Set(launches.map((launch) => JSON.stringify([launch.kernel, launch.grid, launch.block]))).size).toBe(
        1,
      );
      expect(launches[0]?.kernel).toBe(kernel);
    }
    const plan = planMeasurement(clusters, { maxLaunches: 5, skip: 0 });
    expect(plan.count).toBeLessThanOrEqual(5);
  });

  it("leaves out a launch that faulted, and says so", async () => {
    const faulted = await survey("tiny-fault", "out_of_bounds");
    expect(faulted).toMatchObject({ failedLaunches: 1, matching: [] });
    expect(faulted.launches).toBe(9);
  });

  it("is an error where it cannot be read", async () => {
    const path = join(temporaryFolder(), "survey-0.ncu-rep");
    writeFileSync(path, "no report");
    expect((await summarize(path, "k")).ok).toBe(false);
    expect(
      (await summarize(join(temporaryFolder(), "nothing"), "k").catch((error: Error) => error.message)) ?? "",
    ).toBeTruthy();
    writeFileSync(path, fixture(`${H200}tiny-full.ncu-rep.gz`));
    expect(await summarize(path, "/(/")).toMatchObject({ ok: false });
  });
});
