import { allocationUnits, smLimits } from "../hardware/limits.ts";
import type { LaunchVerdict, OccupancyLimit } from "../model/result.ts";
import { OCCUPANCY_LIMITS } from "../model/words.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { Known, Reading } from "./sheet.ts";

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

const WARP = 32;
const LIMIT_ROLES = {
  registers: "limit_registers",
  shared_mem: "limit_shared_mem",
  warps: "limit_warps",
  blocks: "limit_blocks",
  barriers: "limit_barriers",
} as const;
const LIMIT_PATHS = {
  registers: "detail.occupancy.limits_blocks.registers",
  shared_mem: "detail.occupancy.limits_blocks.shared_mem",
  warps: "detail.occupancy.limits_blocks.warps",
  blocks: "detail.occupancy.limits_blocks.blocks",
  barriers: "detail.occupancy.limits_blocks.barriers",
} as const;

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
  // Not what the launch prints: pages round it to 1.02 Kbyte.
  const reservedBytes = read.role("sm_reserved_bytes") ?? table?.shared_memory_reserved_per_block_bytes;
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

/**
 * Blocks per SM that shared memory allows where `available` bytes of the SM serve as such. Same source. `slack`: by how
 * much a rounded page may print more than the block has; sizes are whole units, so the smaller one is meant.
 */
export function sharedBlocks(sm: Sm, ownBytes: number, available: number, slack = 0): number {
  const perBlock = roundUp(ownBytes - slack + sm.reservedBytes, sm.sharedUnit);
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
  /** Static + dynamic, per block. */
  readonly usage: Known<number>;
  readonly fields: Omit<LaunchVerdict["shared_memory"], "bank_conflicts" | "bank_conflict_share">;
}

/** Parts of the shared memory of a block, bytes. What the driver reserves is no usage of the kernel. */
export function sharedMemoryOf({ sheet }: LaunchContext): SharedMemory {
  const fixed = sheet.field("detail.shared_memory.static_bytes", (read) => read.role("shared_static"));
  const dynamic = sheet.field("detail.shared_memory.dynamic_bytes", (read) => read.role("shared_dynamic"));
  const usage = sheet.field("shared_memory_usage_bytes", (read) => {
    const [own, asked] = [read.of(fixed), read.of(dynamic)];
    return own === null || asked === null ? null : own + asked;
  });
  const fields = {
    static_bytes: fixed.value,
    dynamic_bytes: dynamic.value,
    driver_bytes: sheet.field("detail.shared_memory.driver_bytes", (read) => read.role("shared_driver")).value,
    per_block_with_driver_bytes: sheet.field("detail.shared_memory.per_block_with_driver_bytes", (read) =>
      read.role("shared_with_driver"),
    ).value,
    allocated_bytes: sheet.field("detail.shared_memory.allocated_bytes", (read) => read.role("shared_allocated")).value,
    carveout_bytes: sheet.field("detail.shared_memory.carveout_bytes", (read) => read.role("shared_carveout")).value,
  };
  return { usage, fields };
}

type Limits = Readonly<Record<OccupancyLimit, Known<number>>>;

const limitsOf = ({ sheet }: LaunchContext): Limits =>
  Object.fromEntries(
    OCCUPANCY_LIMITS.map((limit) => [limit, sheet.field(LIMIT_PATHS[limit], (read) => read.role(LIMIT_ROLES[limit]))]),
  ) as Record<OccupancyLimit, Known<number>>;

/** Threads of a block, from its shape, else from the launch figure. */
export function blockThreads({ launch }: LaunchContext, read: Reading): number | null {
  if (launch.block !== null) return launch.block[0] * launch.block[1] * launch.block[2];
  return launch.kind === "kernel" ? read.role("block_threads") : null;
}

interface Recomputed {
  readonly sm: Sm;
  readonly warpsPerBlock: number;
  readonly blocks: Readonly<Record<string, number>>;
}

function recompute(context: LaunchContext, read: Reading, usage: Known<number>): Recomputed | null {
  const threads = blockThreads(context, read);
  if (threads === null) return read.because("the shape of the blocks is not known");
  const sm = smOf(read, context.device.computeCapability);
  if (sm === null) return null;
  const warpsPerBlock = Math.ceil(threads / WARP);
  const blocks: Record<string, number> = {};
  const registers = read.role("registers");
  if (registers !== null) blocks.registers = registerBlocks(sm, registers, warpsPerBlock);
  const carveout = read.named("shared_carveout");
  const own = read.of(usage);
  if (own !== null) {
    const { sheet } = context;
    const slack = usage.metrics.reduce((sum, name) => sum + sheet.resolution(name), 0);
    if (carveout !== null) {
      const most = carveout.value + sheet.resolution(carveout.name);
      blocks.shared_mem_at_carveout = sharedBlocks(sm, own, most, slack);
    }
    blocks.shared_mem_at_max_carveout = sharedBlocks(sm, own, sm.sharedBytes, slack);
  }
  if (warpsPerBlock > 0) blocks.warps = Math.floor(sm.warps / warpsPerBlock);
  blocks.blocks = sm.blocks;
  return { sm, warpsPerBlock, blocks };
}

