import { counterPeak, type Peak, publishedBandwidth } from "../hardware/peaks.ts";
import type { LaunchVerdict } from "../model/result.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFacts } from "./facts.ts";
import type { Reading } from "./sheet.ts";

const L1_HIT = "l1tex__t_sector_hit_rate.pct";
const L2_HIT = "lts__t_sector_hit_rate.pct";
const sectors = (op: "ld" | "st"): string => `l1tex__t_sectors_pipe_lsu_mem_global_op_${op}.sum`;
const requests = (op: "ld" | "st"): string => `l1tex__t_requests_pipe_lsu_mem_global_op_${op}.sum`;
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
    ...needs.optionalMetrics([L1_HIT, L2_HIT, sectors("ld"), sectors("st"), requests("ld"), requests("st")]),
    ...needs.optionalMetrics([LDG_BYTES_PER_SECTOR, LDG, LDGSTS]),
  ],
  // Read and written bytes in one, as lists written by hand ask for them.
  substitutes: needs.optional("dram_bytes"),
};

export interface Traffic {
  readonly bytesPerS: number | null;
  readonly peak: Peak | null;
  readonly bytesRead: number | null;
  readonly bytesWritten: number | null;
}

const PATH = "detail.memory";

const perSecond = (bytes: number | null, ns: number | null): number | null =>
  bytes === null || ns === null || ns <= 0 ? null : bytes / (ns * 1e-9);

/** Traffic of device memory, bytes and bytes/s, and its peak at the memory clock of the launch, else as published. */
export function trafficOf({ sheet, device }: LaunchFacts, durationNs: number | null): Traffic {
  const bytesRead = sheet.field(`${PATH}.dram_bytes_read`, (read) => read.role("dram_bytes_read"));
  const bytesWritten = sheet.field(`${PATH}.dram_bytes_written`, (read) => read.role("dram_bytes_written"));
  const bytesPerS = sheet.field(`${PATH}.dram_bytes_per_s`, (read) => {
    const rate = read.role("dram_bytes_per_s");
    if (rate !== null) return rate;
    const [loaded, stored] = [read.role("dram_bytes_read"), read.role("dram_bytes_written")];
    const bytes = loaded === null || stored === null ? read.role("dram_bytes") : loaded + stored;
    return perSecond(bytes, bytes === null ? null : read.of("wall_clock_us", durationNs));
  });
  const peak = sheet.field(`${PATH}.peak_dram_bytes_per_s`, (read) => {
    const counters = counterPeak(read.role("dram_bytes_per_cycle_peak"), read.role("dram_clock_hz"));
    return counters ?? publishedBandwidth(device.gpu);
  });
  return { bytesPerS, peak, bytesRead, bytesWritten };
}

function level(
  { sheet }: LaunchFacts,
  name: "l2" | "l1",
  clock: (read: Reading) => number | null,
  opsPerS: (read: Reading) => number | null,
): LaunchVerdict["memory"]["levels"][number] {
  const path = `${PATH}.levels.${name}`;
  const bytesPerS = sheet.field(`${path}.bytes_per_s`, (read) => read.role(`${name}_bytes_per_s`));
  const peak = sheet.field(`${path}.peak_bytes_per_s`, (read) => {
    return counterPeak(read.role(`${name}_bytes_per_cycle_peak`), clock(read))?.value ?? null;
  });
  return {
    level: name,
    bytes_per_s: bytesPerS,
    peak_bytes_per_s: peak,
    utilization: sheet.field(`${path}.utilization`, (read) => asFraction(read.role(`${name}_pct`))),
    hit_rate: sheet.field(`${path}.hit_rate`, (read) => asFraction(read.number(name === "l1" ? L1_HIT : L2_HIT))),
    arithmetic_intensity_flop_per_byte: intensity(sheet, path, opsPerS, bytesPerS),
  };
}

const asFraction = (pct: number | null): number | null => (pct === null ? null : pct / 100);

