import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STAND_IN_NCU, STAND_IN_SMI } from "./capture.ts";
import { endAtExit } from "./end-at-exit.ts";
import { until } from "./until.ts";

const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Random numbers that come again with the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** One of the entries, as often as its weight says. */
  pick<T>(entries: readonly (readonly [weight: number, value: T])[]): T {
    let left = this.next() * entries.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of entries) {
      left -= weight;
      if (left < 0) return value;
    }
    throw new Error("nothing to pick");
  }
}

export interface HostOptions {
  readonly id: string;
  readonly folder: string;
  readonly workloads: readonly object[];
  readonly settings: Readonly<Record<string, string>>;
  /** File in which the stand-in for ncu writes when it uses a GPU. */
  readonly gpuUse: string;
}

/** A GPU host whose worker is ended in every way and started again, on the same folder. */
export class Host {
  readonly folder: string;
  readonly #options: HostOptions;
  #child: ChildProcess | null = null;
  #log = "";
  #starts = 0;
  /** Busy with being stopped or started: left alone meanwhile. */
  busy = false;

  constructor(options: HostOptions) {
    this.#options = options;
    this.folder = options.folder;
    mkdirSync(join(options.folder, "home"), { recursive: true });
    writeFileSync(join(options.folder, "workloads.yaml"), JSON.stringify({ version: 1, workloads: options.workloads }));
    writeFileSync(join(options.folder, "home", "stand-in-smi"), "gpus:2");
  }

  get log(): string {
    return this.#log;
  }

  /** As a service manager does: a start that fails since the API or Redis is away is done again. */
  async start(): Promise<void> {
    for (;;) {
      const { id, folder, settings, gpuUse } = this.#options;
      const child = endAtExit(
        spawn(process.execPath, [CLI, "worker", "start"], {
          env: {
            PATH: process.env.PATH ?? "",
            HOME: join(folder, "home"),
            LOG_LEVEL: "warn",
            DATA_DIR: folder,
            WORKLOADS_FILE: join(folder, "workloads.yaml"),
            WORKER_ID: id,
            NCU: STAND_IN_NCU,
            NVIDIA_SMI: STAND_IN_SMI,
            SHUTDOWN_TIMEOUT_S: "2",
            STAND_IN_ID: id,
            STAND_IN_GPU_USE: gpuUse,
            STAND_IN_OWNER: `${id}#${++this.#starts}`,
            ...settings,
          },
          stdio: ["ignore", "pipe", "pipe"],
        }),
      );
      this.#child = child;
      child.stderr.on("data", (chunk) => {
        this.#log += chunk;
      });
      const started = await Promise.race([
        once(child.stdout, "data").then(() => true),
        once(child, "exit").then(() => false),
      ]);
      if (started) return;
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Sends a signal that ends the process and waits until it is gone; its exit code, null where the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const exited = once(child, "exit");
    child.kill(signal);
    const [code] = await exited;
    return code;
  }

  /** Kills the guardians of what it runs, and where `worker` is true the worker itself before it can notice. */
  async killGuardians(worker: boolean): Promise<void> {
    const pid = this.#child?.pid ?? 0;
    if (worker) this.signal("SIGSTOP");
    for (const guardian of childrenOf(pid).filter((child) => commandOf(child)[1] === "-e")) {
      try {
        process.kill(guardian, "SIGKILL");
      } catch {
        // Gone by itself.
      }
    }
    if (worker) await this.end("SIGKILL");
  }

  /** Files that a capture should not leave. */
  leftFiles(): string[] {
    return ["attempts", "engines", "records"].flatMap((name) => {
      const folder = join(this.folder, "capture", name);
      return existsSync(folder) ? readdirSync(folder).map((file) => `${this.#options.id}: ${name}/${file}`) : [];
    });
  }
}

const pids = (): number[] => readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const commandOf = (pid: number): string[] => textOf(`/proc/${pid}/cmdline`).split("\0");

/** proc(5): field 4 of stat. */
const childrenOf = (parent: number): number[] =>
  pids().filter((pid) => {
    const stat = textOf(`/proc/${pid}/stat`);
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
  });

/** Processes that captures of this test have started; of one GPU, where it is given. A zombie has no environment. */
export function captureProcesses(gpuUse: string, gpu?: string): string[] {
  return pids().flatMap((pid) => {
    const env = textOf(`/proc/${pid}/environ`).split("\0");
    if (!env.includes(`STAND_IN_GPU_USE=${gpuUse}`) || !env.some((entry) => entry.startsWith("PROFILE_KERNEL_GROUP=")))
      return [];
    const visible = env.find((entry) => entry.startsWith("CUDA_VISIBLE_DEVICES=")) ?? "";
    if (gpu !== undefined && !visible.includes(gpu)) return [];
    const owner = env.find((entry) => entry.startsWith("STAND_IN_OWNER=")) ?? "";
    return [`${pid} ${owner.slice("STAND_IN_OWNER=".length)} ${commandOf(pid).join(" ").slice(0, 300)}`];
  });
}

/** A run of the stand-in for ncu. */
export interface GpuUse {
  readonly at: number;
  readonly owner: string;
  readonly mode: string;
  readonly gpus: readonly string[];
  /** Processes of others that were alive on one of its GPUs when it began. */
  readonly others: readonly { readonly pid: number; readonly owner: string }[];
}

export const readGpuUse = (path: string): GpuUse[] =>
  textOf(path)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as GpuUse);

/** Waits until a list is empty, and gives what is left where it does not get so. */
export async function leftAfter(list: () => string[] | Promise<string[]>, limitMs: number): Promise<string[]> {
  await until(async () => (await list()).length === 0, limitMs).catch(() => {});
  return list();
}
