import { counterPeak, type Peak, publishedBandwidth } from "../hardware/peaks.ts";
import type { LaunchVerdict } from "../model/result.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { Known, Reading } from "./sheet.ts";

const HIT_RATES = { l1: "l1tex__t_sector_hit_rate.pct", l2: "lts__t_sector_hit_rate.pct" } as const;
const SECTORS = {
  load: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
  store: "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
} as const;
const REQUESTS = {
  load: "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
  store: "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
} as const;
const LDG_BYTES_PER_SECTOR = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
const LDG = "sass__inst_executed_global_loads";
const LDGSTS = "smsp__inst_executed_op_ldgsts.sum";

export const MEMORY: Declaration = {
  name: "memory",
  needs: [
    ...needs.optional("duration_ns", "dram_bytes_per_s", "dram_bytes_read", "dram_bytes_written"),
    ...needs.optional("dram_bytes_per_cycle_peak", "dram_clock_hz"),
    ...needs.optional("l2_bytes_per_s", "l2_bytes_per_cycle_peak", "l2_clock_hz", "l2_pct"),
    ...needs.optional("l1_bytes_per_s", "l1_bytes_per_cycle_peak", "sm_clock_hz", "l1_pct", "tma_loads"),
    ...needs.optionalMetrics([...Object.values(HIT_RATES), ...Object.values(SECTORS), ...Object.values(REQUESTS)]),
    ...needs.optionalMetrics([LDG_BYTES_PER_SECTOR, LDG, LDGSTS]),
  ],
  // Read and written bytes in one, as lists written by hand ask for them.
  substitutes: needs.optional("dram_bytes"),
};

export interface Traffic {
  readonly bytesPerS: Known<number>;
  readonly peak: Known<Peak>;
  readonly bytesRead: Known<number>;
  readonly bytesWritten: Known<number>;
}

/** Traffic of device memory, bytes and bytes/s, and its peak at the memory clock of the launch, else as published. */
export function trafficOf({ sheet, device }: LaunchContext, durationNs: Known<number>): Traffic {
  const bytesRead = sheet.field("detail.memory.dram_bytes_read", (read) => read.role("dram_bytes_read"));
  const bytesWritten = sheet.field("detail.memory.dram_bytes_written", (read) => read.role("dram_bytes_written"));
  const bytesPerS = sheet.field("detail.memory.dram_bytes_per_s", (read) => {
    const rate = read.role("dram_bytes_per_s");
    if (rate !== null) return rate;
    const [loaded, stored] = [read.of(bytesRead), read.of(bytesWritten)];
    const bytes = loaded === null || stored === null ? read.role("dram_bytes") : loaded + stored;
    const ns = bytes === null ? null : read.of(durationNs);
    return bytes === null || ns === null ? null : bytes / (ns * 1e-9);
  });
  const peak = sheet.field("detail.memory.peak_dram_bytes_per_s", (read) => {
    const counters = counterPeak(read.role("dram_bytes_per_cycle_peak"), read.role("dram_clock_hz"));
    return counters ?? publishedBandwidth(device.gpu);
  });
  return { bytesPerS, peak, bytesRead, bytesWritten };
}

type Level = LaunchVerdict["memory"]["levels"][number];

const PATHS = {
  dram: {
    bytes: "detail.memory.levels.dram.bytes_per_s",
    peak: "detail.memory.levels.dram.peak_bytes_per_s",
    utilization: "detail.memory.levels.dram.utilization",
    hitRate: "detail.memory.levels.dram.hit_rate",
    intensity: "detail.memory.levels.dram.arithmetic_intensity_flop_per_byte",
  },
  l2: {
    bytes: "detail.memory.levels.l2.bytes_per_s",
    peak: "detail.memory.levels.l2.peak_bytes_per_s",
    utilization: "detail.memory.levels.l2.utilization",
    hitRate: "detail.memory.levels.l2.hit_rate",
    intensity: "detail.memory.levels.l2.arithmetic_intensity_flop_per_byte",
  },
  l1: {
    bytes: "detail.memory.levels.l1.bytes_per_s",
    peak: "detail.memory.levels.l1.peak_bytes_per_s",
    utilization: "detail.memory.levels.l1.utilization",
    hitRate: "detail.memory.levels.l1.hit_rate",
    intensity: "detail.memory.levels.l1.arithmetic_intensity_flop_per_byte",
  },
} as const;

const ROLES_OF = {
  l2: { bytes: "l2_bytes_per_s", peak: "l2_bytes_per_cycle_peak", pct: "l2_pct" },
  l1: { bytes: "l1_bytes_per_s", peak: "l1_bytes_per_cycle_peak", pct: "l1_pct" },
} as const;

