/**
 * `POST /profiles` of the service against a bare Fastify handler that does the same validation, the same transaction
 * and the same `queue.add`, on SQLite and on Postgres: requests per second in alternating rounds of one run, and the
 * ratio of each pair. Nothing takes jobs off the queues, so only submission is measured.
 *
 * Data lies in memory (/dev/shm) unless --folder names another place: a disk that takes its time makes both sides equal,
 * so this is the harder case, and the ratio does not depend on the disk's mood.
 *
 *   npx tsx bench/post-profiles.ts [--rounds 7] [--seconds 5] [--connections 50] [--folder /tmp]
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import { startPostgres } from "../test/helpers/postgres.ts";
import type { ServerSettings, Serving } from "./post-profiles-server.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "5" },
    connections: { type: "string", default: "50" },
    folder: { type: "string", default: existsSync("/dev/shm") ? "/dev/shm" : tmpdir() },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const connections = Number(values.connections);

const TARGET = 0.8;

interface Server extends Serving {
  readonly child: ChildProcess;
}

async function start(settings: ServerSettings): Promise<Server> {
  const child = fork(fileURLToPath(new URL("post-profiles-server.ts", import.meta.url)), [JSON.stringify(settings)], {
    execArgv: ["--import", "tsx"],
  });
  const [serving] = (await once(child, "message")) as [Serving];
  return { ...serving, child };
}

async function stop({ child }: Server): Promise<void> {
  const ended = once(child, "exit");
  child.disconnect();
  await ended;
}

interface Load {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Processor time of the server, milliseconds a request: tells what the handlers cost also on a busy machine. */
  readonly cpuMs: number;
}

async function cpuUs({ child }: Server): Promise<number> {
  child.send("cpu");
  const [{ cpuUs }] = (await once(child, "message")) as [{ cpuUs: number }];
  return cpuUs;
}

async function load(server: Server, duration: number): Promise<Load> {
  const { url, reportId } = server;
  const before = await cpuUs(server);
  const result = await autocannon({
    url: `${url}/profiles`,
    method: "POST",
    connections,
    duration,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      target: "fused_moe_kernel",
      model: "deepseek-ai/DeepSeek-V3",
      engine: "vllm",
      concurrency: 64,
      source: { kind: "report", report_ids: [reportId] },
      labels: { run: "bench" },
    }),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} errors`);
  const cpuMs = ((await cpuUs(server)) - before) / 1000 / result.requests.total;
  return { perSecond: result.requests.average, p99Ms: result.latency.p99, cpuMs };
}

const show = ({ perSecond, p99Ms, cpuMs }: Load): string =>
  `${perSecond.toFixed(0)}/s (p99 ${p99Ms} ms, CPU ${cpuMs.toFixed(2)} ms each)`;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

// As durable as a production server: commits wait for the disk.
const postgres = await startPostgres({}, values.folder);
const folder = mkdtempSync(join(values.folder, "pk-bench-"));
let failed = false;
for (const engine of ["sqlite", "postgres"] as const) {
  if (engine === "postgres" && !postgres) continue;
  const settings = async (kind: "service" | "bare"): Promise<ServerSettings> => ({
    kind,
    dataDir: join(folder, `${engine}-${kind}`),
    databaseUrl: engine === "postgres" ? ((await postgres?.createDatabase()) ?? null) : null,
  });
  const [service, bare] = [await start(await settings("service")), await start(await settings("bare"))];
  for (const server of [service, bare]) await load(server, 2);
  const pairs: { service: number; bare: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    // Who goes first changes, so that neither always meets the larger table.
    const order = round % 2 === 0 ? [service, bare] : [bare, service];
    const measured = new Map<Server, Load>();
    for (const server of order) measured.set(server, await load(server, seconds));
    const [ours, theirs] = [measured.get(service), measured.get(bare)];
    if (!ours || !theirs) continue;
    pairs.push({ service: ours.perSecond, bare: theirs.perSecond });
    console.log(
      `${engine} round ${round + 1}: service ${show(ours)}, bare ${show(theirs)}, ratio ${(ours.perSecond / theirs.perSecond).toFixed(3)}`,
    );
  }
  const ratio = median(pairs.map((pair) => pair.service / pair.bare));
  const verdict = ratio >= TARGET ? "ok" : "MISSED";
  failed ||= ratio < TARGET;
  console.log(
    `${engine}: service ${median(pairs.map((pair) => pair.service)).toFixed(0)}/s, bare ${median(pairs.map((pair) => pair.bare)).toFixed(0)}/s, median ratio ${ratio.toFixed(3)} (target ${TARGET}) ${verdict}\n`,
  );
  await Promise.all([stop(service), stop(bare)]);
}
await postgres?.stop();
rmSync(folder, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
