import { setTimeout as sleep } from "node:timers/promises";
import type { CaptureRecord } from "../../model/capture.ts";
import type { Finding } from "../../model/finding.ts";
import type { Failure } from "../../model/profile.ts";
import type { WorkerGpu } from "../../model/worker.ts";
import type { WorkloadsFile } from "../../model/workload.ts";
import { readCounterPermission, readDiskFree, readHostProcesses, withDescendants } from "./host.ts";
import { type GpuProcess, type GpuState, readGpuStates, readProcesses } from "./nvidia-smi.ts";
import type { Reading } from "./nvidia-smi-csv.ts";
import type { NvidiaSmi, NvidiaSmiProblem } from "./nvidia-smi-query.ts";
import { type PreflightReading, readingFindings } from "./preflight-findings.ts";
import { diskRefusal, otherProcessRefusal, permissionRefusal, unreadableRefusal } from "./preflight-refusals.ts";

export interface PreflightOptions {
  /** The leased GPUs. */
  readonly gpus: readonly Pick<WorkerGpu, "uuid">[];
  readonly nvidiaSmi: NvidiaSmi;
  /** Processes that are ours (a warm engine); their descendants count as ours too. */
  readonly ownPids: readonly number[];
  /** Where reports are written. */
  readonly workFolder: string;
  readonly policy: WorkloadsFile["other_process_on_gpu"];
  /** How long `wait` waits. */
  readonly waitLimitMs: number;
  /** Below this a capture does not start. */
  readonly diskFloorBytes: number;
  /** Ends the wait; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
  /** Told who is waited for, at the start of the wait and whenever that changes. */
  readonly onWait: (message: string) => void;
  /** Between two looks. */
  readonly pollMs?: number;
  /** `/proc`, another folder in tests. */
  readonly proc?: string;
}

export interface Preflight {
  readonly record: CaptureRecord["preflight"];
  readonly findings: Finding[];
  /** Why the capture cannot start; null: it can. */
  readonly refusal: Failure | null;
  /** `none` where clocks cannot be locked (MIG), whatever the request says; null: no objection. */
  readonly clockControl: "none" | null;
}

const POLL_MS = 1_000;
/** nvidia-smi shows no process of another container; this much memory belongs to somebody all the same. */
const UNSEEN_BYTES = 1024 ** 3;

/** Looks at the leased GPUs and the host right before a capture. Waits for other processes where the policy says so. */
export async function preflight(options: PreflightOptions): Promise<Preflight> {
  const { permitted, admin_only } = await readCounterPermission(procOf(options));
  const disk = await readDiskFree(options.workFolder);
  const look = await untilFree(options);
  if (!look.ok) return { record: [], findings: [], refusal: unreadableRefusal(look.problem), clockControl: null };
  const { states, others, missing } = look;
  if (missing.length > 0) {
    const gone: NvidiaSmiProblem = {
      code: "no_devices",
      message: `nvidia-smi no longer lists ${missing.join(", ")}`,
      hint: "A GPU that disappears has mostly fallen off the bus: look into dmesg for Xid lines, then restart the worker.",
    };
    return { record: [], findings: [], refusal: unreadableRefusal(gone), clockControl: null };
  }
  const readings = states.map((state) => readingOf(state, others, permitted, disk));
  const findings = readings.flatMap(readingFindings);
  const foreign = others.value ?? [];
  const unseen = unseenFinding(readings, options.ownPids);
  if (unseen) findings.push(unseen);
  if (foreign.length > 0 && options.policy === "continue") findings.push(sharedFinding(foreign));
  const refusal =
    permitted.value === false
      ? permissionRefusal(admin_only.value)
      : disk.value !== null && disk.value < options.diskFloorBytes
        ? diskRefusal(options.workFolder, disk.value, options.diskFloorBytes)
        : foreign.length > 0 && options.policy !== "continue"
          ? otherProcessRefusal(foreign, options.policy, options.waitLimitMs)
          : null;
  const clockControl = readings.some(({ mig }) => mig === true) ? "none" : null;
  return { record: readings, findings, refusal, clockControl };
}

type Look =
  | {
      readonly ok: true;
      readonly states: GpuState[];
      readonly others: Reading<GpuProcess[]>;
      readonly missing: string[];
    }
  | { readonly ok: false; readonly problem: NvidiaSmiProblem };

