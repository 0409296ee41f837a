/**
 * What the details page calls a metric, by section and label. Taken from the section descriptions inside reports of
 * Nsight Compute 2020.3 to 2025.3.1 (`ProfilerSection.proto`: header rows with name and label), where all versions that
 * list a label agree on the metric. `SM [%]` and `Memory [%]` are older spellings of `SOL SM` and `SOL Memory`.
 */
const SPEED_OF_LIGHT: Readonly<Record<string, string>> = {
  Duration: "gpu__time_duration.sum",
  "Elapsed Cycles": "gpc__cycles_elapsed.max",
  "SM Active Cycles": "sm__cycles_active.avg",
  "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
  "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
  "Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
  "SOL SM": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
  "SM [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
  // The busiest level of the memory system, not DRAM.
  "Memory Throughput": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
  "SOL Memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
  "Memory [%]": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
  "DRAM Throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
  "SOL DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
  "L1/TEX Cache Throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
  "SOL L1/TEX Cache": "l1tex__throughput.avg.pct_of_peak_sustained_active",
  "L2 Cache Throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
  "SOL L2 Cache": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
};

const SECTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "GPU Speed Of Light": SPEED_OF_LIGHT,
  "GPU Speed Of Light Throughput": SPEED_OF_LIGHT,
  "Compute Workload Analysis": {
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
  },
  "GPU and Memory Workload Distribution": {
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Average MC Channel Active Cycles": "mcc__cycles_active.avg",
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Average SMSP Active Cycles": "smsp__cycles_active.avg",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Total MC Channel Elapsed Cycles": "mcc__cycles_elapsed.sum",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
  },
  "Instruction Statistics": {
    "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
    "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Issued Instructions": "smsp__inst_issued.sum",
  },
  "Launch Statistics": {
    "# SMs": "launch__sm_count",
    "# TPCs": "launch__tpc_count",
    "Block Size": "launch__block_size",
    "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
    "Cluster Size": "launch__cluster_size",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Enabled TPC IDs": "launch__tpc_enabled",
    "Function Cache Configuration": "launch__func_cache_config",
    "Grid Size": "launch__grid_size",
    "Preferred Cluster Size": "launch__preferred_cluster_size",
    "Registers Per Thread": "launch__registers_per_thread",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Stack Size": "launch__stack_size",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    Threads: "launch__thread_count",
    "Uses Green Context": "launch__uses_green_context",
    "Waves Per SM": "launch__waves_per_multiprocessor",
  },
  "Memory Workload Analysis": {
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "L2 Persisting Size": "launch__persisting_l2_cache_size",
    "Local Memory Spilling Request Overhead": "derived__local_spilling_requests_pct",
    "Local Memory Spilling Requests": "derived__local_spilling_requests",
    "Max Bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Pipes Busy": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory Throughput": "dram__bytes.sum.per_second",
  },
  NVLink: {
    "Logical Links": "nvlink__count_logical",
    "Physical Links": "nvlink__count_physical",
  },
  Occupancy: {
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Cluster Occupancy": "launch__occupancy_cluster_pct",
    "Max Active Clusters": "launch__cluster_max_active",
    "Max Cluster Size": "launch__cluster_max_potential_size",
    "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
  },
  "PM Sampling": {
    "# Pass Groups": "profiler__pmsampler_pass_groups",
    "Dropped Samples": "profiler__pmsampler_dropped_samples",
    "Maximum Buffer Size": "profiler__pmsampler_buffer_size_bytes",
  },
  "Scheduler Statistics": {
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "No Eligible": "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
    "One or More Eligible": "smsp__issue_active.avg.pct_of_peak_sustained_active",
  },
  "Source Counters": {
    "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "Branch Instructions": "smsp__inst_executed_op_branch.sum",
    "Branch Instructions Ratio": "derived__smsp__inst_executed_op_branch_pct",
  },
  "Warp State Statistics": {
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
  },
};

/** Labels whose metric depends on the chip, where the unit tells which it is. */
const BY_UNIT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "PM Sampling|Maximum Sampling Interval": {
    ns: "profiler__pmsampler_interval_time",
    cycle: "profiler__pmsampler_interval_cycles",
  },
  "Memory Workload Analysis|L2 Compression Ratio": {
    "": "lts__average_gcomp_output_sector_compression_achieved_rate.ratio",
    "%": "lrc__average_ilc_output_sector_compression_achieved_rate.pct",
  },
};

/**
 * Labels whose metric depends on a version that the page does not name. The first two are `_active` up to 2025.1.1 and
 * `_elapsed` in 2025.3.1; the others are `lts__` or `lrc__` by chip and version. These are different numbers, so such a
 * row is not used.
 */
const UNDECIDABLE = new Set([
  "Compute Workload Analysis|Issue Slots Busy",
  "Compute Workload Analysis|SM Busy",
  "Memory Workload Analysis|L2 Compression Input Sectors",
  "Memory Workload Analysis|L2 Compression Success Rate",
]);

/** Metric names of Nsight Compute 2025.3.1 have at most 110 characters. */
const LONGEST_NAME = 512;

const COMMAND_LINE = "Command line profiler metrics";

/** `sm__cycles_active.avg`: `unit__counter`, then rollup and submetric. */
const METRIC_NAME = /^[A-Za-z]\w*__\w+(?:\.\w+)*$/;
/** `--print-metric-name label-name` prints both. */
const LABEL_AND_NAME = /[\s(]([A-Za-z]\w*__\w+(?:\.\w+)*)\)?$/;

/**
 * The metric of a row of the details page. `base` is the row's unit in base form, null where it is unknown. Null: no
 * version is known that says which metric this is.
 */
export function metricOf(section: string, label: string, base: string | null): string | null {
  if (section === COMMAND_LINE) return label;
  const known = own(own(SECTIONS, section) ?? {}, label);
  if (known !== undefined) return fits(known, base) ? known : null;
  const byUnit = own(BY_UNIT, `${section}|${label}`);
  if (byUnit !== undefined) return base === null ? null : (own(byUnit, base) ?? null);
  if (label.length > LONGEST_NAME) return null;
  if (METRIC_NAME.test(label)) return label;
  return LABEL_AND_NAME.exec(label)?.[1] ?? null;
}

/** True where versions disagree on the metric of a label. */
export const isUndecidable = (section: string, label: string): boolean => UNDECIDABLE.has(`${section}|${label}`);

/**
 * `Memory Throughput` is a share in one section and bytes per second in another: a label with a unit of the wrong kind
 * is not the metric that the table means. A cell without a number has no unit.
 */
function fits(metric: string, base: string | null): boolean {
  if (base === null || base === "") return true;
  if (metric === "dram__bytes.sum.per_second") return base === "byte/s";
  if (/throughput\.avg\.pct_of_peak/.test(metric)) return base === "%";
  return true;
}

const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;
