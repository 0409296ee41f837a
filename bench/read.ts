/**
 * How long reading and analysing a report takes, beside the SHA-256 of the same file by node:crypto, in one process,
 * both warm, alternating, median of 10: `npm run bench:read`. Printed are ratios, because they hold on any machine.
 *
 * The report is the 91 MB one with its device code inside (`h200-full-with-cubins`), unpacked to a temporary file by the
 * `xz` program; then the same report without device code, to show that memory does not grow with it. Each runs in a
 * process of its own, so that the peak of one does not hide that of the other.
 */
import { execFileSync, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { analyze, wantsMetric } from "../src/analysis/index.ts";
import type { OpenBytes } from "../src/base/bytes.ts";
import { openFile } from "../src/base/file-source.ts";
import type { Report } from "../src/model/report.ts";
import { readReport } from "../src/report/detect.ts";

const ROUNDS = 10;
const fixtures = new URL("../test/fixtures/ncu/2025.3.1/h200/", import.meta.url);

interface Measured {
  sha256_ms: number;
  read_wanted_ms: number;
  read_all_ms: number;
  read_and_analyse_ms: number;
  file_bytes: number;
  bytes_read: number;
  launches: number;
  peak_rss_mb: number;
}

/** Of this process alone: `maxRSS` of a forked process starts with what its parent had. */
function peakMb(): number {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS / 1024;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function sha256(path: string): string {
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafe(1024 ** 2);
  const file = openSync(path, "r");
  for (let count = readSync(file, buffer); count > 0; count = readSync(file, buffer))
    hash.update(buffer.subarray(0, count));
  closeSync(file);
  return hash.digest("hex");
}

async function read(open: OpenBytes, wantMetric?: (name: string) => boolean): Promise<Report> {
  const result = await readReport(open, wantMetric === undefined ? {} : { wantMetric });
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

async function readAndAnalyse(path: string): Promise<void> {
  const report = await read(openFile(path), wantsMetric);
  const result = analyze([{ report, id: null, sha256: null }], { target: "full pipeline" });
  if (!result.ok) throw new Error(result.error.message);
}

/** Counts the bytes that readers are given, so that skipped ones show. */
function counting(open: OpenBytes, count: (bytes: number) => void): OpenBytes {
  return async () => {
    const source = await open();
    return {
      size: source.size,
      get position() {
        return source.position;
      },
      async read(length) {
        const bytes = await source.read(length);
        count(bytes.length);
        return bytes;
      },
      skip: (length) => source.skip(length),
      close: () => source.close(),
    };
  };
}

async function measure(path: string): Promise<Measured> {
  const cases = {
    sha256_ms: async () => void sha256(path),
    read_wanted_ms: async () => void (await read(openFile(path), wantsMetric)),
    read_all_ms: async () => void (await read(openFile(path))),
    read_and_analyse_ms: () => readAndAnalyse(path),
  };
  const times: Record<keyof typeof cases, number[]> = {
    sha256_ms: [],
    read_wanted_ms: [],
    read_all_ms: [],
    read_and_analyse_ms: [],
  };
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const name of Object.keys(cases) as (keyof typeof cases)[]) {
      const started = performance.now();
      await cases[name]();
      if (round >= 0) times[name].push(performance.now() - started);
    }
  }
  let bytesRead = 0;
  const report = await read(
    counting(openFile(path), (bytes) => (bytesRead += bytes)),
    wantsMetric,
  );
  return {
    sha256_ms: median(times.sha256_ms),
    read_wanted_ms: median(times.read_wanted_ms),
    read_all_ms: median(times.read_all_ms),
    read_and_analyse_ms: median(times.read_and_analyse_ms),
    file_bytes: statSync(path).size,
    bytes_read: bytesRead,
    launches: report.launches.length,
    peak_rss_mb: peakMb(),
  };
}

/** Peak memory of a process that does nothing but read and analyse once. */
async function measureOnce(path: string): Promise<number> {
  await readAndAnalyse(path);
  return peakMb();
}

const inChild = <T>(mode: string, path: string): Promise<T> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [mode, path], { execArgv: process.execArgv });
    child.once("message", (message) => resolve(message as T));
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  });

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-read-"));
  try {
    const withCode = join(folder, "h200-full-with-cubins.ncu-rep");
    const without = join(folder, "h200-full.ncu-rep");
    const packed = fileURLToPath(new URL("h200-full-with-cubins.ncu-rep.xz", fixtures));
    writeFileSync(withCode, execFileSync("xz", ["-dc", packed], { maxBuffer: 1024 ** 3 }));
    writeFileSync(without, gunzipSync(readFileSync(new URL("h200-full.ncu-rep.gz", fixtures))));
    for (const [title, path] of [
      ["with device code", withCode],
      ["without device code", without],
    ] as const) {
      const found = await inChild<Measured>("measure", path);
      const once = await inChild<number>("once", path);
      const ratio = (value: number): string => `${(value / found.sha256_ms).toFixed(2)} x SHA-256 (${ms(value)})`;
      console.log(
        `h200-full ${title}: ${mb(found.file_bytes)}, ${found.launches} launches, ${mb(found.bytes_read)} read`,
      );
      console.log(`  SHA-256                         ${ms(found.sha256_ms)}`);
      console.log(`  read and analyse                ${ratio(found.read_and_analyse_ms)}`);
      console.log(`  read, metrics of the analyses   ${ratio(found.read_wanted_ms)}`);
      console.log(`  read, all metrics               ${ratio(found.read_all_ms)}`);
      console.log(
        `  peak memory                     ${once.toFixed(0)} MB once, ${found.peak_rss_mb.toFixed(0)} MB after all rounds`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [mode, path] = process.argv.slice(2);
if (mode === "measure" && path !== undefined) process.send?.(await measure(path));
else if (mode === "once" && path !== undefined) process.send?.(await measureOnce(path));
else await main();
