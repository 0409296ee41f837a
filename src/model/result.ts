import { z } from "zod";
import { captureRecordSchema } from "./capture.ts";
import { collectiveTimesSchema } from "./collective-times.ts";
import { findingSchema } from "./finding.ts";
import { pipelinePlanSchema } from "./pipeline-plan.ts";
import { timelineStripSchema } from "./timeline-strip.ts";
import {
  FAMILIES,
  HEADROOM_LEVELS,
  LATENCY_REASONS,
  LIMITERS,
  OCCUPANCY_LIMITS,
  PHASES,
  RESULT_SCHEMA_VERSION,
  ROOFLINE_CLASSES,
  STAGES,
} from "./words.ts";

export {
  HEADROOM_LEVELS,
  LATENCY_REASONS,
  LIMITERS,
  OCCUPANCY_LIMITS,
  RESULT_SCHEMA_VERSION,
} from "./words.ts";

export const rooflineClassSchema = z.enum(ROOFLINE_CLASSES);
export type RooflineClass = z.infer<typeof rooflineClassSchema>;
export type Limiter = (typeof LIMITERS)[number];
export type LatencyReason = (typeof LATENCY_REASONS)[number];
export type OccupancyLimit = (typeof OCCUPANCY_LIMITS)[number];
export type HeadroomLevel = (typeof HEADROOM_LEVELS)[number];

const number = z.number().nullable();
const fraction = z
  .number()
  .nullable()
  .describe("0..1; above 1 (below 0) where the counters went over their bound, never clipped");
const dim3 = z.tuple([z.number(), z.number(), z.number()]).nullable();

/** Where a peak came from, in order of preference: what the launch itself reports, then the published figure. */
export const peakSourceSchema = z.enum(["launch_counters", "catalogue"]);

const peakSchema = z.object({
  tflops: z.number().describe("1e12 operations per second, dense, 2 per multiply-add"),
  source: peakSourceSchema,
  estimated: z.boolean().describe("true for a published figure at its own clock"),
  citation: z.string().nullable().describe("who published it, for a figure of the catalogue"),
});

export const tensorPathSchema = z.object({
  metric: z.string().describe("counter without its suffix"),
  op: z.string().nullable().describe("instruction family (hmma, hgmma, …) where the counter names it"),
  precision: z.string(),
  sparsity: z.string().nullable(),
  ops_per_s: z.number(),
  peak_ops_per_s: number,
  utilization: fraction,
});

export const hintSchema = z.object({
  rule: z.string(),
  section: z.string().nullable(),
  title: z.string().nullable(),
  text: z.string().nullable(),
  speedup_type: z.enum(["global", "local"]).nullable(),
  speedup_percent: number.describe("NVIDIA's estimate, 0..100; never summed"),
  evidence: z.array(z.object({ metric: z.string(), value: number, info: z.string().nullable() })),
});