/** With at most one barrier a block the limit on barriers equals that on blocks and is none of its own. */
const barriersBind = ({ barriers, blocks }: Limits): boolean =>
  (barriers.value ?? Number.POSITIVE_INFINITY) < (blocks.value ?? Number.POSITIVE_INFINITY);

/**
 * Limits that really bind. Shared memory binds only if it also does at the largest carve-out: else the driver can raise
 * the carve-out.
 */
function bindingLimits(
  reported: readonly OccupancyLimit[],
  limits: Limits,
  recomputed: Recomputed | null,
): OccupancyLimit[] {
  const atMax = recomputed?.blocks.shared_mem_at_max_carveout;
  return reported.filter((limit) => {
    if (limit === "shared_mem") return atMax === undefined || atMax <= (limits.shared_mem.value ?? 0);
    return limit !== "barriers" || barriersBind(limits);
  });
}

type NextStep = LaunchVerdict["occupancy"]["next_step"];

/** What one block more would need; all limits that are at the minimum have to move together. */
function nextStep(
  { sheet }: LaunchContext,
  known: Known<Recomputed>,
  reported: readonly OccupancyLimit[],
  limits: Limits,
): NextStep {
  const path = "detail.occupancy.next_step";
  return sheet.field(path, (read) => {
    const recomputed = read.of(known);
    const [first] = reported;
    if (recomputed === null || first === undefined) return null;
    const { sm, warpsPerBlock } = recomputed;
    const blocks = (limits[first].value ?? 0) + 1;
    const fixed = reported.filter((limit) => {
      return limit === "warps" || limit === "blocks" || (limit === "barriers" && barriersBind(limits));
    });
    if (fixed.length > 0) return read.because(`${fixed.join(" and ")} per SM allow no further block`);
    for (const limit of reported) read.of(limits[limit]);
    const registers = reported.includes("registers") ? registersFor(sm, blocks, warpsPerBlock) : null;
    if (registers !== null && registers <= 0) return read.because("no number of registers allows a further block");
    const shared = reported.includes("shared_mem") ? sharedFor(sm, blocks) : null;
    if (shared !== null && shared < sm.reservedBytes)
      return read.because("no shared memory is left for a further block");
    if (registers === null) sheet.missing(`${path}.max_registers_per_thread`, "registers do not bind");
    if (shared === null) {
      sheet.missing(`${path}.max_shared_memory_allocated_bytes`, "shared memory does not bind");
      sheet.missing(`${path}.max_static_plus_dynamic_shared_memory_bytes`, "shared memory does not bind");
    }
    return {
      blocks_per_sm: blocks,
      theoretical_occupancy: (blocks * warpsPerBlock) / sm.warps,
      max_registers_per_thread: registers,
      max_shared_memory_allocated_bytes: shared,
      max_static_plus_dynamic_shared_memory_bytes: shared === null ? null : shared - sm.reservedBytes,
    };
  }).value;
}

/** Theoretical occupancy with its limits, which of them bind, and what one block more would need. */
export function occupancyOf(context: LaunchContext, usage: Known<number>): LaunchVerdict["occupancy"] {
  const { sheet } = context;
  const limits = limitsOf(context);
  const recomputed = sheet.derive((read) => recompute(context, read, usage));
  sheet.show("detail.occupancy.limits_recomputed_blocks", recomputed);
  const lowest = Math.min(...OCCUPANCY_LIMITS.map((limit) => limits[limit].value ?? Number.POSITIVE_INFINITY));
  const reported = OCCUPANCY_LIMITS.filter((limit) => limits[limit].value === lowest);
  const fromLimits = sheet.field("detail.occupancy.theoretical_from_limits", (read) => {
    if (reported.length === 0) return read.because("no occupancy limit was reported");
    const known = read.of(recomputed);
    if (known === null) return null;
    for (const limit of reported) read.of(limits[limit]);
    return (lowest * known.warpsPerBlock) / known.sm.warps;
  });
  const theoretical = sheet.field("detail.occupancy.theoretical", (read) => {
    const pct = read.role("theoretical_occupancy_pct");
    return pct === null ? read.of(fromLimits) : pct / 100;
  }).value;
  const full = theoretical !== null && theoretical >= 1;
  const open = !full && reported.length > 0;
  if (!open) {
    const reason = full ? "theoretical occupancy is 100 %" : "no occupancy limit was reported";
    sheet.missing("detail.occupancy.next_step", reason);
  }
  const blocks: LaunchVerdict["occupancy"]["limits_blocks"] = {};
  for (const limit of OCCUPANCY_LIMITS) {
    const { value } = limits[limit];
    if (value !== null) blocks[limit] = value;
  }
  return {
    theoretical,
    theoretical_from_limits: fromLimits.value,
    limiters: full ? [] : bindingLimits(reported, limits, recomputed.value),
    limiters_as_reported: reported,
    limits_blocks: blocks,
    limits_recomputed_blocks: { ...recomputed.value?.blocks },
    next_step: open ? nextStep(context, recomputed, reported, limits) : null,
  };
}
