import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Result } from "../../base/result.ts";
import type { WorkerGpu } from "../../model/worker.ts";
import type { WorkloadsFile } from "../../model/workload.ts";
import { type CounterPermission, type HostProcess, readDiskFree } from "../host/host.ts";
import type { GpuProcess, GpuState } from "../host/nvidia-smi.ts";
import type { Reading } from "../host/nvidia-smi-csv.ts";
import type { NvidiaSmiProblem } from "../host/nvidia-smi-query.ts";
import { PERMISSION_HINT } from "../host/preflight-refusals.ts";
import { slowingReasons } from "../host/throttle.ts";
import type { HostTools } from "../host/tools.ts";
import { childEnvironment, injectionSlot } from "../process/environment.ts";
import { declareWorkloads } from "../workloads/declared.ts";
import { readWorkloads, workloadsProblemText } from "../workloads/workloads.ts";
import { type Found, failed, good, skipped, warned } from "./check.ts";

/** `engines.node` of package.json. */
const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string): Found {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
    ? good(version)
    : failed(
        `${version}, and ${OLDEST_NODE.join(".")} or newer is needed`,
        `Install Node ${OLDEST_NODE.join(".")} or newer.`,
      );
}

export function checkGpus(gpus: Result<readonly WorkerGpu[], NvidiaSmiProblem>): Found {
  if (!gpus.ok) return failed(gpus.error.message, gpus.error.hint);
  if (gpus.value.length === 0) return failed("nvidia-smi lists no GPU", "Give the host or the container a GPU.");
  return good(gpus.value.map(({ index, name, uuid }) => `${index}: ${name} (${uuid})`).join(", "));
}

/** What the GPUs say right now: clocks, memory, processes. */
export function checkGpuStates(
  states: Result<ReadonlyMap<string, GpuState>, NvidiaSmiProblem>,
  processes: Result<readonly GpuProcess[], NvidiaSmiProblem>,
): Found {
  if (!states.ok) return failed(states.error.message, states.error.hint);
  const remarks: string[] = [];
  for (const { uuid, throttle_reasons, persistence_mode } of states.value.values()) {
    const slowing = slowingReasons(throttle_reasons.value ?? []);
    if (slowing.length > 0) remarks.push(`${uuid} slows its clocks (${slowing.join(", ")})`);
    if (persistence_mode.value === false) remarks.push(`persistence mode of ${uuid} is off`);
  }
  const running = processes.ok ? processes.value : [];
  if (running.length > 0) {
    const names = running.slice(0, 5).map(({ pid, name }) => `${name.split("/").at(-1)} (${pid})`);
    remarks.push(`${running.length} process(es) compute: ${names.join(", ")}`);
  }
  if (remarks.length === 0) return good("clocks are free, nothing computes");
  return warned(
    remarks.join("; "),
    "Throttling: look at cooling and power. Persistence: nvidia-smi -pm 1. Processes: captures wait, fail or go on, as other_process_on_gpu in workloads.yaml says.",
  );
}

export function checkDriver(gpus: Result<readonly WorkerGpu[], NvidiaSmiProblem>, cuda: Reading<string>): Found {
  if (!gpus.ok) return skipped("there is no answer of nvidia-smi");
  const versions = [...new Set(gpus.value.map(({ driver_version }) => driver_version))].sort();
  if (versions.length !== 1) return failed(`GPUs name different drivers: ${versions.join(", ")}`, "Reboot the host.");
  return good(`${versions[0]}, ${cuda.value === null ? `CUDA version unknown: ${cuda.reason}` : `CUDA ${cuda.value}`}`);
}

export function checkNcu({ ncu }: HostTools): Found {
  if (!ncu.ok) {
    return failed(
      ncu.error,
      "Install Nsight Compute (it is part of the CUDA toolkit, package nsight-compute), or set NCU to its path.",
    );
  }
  const { path, version, sets, supports } = ncu.value;
  const without = Object.entries({ "--mode": supports.mode }).flatMap(([option, has]) => (has ? [] : [option]));
  const text = `${version}, ${path}, sets ${sets.join(", ") || "unknown"}`;
  return without.length === 0
    ? good(text)
    : warned(
        `${text}; it has no ${without.join(", ")}`,
        "Engines are started anew for each profile; a newer Nsight Compute can attach to a warm one.",
      );
}

export function checkNsys({ nsys }: HostTools): Found {
  return nsys.ok
    ? good(`${nsys.value.version}, ${nsys.value.path}`)
    : warned(
        nsys.error,
        "Install Nsight Systems, or set NSYS: without it no full pipeline can be profiled on this host.",
      );
}

/** The place for a profiler in a program's environment must be free: in the worker's own, and in each workload's. */
export function checkInjection(env: NodeJS.ProcessEnv, file: WorkloadsFile | null): Found {
  const places = { base: env, gpus: null, tmpDir: "/tmp", homeDir: "/" };
  const own = injectionSlot(childEnvironment({ ...places, set: {}, pass: [] }));
  if (own) return failed(own.message.replace("of the workload", "of this worker"), own.hint);
  for (const workload of file?.workloads ?? []) {
    const taken = injectionSlot(childEnvironment({ ...places, set: workload.env, pass: workload.pass_env }));
    if (taken) return failed(`${workload.name}: ${taken.message}`, taken.hint);
  }
  return good("no profiler is injected into programs");
}

