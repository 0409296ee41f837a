import type { Dim3, Hint, Launch, LaunchKind, NvtxRange } from "../../model/launch.ts";
import type { MetricCollector, MetricOddities } from "./metric-values.ts";
import { readNvtx } from "./nvtx.ts";
import { readRule } from "./rules.ts";
import { Wire } from "./wire.ts";

/** Which field of a result message means what. Fields that are not listed are skipped. */
export interface ResultFields {
  readonly thread: number;
  readonly mangled?: number;
  readonly function?: number;
  readonly demangled?: number;
  readonly grid?: number;
  readonly block?: number;
  readonly metrics: number;
  readonly created: number;
  readonly rules: number;
  readonly unsupportedDevice?: number;
  readonly nvtx?: number;
  readonly context: number;
  readonly stream: number;
  readonly driver: number;
}

/** ProfileResult of Nsight Compute 2020.3 to 2025.3.1 (ProfilerReport.proto): one kernel launch. */
export const KERNEL_FIELDS: ResultFields = {
  thread: 1,
  mangled: 5,
  function: 6,
  demangled: 7,
  grid: 10,
  block: 11,
  metrics: 13,
  created: 14,
  rules: 19,
  unsupportedDevice: 20,
  nvtx: 21,
  context: 22,
  stream: 23,
  driver: 35,
};

/** GraphResult of Nsight Compute 2025.3.1: one graph launch, its kernels measured as one. */
export const GRAPH_FIELDS: ResultFields = {
  thread: 1,
  metrics: 4,
  created: 5,
  context: 11,
  stream: 12,
  rules: 22,
  driver: 23,
};

/** A result as it is read; the index and what later blocks tell is added by the reader. */
export interface RawResult {
  readonly launch: Launch;
  /** Display driver as the result stores it: a 32-bit float such as 580.159. */
  readonly driver: number | null;
  readonly deviceName: string | null;
  readonly oddities: MetricOddities;
}

/** Metrics that the reader itself needs, whatever the caller wants. */
const DEVICE_ID_METRICS = ["launch__device_id", "device__attribute_device_index"];
const DEVICE_NAME_METRIC = "device__attribute_display_name";
export const READER_METRICS: ReadonlySet<string> = new Set([...DEVICE_ID_METRICS, DEVICE_NAME_METRIC]);

/** How ncu itself calls results that have no kernel name. */
const KIND_NAMES: Readonly<Record<LaunchKind, string>> = {
  kernel: "",
  range: "range",
  cmdlist: "cmdlist",
  graph: "graph",
};

/**
 * Reads one result message. Throws WireError where a field has another wire type than documented or does not fit.
 * `keep` makes equal strings of a report one string.
 */
export function readResult(
  bytes: Uint8Array,
  kind: LaunchKind,
  fields: ResultFields,
  index: number,
  processId: number | null,
  metrics: MetricCollector,
  keep: (text: string) => string,
): RawResult {
  const wire = new Wire(bytes);
  let mangled: string | null = null;
  let functionName: string | null = null;
  let demangled: string | null = null;
  let grid: Dim3 | null = null;
  let block: Dim3 | null = null;
  let threadId: number | null = null;
  let created: number | null = null;
  let context: number | null = null;
  let stream: number | null = null;
  let driver: number | null = null;
  let unsupported = false;
  let nvtx: NvtxRange[] = [];
  const hints: Hint[] = [];
  metrics.reset();

  wire.fields((field) => {
    switch (field) {
      case fields.metrics:
        metrics.read(wire);
        break;
      case fields.rules:
        readRule(wire, true, ({ type: _type, ...hint }) => hints.push(hint));
        break;
      case fields.mangled:
        mangled = readName(wire, keep);
        break;
      case fields.function:
        functionName = readName(wire, keep);
        break;
      case fields.demangled:
        demangled = readName(wire, keep);
        break;
      case fields.grid:
        grid = readDim3(wire);
        break;
      case fields.block:
        block = readDim3(wire);
        break;
      case fields.thread:
        threadId = wire.uint();
        break;
      case fields.created:
        created = wire.uint();
        break;
      case fields.context:
        context = wire.uint();
        break;
      case fields.stream:
        stream = wire.uint();
        break;
      case fields.unsupportedDevice:
        unsupported = wire.uint() !== 0;
        break;
      case fields.driver:
        driver = wire.float();
        break;
      case fields.nvtx:
        nvtx = readNvtx(wire, threadId).map(({ domain, name }) => ({ domain: keep(domain), name: keep(name) }));
        break;
      default:
        wire.skip();
    }
  });

  const device = DEVICE_ID_METRICS.map((name) => metrics.current(name)).find((value) => typeof value === "number");
  const deviceName = metrics.current(DEVICE_NAME_METRIC);
  const { metrics: set, oddities } = metrics.finish();
  const failedLaunch = grid !== null && block !== null && isZero(grid) && isZero(block);
  return {
    driver,
    deviceName: typeof deviceName === "string" && deviceName !== "" ? deviceName : null,
    oddities,
    launch: {
      index,
      kind,
      names: {
        mangled,
        function: functionName,
        demangled,
        display: demangled ?? functionName ?? mangled ?? KIND_NAMES[kind],
        simplified: false,
      },
      grid: positive(grid),
      block: positive(block),
      process_id: processId,
      context_id: context,
      stream_id: stream,
      device: typeof device === "number" ? device : null,
      rank: null,
      nvtx,
      created_at_unix_s: created,
      failure: unsupported ? UNSUPPORTED : failedLaunch ? FAILED : null,
      metrics: set,
      hints,
    },
  };
}

const UNSUPPORTED = "ncu does not support profiling on this device: the launch has no usable metrics";
const FAILED = "the launch failed while it was measured: the report stores its grid and block as 0, 0, 0";

const isZero = (dim: Dim3): boolean => dim.every((size) => size === 0);

/** A grid or block with a zero in it was not stored. */
const positive = (dim: Dim3 | null): Dim3 | null => (dim?.every((size) => size > 0) ? dim : null);

/** Names that are stored empty (demangled names of kernels with unmangled symbols) count as not stored. */
function readName(wire: Wire, keep: (text: string) => string): string | null {
  const name = wire.text();
  return name === "" ? null : keep(name);
}

function readDim3(wire: Wire): Dim3 {
  const sizes: [number, number, number] = [0, 0, 0];
  wire.message((field) => {
    if (field === 1 || field === 2 || field === 3) sizes[field - 1] = wire.uint();
    else wire.skip();
  });
  return sizes;
}