const asFraction = (pct: number | null): number | null => (pct === null ? null : pct / 100);

function intensity({ sheet }: LaunchContext, level: keyof typeof PATHS, work: Known<number>, moved: Known<number>) {
  return sheet.field(PATHS[level].intensity, (read) => {
    const [ops, bytes] = [read.of(work), read.of(moved)];
    if (ops === null || bytes === null) return null;
    return bytes > 0 ? ops / bytes : read.because("no bytes moved at this level");
  }).value;
}

function cacheLevel(
  context: LaunchContext,
  level: "l2" | "l1",
  clock: (read: Reading) => number | null,
  work: Known<number>,
): Level {
  const { sheet } = context;
  const [paths, roles] = [PATHS[level], ROLES_OF[level]];
  const bytes = sheet.field(paths.bytes, (read) => read.role(roles.bytes));
  return {
    level,
    bytes_per_s: bytes.value,
    peak_bytes_per_s: sheet.field(paths.peak, (read) => counterPeak(read.role(roles.peak), clock(read))?.value ?? null)
      .value,
    utilization: sheet.field(paths.utilization, (read) => asFraction(read.role(roles.pct))).value,
    hit_rate: sheet.field(paths.hitRate, (read) => asFraction(read.number(HIT_RATES[level]))).value,
    arithmetic_intensity_flop_per_byte: intensity(context, level, work, bytes),
  };
}

function dramLevel(
  context: LaunchContext,
  { bytesPerS, peak }: Traffic,
  utilization: Known<number>,
  work: Known<number>,
): Level {
  const { sheet } = context;
  const paths = PATHS.dram;
  sheet.missing(paths.hitRate, "device memory is the last level");
  return {
    level: "dram",
    bytes_per_s: sheet.show(paths.bytes, bytesPerS).value,
    peak_bytes_per_s: sheet.show(paths.peak, peak).value?.value ?? null,
    utilization: sheet.show(paths.utilization, utilization).value,
    hit_rate: null,
    arithmetic_intensity_flop_per_byte: intensity(context, "dram", work, bytesPerS),
  };
}

function perRequest({ sheet }: LaunchContext, path: string, op: "load" | "store"): number | null {
  return sheet.field(path, (read) => {
    const [sectors, requests] = [read.number(SECTORS[op]), read.number(REQUESTS[op])];
    if (sectors === null || requests === null) return null;
    return requests > 0 ? sectors / requests : read.because("no global requests through the LSU");
  }).value;
}

/**
 * The ratio counts LDG alone. Kernels that load with cp.async or TMA show 0.0 or a ratio of a few stray loads, which
 * would read as uncoalesced; so it is given only where LDG is at least half of the load instructions.
 */
function bytesPerSector({ sheet }: LaunchContext): number | null {
  return sheet.field("detail.memory.bytes_per_sector_load", (read) => {
    const [ldg, ldgsts] = [read.number(LDG), read.number(LDGSTS)];
    const ratio = read.number(LDG_BYTES_PER_SECTOR);
    if (ldg === null || ldgsts === null || ratio === null) return null;
    const loads = ldg + ldgsts + (read.role("tma_loads") ?? 0);
    if (loads === 0) return read.because("no global loads");
    if (2 * ldg >= loads) return ratio;
    return read.because("less than half of the load instructions are LDG, which alone is counted");
  }).value;
}

/** Memory levels with traffic, peak, hit rate and intensity, and how well global accesses use their sectors. */
export function memoryOf(
  context: LaunchContext,
  traffic: Traffic,
  smClockHz: Known<number>,
  utilization: Known<number>,
  work: Known<number>,
): LaunchVerdict["memory"] {
  const { sheet } = context;
  const peak = traffic.peak.value;
  if (peak === null) sheet.missing("detail.memory.peak_dram_source", traffic.peak.reason ?? "");
  return {
    dram_bytes_per_s: traffic.bytesPerS.value,
    peak_dram_bytes_per_s: peak?.value ?? null,
    peak_dram_source: peak?.source ?? null,
    dram_bytes_read: traffic.bytesRead.value,
    dram_bytes_written: traffic.bytesWritten.value,
    levels: [
      dramLevel(context, traffic, utilization, work),
      cacheLevel(context, "l2", (read) => read.role("l2_clock_hz"), work),
      cacheLevel(context, "l1", (read) => read.of(smClockHz), work),
    ],
    sectors_per_request_load: perRequest(context, "detail.memory.sectors_per_request_load", "load"),
    sectors_per_request_store: perRequest(context, "detail.memory.sectors_per_request_store", "store"),
    bytes_per_sector_load: bytesPerSector(context),
  };
}