async function untilFree(options: PreflightOptions): Promise<Look> {
  const deadline = performance.now() + options.waitLimitMs;
  for (let told = ""; ; ) {
    options.signal.throwIfAborted();
    const look = await lookAt(options);
    options.signal.throwIfAborted();
    const foreign = look.ok ? (look.others.value ?? []) : [];
    const pollMs = options.pollMs ?? POLL_MS;
    if (foreign.length === 0 || options.policy !== "wait" || performance.now() + pollMs > deadline) return look;
    const who = `waiting for other processes to leave the GPU: ${describe(foreign)}`;
    if (who !== told) options.onWait(who);
    told = who;
    // The reason of the signal is what the caller knows, not that of the timer.
    await sleep(pollMs, undefined, { signal: options.signal }).catch(() => options.signal.throwIfAborted());
  }
}

async function lookAt(options: PreflightOptions): Promise<Look> {
  const nvidiaSmi = { ...options.nvidiaSmi, signal: options.signal };
  const states = await readGpuStates(nvidiaSmi);
  if (!states.ok) return { ok: false, problem: states.error };
  const uuids = options.gpus.map(({ uuid }) => uuid);
  const found = uuids.flatMap((uuid) => states.value.get(uuid) ?? []);
  const missing = uuids.filter((uuid) => !states.value.has(uuid));
  const processes = await readProcesses(nvidiaSmi);
  if (!processes.ok) {
    return { ok: true, states: found, missing, others: { value: null, reason: processes.error.message } };
  }
  const host = await readHostProcesses(procOf(options));
  const own = withDescendants(options.ownPids, host.value ?? []);
  const foreign = processes.value.filter(({ pid }) => !own.has(pid));
  const others = foreign.filter(({ gpu }) => uuids.includes(gpu));
  if (others.length === 0 && uuids.some(isMig) && foreign.some(({ gpu }) => !isMig(gpu))) {
    const reason = "nvidia-smi does not say on which MIG device the processes are";
    return { ok: true, states: found, missing, others: { value: null, reason } };
  }
  return { ok: true, states: found, missing, others: { value: others, reason: null } };
}

const isMig = (uuid: string): boolean => uuid.startsWith("MIG-");

const procOf = ({ proc }: PreflightOptions): { proc?: string } => (proc === undefined ? {} : { proc });

function readingOf(
  state: GpuState,
  others: Reading<GpuProcess[]>,
  permitted: Reading<boolean>,
  disk: Reading<number>,
): PreflightReading {
  const null_reasons: Record<string, string> = {};
  const take = <T>(name: string, reading: Reading<T>): T | null => {
    if (reading.reason !== null) null_reasons[name] = reading.reason;
    return reading.value;
  };
  const processes = take("other_processes", others);
  const throttle = take("throttle_reasons", state.throttle_reasons);
  return {
    gpu: state.uuid,
    counters_permitted: take("counters_permitted", permitted),
    other_processes: processes === null ? null : processes.filter(({ gpu }) => gpu === state.uuid).length,
    memory_used_bytes: take("memory_used_bytes", state.memory_used_bytes),
    memory_total_bytes: take("memory_total_bytes", state.memory_total_bytes),
    sm_clock_hz: take("sm_clock_hz", state.sm_clock_hz),
    sm_clock_max_hz: take("sm_clock_max_hz", state.sm_clock_max_hz),
    throttle_reasons: throttle === null ? null : [...throttle],
    persistence_mode: take("persistence_mode", state.persistence_mode),
    mig: take("mig", state.mig),
    disk_free_bytes: take("disk_free_bytes", disk),
    null_reasons,
  };
}

const describe = (processes: readonly GpuProcess[]): string =>
  processes
    .slice(0, 5)
    .map(({ pid, name }) => `${name.split("/").at(-1)} (${pid})`)
    .join(", ") + (processes.length > 5 ? ` and ${processes.length - 5} more` : "");

const sharedFinding = (processes: readonly GpuProcess[]): Finding => ({
  code: "gpu_shared",
  severity: "warning",
  message: `Other processes compute on the GPU (${describe(processes)}): caches, memory bandwidth and clocks are shared with them.`,
  launch: null,
  evidence: { processes: processes.length, pids: processes.map(({ pid }) => pid).join(", ") },
});

function unseenFinding(readings: readonly PreflightReading[], ownPids: readonly number[]): Finding | null {
  if (ownPids.length > 0) return null;
  const used = readings.filter(
    ({ other_processes, memory_used_bytes }) => other_processes === 0 && (memory_used_bytes ?? 0) > UNSEEN_BYTES,
  );
  if (used.length === 0) return null;
  return {
    code: "gpu_used_unseen",
    severity: "warning",
    message: `Memory of ${used.map(({ gpu }) => gpu).join(", ")} is in use, and nvidia-smi shows no process: one in another container may compute there. Start the worker in the host's pid namespace (--pid=host) to see it.`,
    launch: null,
    evidence: { memory_used_bytes: used[0]?.memory_used_bytes ?? null },
  };
}
