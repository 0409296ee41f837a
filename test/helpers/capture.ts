import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { CaptureRecord } from "../../src/model/capture.ts";
import type { Lease } from "../../src/model/lease.ts";
import { FINAL_STATES, type Profile, type ProfileState, type Progress } from "../../src/model/profile.ts";
import { temporaryFolder } from "./databases.ts";
import { endAtExit } from "./end-at-exit.ts";
import { type TestRedis, testRedis } from "./redis.ts";
import { type Client, startTestService, type TestService, untilFinal } from "./service.ts";
import { STAND_IN_ENGINE } from "./stand-in-engine.ts";
import { until } from "./until.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const STAND_IN_NCU = here("../stand-in/ncu.mjs");
export const STAND_IN_NSYS = here("../stand-in/nsys.mjs");
export const STAND_IN_SMI = here("../stand-in/nvidia-smi.mjs");

/** GPU of the recorded nvidia-smi. */
export const GPU = "GPU-00000000-0000-0000-0000-000000000001";

/** After a cancel no process may be left for longer. */
const CANCEL_LIMIT_MS = 5_000;

type Fields = Readonly<Record<string, unknown>>;

export interface Stand {
  /** A file of test/stand-in/scenarios. */
  readonly scenario?: string;
  /** Of each launch. */
  readonly delayMs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

const standIn = ({ scenario = "tiny-full", delayMs, env = {} }: Stand): Record<string, string> => ({
  STAND_IN_SCENARIO: scenario,
  ...(delayMs === undefined ? {} : { STAND_IN_DELAY_MS: String(delayMs) }),
  ...env,
});

/** A program that prints a line and ends. */
const PROGRAM = [process.execPath, "-e", "console.log('warmup done')"];
/** A program that runs until it is ended. */
export const ENDLESS = [process.execPath, "-e", "setInterval(() => {}, 1e6)"];

/** A workload of kind `benchmark`; fields win over what is said here. */
export const benchmark = (name: string, stand: Stand = {}, fields: Fields = {}): Fields => ({
  kind: "benchmark",
  name,
  model: "Tiny",
  engine: "none",
  argv: PROGRAM,
  env: standIn(stand),
  ...fields,
});

/** A workload of kind `server`: the engine that stands in, on a free port, with these arguments of its own. */
export async function server(
  name: string,
  args: readonly string[] = [],
  stand: Stand = {},
  fields: Fields = {},
): Promise<Fields> {
  return {
    kind: "server",
    name,
    model: "Tiny",
    engine: "vllm",
    argv: [process.execPath, STAND_IN_ENGINE, "--port", "{port}", "--unhealthy-answers", "0", ...args],
    port: await freePort(),
    // Each test finds its own engine among those that run on this machine.
    env: standIn({ scenario: "tiny-verdict", ...stand, env: { STAND_IN_ID: name + process.pid, ...stand.env } }),
    ...fields,
  };
}

/** Below the ports that the system gives to clients, so that none takes it meanwhile. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
let nextPort = 20_000 + (process.pid % 500) * 20;

export interface WorkloadsFile {
  readonly workloads: readonly Fields[];
  readonly allow_commands?: boolean;
  readonly other_process_on_gpu?: "wait" | "fail" | "continue";
}

/** A capture worker as a process of its own. */
export interface WorkerProcess {
  readonly id: string;
  readonly child: ChildProcess;
  /** Its DATA_DIR. */
  readonly folder: string;
  /** What it wrote to standard error. */
  log(): string;
  /** Writes workloads.yaml anew; the worker reads it with its next heartbeat. */
  writeWorkloads(file: WorkloadsFile): void;
  /** What nvidia-smi says from now on: see test/stand-in/nvidia-smi.mjs. */
  sayOfGpus(words: string): void;
  /** Sends a signal and waits until the process is gone; its exit code, null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface WorkerOptions extends WorkloadsFile {
  readonly id?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service with a Redis of its own, and workers on stand-ins for the tools of a GPU host. */
export interface CaptureRig {
  readonly redis: TestRedis;
  readonly call: Client;
  startWorker(options: WorkerOptions): Promise<WorkerProcess>;
  /** Ends the service; the same data is served again, at the same address, by `startService`. */
  stopService(): Promise<void>;
  startService(): Promise<void>;
  /** Ends everything that was started. */
  close(): Promise<void>;
}

export async function startCaptureRig(settings: Readonly<Record<string, string>> = {}): Promise<CaptureRig> {
  const folder = temporaryFolder();
  const redis = testRedis(folder);
  await redis.start();
  const workers: WorkerProcess[] = [];
  let port = "0";
  let service: TestService | null = null;
  const startService = async (): Promise<void> => {
    service = await startTestService({ DATA_DIR: folder, REDIS_URL: redis.url, PORT: port, ...settings });
    ({ port } = new URL(service.url));
  };
  const running = (): TestService => {
    if (service === null) throw new Error("the service is stopped");
    return service;
  };
  const stopService = async (): Promise<void> => {
    await service?.close();
    service = null;
  };
  await startService();
  return {
    redis,
    call: (...asked) => running().call(...asked),
    startService,
    stopService,
    async startWorker(options) {
      const worker = await startWorkerProcess({ REDIS_URL: redis.url, API_URL: running().url }, options);
      workers.push(worker);
      return worker;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.end("SIGKILL")));
      for (const worker of workers) await expectNoProcessLeft(worker);
      await stopService();
      await redis.kill();
    },
  };
}

