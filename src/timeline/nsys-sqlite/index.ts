import { err, ok, type Result } from "../../base/result.ts";
import type { Compression, ReadFailure } from "../../model/report.ts";
import type { HostRows, Recording, Timeline, TimelineLimits } from "../../model/timeline.ts";
import { Dropped } from "../dropped.ts";
import { Refused } from "../refused.ts";
import { HostRowsBuilder, Pool } from "../rows.ts";
import { CallsReader } from "./calls.ts";
import { Captures } from "./captures.ts";
import { Clock } from "./clock.ts";
import { Database, damaged, quoted, type Table } from "./database.ts";
import { GpuRowsReader } from "./gpu-rows.ts";
import { readMessages } from "./messages.ts";
import { readRanges } from "./ranges.ts";
import { readSession } from "./session.ts";
import { Strings } from "./strings.ts";
import { Threads } from "./threads.ts";

/** Tables that only nsys writes: a database with none of them is somebody else's. */
const OWN_TABLES = ["META_DATA_EXPORT", "EXPORT_META_DATA", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU", "NVTX_EVENTS"];

/**
 * Reads an export of Nsight Systems (`nsys export --type sqlite`) of any version since 2020: tables and columns are
 * looked for, never assumed. The file is opened read-only and nothing of its schema is run; damage that only SQLite can
 * find may still end the process, so files of others are read in a process of their own.
 *
 * @param path The database itself, not compressed.
 * @param compression How it was compressed before.
 * @returns A refusal for what is no such export or is damaged. Errors of the file system reject.
 */
export async function readNsysSqlite(
  path: string,
  compression: Compression,
  limits: TimelineLimits,
): Promise<Result<Timeline, ReadFailure>> {
  try {
    const database = await Database.open(path, limits.maxBytes);
    try {
      return ok(read(database, compression, limits));
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof Refused) return err(error.failure);
    const code = (error as { readonly code?: unknown }).code;
    if (typeof code !== "string" || !code.startsWith("SQLITE_")) throw error;
    return err(damaged(`SQLite says ${code}`, { sqlite: code }));
  }
}

function read(database: Database, compression: Compression, limits: TimelineLimits): Timeline {
  const tables = {
    kernels: database.table("CUPTI_ACTIVITY_KIND_KERNEL"),
    copies: database.table("CUPTI_ACTIVITY_KIND_MEMCPY"),
    sets: database.table("CUPTI_ACTIVITY_KIND_MEMSET"),
    graphs: database.table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
  };
  const callTable = database.table("CUPTI_ACTIVITY_KIND_RUNTIME");
  const rangeTable = database.table("NVTX_EVENTS");
  const gpuTables = Object.values(tables).map((table) => (hasTimes(table) ? table : null));
  if (![...gpuTables, callTable, rangeTable].some((table) => table !== null)) refuseForeign(database);

  const session = readSession(database);
  const clock = Clock.of(database, [...gpuTables, callTable, rangeTable]);
  const strings = new Strings(database);
  const dropped = new Dropped();
  const texts = new Pool<string>((text) => text);
  const threads = new Threads();
  const calls = hasTimes(callTable) ? callTable : null;

  const gpu = new GpuRowsReader(clock, strings, dropped, onlyProcess(database, tables.kernels, calls), limits);
  const [kernels, copies, sets, graphs] = gpuTables as [Table | null, Table | null, Table | null, Table | null];
  gpu.read(database, { kernels, copies, sets, graphs });

  const callsReader = new CallsReader(strings, texts, threads, clock, dropped);
  let captureCalls: number | null = null;
  if (calls !== null) {
    const captures = new Captures(database, calls, database.table("STRINGIDS"), threads, clock);
    captureCalls = captures.calls;
    callsReader.read(database, calls, gpu, captures, limits);
  }
  const ranges = hasTimes(rangeTable)
    ? readRanges(database, rangeTable, { strings, texts, threads, clock, dropped }, limits)
    : null;

  const kernelCounts = gpu.graphLaunches.widest();
  const hasCalls = calls !== null;
  const recording: Recording = {
    has_kernel_table: kernels !== null,
    launch_calls: hasCalls ? callsReader.counts.launch_calls : null,
    launch_calls_without_row: hasCalls ? callsReader.counts.launch_calls_without_row : null,
    kernels_without_call: hasCalls ? gpu.correlations.kernelsWithoutCall() : null,
    graph_launch_calls: hasCalls ? callsReader.counts.graph_launch_calls : null,
    graph_launch_calls_without_row: hasCalls ? callsReader.counts.graph_launch_calls_without_row : null,
    graph_kernels_min: kernelCounts?.min ?? null,
    graph_kernels_max: kernelCounts?.max ?? null,
    graph_trace_mode: session.graphTraceMode,
    stream_capture_calls: captureCalls,
    shared_correlations: gpu.correlations.shared(),
    dropped: dropped.list(),
    tool_messages: readMessages(database),
    is_cut: session.isCut,
    profiler_ranges: 0,
    managed_copies: gpu.managedCopies,
    batched_copies: gpu.batchedCopies,
  };
  gpu.correlations.release();
  return {
    format: "nsys-sqlite",
    compression,
    bytes_read: database.bytes,
    tool: { name: "nsys", version: session.productVersion },
    schema_version: session.schemaVersion,
    cuda_version: session.cudaVersion,
    driver_version: session.driverVersion,
    zero_unix_ns: session.isNormalized
      ? clock.zero
      : session.startUnixNs === null
        ? null
        : session.startUnixNs + clock.zero,
    tick_ns: gpu.builder.count > 0 ? gpu.tick : 1,
    has_starts: true,
    gpus: session.gpus,
    world_size: null,
    names: gpu.names,
    shapes: gpu.shapes(),
    lanes: gpu.lanes(),
    threads: threads.list,
    texts: texts.items,
    rows: gpu.builder.finish(),
    sums: null,
    calls: callsReader.isTooMany ? EMPTY : callsReader.builder.finish(),
    ranges: ranges?.finish() ?? EMPTY,
    recording,
  };
}

const EMPTY: HostRows = new HostRowsBuilder().finish();

const hasTimes = (table: Table | null): table is Table =>
  table?.columns.has("start") === true && table.columns.has("end");

/** The process of kernels that do not name theirs: that of the API calls, where there is one only; else NaN. */
function onlyProcess(database: Database, kernels: Table | null, calls: Table | null): number {
  if (kernels === null || kernels.columns.has("globalPid") || !calls?.columns.has("globalTid")) return Number.NaN;
  const found = database.rows(
    `SELECT DISTINCT CAST(globalTid & ~16777215 AS TEXT) FROM ${quoted(calls.name)} WHERE globalTid IS NOT NULL LIMIT 2`,
  );
  return found.length === 1 ? Number(found[0]?.[0]) : Number.NaN;
}

function refuseForeign(database: Database): void {
  if (database.firstTable(...OWN_TABLES) !== null) return;
  throw new Refused({
    code: "wrong_kind",
    message: "this is an SQLite database without the tables of Nsight Systems",
    hint: "give an export of a recording: nsys export --type sqlite FILE.nsys-rep",
    evidence: { found: "an SQLite database" },
  });
}
