import { err, ok, type Result } from "../../base/result.ts";
import { type WorkerGpu, workerGpuSchema } from "../../model/worker.ts";
import {
  countCell,
  maskCell,
  mhzCell,
  mibCell,
  type Reading,
  type Row,
  read,
  switchCell,
  textCell,
  unread,
} from "./nvidia-smi-csv.ts";
import { type MigDevice, type MigMemory, parseMigDevices, parseMigMemory } from "./nvidia-smi-mig.ts";
import { askNvidiaSmi, type NvidiaSmi, type NvidiaSmiProblem, queryNvidiaSmi } from "./nvidia-smi-query.ts";
import { throttleReasons } from "./throttle.ts";

/** What a GPU, or a MIG device, says of itself at this moment. Memory in bytes, clocks in Hz. */
export interface GpuState {
  readonly uuid: string;
  readonly memory_used_bytes: Reading<number>;
  readonly memory_total_bytes: Reading<number>;
  readonly sm_clock_hz: Reading<number>;
  readonly sm_clock_max_hz: Reading<number>;
  readonly throttle_reasons: Reading<readonly string[]>;
  readonly persistence_mode: Reading<boolean>;
  /** True for a MIG device, and for a GPU that is divided into some. */
  readonly mig: Reading<boolean>;
}

/** A process that computes on a GPU. */
export interface GpuProcess {
  readonly pid: number;
  /** Of the GPU; for a MIG device nvidia-smi names the GPU or the device, by version. */
  readonly gpu: string;
  readonly memory_used_bytes: Reading<number>;
  readonly name: string;
}

// The last field takes what is left of its line: names may hold commas.
const GPU_FIELDS = ["index", "uuid", "driver_version", "memory.total", "compute_cap", "mig.mode.current", "name"];
const STATE_FIELDS = [
  "uuid",
  "memory.used",
  "memory.total",
  "clocks.current.sm",
  "clocks.max.sm",
  "clocks_event_reasons.active",
  "persistence_mode",
  "mig.mode.current",
];
const PROCESS_FIELDS = ["pid", "gpu_uuid", "used_gpu_memory", "process_name"];

/**
 * The GPUs of this host in order of their index. A GPU that is divided by MIG is listed by its MIG devices, which are
 * what a program gets.
 */
export async function readGpus(nvidiaSmi: NvidiaSmi): Promise<Result<WorkerGpu[], NvidiaSmiProblem>> {
  const rows = await queryNvidiaSmi(nvidiaSmi, "gpu", GPU_FIELDS);
  if (!rows.ok) return rows;
  const gpus: WorkerGpu[] = [];
  for (const row of rows.value) {
    const gpu = gpuOf(row);
    if (!gpu.ok) return gpu;
    gpus.push(gpu.value);
  }
  if (!gpus.some(({ mig_mode }) => mig_mode === "enabled")) return ok(byIndex(gpus));
  const mig = await readMig(nvidiaSmi);
  if (!mig.ok) return mig;
  return ok(
    byIndex(gpus).flatMap((gpu) => {
      const devices = mig.value.devices.filter(({ parent }) => parent === gpu.uuid);
      return devices.length === 0
        ? [gpu]
        : devices.map((device) => ({
            ...gpu,
            uuid: device.uuid,
            name: `${gpu.name} MIG ${device.profile}`,
            memory_total_bytes: mig.value.memory(device).total.value,
          }));
    }),
  );
}

/** The state of each GPU and MIG device, by uuid. */
export async function readGpuStates(
  nvidiaSmi: NvidiaSmi,
): Promise<Result<ReadonlyMap<string, GpuState>, NvidiaSmiProblem>> {
  const rows = await queryNvidiaSmi(nvidiaSmi, "gpu", STATE_FIELDS);
  if (!rows.ok) return rows;
  const states = new Map(rows.value.map((row) => [row.uuid ?? "", stateOf(row)]));
  if (![...states.values()].some(({ mig }) => mig.value === true)) return ok(states);
  const mig = await readMig(nvidiaSmi);
  if (!mig.ok) return mig;
  for (const device of mig.value.devices) {
    const parent = states.get(device.parent);
    if (!parent) continue;
    const { total, used } = mig.value.memory(device);
    states.set(device.uuid, { ...parent, uuid: device.uuid, memory_used_bytes: used, memory_total_bytes: total });
  }
  return ok(states);
}