/** Everything one launch says about itself. Percentages are fractions 0..1. */
export const launchVerdictSchema = z
  .object({
    launch: z
      .object({
        index: z.number().int().describe("position in its report = ncu's ID"),
        report_id: z.string().nullable(),
        kind: z.enum(["kernel", "range", "cmdlist", "graph"]),
        grid: dim3,
        block: dim3,
        cluster_size: number,
        process_id: number,
        context_id: number,
        stream_id: number,
        device: number,
        rank: number,
        nvtx: z.array(z.string()).describe("push/pop ranges, outermost first"),
        failure: z.string().nullable(),
      })
      .nullable()
      .describe("the launch that the verdict is of; null: none has counters"),
    roofline_null_reason: z.string().nullable().describe("why there is no verdict, or what was missing beside one"),
    limiter: z.enum(LIMITERS),
    near: z.boolean().describe("latency-bound, but at 60 % or more of a roof"),
    compute_utilization: fraction,
    compute_metric: z.string().nullable(),
    compute_basis: z.enum(["measured", "lower_bound", "estimated"]).nullable(),
    compute_utilization_set_by: z.array(z.string()).describe("counters equal to it, without suffix"),
    memory_metric: z.string().nullable(),
    memory_basis: z.enum(["measured", "computed", "estimated"]).nullable(),
    issue_slot_utilization: fraction,
    sm_clock_hz: number,
    sm_clock_max_hz: number,
    dram_clock_hz: number,
    dram_clock_max_hz: number,
    tflops_by_precision: z.record(z.string(), z.number()).nullable().describe("achieved, non-zero only; int: TOP/s"),
    peak_tflops_by_precision: z
      .record(z.string(), peakSchema)
      .nullable()
      .describe("dense, at the clock of this launch"),
    dominant_precision: z.string().nullable(),
    fp16_vector_is_probably_moves: z.boolean().nullable(),
    tensor_paths: z.array(tensorPathSchema),
    arithmetic_intensity_flop_per_byte: number,
    ridge_point_flop_per_byte: number,
    achieved_over_attainable: fraction,
    memory: z.object({
      dram_bytes_per_s: number,
      peak_dram_bytes_per_s: number,
      peak_dram_source: peakSourceSchema.nullable(),
      dram_bytes_read: number,
      dram_bytes_written: number,
      levels: z.array(
        z.object({
          level: z.enum(["dram", "l2", "l1"]),
          bytes_per_s: number,
          peak_bytes_per_s: number,
          utilization: fraction.describe("NVIDIA's throughput of the level, % of elapsed / 100"),
          hit_rate: fraction,
          arithmetic_intensity_flop_per_byte: number,
        }),
      ),
      sectors_per_request_load: number,
      sectors_per_request_store: number,
      bytes_per_sector_load: number.describe("LDG only; null where LDG is less than half of the load instructions"),
    }),
    occupancy: z.object({
      theoretical: fraction,
      theoretical_from_limits: fraction,
      limiters: z.array(z.enum(OCCUPANCY_LIMITS)).describe("those that really bind; empty at 100 % theoretical"),
      limiters_as_reported: z.array(z.enum(OCCUPANCY_LIMITS)),
      limits_blocks: z.partialRecord(z.enum(OCCUPANCY_LIMITS), number).describe("blocks per SM, as reported"),
      limits_recomputed_blocks: z.record(z.string(), number),
      next_step: z
        .object({
          blocks_per_sm: z.number(),
          theoretical_occupancy: z.number(),
          max_registers_per_thread: number,
          max_shared_memory_allocated_bytes: number,
          max_static_plus_dynamic_shared_memory_bytes: number,
        })
        .nullable()
        .describe("what one block more would need; null where blocks or warps forbid it or nothing binds"),
    }),
    shared_memory: z.object({
      static_bytes: number,
      dynamic_bytes: number,
      driver_bytes: number,
      per_block_with_driver_bytes: number,
      allocated_bytes: number,
      carveout_bytes: number,
      bank_conflicts: number,
      bank_conflict_share: fraction.describe("conflicts over wavefronts"),
    }),
    registers: z.object({
      per_thread: number,
      per_thread_allocated: number,
      spill_instructions: number,
      local_loads: number,
      local_stores: number,
    }),
    waves_per_sm: number,
    imbalance: fraction.describe("part of the launch in which the average SM had no work"),
    imbalance_metric: z.string().nullable(),
    stalls: z.object({
      cycles_per_issue: z.record(z.string(), z.number()).nullable(),
      shares_by_reason: z.record(z.string(), z.number()).nullable(),
      shares: z.record(z.string(), z.number()).nullable().describe("by group, largest first"),
      dominant_group: z.string().nullable(),
      sum_over_warp_latency: number.describe("1 = the ratios add up"),
    }),
    latency: z.object({ primary: z.enum(LATENCY_REASONS).nullable(), reasons: z.array(z.enum(LATENCY_REASONS)) }),
    headroom: z.object({
      within_path: fraction,
      to_best_path: fraction,
      best_path: z
        .object({
          path: z.string(),
          path_in_use: z.string(),
          precision: z.string(),
          peak_tflops: z.number(),
          requires_precision_change: z.boolean(),
        })
        .nullable(),
      level: z.enum(HEADROOM_LEVELS).nullable(),
      distance_with_launch_floor: fraction,
    }),
    counters: z
      .record(z.string(), z.number())
      .describe("further counters, base units, by NVIDIA's name; present ones only"),
    hints: z.array(hintSchema),
    missing_metrics: z.array(z.string()).describe("what the analyses declare and this launch does not hold"),
    sources: z
      .record(z.string(), z.object({ launch: z.number().int(), metrics: z.array(z.string()) }))
      .describe("field path -> launch and metrics that it came from"),
    null_reasons: z.record(z.string(), z.string()).describe("field path -> why it is null"),
  })
  .meta({ id: "LaunchVerdict" });

