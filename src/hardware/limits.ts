/** What one SM offers to the blocks of a kernel, and in which units it hands it out. Bytes, registers, warps, blocks. */
export interface SmLimits {
  readonly shared_memory_per_sm_bytes: number;
  readonly shared_memory_reserved_per_block_bytes: number;
  readonly registers_per_sm: number;
  readonly max_warps_per_sm: number;
  readonly max_blocks_per_sm: number;
}

export interface AllocationUnits {
  /** Registers are given to a warp in multiples of this. */
  readonly registers_per_warp_unit: number;
  /** The register file is split into this many parts; a warp lives in one of them. */
  readonly register_file_parts: number;
  readonly shared_memory_unit_bytes: number;
  readonly max_registers_per_thread: number;
}

const KIB = 1024;
const limits = (kib: number, reserved: number, warps: number, blocks: number): SmLimits => ({
  shared_memory_per_sm_bytes: kib * KIB,
  shared_memory_reserved_per_block_bytes: reserved,
  registers_per_sm: 65_536,
  max_warps_per_sm: warps,
  max_blocks_per_sm: blocks,
});

/** Source: NVIDIA/cccl, libcudacxx/include/cuda/__device/arch_traits.h; 9.0 agrees with the attributes of an H200. */
const LIMITS: Readonly<Record<string, SmLimits>> = {
  "7.0": limits(96, 0, 64, 32),
  "7.5": limits(64, 0, 32, 16),
  "8.0": limits(164, KIB, 64, 32),
  "8.6": limits(100, KIB, 48, 16),
  "8.7": limits(164, KIB, 48, 16),
  "8.9": limits(100, KIB, 48, 24),
  "9.0": limits(228, KIB, 64, 32),
  "10.0": limits(228, KIB, 64, 32),
  "10.3": limits(228, KIB, 64, 32),
  "11.0": limits(228, KIB, 48, 24),
  "12.0": limits(100, KIB, 48, 24),
  "12.1": limits(100, KIB, 48, 24),
};

/** Thor reports 11.0 from CUDA 13 on and 10.1 before. Source: CUDA 13.0 release notes. */
export const currentCapability = (computeCapability: string): string =>
  computeCapability === "10.1" ? "11.0" : computeCapability;

/** Limits of a compute capability such as `9.0`; null where it is not in the table. Device attributes come before it. */
export const smLimits = (computeCapability: string | null): SmLimits | null =>
  computeCapability === null ? null : (LIMITS[currentCapability(computeCapability)] ?? null);

/**
 * Allocation units of a compute capability, null for one before 7.0 or after 12.x, where nobody looked.
 * Source: cuda_occupancy.h of the CUDA toolkit (11, 12.8 and 13.2).
 */
export function allocationUnits(computeCapability: string | null): AllocationUnits | null {
  const major = computeCapability === null ? Number.NaN : Number.parseInt(computeCapability, 10);
  if (!(major >= 7 && major <= 12)) return null;
  return {
    registers_per_warp_unit: 256,
    register_file_parts: 4,
    shared_memory_unit_bytes: major === 7 ? 256 : 128,
    max_registers_per_thread: 255,
  };
}
