/**
 * How long an SQLite export of a million launches is read, and read, judged and ranked, beside one `GROUP BY` of the same launches in SQLite itself, in
 * one process, alternating, fastest of 5 rounds each: `npm run bench:timelines [LAUNCHES]`. Printed are ratios,
 * because they hold on any machine.
 *
 * The export is the recorded one (`h200-pipeline`: 3,892 launches, their API calls) again and again, each time with times
 * and correlation ids moved on. The peaks of memory are those of processes that do it once and nothing else.
 */
import { fork, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import Libsql from "libsql";
import { analyzeTimelines } from "../src/analysis/index.ts";
import { DEFAULT_TIMELINE_LIMITS, type Timeline } from "../src/model/timeline.ts";
import { readNsysSqlite } from "../src/timeline/nsys-sqlite/index.ts";

const FIXTURE = new URL("../test/fixtures/timelines/h200-pipeline.nsys.sqlite.gz", import.meta.url);
const ROUNDS = 5;
/** What the recording spans, rounded up: how far one copy is behind the other. */
const STEP_NS = 1_000_000_000;
/** More than the recording's largest correlation id. */
const STEP_ID = 100_000;
const GROUP_BY =
  "SELECT demangledName, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY demangledName ORDER BY 3 DESC";

interface Measured {
  readonly launches: number;
  readonly calls: number;
  readonly group_by_ms: number;
  readonly read_ms: number;
  readonly ranked_ms: number;
}

/** Repeats what is in the tables, kernels and API calls, so often that there are that many launches. */
function repeat(path: string, launches: number): void {
  const database = new Libsql(path);
  database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  const [recorded] = database.prepare("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").raw().get() as [number];
  const copies = Math.ceil(launches / recorded) - 1;
  for (const table of ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"]) {
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).raw().all() as [string][];
    const cells = columns.map(([column]) => {
      if (column === "start" || column === "end") return `"${column}" + copy * ${STEP_NS}`;
      return column === "correlationId" ? `correlationId + copy * ${STEP_ID}` : `"${column}"`;
    });
    database.exec(`
      CREATE TEMP TABLE recorded AS SELECT * FROM main.${table};
      INSERT INTO main.${table}
        WITH RECURSIVE copies(copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM copies WHERE copy < ${copies})
        SELECT ${cells.join(", ")} FROM copies CROSS JOIN recorded;
      DROP TABLE temp.recorded`);
  }
  database.exec("COMMIT");
  database.close();
}

async function read(path: string): Promise<Timeline> {
  const result = await readNsysSqlite(path, "none", DEFAULT_TIMELINE_LIMITS);
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

/** Trust, ranking and everything else that a result holds of a timeline. */
function rank(timeline: Timeline): void {
  const result = analyzeTimelines([{ timeline, id: null, sha256: null }], [], { target: "full pipeline" });
  if (!result.ok) throw new Error(result.error.message);
}

async function measure(path: string): Promise<Measured> {
  const database = new Libsql(path);
  const times = { group_by: [] as number[], read: [] as number[], ranked: [] as number[] };
  let timeline: Timeline | null = null;
  for (let round = 0; round < ROUNDS; round++) {
    let started = performance.now();
    database.prepare(GROUP_BY).raw().all();
    times.group_by.push(performance.now() - started);
    started = performance.now();
    timeline = await read(path);
    times.read.push(performance.now() - started);
    rank(timeline);
    times.ranked.push(performance.now() - started);
  }
  database.close();
  return {
    launches: timeline?.rows.kind.filter((kind) => kind === 0).length ?? 0,
    calls: timeline?.calls.count ?? 0,
    group_by_ms: Math.min(...times.group_by),
    read_ms: Math.min(...times.read),
    ranked_ms: Math.min(...times.ranked),
  };
}

/** Of this process alone: `maxRSS` of a forked process starts with what its parent had. */
function peakMb(): number {
  if (process.platform !== "linux") return process.resourceUsage().maxRSS / 1024;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

/** Of `profile-kernel analyze` as it is built; the processes of this bench hold what runs TypeScript as well. */
function commandPeakMb(path: string): number {
  const root = fileURLToPath(new URL("..", import.meta.url));
  spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: root, stdio: "ignore" });
  const atExit = `import { readFileSync } from "node:fs";
    process.on("exit", () => console.error(/VmHWM.*/.exec(readFileSync("/proc/self/status", "utf8"))?.[0]))`;
  const hook = `data:text/javascript,${encodeURIComponent(atExit)}`;
  const { stderr } = spawnSync(process.execPath, ["--import", hook, "dist/cli.js", "analyze", path], {
    cwd: root,
    encoding: "utf8",
  });
  return Number(/VmHWM:\s+(\d+) kB/.exec(stderr)?.[1]) / 1024;
}

const inChild = <T>(mode: string, path: string): Promise<T> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [mode, path], { execArgv: process.execArgv });
    child.once("message", (message) => resolve(message as T));
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  });

async function main(launches: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "bench-timelines-"));
  try {
    const path = join(folder, "timeline.sqlite");
    writeFileSync(path, gunzipSync(readFileSync(FIXTURE)));
    repeat(path, launches);
    const found = await inChild<Measured>("measure", path);
    const idle = await inChild<number>("idle", path);
    const peak = await inChild<number>("once", path);
    const peakRanked = await inChild<number>("ranked", path);
    const command = commandPeakMb(path);
    const size = (statSync(path).size / 1e6).toFixed(0);
    console.log(`nsys SQLite: ${size} MB, ${found.launches} launches, ${found.calls} API calls`);
    console.log(`  GROUP BY of the launches   ${found.group_by_ms.toFixed(0)} ms`);
    console.log(
      `  read                       ${(found.read_ms / found.group_by_ms).toFixed(2)} x (${found.read_ms.toFixed(0)} ms)`,
    );
    console.log(
      `  read, judged and ranked    ${(found.ranked_ms / found.group_by_ms).toFixed(2)} x (${found.ranked_ms.toFixed(0)} ms)`,
    );
    console.log(
      `  peak memory                ${peak.toFixed(0)} MB read, ${peakRanked.toFixed(0)} MB ranked, of which the process itself ${idle.toFixed(0)} MB`,
    );
    console.log(`  profile-kernel analyze     ${command.toFixed(0)} MB at its peak`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [mode, path] = process.argv.slice(2);
if (mode === "measure" && path !== undefined) process.send?.(await measure(path));
else if (mode === "idle") process.send?.(peakMb());
else if (mode === "once" && path !== undefined) {
  await read(path);
  process.send?.(peakMb());
} else if (mode === "ranked" && path !== undefined) {
  rank(await read(path));
  process.send?.(peakMb());
} else await main(Number(mode ?? 1_000_000));
