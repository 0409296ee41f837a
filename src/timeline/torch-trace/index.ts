import { err, ok } from "../../base/result.ts";
import type { Compression } from "../../model/report.ts";
import type { ReadTimeline, Timeline } from "../../model/timeline.ts";
import { Refused } from "../refused.ts";
import { OtherZero, type Zero } from "./clock.ts";
import { TraceDocument } from "./document.ts";
import { laneOf } from "./lanes.ts";
import { gpuOperationNames, kernelNames } from "./names.ts";
import { launchRecording } from "./recording.ts";

/**
 * Reads a trace of torch's profiler (Kineto's Chrome trace JSON, 2021 to CUDA 13, and ROCm). One pass over the bytes;
 * memory grows with the rows that are kept, not with the file. Times are nanoseconds from the first time in the file.
 * docs/formats/torch-trace.md says what is relied on and what is refused.
 */
export const readTorchTrace: ReadTimeline = async (open, compression, limits) => {
  let zero: Zero | null = null;
  for (;;) {
    const source = await open();
    try {
      const document = new TraceDocument(source, limits, zero);
      await document.read();
      return ok(timelineOf(document, compression));
    } catch (error) {
      if (error instanceof Refused) return err(error.failure);
      // At most once: with a zero that is given, it is not thrown again.
      if (!(error instanceof OtherZero)) throw error;
      zero = error.zero;
    } finally {
      await source.close();
    }
  }
};

function timelineOf(document: TraceDocument, compression: Compression): Timeline {
  const { metadata, events } = document;
  const { host, gpu, clock } = events;
  const { rows, groups, kernelsWithoutCall } = gpu.finish();
  const ranges = host.finishRanges();
  const { rank, base_unix_ns } = metadata;
  const { zero } = clock;
  return {
    format: "torch-trace",
    compression,
    bytes_read: document.bytesRead,
    tool: { name: "torch", version: null },
    schema_version: metadata.schemaVersion,
    cuda_version: metadata.cudaVersion,
    driver_version: null,
    zero_unix_ns:
      base_unix_ns === null || zero === null ? null : base_unix_ns + BigInt(zero.us) * 1000n + BigInt(zero.ns),
    tick_ns: rows.count > 0 && clock.isWholeMicroseconds ? 1000 : 1,
    has_starts: true,
    gpus: metadata.gpus,
    world_size: metadata.worldSize,
    names: events.names.items.map((name) =>
      name.startsWith("[CUDA mem") ? gpuOperationNames(name) : kernelNames(name),
    ),
    shapes: gpu.shapes.items,
    lanes: gpu.lanes.items.map((lane) => laneOf(lane, rank)),
    threads: host.threads.items,
    texts: host.texts.items,
    rows,
    sums: null,
    calls: host.finishCalls(),
    ranges,
    recording: {
      has_kernel_table: events.hasKernels,
      ...launchRecording(host.calls, groups, kernelsWithoutCall),
      graph_trace_mode: null,
      dropped: events.dropped.list(),
      tool_messages: [],
      is_cut: false,
      profiler_ranges: events.profilerRanges,
      managed_copies: 0,
      batched_copies: 0,
    },
  };
}
