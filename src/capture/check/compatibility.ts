import { type Found, failed, good, skipped, warned } from "./check.ts";

/**
 * CUDA version that each Nsight Compute came with (NVIDIA's conda channel, nsight-compute by label cuda-x.y.z; from 2026
 * on by release notes of the toolkit).
 */
const CUDA_OF_NCU: Readonly<Record<string, string>> = {
  "2021.1": "11.3",
  "2021.2": "11.4",
  "2021.3": "11.5",
  "2022.1": "11.6",
  "2022.2": "11.7",
  "2022.3": "11.8",
  "2022.4": "12.0",
  "2023.1": "12.1",
  "2023.2": "12.2",
  "2023.3": "12.3",
  "2024.1": "12.4",
  "2024.2": "12.5",
  "2024.3": "12.6",
  "2025.1": "12.8",
  "2025.2": "12.9",
  "2025.3": "13.0",
  "2025.4": "13.1",
};

/** Oldest Linux driver of each CUDA major version (NVIDIA, CUDA Compatibility, minor version compatibility, table 1). */
const OLDEST_DRIVER: Readonly<Record<number, number>> = { 11: 450, 12: 525, 13: 580 };

const major = (version: string): number => Number.parseInt(version, 10);

/**
 * Whether driver and ncu fit, as far as versions tell. An older major version of CUDA in the driver is refused by ncu
 * ("Cuda driver is not compatible with Nsight Compute"); an older minor one mostly works. The trial profile decides.
 */
export function compatibility(driver: string | null, driverCuda: string | null, ncuVersion: string | null): Found {
  if (ncuVersion === null || driver === null) return skipped("driver or ncu is not known");
  const release = ncuVersion.split(".").slice(0, 2).join(".");
  const cuda = CUDA_OF_NCU[release];
  const names = `driver ${driver}${driverCuda === null ? "" : ` (CUDA ${driverCuda})`}, ncu ${ncuVersion}`;
  if (cuda === undefined) return good(`${names}: not in the list of known releases, the trial profile decides`);
  const oldest = OLDEST_DRIVER[major(cuda)];
  if (oldest !== undefined && major(driver) < oldest) {
    return failed(
      `${names} (of CUDA ${cuda}): CUDA ${major(cuda)} needs driver ${oldest} or newer`,
      `Install driver ${oldest} or newer, or an Nsight Compute of CUDA ${driverCuda ?? major(cuda) - 1} and set NCU to it.`,
    );
  }
  if (driverCuda !== null && isOlder(driverCuda, cuda)) {
    return warned(
      `${names} (of CUDA ${cuda}): the driver is older than the toolkit`,
      "Where the trial profile fails, update the driver or use an older Nsight Compute.",
    );
  }
  return good(`${names} (of CUDA ${cuda})`);
}

function isOlder(a: string, b: string): boolean {
  const [majorA = 0, minorA = 0] = a.split(".").map(Number);
  const [majorB = 0, minorB = 0] = b.split(".").map(Number);
  return majorA < majorB || (majorA === majorB && minorA < minorB);
}
