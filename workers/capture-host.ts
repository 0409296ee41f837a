import { mkdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { PipelinePorts } from "../src/capture/capture-parts.ts";
import { resumeLeftovers } from "../src/capture/host/dcgm.ts";
import { readGpus } from "../src/capture/host/nvidia-smi.ts";
import type { NvidiaSmi } from "../src/capture/host/nvidia-smi-query.ts";
import { type NcuTool, type NsysTool, readTools } from "../src/capture/host/tools.ts";
import { endLeftovers } from "../src/capture/process/group.ts";
import { declareWorkloads, type FileHasher, openFileHasher } from "../src/capture/workloads/declared.ts";
import { readWorkloads, workloadsProblemText } from "../src/capture/workloads/workloads.ts";
import { type Config, ConfigError } from "../src/config.ts";
import type { DeclaredWorkload, WorkerGpu, WorkerRegistration } from "../src/model/worker.ts";
import type { WorkloadsFile } from "../src/model/workload.ts";
import type { AnalysisLimits } from "./analysis-failures.ts";
import { pipelineAsk } from "./capture-ask.ts";
import { ownedNames, removeLeftFolders } from "./capture-folders.ts";

/** What workloads.yaml says now. */
export interface DeclaredWorkloads {
  readonly file: WorkloadsFile;
  readonly declared: readonly DeclaredWorkload[];
}

/** A GPU host as its worker knows it. */
export interface WorkerHost {
  readonly workerId: string;
  readonly pool: string;
  readonly gpus: readonly WorkerGpu[];
  readonly ncu: NcuTool;
  /** Null: this host has none, and full pipelines of programs are refused. */
  readonly nsys: NsysTool | null;
  readonly nvidiaSmi: NvidiaSmi;
  /** Folder of workloads.yaml: relative paths in it start there. */
  readonly workloadsFolder: string;
  /** Folder for attempts, engines, records, temporary files; of this worker alone. */
  readonly folders: {
    readonly attempts: string;
    readonly engines: string;
    readonly records: string;
    readonly tmp: string;
    readonly home: string;
  };
  /** Counters that a full pipeline asks of this ncu. */
  pipelineAsk(): Promise<PipelinePorts["ask"]>;
  /** What reading and ranking a timeline may take. */
  readonly ranking: AnalysisLimits;
  /** Name of a folder of this process in `attempts` or `engines`: those of a worker that died are removed by the next. */
  owned(name: string): string;
  /** Reads workloads.yaml again. The error is a sentence; what was read before still holds then. */
  refresh(): Promise<string | null>;
  current(): DeclaredWorkloads;
  registration(version: string, profileId: string | null, stopping: boolean): WorkerRegistration;
}

type HostSettings = Pick<
  Config,
  "WORKER_ID" | "WORKER_POOL" | "DATA_DIR" | "NCU" | "NSYS" | "NVIDIA_SMI" | "ANALYSIS_TIMEOUT_S" | "ANALYSIS_MEMORY_MB"
> & {
  readonly WORKLOADS_FILE: string;
};

/**
 * Looks at this host, ends what an earlier worker of the same folder left running, removes its files, and reads the
 * workloads.
 * @throws ConfigError with the first thing that is wrong; `worker check` says more.
 */
export async function openWorkerHost(config: HostSettings, warn: (message: string) => void): Promise<WorkerHost> {
  const nvidiaSmi = { program: config.NVIDIA_SMI };
  const gpus = await readGpus(nvidiaSmi);
  if (!gpus.ok) throw new ConfigError(`${gpus.error.message}. ${gpus.error.hint}`);
  const tools = await readTools({ ncu: config.NCU, nsys: config.NSYS });
  if (!tools.ncu.ok)
    throw new ConfigError(`${tools.ncu.error} \`profile-kernel worker check\` looks at the whole host.`);
  const ncu = tools.ncu.value;
  const nsys = tools.nsys.ok ? tools.nsys.value : null;
  if (!tools.nsys.ok) warn(`no full pipelines on this host: ${tools.nsys.error}`);
  // Takes seconds, and nobody waits for it until a full pipeline is asked for.
  const asked = pipelineAsk(ncu.path);
  const workloadsPath = resolve(config.WORKLOADS_FILE);
  const workloadsFolder = dirname(workloadsPath);
  const hashFile = openFileHasher();
  const first = await readDeclared(workloadsPath, workloadsFolder, hashFile);
  if (typeof first === "string") throw new ConfigError(first);

  const root = join(config.DATA_DIR, "capture");
  const folders = {
    attempts: join(root, "attempts"),
    engines: join(root, "engines"),
    records: join(root, "records"),
    tmp: join(root, "tmp"),
    home: join(root, "home"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  const left = await endLeftovers(folders.records);
  if (left > 0) warn(`ended ${left} process groups that an earlier worker of ${root} had left running`);
  await resumeLeftovers({ recordFolder: folders.records, onProblem: ({ message }) => warn(message) });
  // Nothing writes to them any more.
  for (const folder of [folders.attempts, folders.engines]) await removeLeftFolders(folder);

  let declared = first;
  const workerId = config.WORKER_ID ?? defaultId(config.WORKER_POOL);
  return {
    workerId,
    pool: config.WORKER_POOL,
    gpus: gpus.value,
    ncu,
    nsys,
    nvidiaSmi,
    pipelineAsk: () => asked,
    ranking: { timeoutMs: config.ANALYSIS_TIMEOUT_S * 1000, memoryMb: config.ANALYSIS_MEMORY_MB },
    workloadsFolder,
    folders,
    owned: await ownedNames(),
    async refresh() {
      const next = await readDeclared(workloadsPath, workloadsFolder, hashFile);
      if (typeof next === "string") return next;
      declared = next;
      return null;
    },
    current: () => declared,
    registration: (version, profile_id, stopping) => ({
      version,
      pool: config.WORKER_POOL,
      gpus: gpus.value,
      tools: {
        ncu: { path: ncu.path, version: ncu.version },
        nsys: nsys && { path: nsys.path, version: nsys.version },
        ncu_sets: [...ncu.sets],
      },
      workloads: [...declared.declared],
      allow_commands: declared.file.allow_commands,
      profile_id,
      stopping,
    }),
  };
}

/** Host name and pool: kept over restarts, different on every host. */
const defaultId = (pool: string): string =>
  `${hostname()}-${pool}`
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 128) || "worker";

async function readDeclared(path: string, folder: string, hashFile: FileHasher): Promise<DeclaredWorkloads | string> {
  const text = await readFile(path, "utf8").catch((error: Error) => error);
  if (typeof text !== "string") return `The workloads file cannot be read: ${text.message}. Set WORKLOADS_FILE to it.`;
  const file = readWorkloads(text, path);
  if (!file.ok) {
    const [first, ...more] = file.error;
    return `${first ? workloadsProblemText(first) : path}${more.length > 0 ? ` (and ${more.length} more)` : ""}`;
  }
  const declared = await declareWorkloads(file.value, folder, hashFile);
  if (declared.ok) return { file: file.value, declared: declared.value };
  return declared.error
    .map(({ workload, message }) => `workload ${workload}: ${message}`)
    .slice(0, 3)
    .join("; ");
}
