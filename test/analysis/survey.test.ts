import { beforeAll, expect, it } from "vitest";
import { type AnalysisInput, analyze, surveyOf } from "../../src/analysis/index.ts";
import type { CaptureRecord } from "../../src/model/capture.ts";
import type { KernelResult } from "../../src/model/result.ts";
import { profileResultSchema } from "../../src/model/result.ts";
import { analysisInput } from "../helpers/analysis.ts";
import { fixturePath, H200 } from "../helpers/fixtures.ts";

type Plan = NonNullable<CaptureRecord["plan"]>;

let tiny: AnalysisInput;
beforeAll(async () => {
  tiny = await analysisInput(fixturePath(`${H200}tiny-full.ncu-rep.gz`));
});

const times = (kernel: string, n: number, mean_us: number): NonNullable<Plan["kernels"]>[number] => ({
  kernel,
  n,
  total_us: n * mean_us,
  mean_us,
  median_us: mean_us,
  p90_us: mean_us,
  min_us: mean_us,
  max_us: mean_us,
  spread: 0,
});

const plan = (kernels: Plan["kernels"], clusters: Plan["clusters"] = []): Plan => ({
  survey_launches: 100,
  timed_launches: 100,
  clusters,
  kernels,
  launches: 3,
  passes: 38,
  reason: "",
});

function judged(survey: Plan | null): KernelResult {
  const result = analyze([tiny], { target: "/fma_chain|stream_add/", survey: surveyOf(survey) });
  if (!result.ok || result.value.kind !== "kernel") throw new Error("expected the result of a kernel");
  return result.value;
}

it("takes the kernel with the most time of the report where there was no survey", () => {
  const { target, detail, others } = judged(null);
  expect([target, detail.timing.source, others.map((other) => other.target)]).toEqual([
    "fma_chain",
    "ncu",
    ["stream_add"],
  ]);
});

it("takes the kernel with the most time of the survey, and its times", () => {
  const keys = judged(null);
  const [streamAdd = "", fmaChain = ""] = [keys.others[0]?.name_key, keys.detail.names.key];
  const result = judged(plan([times(streamAdd, 90, 190), times(fmaChain, 3, 317)]));
  expect(result.target).toBe("stream_add");
  expect(result.roofline).toBe("memory-bound");
  expect(result.wall_clock_us).toBe(190);
  expect(result.detail.timing).toMatchObject({ source: "ncu_survey", n: 90, total_us: 17_100 });
  expect(result.others).toMatchObject([{ target: "fma_chain", total_us: 951, launches: 3 }]);
  // The report does not hold these times: no launch of it is named as their source.
  expect(result.detail.sources.wall_clock_us).toBeUndefined();
  expect(profileResultSchema.parse(result)).toEqual(result);
});

it("weighs clusters by the survey: the same kernel and shape, and the nearest median within 25 %", () => {
  const cluster = { kernel: "k", grid: "8x1x1", block: "128x1x1", launches: 9, chosen: [1] };
  const survey = surveyOf(
    plan(
      [times("k", 10, 20)],
      [
        { ...cluster, median_us: 10, total_us: 900 },
        { ...cluster, median_us: 100, total_us: 100 },
      ],
    ),
  );
  expect(survey?.weight("k", [8, 1, 1], [128, 1, 1], 11)).toBe(900);
  expect(survey?.weight("k", [8, 1, 1], [128, 1, 1], 90)).toBe(100);
  expect(survey?.weight("k", [8, 1, 1], [128, 1, 1], 40)).toBeNull();
  expect(survey?.weight("k", [9, 1, 1], [128, 1, 1], 10)).toBeNull();
  expect(survey?.weight("other", [8, 1, 1], [128, 1, 1], 10)).toBeNull();
});

it("has no survey where nothing was planned", () => {
  expect(surveyOf(null)).toBeNull();
  expect(surveyOf(plan(null))).toBeNull();
});