export type LaunchVerdict = z.infer<typeof launchVerdictSchema>;

/** Durations of launches, microseconds. Spread is (max - min) / median. */
export const timingSchema = z
  .object({
    source: z
      .enum(["timeline", "ncu_survey", "ncu"])
      .nullable()
      .describe(
        "ncu: the launches with counters; ncu_survey: every launch that the capture's survey saw under ncu; where only some were timed, a finding survey_sampled says so",
      ),
    n: z.number().int(),
    total_us: number,
    mean_us: number,
    median_us: number,
    p90_us: number,
    min_us: number,
    max_us: number,
    spread: number.describe("(max - min) / median"),
  })
  .meta({ id: "Timing" });

export type Timing = z.infer<typeof timingSchema>;

/** Launches of a shape whose durations belong together. Its verdict is that of its median launch. */
export const clusterSchema = z
  .object({
    timing: timingSchema,
    median_launch: z.number().int().nullable().describe("null: none has counters"),
    launches: z.array(z.number().int()).describe("with counters: indices in the report"),
    joined_by: z
      .enum(["plan_ordinal", "ordinal", "duration", "scaled_duration"])
      .nullable()
      .describe(
        "how launches with counters were found to be of this cluster of a timeline; plan_ordinal: each is the very launch that the plan asked for, by linker name and number; null: no timeline, or none",
      ),
    ncu_median_us: number.describe("of the launches with counters, as ncu timed them"),
    ncu_over_timeline: number.describe(
      "median under ncu over median in the timeline; with plan_ordinal the median of the launches' own ratios",
    ),
    roofline: rooflineClassSchema.nullable(),
    roofline_null_reason: z.string().nullable(),
    limiter: z.enum(LIMITERS),
    memory_bw_utilization: fraction,
    compute_utilization: fraction,
    sm_occupancy: fraction,
    tflops: number,
    share_of_kernel: fraction.describe("of the kernel's summed time"),
  })
  .meta({ id: "Cluster" });

export const shapeSchema = z
  .object({
    grid: dim3,
    block: dim3,
    shared_memory_usage_bytes: number,
    timing: timingSchema,
    clusters: z.array(clusterSchema),
  })
  .meta({ id: "Shape" });

export type Cluster = z.infer<typeof clusterSchema>;
export type Shape = z.infer<typeof shapeSchema>;

export const kernelNamesSchema = z.object({
  key: z.string().describe("launches with this key are the same kernel"),
  key_kind: z.enum(["demangled", "mangled", "printed"]),
  display: z.string(),
  function: z.string().nullable(),
  demangled: z.string().nullable(),
  mangled: z.string().nullable(),
});

const stageNameSchema = z.enum(STAGES);

export const stageSchema = z.object({
  stage: stageNameSchema,
  family: z.enum(FAMILIES),
  rule: z.string().describe("the rule that matched, and behind + what the context changed"),
  confidence: z.number().min(0).max(1).describe("how far the name is enough; below 0.5 a hint, below 0.2 unknown"),
  alternatives: z.array(stageNameSchema).describe("further stages that the name does not exclude, likeliest first"),
});