export function checkPermission({ permitted, admin_only }: CounterPermission): Found {
  if (permitted.value === false) {
    return failed("the driver gives counters to CAP_SYS_ADMIN only, which this process does not have", PERMISSION_HINT);
  }
  if (permitted.value === null) {
    return warned(`not known: ${permitted.reason}`, `Where the trial profile fails: ${PERMISSION_HINT}`);
  }
  return good(
    admin_only.value === false
      ? "open to everybody (RmProfilingAdminOnly: 0)"
      : "by CAP_SYS_ADMIN, which this process has",
  );
}

/**
 * Tools that take the counters, by the names that /proc shows (15 characters). From Hopper on DCGM reads its profiling
 * fields another way (GPM, NVIDIA's DCGM documentation), so its presence alone is no failure.
 */
const HOLDERS: Readonly<Record<string, "dcgm" | "profiler">> = {
  "nv-hostengine": "dcgm",
  "dcgm-exporter": "dcgm",
  ncu: "profiler",
  nsys: "profiler",
  nsight: "profiler",
  nvprof: "profiler",
  "compute-sanitiz": "profiler",
};

export function checkHolders(processes: Reading<readonly HostProcess[]>, file: WorkloadsFile | null): Found {
  if (processes.value === null) return skipped(processes.reason);
  const found = processes.value.filter(({ name }) => Object.hasOwn(HOLDERS, name));
  const list = found.map(({ name, pid }) => `${name} (${pid})`).join(", ");
  const hasDcgm = found.some(({ name }) => HOLDERS[name] === "dcgm");
  if (found.some(({ name }) => HOLDERS[name] === "profiler")) {
    return warned(`another profiler runs: ${list}`, "End it, or let it take a lease of kind benchmark while it runs.");
  }
  if (hasDcgm && file?.dcgm === undefined) {
    return warned(
      `DCGM runs: ${list}; its profiling fields and ncu exclude each other before Hopper`,
      "Let captures pause it: dcgm in workloads.yaml with pause [dcgmi, profile, --pause] and resume [dcgmi, profile, --resume].",
    );
  }
  if (hasDcgm) return good(`DCGM runs (${list}) and is paused for each capture`);
  return good("none is seen in this pid namespace");
}

export async function checkWorkFolder(folder: string, floorBytes: number): Promise<Found> {
  const trial = join(folder, `check-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(trial, "");
    await rm(trial, { force: true });
  } catch (error) {
    return failed(
      `${folder} cannot be written: ${messageOf(error)}`,
      "Set DATA_DIR to a folder that belongs to the worker's user.",
    );
  }
  const free = await readDiskFree(folder);
  if (free.value === null) return warned(free.reason, "Use a local file system for DATA_DIR.");
  const text = `${folder}, ${(free.value / 1024 ** 3).toFixed(1)} GiB free`;
  return free.value >= floorBytes
    ? good(text)
    : failed(
        `${text}, and a capture starts with at least ${(floorBytes / 1024 ** 3).toFixed(1)} GiB`,
        "Free space, or set DATA_DIR to a larger file system.",
      );
}

/** ncu serialises itself by a lock file in TMPDIR that it never deletes; another user's cannot be opened in a sticky folder. */
export async function checkLockFile(tmpDir: string): Promise<Found> {
  const path = join(tmpDir, "nsight-compute-lock");
  try {
    await mkdir(tmpDir, { recursive: true, mode: 0o700 });
    await (await open(path, "a+")).close();
    return good(path);
  } catch (error) {
    return failed(
      `${path} cannot be opened: ${messageOf(error)}`,
      "Remove it, or set DATA_DIR to a folder of the worker's own user.",
    );
  }
}

/** The workloads, where the file is there and right. */
export async function checkWorkloadsFile(
  path: string | null,
  gpus: number | null,
): Promise<{ readonly found: Found; readonly file: WorkloadsFile | null }> {
  if (path === null) {
    return {
      found: failed("no file is named", "Set WORKLOADS_FILE to a workloads.yaml: docs/workloads.md shows examples."),
      file: null,
    };
  }
  const text = await readFile(path, "utf8").catch((error: unknown) => ({ error: messageOf(error) }));
  if (typeof text !== "string") {
    return { found: failed(text.error, "Set WORKLOADS_FILE to a file that the worker may read."), file: null };
  }
  const read = readWorkloads(text, path);
  if (!read.ok) {
    const [first] = read.error;
    const more = read.error.length > 1 ? `; and ${read.error.length - 1} more` : "";
    return {
      found: failed(
        first ? `${workloadsProblemText(first)}${more}` : `${path} is not valid`,
        "Correct it: docs/workloads.md describes each field.",
      ),
      file: null,
    };
  }
  const declared = await declareWorkloads(read.value, dirname(path));
  if (!declared.ok) {
    const [first] = declared.error;
    return {
      found: failed(
        `${first?.workload}: ${first?.file}: ${first?.message}`,
        "Name files that are there and may be read.",
      ),
      file: read.value,
    };
  }
  const large = read.value.workloads.filter((workload) => gpus !== null && workload.gpus > gpus);
  if (large.length > 0) {
    return {
      found: failed(
        `${large.map(({ name }) => name).join(", ")} take more GPUs than the ${gpus} of this host`,
        "Correct gpus, or move the workload to another host.",
      ),
      file: read.value,
    };
  }
  if (declared.value.length === 0 && !read.value.allow_commands) {
    return {
      found: warned(`${path} declares no workload`, "Nothing can be profiled here until it does."),
      file: read.value,
    };
  }
  const names = declared.value.map(({ name }) => name).join(", ");
  return { found: good(`${declared.value.length} in ${path}: ${names || "commands only"}`), file: read.value };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
