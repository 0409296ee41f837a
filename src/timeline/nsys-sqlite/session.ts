import type { TimelineGpu } from "../../model/timeline.ts";
import { type Database, quoted, type Table, textOf } from "./database.ts";

/** Characters of a value of the metadata. */
const LONGEST_VALUE = 256;
const MAX_GPUS = 1024;

/** What the file says about tool, host and recording. Only these values are asked for: the same tables hold the environment. */
export interface Session {
  readonly productVersion: string | null;
  readonly schemaVersion: string | null;
  readonly cudaVersion: string | null;
  readonly driverVersion: string | null;
  /** Unix nanoseconds of the file's time 0. */
  readonly startUnixNs: bigint | null;
  /** Times in the file count from 1970. */
  readonly isNormalized: boolean;
  readonly graphTraceMode: string | null;
  readonly isCut: boolean;
  readonly gpus: readonly TimelineGpu[];
}

const VERSION = /^\d[\w.-]{0,40}$/;

export function readSession(database: Database): Session {
  const exported = database.firstTable("META_DATA_EXPORT", "EXPORT_META_DATA");
  const captured = database.table("META_DATA_CAPTURE");
  const environment = database.table("TARGET_INFO_SYSTEM_ENV");
  const one = (table: Table | null, name: string): string | null => values(database, table, name)[0] ?? null;
  const start = database.table("TARGET_INFO_SESSION_START_TIME");
  const epoch = start?.columns.has("utcEpochNs")
    ? database.rows(`SELECT CAST(CAST(utcEpochNs AS INTEGER) AS TEXT) FROM ${quoted(start.name)} LIMIT 1`)[0]?.[0]
    : null;
  const modes = values(database, captured, "%CUDA_GRAPH_TRACE_OPTIONS:MODE").filter((mode) => /^\w{1,32}$/.test(mode));
  const shift = one(exported, "EXPORT_CONFIG_TIME_SHIFT");
  return {
    productVersion: version(one(exported, "EXPORT_PRODUCT_VERSION")),
    schemaVersion: version(one(exported, "EXPORT_SCHEMA_VERSION")),
    cudaVersion: cudaVersion(one(environment, "CudaDriverVersion")),
    driverVersion: version(one(environment, "NvDriverVersion")),
    startUnixNs: typeof epoch === "string" && BigInt(epoch) > 0n && (shift ?? "0") === "0" ? BigInt(epoch) : null,
    isNormalized: one(exported, "EXPORT_PARAM_TIME_NORMALIZE") === "true",
    graphTraceMode: modes.length === 0 ? null : [...new Set(modes)].sort().join(", "),
    isCut: [exported, captured].some((table) => values(database, table, "DERIVED_WINDOW_NS").length > 0),
    gpus: readGpus(database),
  };
}

const version = (text: string | null): string | null => (text !== null && VERSION.test(text) ? text : null);

/** 13000 is 13.0, 12010 is 12.1: CUDA_VERSION of cuda.h. */
function cudaVersion(text: string | null): string | null {
  if (text === null || !/^\d{4,6}$/.test(text)) return null;
  const number = Number(text);
  return `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`;
}

export function values(database: Database, table: Table | null, name: string): string[] {
  if (table === null || !table.columns.has("name") || !table.columns.has("value")) return [];
  return database
    .rows(
      `SELECT CAST(substr(CAST(value AS BLOB), 1, ${LONGEST_VALUE}) AS BLOB) FROM ${quoted(table.name)}
       WHERE name LIKE ? LIMIT 64`,
      name,
    )
    .map(([value]) => textOf(value))
    .filter((value) => value !== null);
}

/** All GPUs of the host. Exports before 2022 list those of CUDA, once for each process, without the bandwidth. */
function readGpus(database: Database): TimelineGpu[] {
  const table = database.table("TARGET_INFO_GPU");
  const old = table === null ? database.table("TARGET_INFO_CUDA_GPU") : null;
  const gpus =
    table !== null
      ? gpuRows(database, table, ["id", "computeMajor", "computeMinor", "smCount", "totalMemory", "memoryBandwidth"], 1)
      : old !== null
        ? gpuRows(
            database,
            old,
            ["deviceId", "computeCapabilityMajor", "computeCapabilityMinor", "numMultiprocessors", "globalMemorySize"],
            // MiB there.
            1024 ** 2,
          )
        : [];
  const byIndex = new Map(gpus.map((gpu) => [`${gpu.index}/${gpu.name}`, gpu]));
  return [...byIndex.values()].sort((a, b) => (a.index ?? Infinity) - (b.index ?? Infinity));
}

function gpuRows(database: Database, table: Table, columns: readonly string[], memoryUnit: number): TimelineGpu[] {
  const cell = (column: string | undefined): string =>
    column !== undefined && table.columns.has(column)
      ? `CASE WHEN typeof(${quoted(column)}) = 'integer' THEN ${quoted(column)} END`
      : "NULL";
  const name = table.columns.has("name") ? "CAST(substr(CAST(name AS BLOB), 1, 128) AS BLOB)" : "NULL";
  const cells = Array.from({ length: 6 }, (_, at) => cell(columns[at]));
  return database
    .rows(`SELECT ${name}, ${cells.join(", ")} FROM ${quoted(table.name)} LIMIT ${MAX_GPUS}`)
    .map((row) => {
      const [index, major, minor, processors, memory, bandwidth] = row
        .slice(1)
        .map((value) => (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null));
      return {
        index: index ?? null,
        name: textOf(row[0]) || null,
        compute_capability: major ? `${major}.${minor ?? 0}` : null,
        sm_count: processors || null,
        memory_bytes: memory ? memory * memoryUnit : null,
        memory_bandwidth_bytes_per_s: bandwidth || null,
      };
    });
}
