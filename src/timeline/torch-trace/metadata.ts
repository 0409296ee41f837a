import type { TimelineGpu } from "../../model/timeline.ts";

/**
 * Top-level keys that are read. All others stay out: `host_name`, `username`, `tw_*`, `mast_*`, `trace_id` and `traceName`
 * (a path) tell of the machine.
 */
const KEPT = [
  "schemaVersion",
  "deviceProperties",
  "distributedInfo",
  "baseTimeNanoseconds",
  "cuda_runtime_version",
  "hip_runtime_version",
  "roctracer_version",
] as const;
type Kept = (typeof KEPT)[number];

const MOST_GPUS = 4096;

/** What stands beside the events. Values that cannot be read are as if they were not there. */
export class Metadata {
  readonly #texts = new Map<Kept, string>();

  static isKept(key: string): key is Kept {
    return (KEPT as readonly string[]).includes(key);
  }

  /** @param text of the value, as JSON. A key that stands there twice has its last value, as for JSON.parse. */
  set(key: Kept, text: string): void {
    this.#texts.set(key, text);
  }

  get schemaVersion(): string | null {
    const value = this.#number("schemaVersion");
    return value === null ? null : String(value);
  }

  /** From the text, since nanoseconds since 1970 are not exact in a double. */
  get base_unix_ns(): bigint | null {
    const text = this.#texts.get("baseTimeNanoseconds") ?? "";
    return /^\d{1,19}$/.test(text) ? BigInt(text) : null;
  }

  /** CUDA writes 1000 × major + 10 × minor (cudaRuntimeGetVersion). Null on ROCm. */
  get cudaVersion(): string | null {
    const version = this.#number("cuda_runtime_version");
    if (version === null || !Number.isInteger(version) || version < 1000) return null;
    return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
  }

  get rank(): number | null {
    return wholeOrNull(recordOf(this.#value("distributedInfo"))?.rank);
  }

  get worldSize(): number | null {
    const size = wholeOrNull(recordOf(this.#value("distributedInfo"))?.world_size);
    return size === 0 ? null : size;
  }

  get gpus(): readonly TimelineGpu[] {
    const listed = this.#value("deviceProperties");
    if (!Array.isArray(listed)) return [];
    // ROCm's major and minor are of its own architectures: 9.4 of an MI300X is no compute capability.
    const isCuda = !this.#texts.has("hip_runtime_version") && !this.#texts.has("roctracer_version");
    return listed.slice(0, MOST_GPUS).flatMap((entry: unknown): TimelineGpu[] => {
      const gpu = recordOf(entry);
      if (gpu === null) return [];
      const [major, minor] = [wholeOrNull(gpu.computeMajor), wholeOrNull(gpu.computeMinor)];
      const name = gpu.name;
      return [
        {
          index: wholeOrNull(gpu.id),
          name: typeof name === "string" && name.trim() !== "" && name.length <= 256 ? name.trim() : null,
          compute_capability: isCuda && major !== null && minor !== null ? `${major}.${minor}` : null,
          sm_count: positiveOrNull(gpu.numSms),
          memory_bytes: positiveOrNull(gpu.totalGlobalMem),
          memory_bandwidth_bytes_per_s: null,
        },
      ];
    });
  }

  #value(key: Kept): unknown {
    const text = this.#texts.get(key);
    if (text === undefined) return null;
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  #number(key: Kept): number | null {
    const value = this.#value(key);
    return typeof value === "number" && Number.isFinite(value) ? value : null;
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

const wholeOrNull = (value: unknown): number | null =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;

const positiveOrNull = (value: unknown): number | null => wholeOrNull(value) || null;
