import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Libsql from "libsql";
import { afterAll } from "vitest";
import type { ReadFailure } from "../../src/model/report.ts";
import { DEFAULT_TIMELINE_LIMITS, GPU_ROW_KINDS, type GpuRowKind, type Timeline } from "../../src/model/timeline.ts";
import { readNsysSqlite } from "../../src/timeline/nsys-sqlite/index.ts";

/** A folder for the files of one test file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "nsys-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Cell = number | bigint | string | Buffer | null;
type Row = Readonly<Record<string, Cell>>;

/** What stands for NULL and for plain text in SQL of these tests. */
const literal = (cell: Cell): string =>
  cell === null
    ? "NULL"
    : typeof cell === "string"
      ? `CAST(x'${Buffer.from(cell).toString("hex")}' AS TEXT)`
      : Buffer.isBuffer(cell)
        ? `CAST(x'${cell.toString("hex")}' AS TEXT)`
        : String(cell);

/**
 * Writes an export by hand. Tables have the columns of their rows, all INTEGER but `value`, `name` and `text`. `extra` is
 * SQL that is run at the end.
 */
export function writeExport(path: string, tables: Readonly<Record<string, readonly Row[]>>, extra = ""): string {
  const database = new Libsql(path);
  database.exec("PRAGMA journal_mode = OFF; BEGIN");
  for (const [table, rows] of Object.entries(tables)) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    if (columns.length === 0) columns.push("start", "end");
    const types = columns.map((column) =>
      table === "StringIds" && column === "id"
        ? '"id" INTEGER PRIMARY KEY'
        : `"${column}" ${/^(value|name|text)$/.test(column) ? "TEXT" : "INTEGER"}`,
    );
    database.exec(`CREATE TABLE "${table}" (${types.join(", ")})`);
    for (const row of rows) {
      const cells = columns.map((column) => literal(row[column] ?? null));
      database.exec(`INSERT INTO "${table}" VALUES (${cells.join(", ")})`);
    }
  }
  database.exec(`COMMIT; ${extra}`);
  database.close();
  return path;
}

/** A `globalPid`: its low 24 bits are zero. */
export const PROCESS = 0x10007_52_000000;

/** A kernel row as nsys 2025.3 writes it. */
export const kernel = (row: Row): Row => ({
  start: 1000,
  end: 2000,
  deviceId: 0,
  contextId: 1,
  streamId: 7,
  correlationId: 1,
  globalPid: PROCESS,
  demangledName: 1,
  shortName: 2,
  gridX: 4,
  gridY: 1,
  gridZ: 1,
  blockX: 256,
  blockY: 1,
  blockZ: 1,
  registersPerThread: 32,
  staticSharedMemory: 1024,
  dynamicSharedMemory: 2048,
  graphNodeId: null,
  ...row,
});

/** An API call: `nameId` 3 is cudaLaunchKernel, 4 cudaGraphLaunch, 5 and 6 begin and end a capture. */
export const call = (row: Row): Row => ({
  start: 500,
  end: 600,
  globalTid: PROCESS + 77,
  correlationId: 1,
  nameId: 3,
  returnValue: 0,
  ...row,
});

export const STRINGS: readonly Row[] = [
  { id: 1, value: "void ns::scale<float>(float *, int)" },
  { id: 2, value: "scale" },
  { id: 3, value: "cudaLaunchKernel_v7000" },
  { id: 4, value: "cudaGraphLaunch_v10000" },
  { id: 5, value: "cudaStreamBeginCapture_v10000" },
  { id: 6, value: "cudaStreamEndCapture_v10000" },
  { id: 7, value: "decode step" },
  { id: 8, value: "cudaMemcpyAsync_v3020" },
];

export async function read(path: string, limits = DEFAULT_TIMELINE_LIMITS): Promise<Timeline> {
  const result = await readNsysSqlite(path, "none", limits);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value;
}

