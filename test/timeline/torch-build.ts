import { openBuffer } from "../../src/base/file-source.ts";
import type { Result } from "../../src/base/result.ts";
import type { ReadFailure } from "../../src/model/report.ts";
import { DEFAULT_TIMELINE_LIMITS, GPU_ROW_KINDS, NONE, type Timeline } from "../../src/model/timeline.ts";
import { readTorchTrace } from "../../src/timeline/torch-trace/index.ts";

export type TraceEvent = Readonly<Record<string, unknown>>;

export const readBytes = (
  bytes: Uint8Array,
  limits = DEFAULT_TIMELINE_LIMITS,
): Promise<Result<Timeline, ReadFailure>> => readTorchTrace(openBuffer(bytes), "none", limits);

export const readText = (text: string, limits = DEFAULT_TIMELINE_LIMITS): Promise<Result<Timeline, ReadFailure>> =>
  readBytes(Buffer.from(text, "utf8"), limits);

export async function timelineOfText(text: string): Promise<Timeline> {
  const result = await readText(text);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

export const timelineOf = (events: readonly TraceEvent[], beside: TraceEvent = {}): Promise<Timeline> =>
  timelineOfText(JSON.stringify({ schemaVersion: 1, ...beside, traceEvents: events }));

export async function failureOfText(text: string): Promise<ReadFailure> {
  const result = await readText(text);
  if (result.ok) throw new Error(`was read: ${result.value.rows.count} rows`);
  return result.error;
}

/** A kernel as Kineto writes it. `args` replace and add. */
export const kernel = (
  name: string,
  ts: unknown,
  dur: unknown,
  args: TraceEvent = {},
  beside: TraceEvent = {},
): TraceEvent => ({
  ph: "X",
  cat: "kernel",
  name,
  pid: 0,
  tid: 7,
  ts,
  dur,
  ...beside,
  args: {
    device: 0,
    context: 1,
    stream: 7,
    grid: [4, 1, 1],
    block: [128, 1, 1],
    "registers per thread": 32,
    "shared memory": 0,
    ...args,
  },
});

export const call = (
  name: string,
  ts: unknown,
  dur: unknown,
  correlation?: number,
  beside: TraceEvent = {},
): TraceEvent => ({
  ph: "X",
  cat: "cuda_runtime",
  name,
  pid: 100,
  tid: 100,
  ts,
  dur,
  ...beside,
  args: correlation === undefined ? {} : { cbid: 211, correlation },
});

export const annotation = (name: string, ts: unknown, dur: unknown, beside: TraceEvent = {}): TraceEvent => ({
  ph: "X",
  cat: "user_annotation",
  name,
  pid: 100,
  tid: 100,
  ts,
  dur,
  ...beside,
});

export interface PlainRow {
  readonly kind: string;
  readonly name: string;
  readonly start_ns: number;
  readonly duration_ns: number;
  readonly call_ns: number | null;
  readonly op: string | null;
  readonly in_graph: boolean;
  readonly device: number | null;
  readonly stream: string | null;
  readonly process: string | null;
  readonly rank: number | null;
}

/** Rows with positions looked up. */
export const rowsOf = ({ rows, names, lanes, texts }: Timeline): PlainRow[] =>
  Array.from({ length: rows.count }, (_, at) => {
    const lane = lanes[rows.lane[at]!]!;
    return {
      kind: GPU_ROW_KINDS[rows.kind[at]!]!,
      name: names[rows.name[at]!]!.display,
      start_ns: rows.start_ns[at]!,
      duration_ns: rows.end_ns[at]! - rows.start_ns[at]!,
      call_ns: Number.isNaN(rows.call_ns[at]) ? null : rows.call_ns[at]!,
      op: rows.op[at] === NONE ? null : texts[rows.op[at]!]!,
      in_graph: rows.in_graph[at] === 1,
      device: lane.device,
      stream: lane.stream,
      process: lane.process,
      rank: lane.rank,
    };
  });

/** Texts of annotated ranges in order of start. */
export const rangesOf = ({ ranges, texts }: Timeline): string[] => Array.from(ranges.text, (at) => texts[at]!);
