import { captureBenchmark } from "./capture-benchmark.ts";
import { type Capture, nothing } from "./capture-parts.ts";
import { isFullPipeline, kernelFilter } from "./ncu/kernel-filter.ts";
import { captureBenchmarkPipeline } from "./pipeline/benchmark.ts";
import { captureServerPipeline } from "./pipeline/server.ts";
import { captureServer } from "./server/capture.ts";
import type { CaptureYield } from "./yield.ts";

/** Runs the workload under its tools and says how that went. Throws only what `stop` is aborted with. */
export async function capture(options: Capture): Promise<CaptureYield> {
  const { workload, request } = options;
  if (isFullPipeline(request.target)) {
    return workload.kind === "server"
      ? captureServerPipeline(options, workload)
      : captureBenchmarkPipeline(options, workload);
  }
  const filter = kernelFilter(request.target);
  if (!filter.ok) return nothing(filter.error, options);
  return workload.kind === "server"
    ? captureServer(options, workload, filter.value)
    : captureBenchmark(options, workload, filter.value);
}
