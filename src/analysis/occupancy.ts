import { allocationUnits, smLimits } from "../hardware/limits.ts";
import type { LaunchVerdict, OccupancyLimit } from "../model/result.ts";
import { OCCUPANCY_LIMITS } from "../model/words.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFacts } from "./facts.ts";
import type { Reading } from "./sheet.ts";

export const OCCUPANCY: Declaration = {
  name: "occupancy",
  needs: [
    ...needs.required("achieved_occupancy_pct", "theoretical_occupancy_pct"),
    ...needs.optional("limit_registers", "limit_shared_mem", "limit_warps", "limit_blocks", "limit_barriers"),
    ...needs.optional("registers", "registers_allocated", "barriers", "block_threads", "waves"),
    ...needs.optional("shared_static", "shared_dynamic", "shared_driver", "shared_with_driver"),
    ...needs.optional("shared_allocated", "shared_carveout"),
  ],
};

const PATH = "detail.occupancy";
const WARP = 32;

const roundUp = (value: number, unit: number): number => Math.ceil(value / unit) * unit;
const roundDown = (value: number, unit: number): number => Math.floor(value / unit) * unit;

/** What an SM has and hands out, from device attributes before the table of its compute capability. */
export interface Sm {
  readonly warps: number;
  readonly blocks: number;
  readonly registers: number;
  readonly sharedBytes: number;
  readonly reservedBytes: number;
  readonly registerUnit: number;
  readonly registerParts: number;
  readonly sharedUnit: number;
  readonly maxRegistersPerThread: number;
}

function smOf(read: Reading, computeCapability: string | null): Sm | null {
  const [table, units] = [smLimits(computeCapability), allocationUnits(computeCapability)];
  if (units === null) return read.because("allocation units of this compute capability are not known");
  const warps = read.role("sm_warps") ?? table?.max_warps_per_sm;
  const blocks = read.role("sm_blocks") ?? table?.max_blocks_per_sm;
  const registers = read.role("sm_registers") ?? table?.registers_per_sm;
  const sharedBytes = read.role("sm_shared_bytes") ?? table?.shared_memory_per_sm_bytes;
  const reservedBytes = read.role("shared_driver") ?? table?.shared_memory_reserved_per_block_bytes;
  if (
    warps === undefined ||
    blocks === undefined ||
    registers === undefined ||
    sharedBytes === undefined ||
    reservedBytes === undefined
  ) {
    return read.because("the limits of this device are not known");
  }
  return {
    warps,
    blocks,
    registers,
    sharedBytes,
    reservedBytes,
    registerUnit: units.registers_per_warp_unit,
    registerParts: units.register_file_parts,
    sharedUnit: units.shared_memory_unit_bytes,
    maxRegistersPerThread: units.max_registers_per_thread,
  };
}

/** Blocks per SM that the registers allow. Source: cuda_occupancy.h of the CUDA toolkit. */
export function registerBlocks(sm: Sm, registersPerThread: number, warpsPerBlock: number): number {
  const perWarp = roundUp(registersPerThread * WARP, sm.registerUnit);
  if (perWarp === 0 || warpsPerBlock === 0) return sm.blocks;
  const perPart = Math.floor(sm.registers / sm.registerParts / perWarp);
  return Math.floor((perPart * sm.registerParts) / warpsPerBlock);
}

/** Blocks per SM that shared memory allows where `available` bytes of the SM serve as such. Same source. */
export function sharedBlocks(sm: Sm, ownBytes: number, available: number): number {
  const perBlock = roundUp(ownBytes + sm.reservedBytes, sm.sharedUnit);
  return perBlock === 0 ? sm.blocks : Math.floor(available / perBlock);
}

/** Most registers a thread may have so that `blocks` fit; 0 or less: impossible. The inverse of `registerBlocks`. */
export function registersFor(sm: Sm, blocks: number, warpsPerBlock: number): number {
  const warpsPerPart = Math.ceil((blocks * warpsPerBlock) / sm.registerParts);
  const perWarp = Math.floor(sm.registers / sm.registerParts / warpsPerPart / sm.registerUnit) * sm.registerUnit;
  return Math.min(perWarp / WARP, sm.maxRegistersPerThread);
}

/** Shared memory a block may take so that `blocks` fit, rounded down to whole allocation units. */
export const sharedFor = (sm: Sm, blocks: number): number => roundDown(sm.sharedBytes / blocks, sm.sharedUnit);