/** What is said of every kernel first; the detail behind it is that of its heaviest cluster. */
export const kernelFieldsSchema = z.object({
  target: z.string(),
  roofline: rooflineClassSchema.nullable(),
  tflops: number.describe("achieved, dominant precision, 2 per FMA; TOP/s for integers"),
  memory_bw_utilization: fraction.describe("DRAM bytes/s over the peak of this device"),
  sm_occupancy: fraction.describe("achieved: warps active over maximum"),
  shared_memory_usage_bytes: number.describe("static + dynamic, per block"),
  warp_stall_reasons: z
    .record(z.string(), z.number())
    .nullable()
    .describe("share of warp-cycles by group, largest first; groups without any are 0"),
  wall_clock_us: number.describe("mean of one launch"),
  fraction_of_pipeline: fraction,
  pipeline_stage: stageNameSchema.nullable(),
  optimization_headroom: z.string().nullable(),
});

export const kernelDetailSchema = launchVerdictSchema.extend({
  names: kernelNamesSchema,
  stage: stageSchema.nullable(),
  timing: timingSchema,
  share_of_report: fraction.describe("of the summed time of all kernels in the report"),
  share_of_wall: fraction,
  exclusive_us: number.describe("time on its streams that no earlier kernel there overlaps: what shares are of"),
  saving_us: number.describe(
    "what its measured clusters would save at their roof (Amdahl, one kernel alone); where its own launches overlap, of the time in which any of them runs; savings of several kernels do not add where they overlap",
  ),
  saving_of_busy: fraction
    .default(null)
    .describe(
      "saving_us over the time the GPU is busy, at most the kernel's own part of it; an upper bound where other kernels run at the same time",
    ),
  phases: z.array(z.object({ phase: z.enum(PHASES), launches: z.number().int(), exclusive_us: z.number() })).nullable(),
  collective: collectiveTimesSchema
    .nullable()
    .default(null)
    .describe("of a kernel that waits for other GPUs: its time over the ranks; null: it is none, or no timeline"),
  shapes: z.array(shapeSchema),
});

export const kernelEntrySchema = kernelFieldsSchema
  .extend({ detail: kernelDetailSchema, findings: z.array(findingSchema) })
  .meta({ id: "KernelEntry" });
export type KernelEntry = z.infer<typeof kernelEntrySchema>;

export const provenanceSchema = z
  .object({
    reports: z.array(
      z.object({
        id: z.string().nullable(),
        sha256: z.string().nullable(),
        format: z.string(),
        compression: z.string(),
        launches: z.number().int(),
        partial: z.boolean(),
        partial_at_byte: number,
        tool: z.string(),
        tool_version: z.string().nullable(),
        cuda_version: z.string().nullable(),
        driver_version: z.string().nullable(),
      }),
    ),
    timelines: z.array(
      z.object({
        id: z.string().nullable(),
        sha256: z.string().nullable(),
        format: z.string(),
        compression: z.string(),
        rows: z.number().int().describe("GPU activities"),
        tool: z.string(),
        tool_version: z.string().nullable(),
        schema_version: z.string().nullable(),
        cuda_version: z.string().nullable(),
        driver_version: z.string().nullable(),
        ranks: z.array(z.number().int()),
      }),
    ),
    gpus: z.array(
      z.object({
        name: z.string().nullable(),
        uuid: z.string().nullable(),
        compute_capability: z.string().nullable(),
        sm_count: number,
        sm_clock_hz: z.object({ min: number, max: number }),
        sm_clock_max_hz: number,
        dram_clock_hz: z.object({ min: number, max: number }),
        catalogue_id: z.string().nullable(),
      }),
    ),
    peaks: z.string().describe("which peak came from where"),
    analysis_version: z.string(),
    passes: number.describe("replay passes, the most of any launch"),
    capture: captureRecordSchema.nullable().describe("how the reports were captured; null: they were uploaded"),
  })
  .meta({ id: "Provenance" });

export type Provenance = z.infer<typeof provenanceSchema>;

const otherKernelSchema = z.object({
  target: z.string(),
  name_key: z.string(),
  roofline: rooflineClassSchema.nullable(),
  total_us: number,
  launches: z.number().int(),
});

export const kernelResultSchema = kernelFieldsSchema
  .extend({
    kind: z.literal("kernel"),
    schema_version: z.literal(RESULT_SCHEMA_VERSION),
    partial: z.boolean(),
    detail: kernelDetailSchema,
    others: z.array(otherKernelSchema).describe("further kernels that match the target, by time"),
    findings: z.array(findingSchema),
    provenance: provenanceSchema,
  })
  .meta({ id: "KernelResult" });

