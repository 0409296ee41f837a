import type { ServerWorkload } from "../model/workload.ts";
import { type Capture, nothing } from "./capture-parts.ts";
import type { CaptureYield } from "./yield.ts";

/** The full pipeline of an engine that serves requests. */
export async function captureServerPipeline(options: Capture, workload: ServerWorkload): Promise<CaptureYield> {
  return nothing(
    {
      code: "internal",
      message: `The full pipeline of workload ${workload.name}, a server, cannot be captured yet.`,
      hint: "Declare a benchmark program of the same model, or profile a kernel by its name.",
      retryable: false,
      evidence: {},
    },
    options,
  );
}
