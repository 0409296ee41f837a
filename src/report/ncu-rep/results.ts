import type { Dim3, Hint, Launch, LaunchKind, NvtxRange } from "../../model/launch.ts";
import type { MetricSet } from "../../model/metrics.ts";
import type { ColumnMetrics } from "./metric-set.ts";
import type { MetricCollector, MetricOddities } from "./metric-values.ts";
import { readNvtx } from "./nvtx.ts";
import { readRule } from "./rules.ts";
import type { Texts } from "./texts.ts";
import { Wire, WireError } from "./wire.ts";

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
  readonly unsupportedDevice: number;
  readonly nvtx: number;
  readonly context: number;
  readonly stream?: number;
  readonly driver: number;
}

/** What is the same in the messages of results that span several kernels. */
const COMPOSITE_FIELDS = { thread: 1, metrics: 4, created: 5, unsupportedDevice: 9, nvtx: 10, context: 11 } as const;

/**
 * The result messages of Nsight Compute 2025.3.1 (ProfilerReport.proto, which comes with the tool); older files use the
 * same numbers. ProfileResult is one kernel launch, the others are several kernels measured as one: RangeResult with
 * range replay, CmdlistResult a command list, GraphResult a graph launch.
 */
export const RESULT_FIELDS: Readonly<Record<LaunchKind, ResultFields>> = {
  kernel: {
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
  },
  range: { ...COMPOSITE_FIELDS, rules: 20, driver: 21 },
  /** Field 18 is a name to show, possibly with the API call's. */
  cmdlist: { ...COMPOSITE_FIELDS, stream: 12, function: 18, rules: 21, driver: 25 },
  graph: { ...COMPOSITE_FIELDS, stream: 12, rules: 22, driver: 23 },
};

/** A result as it is read; the index and what later blocks tell is added by the reader. */
export interface RawResult {
  readonly launch: Launch & { readonly metrics: ColumnMetrics };
  /** Display driver as the result stores it: a 32-bit float such as 580.159. */
  readonly driver: number | null;
  readonly oddities: MetricOddities;
}

/** Metrics that the reader itself needs, whatever the caller wants. */
const DEVICE_ID_METRICS = ["launch__device_id", "device__attribute_device_index"];
const DEVICE_NAME_METRIC = "device__attribute_display_name";
export const READER_METRICS: ReadonlySet<string> = new Set([...DEVICE_ID_METRICS, DEVICE_NAME_METRIC]);

/** Device index of a launch, null where its metrics do not say. */
export const deviceOf = (metrics: MetricSet): number | null =>
  DEVICE_ID_METRICS.map((name) => metrics.number(name)).find((value) => value !== null) ?? null;

/** Name of the GPU as the launch itself says. */
export const deviceNameOf = (metrics: MetricSet): string | null => metrics.text(DEVICE_NAME_METRIC) || null;

/** How ncu itself calls results that have no name. */
const KIND_NAMES: Readonly<Record<LaunchKind, string>> = {
  kernel: "",
  range: "range",
  cmdlist: "cmdlist",
  graph: "graph",
};

/** Reads one result message. Throws WireError where a field has another wire type than documented or does not fit. */
export function readResult(
  bytes: Uint8Array,
  kind: LaunchKind,
  index: number,
  processId: number | null,
  metrics: MetricCollector,
  texts: Texts,
): RawResult {
  const wire = new Wire(bytes);
  const fields = RESULT_FIELDS[kind];
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
        readRule(wire, texts, true, ({ type: _type, ...hint }) => hints.push(hint));
        break;
      case fields.mangled:
        mangled = readName(wire, texts);
        break;
      case fields.function:
        functionName = readName(wire, texts);
        break;
      case fields.demangled:
        demangled = readName(wire, texts);
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
        nvtx = readNvtx(wire, threadId).map(({ domain, name }) => ({
          domain: texts.keep(domain),
          name: texts.keep(name),
        }));
        break;
      default:
        wire.skip();
    }
  });

  const display = demangled ?? functionName ?? mangled ?? KIND_NAMES[kind];
  if (display === "") throw new WireError("a kernel without a name", wire.pos);
  const { metrics: set, oddities } = metrics.finish();
  const failedLaunch = grid !== null && block !== null && isZero(grid) && isZero(block);
  return {
    driver,
    oddities,
    launch: {
      index,
      kind,
      names: {
        mangled,
        function: functionName,
        demangled,
        display,
        simplified: false,
      },
      grid: positive(grid),
      block: positive(block),
      process_id: processId,
      context_id: context,
      stream_id: stream,
      device: deviceOf(set),
      rank: null,
      nvtx,
      created_at_unix_s: created,
      failure: unsupported ? UNSUPPORTED : failedLaunch ? FAILED : null,
      metrics: set,
      hints,
    },
  };
}

const UNSUPPORTED = "ncu marks the device as not (fully) supported: the metrics of the launch cannot be used";
const FAILED = "the launch failed while it was measured: the report stores its grid and block as 0, 0, 0";

const isZero = (dim: Dim3): boolean => dim.every((size) => size === 0);

/** A grid or block with a zero in it was not stored. */
const positive = (dim: Dim3 | null): Dim3 | null => (dim?.every((size) => size > 0) ? dim : null);

/** Names that are stored empty (demangled names of kernels with unmangled symbols) count as not stored. */
function readName(wire: Wire, texts: Texts): string | null {
  const name = wire.text();
  return name === "" ? null : texts.keep(name);
}

function readDim3(wire: Wire): Dim3 {
  const sizes: [number, number, number] = [0, 0, 0];
  wire.message((field) => {
    if (field === 1 || field === 2 || field === 3) sizes[field - 1] = wire.uint();
    else wire.skip();
  });
  return sizes;
}