export interface SharedMemory {
  readonly usage: number | null;
  readonly fields: Omit<LaunchVerdict["shared_memory"], "bank_conflicts" | "bank_conflict_share">;
}

/** Parts of the shared memory of a block, bytes. What the driver reserves is no usage of the kernel. */
export function sharedMemoryOf({ sheet }: LaunchFacts): SharedMemory {
  const part = (
    name: string,
    role:
      | "shared_static"
      | "shared_dynamic"
      | "shared_driver"
      | "shared_with_driver"
      | "shared_allocated"
      | "shared_carveout",
  ): number | null => sheet.field(`detail.shared_memory.${name}`, (read) => read.role(role));
  const fields = {
    static_bytes: part("static_bytes", "shared_static"),
    dynamic_bytes: part("dynamic_bytes", "shared_dynamic"),
    driver_bytes: part("driver_bytes", "shared_driver"),
    per_block_with_driver_bytes: part("per_block_with_driver_bytes", "shared_with_driver"),
    allocated_bytes: part("allocated_bytes", "shared_allocated"),
    carveout_bytes: part("carveout_bytes", "shared_carveout"),
  };
  const usage = sheet.field("shared_memory_usage_bytes", (read) => {
    const [fixed, dynamic] = [read.role("shared_static"), read.role("shared_dynamic")];
    return fixed === null || dynamic === null ? null : fixed + dynamic;
  });
  return { usage, fields };
}

type Limits = Partial<Record<OccupancyLimit, number>>;

function limitsOf({ sheet }: LaunchFacts): Limits {
  const limits: Limits = {};
  for (const limit of OCCUPANCY_LIMITS) {
    const blocks = sheet.field(`${PATH}.limits_blocks.${limit}`, (read) => read.role(`limit_${limit}`));
    if (blocks !== null) limits[limit] = blocks;
  }
  return limits;
}

/** Threads of a block, from its shape, else from the launch figure. */
export function blockThreads({ launch }: LaunchFacts, read: Reading): number | null {
  if (launch.block !== null) return launch.block[0] * launch.block[1] * launch.block[2];
  return launch.kind === "kernel" ? read.role("block_threads") : null;
}

interface Recomputed {
  readonly sm: Sm;
  readonly warpsPerBlock: number;
  readonly blocks: Readonly<Record<string, number>>;
}

function recompute(facts: LaunchFacts, read: Reading, usage: number | null): Recomputed | null {
  const threads = blockThreads(facts, read);
  if (threads === null) return read.because("the shape of the blocks is not known");
  const sm = smOf(read, facts.device.computeCapability);
  if (sm === null) return null;
  const warpsPerBlock = Math.ceil(threads / WARP);
  const blocks: Record<string, number> = {};
  const registers = read.role("registers");
  if (registers !== null) blocks.registers = registerBlocks(sm, registers, warpsPerBlock);
  const carveout = read.role("shared_carveout");
  if (usage !== null) {
    if (carveout !== null) blocks.shared_mem_at_carveout = sharedBlocks(sm, usage, carveout);
    blocks.shared_mem_at_max_carveout = sharedBlocks(sm, usage, sm.sharedBytes);
  }
  if (warpsPerBlock > 0) blocks.warps = Math.floor(sm.warps / warpsPerBlock);
  blocks.blocks = sm.blocks;
  return { sm, warpsPerBlock, blocks };
}

/**
 * Limits that really bind. Shared memory binds only if it also does at the largest carve-out (else the driver can raise
 * the carve-out), barriers only below the limit on blocks (with at most one barrier the two are equal).
 */
function bindingLimits(
  reported: readonly OccupancyLimit[],
  limits: Limits,
  atMaxCarveout: number | undefined,
): OccupancyLimit[] {
  return reported.filter((limit) => {
    if (limit === "shared_mem") return atMaxCarveout === undefined || atMaxCarveout <= (limits.shared_mem ?? 0);
    if (limit === "barriers") return (limits.barriers ?? 0) < (limits.blocks ?? Number.POSITIVE_INFINITY);
    return true;
  });
}