function intensity(
  sheet: LaunchFacts["sheet"],
  path: string,
  opsPerS: (read: Reading) => number | null,
  bytesPerS: number | null,
): number | null {
  return sheet.field(`${path}.arithmetic_intensity_flop_per_byte`, (read) => {
    const ops = opsPerS(read);
    const bytes = read.of(`${path}.bytes_per_s`, bytesPerS);
    if (ops === null || bytes === null) return null;
    return bytes > 0 ? ops / bytes : read.because("no bytes moved at this level");
  });
}

function perRequest({ sheet }: LaunchFacts, field: string, op: "ld" | "st"): number | null {
  return sheet.field(`${PATH}.${field}`, (read) => {
    const [count, asked] = [read.number(sectors(op)), read.number(requests(op))];
    if (count === null || asked === null) return null;
    return asked > 0 ? count / asked : read.because("no global requests through the LSU");
  });
}

/**
 * The ratio counts LDG alone. Kernels that load with cp.async or TMA show 0.0 or a ratio of a few stray loads, which
 * would read as uncoalesced; so it is given only where LDG is at least half of the load instructions.
 */
function bytesPerSector({ sheet }: LaunchFacts): number | null {
  return sheet.field(`${PATH}.bytes_per_sector_load`, (read) => {
    const [ldg, ldgsts] = [read.number(LDG), read.number(LDGSTS)];
    const ratio = read.number(LDG_BYTES_PER_SECTOR);
    if (ldg === null || ldgsts === null || ratio === null) return null;
    const loads = ldg + ldgsts + (read.role("tma_loads") ?? 0);
    if (loads === 0) return read.because("no global loads");
    return 2 * ldg >= loads
      ? ratio
      : read.because("less than half of the load instructions are LDG, which alone is counted");
  });
}

/** Memory levels with traffic, peak, hit rate and intensity, and how well global accesses use their sectors. */
export function memoryOf(
  facts: LaunchFacts,
  traffic: Traffic,
  smClockHz: number | null,
  dramUtilization: number | null,
  opsPerS: (read: Reading) => number | null,
): LaunchVerdict["memory"] {
  const { sheet } = facts;
  const dramPath = `${PATH}.levels.dram`;
  const { bytesPerS, peak } = traffic;
  const dram: LaunchVerdict["memory"]["levels"][number] = {
    level: "dram",
    bytes_per_s: sheet.field(`${dramPath}.bytes_per_s`, (read) => read.of(`${PATH}.dram_bytes_per_s`, bytesPerS)),
    peak_bytes_per_s: sheet.field(`${dramPath}.peak_bytes_per_s`, (read) => {
      return read.of(`${PATH}.peak_dram_bytes_per_s`, peak)?.value ?? null;
    }),
    utilization: sheet.field(`${dramPath}.utilization`, (read) => read.of("memory_bw_utilization", dramUtilization)),
    hit_rate: sheet.field(`${dramPath}.hit_rate`, (read) => read.because("device memory is the last level")),
    arithmetic_intensity_flop_per_byte: intensity(sheet, dramPath, opsPerS, bytesPerS),
  };
  return {
    dram_bytes_per_s: bytesPerS,
    peak_dram_bytes_per_s: peak?.value ?? null,
    peak_dram_source: sheet.field(`${PATH}.peak_dram_source`, (read) => {
      return read.of(`${PATH}.peak_dram_bytes_per_s`, peak)?.source ?? null;
    }),
    dram_bytes_read: traffic.bytesRead,
    dram_bytes_written: traffic.bytesWritten,
    levels: [
      dram,
      level(facts, "l2", (read) => read.role("l2_clock_hz"), opsPerS),
      level(facts, "l1", (read) => read.of("detail.sm_clock_hz", smClockHz), opsPerS),
    ],
    sectors_per_request_load: perRequest(facts, "sectors_per_request_load", "ld"),
    sectors_per_request_store: perRequest(facts, "sectors_per_request_store", "st"),
    bytes_per_sector_load: bytesPerSector(facts),
  };
}
