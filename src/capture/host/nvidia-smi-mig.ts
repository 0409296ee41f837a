import { type Reading, read, unread } from "./nvidia-smi-csv.ts";

/** A MIG device as `nvidia-smi -L` lists it below its GPU. */
export interface MigDevice {
  readonly uuid: string;
  /** Such as `3g.40gb`. */
  readonly profile: string;
  /** Number among the MIG devices of its GPU. */
  readonly number: number;
  readonly parent: string;
}

const GPU_LINE = /^GPU \d+: .*\(UUID: (GPU-[0-9A-Za-z-]{1,64})\)\s*$/;
const MIG_LINE = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[0-9A-Za-z-]{1,64})\)\s*$/;

/** Reads the output of `nvidia-smi -L` (one line a GPU, one below it for each of its MIG devices). */
export function parseMigDevices(text: string): MigDevice[] {
  const devices: MigDevice[] = [];
  let parent: string | null = null;
  for (const line of text.split("\n")) {
    const gpu = GPU_LINE.exec(line);
    if (gpu) parent = gpu[1] ?? null;
    const [, profile, number, uuid] = MIG_LINE.exec(line) ?? [];
    if (parent === null || profile === undefined || uuid === undefined) continue;
    devices.push({ uuid, profile, number: Number(number), parent });
  }
  return devices;
}

/** Memory of one MIG device. */
export interface MigMemory {
  readonly total: Reading<number>;
  readonly used: Reading<number>;
}

/**
 * Memory of each MIG device out of `nvidia-smi -q -x`, by its GPU's uuid and its number. The XML names no uuid of a MIG
 * device itself (nvsmi_device_v12.dtd); GPU and number are the same as in `nvidia-smi -L`.
 */
export function parseMigMemory(xml: string): (device: MigDevice) => MigMemory {
  const known = new Map<string, MigMemory>();
  for (const [, gpu = ""] of xml.matchAll(/<gpu id=[^>]*>([\s\S]*?)<\/gpu>/g)) {
    // MIG devices stand before the GPU's own uuid, and a later driver may give them one too.
    const withoutDevices = gpu.replace(/<mig_devices>[\s\S]*?<\/mig_devices>/, "");
    const uuid = /<uuid>\s*(GPU-[0-9A-Za-z-]+)\s*<\/uuid>/.exec(withoutDevices)?.[1];
    if (uuid === undefined) continue;
    for (const [, device = ""] of gpu.matchAll(/<mig_device>([\s\S]*?)<\/mig_device>/g)) {
      const number = /<index>\s*(\d+)\s*<\/index>/.exec(device)?.[1];
      const memory = /<fb_memory_usage>([\s\S]*?)<\/fb_memory_usage>/.exec(device)?.[1] ?? "";
      if (number !== undefined)
        known.set(`${uuid}/${Number(number)}`, { total: mib(memory, "total"), used: mib(memory, "used") });
    }
  }
  const unknown = unread("nvidia-smi -q -x does not list this MIG device");
  return ({ parent, number }) => known.get(`${parent}/${number}`) ?? { total: unknown, used: unknown };
}

function mib(memory: string, name: "total" | "used"): Reading<number> {
  const text = new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(memory)?.[1];
  const number = /^(\d{1,9}) MiB$/.exec(text ?? "")?.[1];
  return number === undefined
    ? unread(`nvidia-smi gives ${text ?? "nothing"} for the memory of this MIG device`)
    : read(Number(number) * 1024 * 1024);
}
