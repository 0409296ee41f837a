import { captureBenchmark } from "./capture-benchmark.ts";
import { type Capture, nothing } from "./capture-parts.ts";
import { captureServer } from "./capture-server.ts";
import { kernelFilter } from "./kernel-filter.ts";
import type { CaptureYield } from "./yield.ts";

/** Runs the workload under ncu and says how that went. Throws only what `stop` is aborted with. */
export async function capture(options: Capture): Promise<CaptureYield> {
  const filter = kernelFilter(options.request.target);
  if (!filter.ok) return nothing(filter.error, options);
  return options.workload.kind === "server"
    ? captureServer(options, options.workload, filter.value)
    : captureBenchmark(options, options.workload, filter.value);
}
