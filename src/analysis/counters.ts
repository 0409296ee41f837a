import type { LaunchVerdict } from "../model/result.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { Reading } from "./sheet.ts";

const CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
const WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
const SPILLS = "sass__inst_executed_register_spilling";
const LOCAL_LOADS = "sass__inst_executed_local_loads";
const LOCAL_STORES = "sass__inst_executed_local_stores";

/** Handed on under NVIDIA's names, in base units, because they tell where to look next. */
const FURTHER = [
  "dram__bytes_read.sum",
  "dram__bytes_write.sum",
  "l1tex__t_sector_hit_rate.pct",
  "lts__t_sector_hit_rate.pct",
  "lts__t_sector_op_read_hit_rate.pct",
  "lts__t_sector_op_write_hit_rate.pct",
  "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
  "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
  "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
  "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
  "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
  "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
  "sass__inst_executed_global_loads",
  "smsp__inst_executed_op_ldgsts.sum",
  "smsp__inst_executed_op_tma_ld.sum",
  SPILLS,
  `${SPILLS}_op_read`,
  `${SPILLS}_op_write`,
  `${SPILLS}_mem_local`,
  `${SPILLS}_mem_shared`,
  LOCAL_LOADS,
  LOCAL_STORES,
  "derived__local_spilling_requests",
  "derived__local_spilling_requests_pct",
  "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
  "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
  CONFLICTS,
  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
  WAVEFRONTS,
  "smsp__thread_inst_executed_per_inst_executed.ratio",
  "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
  "smsp__inst_executed_op_branch.sum",
  "smsp__sass_branch_targets_threads_divergent.sum",
  "smsp__sass_average_branch_targets_threads_uniform.pct",
  "smsp__warps_active.avg.per_cycle_active",
  "smsp__warps_eligible.avg.per_cycle_active",
  "smsp__issue_active.avg.per_cycle_active",
  "smsp__issue_active.avg.pct_of_peak_sustained_active",
  "smsp__inst_executed.sum",
  "sass__inst_executed_per_opcode",
  "launch__cluster_size",
  "launch__cluster_max_active",
  "launch__cluster_max_potential_size",
  "launch__occupancy_cluster_pct",
  "launch__occupancy_cluster_gpu_pct",
] as const;

export const COUNTERS: Declaration = {
  name: "counters",
  needs: [...needs.optionalMetrics(FURTHER), ...needs.optional("cluster_size")],
};

/** The further counters that the launch holds, by NVIDIA's name. */
export function furtherCounters({ sheet }: LaunchContext): Record<string, number> {
  const counters: Record<string, number> = {};
  for (const name of FURTHER) {
    const value = sheet.number(name);
    if (value !== null) counters[name] = value;
  }
  return counters;
}

/** Bank conflicts and their share of the wavefronts of shared memory. Stores by cp.async count as `op_ldgsts`. */
export function bankConflicts({
  sheet,
}: LaunchContext): Pick<LaunchVerdict["shared_memory"], "bank_conflicts" | "bank_conflict_share"> {
  const conflicts = sheet.field("detail.shared_memory.bank_conflicts", (read) => read.number(CONFLICTS));
  const share = sheet.field("detail.shared_memory.bank_conflict_share", (read) => {
    const [count, wavefronts] = [read.of(conflicts), read.number(WAVEFRONTS)];
    if (count === null || wavefronts === null) return null;
    return wavefronts > 0 ? count / wavefronts : read.because("no access to shared memory");
  });
  return { bank_conflicts: conflicts.value, bank_conflict_share: share.value };
}

/** Registers, spills of the compiler, and local memory, which indexed local arrays and the stack use as well. */
export function registersOf({ sheet }: LaunchContext): LaunchVerdict["registers"] {
  const of = (path: string, read: (reading: Reading) => number | null): number | null => sheet.field(path, read).value;
  return {
    per_thread: of("detail.registers.per_thread", (read) => read.role("registers")),
    per_thread_allocated: of("detail.registers.per_thread_allocated", (read) => read.role("registers_allocated")),
    spill_instructions: of("detail.registers.spill_instructions", (read) => read.number(SPILLS)),
    local_loads: of("detail.registers.local_loads", (read) => read.number(LOCAL_LOADS)),
    local_stores: of("detail.registers.local_stores", (read) => read.number(LOCAL_STORES)),
  };
}
