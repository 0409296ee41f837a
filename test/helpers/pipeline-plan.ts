import type { PipelinePlan } from "../../src/model/pipeline-plan.ts";

/** A plan of which tests state what they are about. */
export const pipelinePlan = (rest: Partial<PipelinePlan> = {}): PipelinePlan => ({
  timeline: { tool: "nsys", window: "cuda_profiler_api", program_s: 20 },
  kernels: 0,
  chosen: [],
  left_out: [],
  left_out_more: 0,
  launches: 0,
  names: 0,
  ordinals: null,
  passes: null,
  metrics: null,
  reason: "at most 100 launches get counters",
  steps: [],
  notes: [],
  ...rest,
});
