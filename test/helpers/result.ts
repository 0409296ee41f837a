import type { KernelEntry, KernelResult, PipelineResult, Provenance } from "../../src/model/result.ts";

type Detail = KernelEntry["detail"];
type Fields = Omit<KernelEntry, "detail" | "findings">;

/** A kernel nobody measured anything of; tests state what they are about, and nothing else is assumed. */
export function kernelEntry(
  fields: Partial<Fields> = {},
  detail: Partial<Detail> = {},
  findings: KernelEntry["findings"] = [],
): KernelEntry {
  const target = fields.target ?? "kernel";
  return {
    target,
    roofline: null,
    tflops: null,
    memory_bw_utilization: null,
    sm_occupancy: null,
    shared_memory_usage_bytes: null,
    warp_stall_reasons: null,
    wall_clock_us: null,
    fraction_of_pipeline: null,
    pipeline_stage: null,
    optimization_headroom: null,
    ...fields,
    detail: { ...emptyDetail(target), ...detail },
    findings: [...findings],
  };
}

/** The entries as a pipeline result over one report of one GPU. */
export function pipelineResult(kernels: readonly KernelEntry[], rest: Partial<PipelineResult> = {}): PipelineResult {
  return {
    kind: "pipeline",
    schema_version: 1,
    target: "full pipeline",
    partial: false,
    gpu_busy_us: null,
    span_us: null,
    gpu_idle_us: null,
    launches: kernels.length,
    report_us: null,
    stages: null,
    kernels: [...kernels],
    kernels_total: kernels.length,
    composites: [],
    timeline: null,
    coverage: null,
    plan: null,
    null_reasons: {},
    findings: [],
    provenance: provenance(),
    ...rest,
  };
}

/** What a timeline tells beside kernels: nothing but what a test states. */
export function timelineSummary(
  rest: Partial<NonNullable<PipelineResult["timeline"]>> = {},
): NonNullable<PipelineResult["timeline"]> {
  return {
    window: null,
    wall_us: null,
    kernels_recorded_us: 0,
    kernels_exclusive_us: 0,
    overlap_between_streams_us: null,
    overlap_on_streams: null,
    phases: null,
    activities: [],
    idle: { count: 0, total_us: 0, share_of_wall: null, host: { calls: null, null_reason: null }, largest: [] },
    strip: null,
    null_reasons: {},
    ...rest,
  };
}

/** The entry as the answer for one target. */
export function kernelResult(entry: KernelEntry, rest: Partial<KernelResult> = {}): KernelResult {
  return {
    ...entry,
    kind: "kernel",
    schema_version: 1,
    partial: false,
    others: [],
    provenance: provenance(),
    ...rest,
  };
}

function provenance(): Provenance {
  return {
    reports: [],
    timelines: [],
    gpus: [
      {
        name: "NVIDIA H200",
        uuid: null,
        compute_capability: "9.0",
        sm_count: 132,
        sm_clock_hz: { min: 1.5e9, max: 1.98e9 },
        sm_clock_max_hz: 1.98e9,
        dram_clock_hz: { min: 3.2e9, max: 3.2e9 },
        catalogue_id: null,
      },
    ],
    peaks: "counters of each launch",
    analysis_version: "test",
    passes: null,
    capture: null,
  };
}

function emptyDetail(name: string): Detail {
  return {
    launch: {
      index: 0,
      report_id: null,
      kind: "kernel",
      grid: null,
      block: null,
      cluster_size: null,
      process_id: null,
      context_id: null,
      stream_id: null,
      device: null,
      rank: null,
      nvtx: [],
      failure: null,
    },
    roofline_null_reason: null,
    limiter: "unknown",
    near: false,
    compute_utilization: null,
    compute_metric: null,
    compute_basis: null,
    compute_utilization_set_by: [],
    memory_metric: null,
    memory_basis: null,
    issue_slot_utilization: null,
    sm_clock_hz: null,
    sm_clock_max_hz: null,
    dram_clock_hz: null,
    dram_clock_max_hz: null,
    tflops_by_precision: null,
    peak_tflops_by_precision: null,
    dominant_precision: null,
    fp16_vector_is_probably_moves: null,
    tensor_paths: [],
    arithmetic_intensity_flop_per_byte: null,
    ridge_point_flop_per_byte: null,
    achieved_over_attainable: null,
    memory: {
      dram_bytes_per_s: null,
      peak_dram_bytes_per_s: null,
      peak_dram_source: null,
      dram_bytes_read: null,
      dram_bytes_written: null,
      levels: [],
      sectors_per_request_load: null,
      sectors_per_request_store: null,
      bytes_per_sector_load: null,
    },
    occupancy: {
      theoretical: null,
      theoretical_from_limits: null,
      limiters: [],
      limiters_as_reported: [],
      limits_blocks: {},
      limits_recomputed_blocks: {},
      next_step: null,
    },
    shared_memory: {
      static_bytes: null,
      dynamic_bytes: null,
      driver_bytes: null,
      per_block_with_driver_bytes: null,
      allocated_bytes: null,
      carveout_bytes: null,
      bank_conflicts: null,
      bank_conflict_share: null,
    },
    registers: {
      per_thread: null,
      per_thread_allocated: null,
      spill_instructions: null,
      local_loads: null,
      local_stores: null,
    },
    waves_per_sm: null,
    imbalance: null,
    imbalance_metric: null,
    stalls: {
      cycles_per_issue: null,
      shares_by_reason: null,
      shares: null,
      dominant_group: null,
      sum_over_warp_latency: null,
    },
    latency: { primary: null, reasons: [] },
    headroom: {
      within_path: null,
      to_best_path: null,
      best_path: null,
      level: null,
      distance_with_launch_floor: null,
    },
    counters: {},
    hints: [],
    missing_metrics: [],
    sources: {},
    null_reasons: {},
    names: { key: name, key_kind: "demangled", display: name, function: null, demangled: name, mangled: null },
    stage: null,
    timing: {
      source: null,
      n: 1,
      total_us: null,
      mean_us: null,
      median_us: null,
      p90_us: null,
      min_us: null,
      max_us: null,
      spread: null,
    },
    share_of_report: null,
    share_of_wall: null,
    exclusive_us: null,
    saving_us: null,
    phases: null,
    saving_of_busy: null,
    collective: null,
    shapes: [],
  };
}
