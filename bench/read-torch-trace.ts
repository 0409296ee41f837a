/**
 * How fast a trace of torch's profiler is read, beside JSON.parse on a piece that fits, in one process, both warm:
 * `npm run bench:torch [MB]` (1000 MB unless said otherwise; 200 for a quick run). Printed are ratios,
 * because they hold on any machine.
 *
 * The trace is the recorded one again and again, each time with times, correlation ids and External ids moved on, as a
 * longer recording would have them. It is written into a temporary folder once in full and once at a quarter, and each
 * is read in a process of its own, to show that memory grows with the rows that are kept and not with the file.
 */
import { fork } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { openFile } from "../src/base/file-source.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../src/model/timeline.ts";
import { readTorchTrace } from "../src/timeline/torch-trace/index.ts";

const FIXTURE = new URL("../test/fixtures/timelines/h200-pipeline.torch-trace.json.gz", import.meta.url);
const MB = 1e6;
const ROUNDS = 5;
/** What the sample spans, rounded up: how far one copy is behind the other, in microseconds. */
const STEP_US = 700_000;

interface Measured {
  readonly bytes: number;
  readonly rows: number;
  readonly calls: number;
  readonly kept_mb: number;
  readonly first_read_ms: number;
  readonly peak_mb: number;
  readonly idle_mb: number;
}

/** Events of the sample as text, and what stands before and behind them. */
function sample(): { readonly head: string; readonly events: string; readonly tail: string } {
  const text = gunzipSync(readFileSync(FIXTURE)).toString("utf8");
  const start = text.indexOf("[", text.indexOf('"traceEvents"')) + 1;
  const end = text.lastIndexOf("]");
  return { head: text.slice(0, start), events: text.slice(start, end), tail: text.slice(end) };
}

/** Writes at least `bytes`, in whole copies. Integers of 13 digits stay so, and ids stay below 2^31. */
function writeTrace(path: string, bytes: number): void {
  const { head, events, tail } = sample();
  const moved = (copy: number): string =>
    events
      .replace(/"ts": (\d+)/g, (_, us: string) => `"ts": ${Number(us) + copy * STEP_US}`)
      .replace(
        /"(correlation|External id|id)": (\d+)/g,
        (_, key, id: string) => `"${key}": ${Number(id) + copy * 50_000}`,
      );
  const file = openSync(path, "w");
  let written = writeSync(file, head);
  for (let copy = 0; copy === 0 || written < bytes; copy++) {
    if (copy > 0) written += writeSync(file, ",");
    written += writeSync(file, moved(copy));
  }
  writeSync(file, tail);
  closeSync(file);
}

async function read(path: string): Promise<Timeline> {
  const result = await readTorchTrace(openFile(path), "none", DEFAULT_TIMELINE_LIMITS);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

/** Of this process alone: `maxRSS` of a forked process starts with what its parent had. */
function memoryMb(field: "VmHWM" | "VmRSS"): number {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS / 1024;
  return (
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024
  );
}

/** Bytes of all columns. */
function keptMb({ rows, calls, ranges }: Timeline): number {
  const columns = [rows, calls, ranges].flatMap((table) => Object.values(table));
  return columns.reduce((sum, column) => sum + (ArrayBuffer.isView(column) ? column.byteLength : 0), 0) / MB;
}

/** A process that reads one file once. */
async function measureOnce(path: string): Promise<Measured> {
  const idle_mb = memoryMb("VmRSS");
  const started = performance.now();
  const timeline = await read(path);
  return {
    bytes: statSync(path).size,
    rows: timeline.rows.count,
    calls: timeline.calls.count,
    kept_mb: keptMb(timeline),
    first_read_ms: performance.now() - started,
    peak_mb: memoryMb("VmHWM"),
    idle_mb,
  };
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

/** MB/s of the reader on the large file and of JSON.parse on the piece, alternating. */
async function measureRates(
  large: string,
  piece: string,
): Promise<{ readonly reader: number; readonly parse: number }> {
  const text = readFileSync(piece, "utf8");
  const rates = { reader: [] as number[], parse: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    let started = performance.now();
    const parsed = JSON.parse(text) as { traceEvents: unknown[] };
    rates.parse.push(statSync(piece).size / 1e3 / (performance.now() - started));
    if (parsed.traceEvents.length === 0) throw new Error("no events");
    started = performance.now();
    await read(large);
    rates.reader.push(statSync(large).size / 1e3 / (performance.now() - started));
  }
  return { reader: median(rates.reader), parse: median(rates.parse) };
}

const inChild = <T>(...args: string[]): Promise<T> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: process.execArgv });
    child.once("message", (message) => resolve(message as T));
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  });

async function main(megabytes: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-read-torch-trace-"));
  try {
    const [large, quarter, piece] = ["large", "quarter", "piece"].map((name) => join(folder, `${name}.json`)) as [
      string,
      string,
      string,
    ];
    writeTrace(large, megabytes * MB);
    writeTrace(quarter, (megabytes / 4) * MB);
    writeTrace(piece, Math.min(megabytes, 80) * MB);
    const { reader, parse } = await inChild<{ reader: number; parse: number }>("rates", large, piece);
    console.log(
      `read ${reader.toFixed(0)} MB/s, JSON.parse ${parse.toFixed(0)} MB/s: ${(reader / parse).toFixed(2)} times its rate`,
    );
    const sizes: Measured[] = [];
    for (const path of [quarter, large]) {
      const measured = await inChild<Measured>("once", path);
      sizes.push(measured);
      console.log(
        `${(measured.bytes / MB).toFixed(0)} MB: ${measured.rows} rows, ${measured.calls} calls, ` +
          `${measured.kept_mb.toFixed(1)} MB of columns, ${measured.first_read_ms.toFixed(0)} ms in a new process, ` +
          `${measured.idle_mb.toFixed(0)} MB before, peak ${measured.peak_mb.toFixed(0)} MB`,
      );
    }
    const [small, big] = sizes as [Measured, Measured];
    const grown = big.peak_mb - small.peak_mb;
    console.log(
      `memory: ${(grown / ((big.bytes - small.bytes) / MB)).toFixed(3)} bytes for each further byte of the file ` +
        `(${grown.toFixed(0)} MB, columns ${(big.kept_mb - small.kept_mb).toFixed(0)} MB), ` +
        `peak ${(big.peak_mb / (big.bytes / MB)).toFixed(2)} times the file`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [mode, first, second] = process.argv.slice(2);
if (mode === "rates" && first !== undefined && second !== undefined) process.send?.(await measureRates(first, second));
else if (mode === "once" && first !== undefined) process.send?.(await measureOnce(first));
else await main(Number(mode ?? 1000));
