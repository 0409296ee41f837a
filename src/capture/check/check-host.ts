import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "../../base/result.ts";
import { readCounterPermission, readHostProcesses } from "../host/host.ts";
import { readDriverCudaVersion, readGpuStates, readGpus, readProcesses } from "../host/nvidia-smi.ts";
import { readTools } from "../host/tools.ts";
import { childEnvironment } from "../process/environment.ts";
import { type Check, type CheckReport, checkReport, type Found, failed, skipped } from "./check.ts";
import { compatibility } from "./compatibility.ts";
import {
  checkDriver,
  checkGpuStates,
  checkGpus,
  checkHolders,
  checkInjection,
  checkLockFile,
  checkNcu,
  checkNode,
  checkNsys,
  checkPermission,
  checkWorkFolder,
  checkWorkloadsFile,
} from "./host-checks.ts";
import { type ProbeLaunch, probe } from "./probe.ts";

export interface HostCheckOptions {
  readonly nodeVersion: string;
  /** How the settings were found to be. */
  readonly settings: Found;
  readonly ncu: string;
  readonly nsys: string | undefined;
  readonly nvidiaSmi: string;
  readonly workloadsFile: string | null;
  /** Where captures work; made where it is missing. */
  readonly workFolder: string;
  /** TMPDIR of ncu. */
  readonly tmpDir: string;
  /** HOME of ncu: it copies its section files there. Made where it is missing. */
  readonly homeDir: string;
  readonly diskFloorBytes: number;
  /** The worker's own environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Program of the trial profile; null: our own kernel. */
  readonly probeProgram: readonly string[] | null;
  /** What lies outside this host. */
  readonly api: () => Promise<Found>;
  readonly redis: () => Promise<Found>;
  readonly readReport: (path: string) => Promise<Result<readonly ProbeLaunch[], string>>;
  /** Told of each check as it is done. */
  readonly onCheck: (check: Check) => void;
  readonly proc?: string;
  readonly installed?: readonly string[];
}

/** Looks at everything that a capture on this host needs, in the order in which one thing needs another. */
export async function checkHost(options: HostCheckOptions): Promise<CheckReport> {
  const checks: Check[] = [];
  const add = async (id: string, title: string, found: Found | Promise<Found>): Promise<Found> => {
    const check: Check = { id, title, ...(await settled(found)) };
    checks.push(check);
    options.onCheck(check);
    return check;
  };
  const smi = { program: options.nvidiaSmi };
  const procFolder = options.proc === undefined ? {} : { proc: options.proc };

  await add("node", "Node", checkNode(options.nodeVersion));
  await add("settings", "settings", options.settings);

  // Together: without persistence mode each call of nvidia-smi takes seconds.
  const [gpus, states, processes, cuda, tools] = await Promise.all([
    readGpus(smi),
    readGpuStates(smi),
    readProcesses(smi),
    readDriverCudaVersion(smi),
    readTools({
      ncu: options.ncu,
      nsys: options.nsys,
      env: options.env,
      ...(options.installed === undefined ? {} : { installed: options.installed }),
    }),
  ]);
  await add("gpus", "GPUs", checkGpus(gpus));
  await add(
    "gpu_state",
    "state of the GPUs",
    gpus.ok ? checkGpuStates(states, processes) : skipped("there is no answer of nvidia-smi"),
  );
  await add("driver", "driver", checkDriver(gpus, cuda));
  await add("ncu", "Nsight Compute", checkNcu(tools));
  await add("nsys", "Nsight Systems", checkNsys(tools));
  const driver = gpus.ok ? (gpus.value[0]?.driver_version ?? null) : null;
  await add(
    "compatibility",
    "driver and toolkit",
    compatibility(driver, cuda.value, tools.ncu.ok ? tools.ncu.value.version : null),
  );

  const workloads = await checkWorkloadsFile(options.workloadsFile, gpus.ok ? gpus.value.length : null);
  await add("injection_slot", "injection slot", checkInjection(options.env, workloads.file));
  await add("counters", "counters permitted", checkPermission(await readCounterPermission(procFolder)));
  await add("counter_holders", "other tools", checkHolders(await readHostProcesses(procFolder), workloads.file));

  const folder = await add("work_folder", "work folder", checkWorkFolder(options.workFolder, options.diskFloorBytes));
  await add("lock_file", "lock file of ncu", checkLockFile(options.tmpDir));
  await add("workloads", "workloads", workloads.found);
  await add("api", "API", options.api());
  await add("redis", "Redis", options.redis());

  await add("trial_profile", "trial profile", trial());
  return checkReport(checks);

  async function trial(): Promise<Found> {
    const [first] = gpus.ok ? gpus.value : [];
    if (first === undefined) return skipped("there is no GPU");
    if (!tools.ncu.ok) return skipped("there is no ncu");
    if (folder.status === "failed") return skipped("there is no work folder");
    await mkdir(options.homeDir, { recursive: true, mode: 0o700 });
    const own = await mkdtemp(join(options.workFolder, "check-"));
    return probe({
      ncu: tools.ncu.value.path,
      program: options.probeProgram,
      folder: own,
      env: childEnvironment({
        base: options.env,
        set: {},
        pass: [],
        gpus: [first.uuid],
        tmpDir: options.tmpDir,
        homeDir: options.homeDir,
      }),
      readReport: options.readReport,
    });
  }
}

/** A check that breaks is a failed check, and the next ones are still made. */
async function settled(found: Found | Promise<Found>): Promise<Found> {
  try {
    return await found;
  } catch (error) {
    return failed(
      `the check itself failed: ${error instanceof Error ? error.message : error}`,
      "This is a fault of profile-kernel: report it with the line above.",
    );
  }
}
