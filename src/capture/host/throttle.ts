/**
 * What holds a GPU's clocks, by bit (nvml.h, nvmlClocksEventReasons, drivers 535 to 580; before 535 they were called
 * throttle reasons). NVIDIA may add bits: an unknown one keeps its number.
 */
const REASONS: readonly (readonly [bigint, string])[] = [
  [0x1n, "gpu_idle"],
  [0x2n, "applications_clocks_setting"],
  [0x4n, "sw_power_cap"],
  [0x8n, "hw_slowdown"],
  [0x10n, "sync_boost"],
  [0x20n, "sw_thermal_slowdown"],
  [0x40n, "hw_thermal_slowdown"],
  [0x80n, "hw_power_brake_slowdown"],
  [0x100n, "display_clock_setting"],
];

/** Reasons that mean that the GPU cannot run as fast as it is set to. The others are settings, or nothing to do. */
const SLOWED: ReadonlySet<string> = new Set([
  "hw_slowdown",
  "sw_thermal_slowdown",
  "hw_thermal_slowdown",
  "hw_power_brake_slowdown",
]);

/** Names of the bits that are set, in the order of the bits. */
export function throttleReasons(mask: bigint): string[] {
  const known = REASONS.filter(([bit]) => (mask & bit) !== 0n).map(([, name]) => name);
  const rest = REASONS.reduce((left, [bit]) => left & ~bit, mask);
  const unknown: string[] = [];
  for (let bit = 1n; bit <= rest; bit <<= 1n) if ((rest & bit) !== 0n) unknown.push(`unknown_0x${bit.toString(16)}`);
  return [...known, ...unknown];
}

/** Those reasons that distort what is measured. */
export const slowingReasons = (reasons: readonly string[]): string[] => reasons.filter((name) => SLOWED.has(name));
