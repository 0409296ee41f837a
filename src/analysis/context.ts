import { type CatalogueMatch, findGpu } from "../hardware/catalogue.ts";
import { DEVICE_NAME_METRIC, ROLES, type Role } from "../hardware/roles.ts";
import type { Launch } from "../model/launch.ts";
import type { MetricSet } from "../model/metrics.ts";
import type { Report } from "../model/report.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFamilies } from "./families.ts";
import type { Sheet } from "./sheet.ts";

export const DEVICE: Declaration = {
  name: "device",
  needs: [
    ...needs.required("cc_major", "cc_minor", "sm_count"),
    ...needs.optional("device_sm_count", "sm_clock_max_khz", "dram_clock_max_khz", "passes"),
    ...needs.optional("sm_shared_bytes", "sm_registers", "sm_warps", "sm_blocks", "sm_reserved_bytes"),
    ...needs.optionalMetrics([DEVICE_NAME_METRIC]),
  ],
};

/** The device of a launch. */
export interface Device {
  readonly name: string | null;
  /** Such as `9.0`. */
  readonly computeCapability: string | null;
  readonly smCount: number | null;
  readonly gpu: CatalogueMatch | null;
}

const first = (metrics: MetricSet, role: Role): number | null => {
  for (const name of ROLES[role]) {
    const value = metrics.number(name);
    if (value !== null) return value;
  }
  return null;
};

/** The device as the launch itself reports it, else as the session of the report names it. */
export function deviceOf(launch: Launch, report: Report): Device {
  const { metrics } = launch;
  const major = first(metrics, "cc_major");
  const minor = first(metrics, "cc_minor");
  const session =
    report.devices.find((device) => device.index === launch.device) ??
    (report.devices.length === 1 ? report.devices[0] : undefined);
  const name = metrics.text(DEVICE_NAME_METRIC) ?? session?.name ?? null;
  const computeCapability = major === null || minor === null ? null : `${major}.${minor}`;
  const smCount = first(metrics, "device_sm_count");
  return {
    name,
    computeCapability,
    smCount,
    gpu: findGpu({ name, compute_capability: computeCapability, sm_count: smCount }),
  };
}

/** Everything the analyses of one launch read. */
export interface LaunchContext {
  readonly launch: Launch;
  readonly sheet: Sheet;
  readonly families: LaunchFamilies;
  readonly device: Device;
}