const hostCallSchema = z.object({ name: z.string(), calls: z.number().int(), overlap_us: z.number() });

/** What timelines tell beside their kernels. Microseconds. */
export const timelineSummarySchema = z
  .object({
    window: z
      .union([
        z.object({ nvtx: z.string() }),
        z.object({ step: z.number().int() }),
        z.object({ from_us: z.number(), to_us: z.number() }),
      ])
      .nullable(),
    wall_us: number.describe("spans of the GPUs, summed"),
    kernels_recorded_us: z.number(),
    kernels_exclusive_us: z.number(),
    overlap_between_streams_us: number,
    overlap_on_streams: z
      .object({ pairs: z.number().int(), us: z.number() })
      .nullable()
      .describe("neighbours on one stream, as programmatic dependent launch makes them"),
    phases: z
      .array(
        z.object({
          phase: z.enum(PHASES),
          launches: z.number().int(),
          exclusive_us: z.number(),
          steps: z.number().int(),
          share_of_kernels: z.number(),
        }),
      )
      .nullable(),
    activities: z.array(
      z.object({
        kind: z.enum(["memcpy", "memset", "graph"]),
        name: z.string(),
        count: z.number().int(),
        total_us: z.number(),
        bytes: number,
        share_of_busy: fraction,
        share_of_wall: fraction,
      }),
    ),
    idle: z
      .object({
        count: z.number().int(),
        total_us: z.number(),
        share_of_wall: fraction,
        host: z.object({ calls: z.array(hostCallSchema).nullable(), null_reason: z.string().nullable() }),
        largest: z.array(
          z.object({
            timeline: z.number().int(),
            start_us: z.number(),
            duration_us: z.number(),
            rank: number,
            device: number,
            after: z.string(),
            before: z.string(),
            host: z.array(hostCallSchema).nullable(),
          }),
        ),
      })
      .nullable(),
    strip: timelineStripSchema
      .nullable()
      .describe("when the GPU was busy, in bins: what the picture of the timeline shows"),
    null_reasons: z.record(z.string(), z.string()),
  })
  .meta({ id: "TimelineSummary" });

export const pipelineResultSchema = z
  .object({
    kind: z.literal("pipeline"),
    schema_version: z.literal(RESULT_SCHEMA_VERSION),
    target: z.literal("full pipeline"),
    partial: z.boolean(),
    gpu_busy_us: number,
    span_us: number,
    gpu_idle_us: number,
    launches: z.number().int().describe("kernel launches"),
    report_us: number.describe(
      "summed duration of the kernel launches in the reports: the denominator of share_of_report",
    ),
    stages: z
      .array(z.object({ stage: z.string(), family: z.string(), share: z.number(), total_us: z.number() }))
      .nullable(),
    kernels: z.array(kernelEntrySchema).describe("ranked by contribution"),
    kernels_total: z.number().int().describe("kernels in the reports, listed or not"),
    composites: z
      .array(
        z.object({
          kind: z.enum(["range", "cmdlist", "graph"]),
          index: z.number().int(),
          display: z.string(),
          duration_us: number,
        }),
      )
      .describe("results that span several kernels; never added to kernel sums"),
    timeline: timelineSummarySchema.nullable().describe("null: there was no timeline"),
    coverage: fraction.describe(
      "share of the busy time in which a launch of a cluster with counters runs: a union, never above 1",
    ),
    plan: pipelinePlanSchema.nullable().describe("null: nothing was captured, or no timeline of it was taken"),
    null_reasons: z.record(z.string(), z.string()),
    findings: z.array(findingSchema),
    provenance: provenanceSchema,
  })
  .meta({ id: "PipelineResult" });

export const profileResultSchema = z.discriminatedUnion("kind", [kernelResultSchema, pipelineResultSchema]);

export type KernelResult = z.infer<typeof kernelResultSchema>;
export type PipelineResult = z.infer<typeof pipelineResultSchema>;
export type ProfileResult = z.infer<typeof profileResultSchema>;
