import { expect, it } from "vitest";
import { planMeasurement, type SurveyLaunch } from "../../src/capture/plan.ts";
import type { SeenLaunch } from "../../src/capture/sample.ts";
import { group, summarize } from "../../workers/capture-survey.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";

const timed = (matching: readonly SeenLaunch[]): SurveyLaunch[] =>
  matching.flatMap((launch) => (launch.duration_ns === null ? [] : [{ ...launch, duration_ns: launch.duration_ns }]));

async function summaryOf(name: string, target: string) {
  const summary = await summarize(fixturePath(`${H200}captured/${name}.ncu-rep.gz`), target);
  if (!summary.ok) throw new Error(summary.error.message);
  return summary.value;
}

it("reads a survey of one pass: every launch with its time, and which launch of its function it is", async () => {
  const summary = await summaryOf("tiny-survey", "/stream_add|pointer_walk/");
  expect(summary).toMatchObject({ launches: 8, failedLaunches: 0, allCountersNaN: false });
  expect(summary.matching.map(({ functionName, ordinal }) => `${functionName} ${ordinal}`)).toEqual(
    [1, 2, 3, 4].flatMap((ordinal) => [`stream_add ${ordinal}`, `pointer_walk ${ordinal}`]),
  );
  expect(summary.matching[0]).toMatchObject({ grid: [2048, 1, 1], block: [256, 1, 1] });
  const { times } = group(timed(summary.matching));
  expect(times.map(({ kernel, n }) => [kernel.split("(")[0], n])).toEqual([
    ["pointer_walk", 4],
    ["stream_add", 4],
  ]);
  // Known of the kernels: 2000 dependent loads take about a millisecond, 768 MiB about a fifth of one.
  expect(times[0]?.mean_us).toBeGreaterThan(900);
  expect(times[1]?.mean_us).toBeLessThan(250);
});

it("plans what the capture on the same GPU measured: three launches of the kernel, not the first", async () => {
  const survey = await summaryOf("tiny-survey", "stream_add");
  const plan = planMeasurement(group(timed(survey.matching)).clusters, { maxLaunches: 12, skip: 1 });
  expect(plan.selection).toEqual({ kind: "ordinals", names: ["stream_add"], ordinals: [2, 3, 4] });
  const measured = await summaryOf("tiny-stream_add", "stream_add");
  expect(measured).toMatchObject({ launches: plan.count, allCountersNaN: false });
  expect(new Set(measured.matching.map(({ grid }) => String(grid)))).toEqual(new Set(["2048,1,1"]));
});

it("reads what an attachment to a Python engine took of several kernels", async () => {
  const summary = await summaryOf("engine-serve", "/nvjet/");
  expect(summary.launches).toBe(7);
  expect(summary.kernels.every((name) => name.startsWith("nvjet_sm90_"))).toBe(true);
  expect(summary.matching).toHaveLength(7);
});
