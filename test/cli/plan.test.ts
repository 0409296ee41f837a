import { expect, it } from "vitest";
import { planView } from "../../cli/views/plan.ts";
import { pipelinePlan } from "../helpers/pipeline-plan.ts";
import { kernelEntry, pipelineResult } from "../helpers/result.ts";

const PLAIN = { width: 100, colour: false };

it("says how much was measured, what was left out by reason, and what each step took", () => {
  const left = (kernel: string, total_ns: number, reason: "below_top_n" | "collective", because: string) => ({
    kernel,
    cluster: null,
    total_ns,
    reason,
    because,
  });
  const plan = pipelinePlan({
    kernels: 79,
    launches: 33,
    passes: 28,
    reason: "at most 100 launches get counters",
    left_out: [
      left("a", 1_000_000, "below_top_n", "it is not among the first 10 kernels by time"),
      left("b", 9_000_000, "collective", "it waits for other GPUs"),
      left("c", 2_000_000, "below_top_n", "it is not among the first 10 kernels by time"),
    ],
    left_out_more: 4,
    steps: [
      { step: "timeline", took_s: 21 },
      { step: "export", took_s: 0.1 },
      { step: "counters", took_s: 38 },
    ],
    notes: ["the engine ran eager"],
  });
  expect(planView(PLAIN, pipelineResult([kernelEntry()], { plan }))).toEqual([
    "What was measured",
    "  0 clusters of 79 kernels chosen, 33 launches asked for in 28 passes each; of the 0 clusters of the",
    "  kernels above 0 got counters",
    "  at most 100 launches get counters",
    "  not measured: 1 (9.00 ms), it waits for other GPUs",
    "  not measured: 2 (3.00 ms), it is not among the first 10 kernels by time",
    "  not measured and not listed: 4",
    "  the engine ran eager",
    "  Time: timeline 21.0 s, export 100 ms, counters 38.0 s",
    "",
  ]);
});

it("says nothing where nothing was planned", () => {
  expect(planView(PLAIN, pipelineResult([kernelEntry()]))).toEqual([]);
});