function nextStep(
  { sheet }: LaunchFacts,
  recomputed: Recomputed | null,
  reported: readonly OccupancyLimit[],
  limits: Limits,
): LaunchVerdict["occupancy"]["next_step"] {
  return sheet.field(`${PATH}.next_step`, (read) => {
    if (recomputed === null) return read.because(sheet.nullReasons[`${PATH}.limits_recomputed_blocks`] ?? "");
    const now = Math.min(...reported.map((limit) => limits[limit] ?? Number.NaN));
    const { sm, warpsPerBlock } = recomputed;
    const blocks = now + 1;
    const hard = (["warps", "blocks", "barriers"] as const).filter(
      (limit) => reported.includes(limit) && (limit !== "barriers" || (limits.barriers ?? 0) < (limits.blocks ?? 0)),
    );
    if (hard.length > 0) return read.because(`${hard.join(" and ")} per SM allow no further block`);
    for (const limit of reported) read.of(`${PATH}.limits_blocks.${limit}`, now);
    const registers = reported.includes("registers") ? registersFor(sm, blocks, warpsPerBlock) : null;
    if (registers !== null && registers <= 0) return read.because("no number of registers allows a further block");
    const shared = reported.includes("shared_mem") ? sharedFor(sm, blocks) : null;
    if (shared !== null && shared < sm.reservedBytes)
      return read.because("no shared memory would be left for a further block");
    if (registers === null) sheet.nullReasons[`${PATH}.next_step.max_registers_per_thread`] = "registers do not bind";
    if (shared === null) {
      sheet.nullReasons[`${PATH}.next_step.max_shared_memory_allocated_bytes`] = "shared memory does not bind";
      sheet.nullReasons[`${PATH}.next_step.max_static_plus_dynamic_shared_memory_bytes`] =
        "shared memory does not bind";
    }
    return {
      blocks_per_sm: blocks,
      theoretical_occupancy: (blocks * warpsPerBlock) / sm.warps,
      max_registers_per_thread: registers,
      max_shared_memory_allocated_bytes: shared,
      max_static_plus_dynamic_shared_memory_bytes: shared === null ? null : shared - sm.reservedBytes,
    };
  });
}

/** Theoretical occupancy with its limits, which of them bind, and what one block more would need. */
export function occupancyOf(facts: LaunchFacts, usage: number | null): LaunchVerdict["occupancy"] {
  const { sheet } = facts;
  const limits = limitsOf(facts);
  let recomputed: Recomputed | null = null;
  const recomputedBlocks = sheet.field(`${PATH}.limits_recomputed_blocks`, (read) => {
    recomputed = recompute(facts, read, usage);
    return recomputed?.blocks ?? null;
  });
  const known = recomputed as Recomputed | null;
  const lowest = Math.min(...Object.values(limits));
  const fromLimits = sheet.field(`${PATH}.theoretical_from_limits`, (read) => {
    if (!Number.isFinite(lowest)) return read.because("no occupancy limit was reported");
    if (known === null) return read.because(sheet.nullReasons[`${PATH}.limits_recomputed_blocks`] ?? "");
    for (const limit of OCCUPANCY_LIMITS) {
      if (limits[limit] === lowest) read.of(`${PATH}.limits_blocks.${limit}`, lowest);
    }
    return (lowest * known.warpsPerBlock) / known.sm.warps;
  });
  const theoretical = sheet.field(`${PATH}.theoretical`, (read) => {
    const pct = read.role("theoretical_occupancy_pct");
    return pct === null ? read.of(`${PATH}.theoretical_from_limits`, fromLimits) : pct / 100;
  });
  const reported = OCCUPANCY_LIMITS.filter((limit) => limits[limit] === lowest);
  const full = theoretical !== null && theoretical >= 1;
  const binding = full ? [] : bindingLimits(reported, limits, known?.blocks.shared_mem_at_max_carveout);
  let step: LaunchVerdict["occupancy"]["next_step"] = null;
  if (full || reported.length === 0) {
    const reason = full ? "theoretical occupancy is 100 %" : "no occupancy limit was reported";
    sheet.nullReasons[`${PATH}.next_step`] = sheet.withheld ?? reason;
  } else {
    step = nextStep(facts, known, reported, limits);
  }
  return {
    theoretical,
    theoretical_from_limits: fromLimits,
    limiters: binding,
    limiters_as_reported: reported,
    limits_blocks: limits,
    limits_recomputed_blocks: recomputedBlocks ?? {},
    next_step: step,
  };
}
