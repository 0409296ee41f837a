/**
 * What a number means, and the metrics that hold it, best first. A new tool version or GPU is an entry here.
 * Names: Nsight Compute 2020.3 to 2025.3. Base units: ns, hz, byte, %, ratio. Percentages of elapsed and of active cycles
 * are different numbers and never stand in for one another; neither does `.max` for `.avg` (it goes far over 100 % in
 * short launches).
 */
export const ROLES = {
  /** One hardware instance, so every rollup is the same number. */
  duration_ns: ["gpu__time_duration.sum", "gpu__time_duration.avg", "gpu__time_duration.max"],
  elapsed_cycles: ["gpc__cycles_elapsed.max", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg"],

  /** Highest of the pipes and issue slots of an SM, averaged over all SMs: idle SMs count as idle. */
  compute_pct: ["sm__throughput.avg.pct_of_peak_sustained_elapsed"],
  /** Device memory alone. `gpu__compute_memory_throughput` is the highest of L1, shared memory, L2 and DRAM: never here. */
  dram_pct: [
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
  ],
  l1_pct: ["l1tex__throughput.avg.pct_of_peak_sustained_elapsed"],
  l2_pct: ["lts__throughput.avg.pct_of_peak_sustained_elapsed"],
  issue_slot_pct: ["sm__issue_active.avg.pct_of_peak_sustained_elapsed"],

  sm_clock_hz: [
    "smsp__cycles_elapsed.avg.per_second",
    "sm__cycles_elapsed.avg.per_second",
    "gpc__cycles_elapsed.avg.per_second",
  ],
  sm_clock_max_khz: ["device__attribute_max_gpu_frequency_khz", "device__attribute_clock_rate"],
  dram_clock_hz: ["dram__cycles_elapsed.avg.per_second"],
  dram_clock_max_khz: ["device__attribute_max_mem_frequency_khz", "device__attribute_memory_clock_rate"],
  l2_clock_hz: ["lts__cycles_elapsed.avg.per_second"],

  dram_bytes_per_s: ["dram__bytes.sum.per_second"],
  dram_bytes: ["dram__bytes.sum"],
  dram_bytes_read: ["dram__bytes_read.sum"],
  dram_bytes_written: ["dram__bytes_write.sum"],
  dram_bytes_per_cycle_peak: ["dram__bytes.sum.peak_sustained"],
  l2_bytes_per_s: ["derived__lts__lts2xbar_bytes.sum.per_second", "lts__t_bytes.sum.per_second"],
  l2_bytes_per_cycle_peak: ["derived__lts__lts2xbar_bytes.sum.peak_sustained", "lts__t_bytes.sum.peak_sustained"],
  /** Blind to TMA loads, which feed shared memory past the LSU. `_mem_lg` is the name of 2025.1. */
  l1_bytes_per_s: [
    "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second",
    "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second",
    "l1tex__t_bytes.sum.per_second",
  ],
  l1_bytes_per_cycle_peak: [
    "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained",
    "derived__l1tex__lsu_writeback_bytes_mem_lg.sum.peak_sustained",
    "l1tex__t_bytes.sum.peak_sustained",
  ],

  achieved_occupancy_pct: ["sm__warps_active.avg.pct_of_peak_sustained_active"],
  theoretical_occupancy_pct: ["sm__maximum_warps_per_active_cycle_pct"],
  limit_registers: ["launch__occupancy_limit_registers"],
  limit_shared_mem: ["launch__occupancy_limit_shared_mem"],
  limit_warps: ["launch__occupancy_limit_warps"],
  limit_blocks: ["launch__occupancy_limit_blocks"],
  limit_barriers: ["launch__occupancy_limit_barriers"],
  waves: ["launch__waves_per_multiprocessor"],
  grid_blocks: ["launch__grid_size"],
  block_threads: ["launch__block_size"],
  cluster_size: ["launch__cluster_size"],
  barriers: ["launch__barrier_count"],
  registers: ["launch__registers_per_thread"],
  registers_allocated: ["launch__registers_per_thread_allocated"],
  shared_static: ["launch__shared_mem_per_block_static"],
  shared_dynamic: ["launch__shared_mem_per_block_dynamic"],
  shared_driver: ["launch__shared_mem_per_block_driver", "device__attribute_reserved_shared_memory_per_block"],
  shared_with_driver: ["launch__shared_mem_per_block"],
  shared_allocated: ["launch__shared_mem_per_block_allocated"],
  shared_carveout: ["launch__shared_mem_config_size"],

  cycles_active: ["sm__cycles_active.avg"],
  /** `gpc__` differs from `sm__` by at most 0.007 of the launch and serves lists with SpeedOfLight alone. */
  cycles_elapsed_max: ["sm__cycles_elapsed.max", "gpc__cycles_elapsed.max"],
  warp_latency: ["smsp__average_warp_latency_per_inst_issued.ratio"],
  tma_loads: ["smsp__inst_executed_op_tma_ld.sum"],
  wgmma_pct: ["sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed"],

  sm_count: ["launch__sm_count", "device__attribute_multiprocessor_count"],
  device_sm_count: ["device__attribute_multiprocessor_count", "launch__sm_count"],
  cc_major: ["device__attribute_compute_capability_major"],
  cc_minor: ["device__attribute_compute_capability_minor"],
  sm_shared_bytes: ["device__attribute_max_shared_memory_per_multiprocessor"],
  sm_registers: ["device__attribute_max_registers_per_multiprocessor"],
  sm_warps: ["device__attribute_max_warps_per_multiprocessor"],
  sm_reserved_bytes: ["device__attribute_reserved_shared_memory_per_block"],
  sm_blocks: ["device__attribute_max_blocks_per_multiprocessor"],
  passes: ["profiler__replayer_passes"],
} as const satisfies Record<string, readonly string[]>;

export type Role = keyof typeof ROLES;

/** Text of a launch: the name of its device. */
export const DEVICE_NAME_METRIC = "device__attribute_display_name";
