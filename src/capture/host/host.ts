import { readdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Reading, read, unread } from "./nvidia-smi-csv.ts";

/** Where the host's own word is found; another folder in tests. */
export interface ProcFolder {
  readonly proc?: string;
}

/** Bit of CAP_SYS_ADMIN in the capability sets of /proc/<pid>/status (linux/capability.h). */
const CAP_SYS_ADMIN = 1n << 21n;

/** Whether programs that this process starts may read GPU counters, and on what that rests. */
export interface CounterPermission {
  readonly permitted: Reading<boolean>;
  /** `RmProfilingAdminOnly`: true where only administrators may. */
  readonly admin_only: Reading<boolean>;
  readonly sys_admin: Reading<boolean>;
}

/**
 * Drivers from 418.43 on give counters to CAP_SYS_ADMIN only, unless the module option
 * NVreg_RestrictProfilingToAdminUsers is 0 (NVIDIA's page on ERR_NVGPUCTRPERM). The driver shows the option in its params
 * file. Root alone is not enough: a container's root mostly lacks the capability.
 */
export async function readCounterPermission({ proc = "/proc" }: ProcFolder = {}): Promise<CounterPermission> {
  const admin_only = await adminOnly(join(proc, "driver/nvidia/params"));
  const sys_admin = await hasSysAdmin(proc);
  const permitted = ((): Reading<boolean> => {
    if (admin_only.value === false || sys_admin.value === true) return read(true);
    if (admin_only.value === null) return unread(admin_only.reason);
    return sys_admin.value === null ? unread(sys_admin.reason) : read(false);
  })();
  return { permitted, admin_only, sys_admin };
}

async function adminOnly(path: string): Promise<Reading<boolean>> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return unread(`${path} cannot be read: the driver is not loaded, or hidden by the container`);
  const value = /^RmProfilingAdminOnly:\s*([01])\s*$/m.exec(text)?.[1];
  return value === undefined ? unread(`${path} does not say RmProfilingAdminOnly`) : read(value === "1");
}

async function hasSysAdmin(proc: string): Promise<Reading<boolean>> {
  const path = join(proc, "self/status");
  const text = await readFile(path, "utf8").catch(() => "");
  const effective = /^CapEff:\s*([0-9a-f]{1,16})\s*$/m.exec(text)?.[1];
  if (effective === undefined) return unread(`${path} does not say CapEff`);
  if ((BigInt(`0x${effective}`) & CAP_SYS_ADMIN) === 0n) return read(false);
  // The first user namespace maps every id to itself (user_namespaces(7)); in another one capabilities end at its border.
  const map = await readFile(join(proc, "self/uid_map"), "utf8").catch(() => "");
  return /^\s*0\s+0\s+4294967295\s*$/.test(map)
    ? read(true)
    : unread("CAP_SYS_ADMIN is held only inside a user namespace; whether the driver counts it is not known");
}

/** A process of this host, as far as this pid namespace shows it. */
export interface HostProcess {
  readonly pid: number;
  readonly parent: number;
  /** `comm`: at most 15 characters of the executable's name. */
  readonly name: string;
}

/** Pids are below 4,194,304 (proc(5), pid_max); no host that profiles runs as many processes as this. */
const MAX_PROCESSES = 100_000;

/** All processes that /proc shows, in order of their pid. Those that end meanwhile are left out. */
export async function readHostProcesses({ proc = "/proc" }: ProcFolder = {}): Promise<Reading<HostProcess[]>> {
  const entries = await readdir(proc).catch(() => null);
  if (entries === null) return unread(`${proc} cannot be read`);
  const pids = entries.filter((entry) => /^\d+$/.test(entry)).map(Number);
  if (pids.length > MAX_PROCESSES) return unread(`${proc} lists more than ${MAX_PROCESSES} processes`);
  const processes: HostProcess[] = [];
  for (const pid of pids.sort((a, b) => a - b)) {
    const stat = await readFile(join(proc, String(pid), "stat"), "utf8").catch(() => "");
    // The name stands in parentheses and may hold some itself (proc(5)).
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+) /s.exec(stat) ?? [];
    if (name !== undefined) processes.push({ pid, parent: Number(parent), name });
  }
  return read(processes);
}

/** `roots` and everything that descends from them. */
export function withDescendants(roots: Iterable<number>, processes: readonly HostProcess[]): Set<number> {
  const children = new Map<number, number[]>();
  for (const { pid, parent } of processes) {
    const siblings = children.get(parent);
    if (siblings) siblings.push(pid);
    else children.set(parent, [pid]);
  }
  const found = new Set<number>();
  const open = [...roots];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    if (found.has(pid)) continue;
    found.add(pid);
    open.push(...(children.get(pid) ?? []));
  }
  return found;
}

/** Bytes that a user without privileges may still write in the file system of `folder`. */
export async function readDiskFree(folder: string): Promise<Reading<number>> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return read(bavail * bsize);
  } catch (error) {
    return unread(`the file system of ${folder} gives no answer: ${error instanceof Error ? error.message : error}`);
  }
}
