import type { KernelNames, Launch } from "../../model/launch.ts";
import type { MetricSet } from "../../model/metrics.ts";
import type { Report } from "../../model/report.ts";
import type { Item } from "../kernels.ts";

const NO_METRICS: MetricSet = {
  number: () => null,
  text: () => null,
  absence: () => "absent",
  resolution: () => 0,
  names: () => [],
};

const NO_REPORT: Report = {
  format: "ncu-rep",
  compression: "none",
  bytes_read: 0,
  tool: { name: "ncu", version: null },
  cuda_version: null,
  driver_version: null,
  devices: [],
  launches: [],
  partial: false,
  partial_at_byte: null,
  findings: [],
};

/** Stands for a kernel that a timeline knows and no counters are of: every field of its verdict is null for `reason`. */
export function uncounted(names: KernelNames, reason: string): Item {
  const launch: Launch = {
    index: 0,
    kind: "kernel",
    names,
    grid: null,
    block: null,
    process_id: null,
    context_id: null,
    stream_id: null,
    device: null,
    rank: null,
    nvtx: [],
    created_at_unix_s: null,
    failure: reason,
    metrics: NO_METRICS,
    hints: [],
  };
  return { launch, input: { report: NO_REPORT, id: null, sha256: null }, inputIndex: 0, durationUs: null };
}