let bundle: string | null = null;

/** What a GPU host gets, built once for the tests of a file, where no other build removes it. */
export function workerBundle(): string {
  if (bundle === null) {
    const folder = join(temporaryFolder(), "worker");
    execFileSync(process.execPath, [here("../../scripts/build-worker.mjs"), folder], { stdio: "pipe" });
    bundle = join(folder, "profile-kernel.js");
  }
  return bundle;
}

async function startWorkerProcess(
  connection: Readonly<Record<string, string>>,
  { id = "w1", env = {}, ...file }: WorkerOptions,
): Promise<WorkerProcess> {
  const program = workerBundle();
  const folder = temporaryFolder();
  const home = join(folder, "home-of-worker");
  mkdirSync(home);
  const workloads = join(folder, "workloads.yaml");
  // YAML takes JSON.
  const writeWorkloads = (next: WorkloadsFile): void =>
    writeFileSync(workloads, JSON.stringify({ version: 1, ...next }));
  writeWorkloads(file);
  const child = endAtExit(
    spawn(process.execPath, [program, "worker", "start"], {
      env: {
        PATH: `${process.env.PATH}:${pathMark(folder)}`,
        HOME: home,
        LOG_LEVEL: "warn",
        DATA_DIR: folder,
        WORKLOADS_FILE: workloads,
        WORKER_ID: id,
        NCU: STAND_IN_NCU,
        NVIDIA_SMI: STAND_IN_SMI,
        SHUTDOWN_TIMEOUT_S: "0",
        ...connection,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  await Promise.race([
    once(child.stdout, "data"),
    exited.then(([code]) => {
      throw new Error(`the worker ended with ${code}: ${log}`);
    }),
  ]);
  child.stdout.resume();
  return {
    id,
    child,
    folder,
    log: () => log,
    writeWorkloads,
    sayOfGpus: (words) => writeFileSync(join(home, "stand-in-smi"), words),
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** A folder at the end of the worker's PATH, which all that it starts inherits, its guardians too. */
const pathMark = (folder: string): string => join(folder, "mark");

/** A program named `ncu` that says, as old releases do, that it cannot hold a program and attach to it. */
export function oldNcu(): string {
  const path = join(temporaryFolder(), "ncu.mjs");
  const help = "usage: ncu [options] [program] [program-arguments]\\n  --kernel-id arg\\n";
  writeFileSync(
    path,
    `#!/usr/bin/env node\nif (process.argv[2] === "--help") process.stdout.write("${help}");\nelse await import(${JSON.stringify(`file://${STAND_IN_NCU}`)});\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

export interface FoundProcess {
  readonly pid: number;
  /** Its command line, words separated by blanks. */
  readonly command: string;
}

/** Processes that a worker has started and that live, whatever became of the worker. */
export function processesOf({ folder, child }: WorkerProcess): FoundProcess[] {
  const mark = pathMark(folder);
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === child.pid) return [];
    const command = readOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
    // A zombie has no command line.
    return command !== "" && readOf(`/proc/${pid}/environ`).includes(mark) ? [{ pid, command }] : [];
  });
}

function readOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Pid of the engine that stands in, of this worker; null: none runs. */
export function enginePid(worker: WorkerProcess): number | null {
  const mine = processesOf(worker).filter(({ command }) =>
    command.startsWith(`${process.execPath} ${STAND_IN_ENGINE}`),
  );
  expect(mine.length).toBeLessThanOrEqual(1);
  return mine[0]?.pid ?? null;
}

/** Waits until nothing is left that a worker has started: no process, no guardian, no record of a group, no files. */
export async function expectNoProcessLeft(worker: WorkerProcess): Promise<void> {
  const left = (): string[] => [
    ...processesOf(worker).map(({ pid, command }) => `process ${pid}: ${command}`),
    ...filesOf(join(worker.folder, "capture/records")),
  ];
  await expectSoon(left);
}

/** Folders of attempts are removed once their files are handed in; a worker that died leaves them. */
export const expectNoFilesLeft = (worker: WorkerProcess): Promise<void> =>
  expectSoon(() => filesOf(join(worker.folder, "capture/attempts")));

const filesOf = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

async function expectSoon(left: () => string[]): Promise<void> {
  const deadline = performance.now() + CANCEL_LIMIT_MS;
  await until(() => left().length === 0 || performance.now() > deadline);
  expect(left()).toEqual([]);
}

export async function leasesOf(call: Client): Promise<Lease[]> {
  return (await call("GET", "/leases")).body.items;
}

export async function expectNoLeaseLeft(call: Client): Promise<void> {
  const deadline = performance.now() + CANCEL_LIMIT_MS;
  await until(async () => (await leasesOf(call)).length === 0 || performance.now() > deadline);
  expect(await leasesOf(call)).toEqual([]);
}

/** Nothing runs, nothing is held and no file lies about: what every profile leaves, whatever its end. */
export async function expectNothingLeft(call: Client, ...workers: readonly WorkerProcess[]): Promise<void> {
  for (const worker of workers) {
    await expectNoProcessLeft(worker);
    await expectNoFilesLeft(worker);
  }
  await expectNoLeaseLeft(call);
}

/** Submits a profile of a workload by name. */
export async function submitTo(call: Client, workload: string, target: string, more: object = {}): Promise<string> {
  const { status, body } = await call("POST", "/profiles", {
    json: { target, source: { kind: "workload", name: workload }, ...more },
  });
  if (status !== 202) throw new Error(`submit: ${status} ${JSON.stringify(body)}`);
  return body.id;
}

async function untilProfile(call: Client, id: string, reached: (profile: Profile) => boolean): Promise<Profile> {
  for (;;) {
    const { body } = await call("GET", `/profiles/${id}`);
    if (reached(body)) return body;
    if (FINAL_STATES.has(body.state)) throw new Error(`the profile has ended: ${JSON.stringify(body)}`);
    await until(async () => (await call("GET", `/profiles/${id}`)).body.updated_at !== body.updated_at, 30_000);
  }
}

export const untilState = (call: Client, id: string, state: ProfileState): Promise<Profile> =>
  untilProfile(call, id, (profile) => profile.state === state);

/** Waits for a progress that says so. */
export const untilProgress = (call: Client, id: string, reached: (progress: Progress) => boolean): Promise<Profile> =>
  untilProfile(call, id, ({ progress }) => progress !== null && reached(progress));

export interface Ended {
  readonly profile: Profile;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked against the document, and tests look into any part
  readonly result: any;
  readonly record: CaptureRecord;
  /** Codes of the findings about the capture. */
  readonly findings: readonly string[];
}

/** Waits for a verdict. */
export async function untilVerdict(call: Client, id: string): Promise<Ended> {
  const profile = await untilFinal(call, id);
  if (profile.state !== "succeeded") throw new Error(`no verdict: ${JSON.stringify(profile.failure)}`);
  const { body } = await call("GET", `/profiles/${id}/result`);
  const findings = body.findings.map(({ code }: { code: string }) => code);
  return { profile, result: body, record: body.provenance.capture, findings };
}

/** Waits for a failure with this code. */
export async function untilFailure(call: Client, id: string, code: string): Promise<NonNullable<Profile["failure"]>> {
  const { state, failure } = await untilFinal(call, id);
  expect({ state, code: failure?.code, message: failure?.message }).toMatchObject({ state: "failed", code });
  if (failure === null) throw new Error("no failure");
  return failure;
}