export async function refusal(path: string, limits = DEFAULT_TIMELINE_LIMITS): Promise<ReadFailure> {
  const result = await readNsysSqlite(path, "none", limits);
  if (result.ok) throw new Error("was read");
  return result.error;
}

/** Count, time and bytes of the rows of one kind, and the display names that they have. */
export function totals(
  { rows, names }: Timeline,
  kind: GpuRowKind,
): { count: number; ns: number; bytes: number; names: Map<string, readonly [number, number]> } {
  const found = { count: 0, ns: 0, bytes: 0, names: new Map<string, readonly [number, number]>() };
  for (let at = 0; at < rows.count; at++) {
    if (GPU_ROW_KINDS[rows.kind[at] ?? -1] !== kind) continue;
    const ns = (rows.end_ns[at] ?? Number.NaN) - (rows.start_ns[at] ?? Number.NaN);
    const bytes = rows.bytes[at] ?? Number.NaN;
    const name = names[rows.name[at] ?? -1]?.display ?? "";
    const [count, time] = found.names.get(name) ?? [0, 0];
    found.names.set(name, [count + 1, time + ns]);
    found.count++;
    found.ns += ns;
    if (!Number.isNaN(bytes)) found.bytes += bytes;
  }
  return found;
}

/** Union of the intervals for each process and device, added up. */
export function union({ rows, lanes }: Timeline, kinds: readonly GpuRowKind[]): number {
  const ends = new Map<string, number>();
  let sum = 0;
  for (let at = 0; at < rows.count; at++) {
    if (!kinds.includes(GPU_ROW_KINDS[rows.kind[at] ?? -1] as GpuRowKind)) continue;
    const lane = lanes[rows.lane[at] ?? -1];
    const key = `${lane?.process}/${lane?.device}`;
    const [start, end] = [rows.start_ns[at] ?? 0, rows.end_ns[at] ?? 0];
    const before = ends.get(key) ?? Number.NEGATIVE_INFINITY;
    sum += Math.max(0, end - Math.max(start, before));
    ends.set(key, Math.max(before, end));
  }
  return sum;
}

/** What must hold of every timeline, whatever was in the file. */
export function integrityFaults(timeline: Timeline): string[] {
  const { rows, names, lanes, shapes, threads, texts, calls, ranges } = timeline;
  const faults: string[] = [];
  const NONE = 0xffffffff;
  for (let at = 0; at < rows.count; at++) {
    const [start, end] = [rows.start_ns[at] ?? Number.NaN, rows.end_ns[at] ?? Number.NaN];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || end < start) faults.push(`row ${at}: time`);
    if (at > 0 && start < (rows.start_ns[at - 1] ?? 0)) faults.push(`row ${at}: order`);
    if ((rows.name[at] ?? NONE) >= names.length) faults.push(`row ${at}: name`);
    if ((rows.lane[at] ?? NONE) >= lanes.length) faults.push(`row ${at}: lane`);
    for (const [index, list] of [
      [rows.shape[at], shapes],
      [rows.thread[at], threads],
    ] as const) {
      if (index !== NONE && (index ?? NONE) >= list.length) faults.push(`row ${at}: position`);
    }
    if (Number.isNaN(rows.call_ns[at] ?? Number.NaN) !== (rows.thread[at] === NONE)) faults.push(`row ${at}: call`);
  }
  for (const host of [calls, ranges]) {
    for (let at = 0; at < host.count; at++) {
      if (!Number.isSafeInteger(host.start_ns[at])) faults.push(`host row ${at}: time`);
      if ((host.end_ns[at] ?? 0) < (host.start_ns[at] ?? 0)) faults.push(`host row ${at}: end`);
      if ((host.text[at] ?? NONE) >= texts.length || (host.thread[at] ?? NONE) >= threads.length)
        faults.push(`host row ${at}: position`);
    }
  }
  return faults;
}

export const write = (folder: string, name: string, bytes: Uint8Array | string): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};