/** Processes that compute on the GPUs. In a container nvidia-smi may see none of other containers. */
export async function readProcesses(nvidiaSmi: NvidiaSmi): Promise<Result<GpuProcess[], NvidiaSmiProblem>> {
  const rows = await queryNvidiaSmi(nvidiaSmi, "compute-apps", PROCESS_FIELDS);
  if (!rows.ok) return rows;
  return ok(
    rows.value.flatMap((row) => {
      const pid = countCell(row, "pid");
      if (pid.value === null) return [];
      return [
        {
          pid: pid.value,
          gpu: row.gpu_uuid ?? "",
          memory_used_bytes: mibCell(row, "used_gpu_memory"),
          name: (row.process_name ?? "").slice(0, 256),
        },
      ];
    }),
  );
}

/** Highest CUDA version of the driver, such as `13.0`: printed at the head of nvidia-smi's table, no field has it. */
export async function readDriverCudaVersion(nvidiaSmi: NvidiaSmi): Promise<Reading<string>> {
  const answer = await askNvidiaSmi(nvidiaSmi, []);
  if (!answer.ok) return unread(answer.error.message);
  const version = /CUDA Version:\s*(\d{1,3}\.\d{1,3})/.exec(answer.value)?.[1];
  return version === undefined ? unread("nvidia-smi prints no CUDA Version") : read(version);
}

async function readMig(
  nvidiaSmi: NvidiaSmi,
): Promise<Result<{ devices: MigDevice[]; memory: (device: MigDevice) => MigMemory }, NvidiaSmiProblem>> {
  const list = await askNvidiaSmi(nvidiaSmi, ["-L"]);
  if (!list.ok) return list;
  const xml = await askNvidiaSmi(nvidiaSmi, ["-q", "-x"]);
  return ok({ devices: parseMigDevices(list.value), memory: parseMigMemory(xml.ok ? xml.value : "") });
}

function gpuOf(row: Row): Result<WorkerGpu, NvidiaSmiProblem> {
  const mig = switchCell(row, "mig.mode.current").value;
  const gpu = workerGpuSchema.safeParse({
    index: countCell(row, "index").value,
    uuid: row.uuid,
    name: textCell(row, "name").value?.slice(0, 256),
    driver_version: textCell(row, "driver_version").value,
    memory_total_bytes: mibCell(row, "memory.total").value,
    compute_capability: textCell(row, "compute_cap").value,
    mig_mode: mig === null ? null : mig ? "enabled" : "disabled",
  });
  if (gpu.success) return ok(gpu.data);
  const where = gpu.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
  return err({
    code: "unreadable",
    message: `nvidia-smi describes a GPU in a way that is not understood (${where}): ${JSON.stringify(row).slice(0, 500)}`,
    hint: "A GPU whose fields are errors has mostly fallen off the bus: look into dmesg for Xid lines.",
  });
}

function stateOf(row: Row): GpuState {
  const mask = maskCell(row, "clocks_event_reasons.active");
  return {
    uuid: row.uuid ?? "",
    memory_used_bytes: mibCell(row, "memory.used"),
    memory_total_bytes: mibCell(row, "memory.total"),
    sm_clock_hz: mhzCell(row, "clocks.current.sm"),
    sm_clock_max_hz: mhzCell(row, "clocks.max.sm"),
    throttle_reasons: mask.value === null ? mask : read(throttleReasons(mask.value)),
    persistence_mode: switchCell(row, "persistence_mode"),
    mig: migOf(row),
  };
}

/** `[N/A]`: a GPU without MIG. */
function migOf(row: Row): Reading<boolean> {
  const mig = switchCell(row, "mig.mode.current");
  return row["mig.mode.current"] === "[N/A]" || row["mig.mode.current"] === "N/A" ? read(false) : mig;
}

const byIndex = (gpus: readonly WorkerGpu[]): WorkerGpu[] =>
  [...gpus].sort((a, b) => a.index - b.index || (a.uuid < b.uuid ? -1 : 1));
