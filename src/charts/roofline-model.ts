import type { KernelEntry, ProfileResult, RooflineClass } from "../model/result.ts";
import { shortKernelName } from "./kernel-name.ts";

/** What every kernel of a roofline chart has, placed or not. */
export interface ChartKernel {
  /** Place in the ranking, from 1. */
  readonly rank: number;
  readonly name: string;
  readonly roofline: RooflineClass | null;
  readonly limiter: string;
  /** Of the pipeline where one is known, else of the report; 0..1. */
  readonly share: number | null;
  /** DRAM bytes/s over peak, 0..1. */
  readonly dramUtilization: number | null;
}

/** A kernel with a place: operations per byte of DRAM, operations per second of its dominant precision. */
export interface RoofPoint extends ChartKernel {
  readonly precision: string;
  readonly intensity: number;
  readonly opsPerSecond: number;
  /** The same work over the bytes of L2; null where they were not counted. (The traffic of L1 is not: its counter misses what TMA and cp.async copy.) */
  readonly l2Intensity: number | null;
}

export interface UnplacedKernel extends ChartKernel {
  readonly why: string;
}

/** A horizontal roof. Peaks belong to a launch and its clock, so kernels under one roof can differ. */
export interface ComputeRoof {
  readonly label: string;
  /** Of the heaviest kernel under it, operations per second. */
  readonly opsPerSecond: number;
  /** Over all placed kernels of the precision. */
  readonly lowest: number;
  readonly highest: number;
  /** A published figure instead of a counter of the launch. */
  readonly estimated: boolean;
  /** null: the dense peak of the precision. Else the instructions whose lower peak it is (mma.sync). */
  readonly path: string | null;
  /** Of the kernel whose peak it is. */
  readonly rank: number;
}

/** A slanted roof: bytes per second of a memory level. */
export interface BandwidthRoof {
  readonly level: "dram" | "l2" | "l1";
  readonly bytesPerSecond: number;
  readonly lowest: number;
  readonly highest: number;
  readonly estimated: boolean;
  readonly rank: number;
}

export interface RooflineModel {
  readonly kind: ProfileResult["kind"];
  readonly gpus: readonly string[];
  readonly points: readonly RoofPoint[];
  readonly unplaced: readonly UnplacedKernel[];
  readonly computeRoofs: readonly ComputeRoof[];
  readonly bandwidthRoofs: readonly BandwidthRoof[];
  /** Kernels of the reports that the result does not list. */
  readonly unlisted: number;
  /** Shares are of a timeline's busy time, not of the time of the kernels in a report. */
  readonly isTimed: boolean;
}

/** Relative difference below which two roofs are drawn as one. */
const SAME_ROOF = 0.001;

/** The numbers of a roofline chart, without any picture. Order: as ranked in the result. */
export function rooflineModel(result: ProfileResult): RooflineModel {
  const entries: readonly KernelEntry[] = result.kind === "pipeline" ? result.kernels : [result];
  const placed: { entry: KernelEntry; point: RoofPoint }[] = [];
  const unplaced: UnplacedKernel[] = [];
  entries.forEach((entry, index) => {
    const kernel = chartKernel(entry, index + 1);
    const place = placeOf(entry);
    if (typeof place === "string") unplaced.push({ ...kernel, why: place });
    else placed.push({ entry, point: { ...kernel, ...place } });
  });
  return {
    kind: result.kind,
    gpus: [...new Set(result.provenance.gpus.flatMap((gpu) => (gpu.name === null ? [] : [gpu.name])))],
    points: placed.map(({ point }) => point),
    unplaced,
    computeRoofs: computeRoofs(placed),
    bandwidthRoofs: bandwidthRoofs(entries),
    unlisted: result.kind === "pipeline" ? Math.max(0, result.kernels_total - result.kernels.length) : 0,
    isTimed: result.kind === "pipeline" && result.timeline !== null,
  };
}

function chartKernel(entry: KernelEntry, rank: number): ChartKernel {
  return {
    rank,
    name: shortKernelName(entry.detail.names.display),
    roofline: entry.roofline,
    limiter: entry.detail.limiter,
    share: entry.fraction_of_pipeline ?? entry.detail.share_of_report,
    dramUtilization: entry.memory_bw_utilization,
  };
}

/** Where a kernel stands, or why it stands nowhere: a logarithm needs work and traffic above zero. */
function placeOf(entry: KernelEntry): Omit<RoofPoint, keyof ChartKernel> | string {
  const {
    dominant_precision: precision,
    arithmetic_intensity_flop_per_byte: intensity,
    memory,
    null_reasons,
  } = entry.detail;
  if (precision === null || entry.tflops === null || entry.tflops <= 0) {
    return null_reasons.tflops ?? "operations not counted";
  }
  if (intensity === null || intensity <= 0 || !Number.isFinite(intensity)) {
    return memory.dram_bytes_per_s === 0
      ? "no DRAM traffic"
      : (null_reasons["detail.arithmetic_intensity_flop_per_byte"] ?? "DRAM traffic not counted");
  }
  const l2 = memory.levels.find(({ level }) => level === "l2")?.arithmetic_intensity_flop_per_byte ?? null;
  const l2Intensity = l2 !== null && l2 > 0 && Number.isFinite(l2) ? l2 : null;
  return { precision, intensity, opsPerSecond: entry.tflops * 1e12, l2Intensity };
}

function computeRoofs(placed: readonly { entry: KernelEntry; point: RoofPoint }[]): ComputeRoof[] {
  const roofs = new Map<string, ComputeRoof>();
  const add = (roof: Omit<ComputeRoof, "lowest" | "highest">): void => {
    const key = `${roof.label} ${roof.path}`;
    const known = roofs.get(key) ?? { ...roof, lowest: roof.opsPerSecond, highest: roof.opsPerSecond };
    roofs.set(key, {
      ...known,
      lowest: Math.min(known.lowest, roof.opsPerSecond),
      highest: Math.max(known.highest, roof.opsPerSecond),
    });
  };
  for (const { entry, point } of placed) {
    const name = precisionName(point.precision);
    const dense = entry.detail.peak_tflops_by_precision?.[point.precision];
    if (dense !== undefined && dense.tflops > 0) {
      add({ label: name, opsPerSecond: dense.tflops * 1e12, estimated: dense.estimated, path: null, rank: point.rank });
    }
    const path = lowerPath(entry, point.precision, dense === undefined ? null : dense.tflops * 1e12);
    if (path !== null) {
      add({ label: name, opsPerSecond: path.opsPerSecond, estimated: false, path: path.name, rank: point.rank });
    }
  }
  return merged([...roofs.values()]);
}

/** Instruction families by how a kernel issues them (Nsight Compute's `sm__ops_path_tensor_op_<family>` counters). */
const PATHS: Readonly<Record<string, string>> = { hmma: "mma.sync", imma: "mma.sync", bmma: "mma.sync" };

/** The ceiling of the path with the most operations, where it lies below the dense peak of the precision. */
function lowerPath(
  entry: KernelEntry,
  precision: string,
  dense: number | null,
): { name: string; opsPerSecond: number } | null {
  const busiest = entry.detail.tensor_paths
    .filter((path) => path.precision === precision)
    .reduce<KernelEntry["detail"]["tensor_paths"][number] | null>(
      (most, path) => (most === null || path.ops_per_s > most.ops_per_s ? path : most),
      null,
    );
  const name = busiest?.op == null ? undefined : PATHS[busiest.op];
  if (busiest === null || name === undefined || busiest.peak_ops_per_s === null || dense === null) return null;
  return busiest.peak_ops_per_s < dense * 0.99 ? { name, opsPerSecond: busiest.peak_ops_per_s } : null;
}

/** Roofs of equal height share a line and a label; highest first. */
function merged(roofs: readonly ComputeRoof[]): ComputeRoof[] {
  const byHeight = [...roofs].sort(
    (a, b) =>
      b.opsPerSecond - a.opsPerSecond || (a.label < b.label ? -1 : a.label > b.label ? 1 : a.path === null ? -1 : 1),
  );
  const result: ComputeRoof[] = [];
  for (const roof of byHeight) {
    const above = result.at(-1);
    if (
      above !== undefined &&
      above.path === roof.path &&
      above.estimated === roof.estimated &&
      1 - roof.opsPerSecond / above.opsPerSecond < SAME_ROOF
    ) {
      result[result.length - 1] = {
        ...above,
        label: `${above.label}, ${roof.label}`,
        lowest: Math.min(above.lowest, roof.lowest),
        highest: Math.max(above.highest, roof.highest),
        rank: Math.min(above.rank, roof.rank),
      };
    } else result.push(roof);
  }
  return result;
}

function bandwidthRoofs(entries: readonly KernelEntry[]): BandwidthRoof[] {
  return (["l1", "l2", "dram"] as const).flatMap((level) => {
    const peaks = entries.flatMap((entry, index) => {
      const { memory } = entry.detail;
      const peak =
        level === "dram"
          ? memory.peak_dram_bytes_per_s
          : (memory.levels.find((one) => one.level === level)?.peak_bytes_per_s ?? null);
      return peak === null || peak <= 0
        ? []
        : [{ peak, rank: index + 1, estimated: level === "dram" && memory.peak_dram_source === "catalogue" }];
    });
    const [heaviest] = peaks;
    if (heaviest === undefined) return [];
    const all = peaks.map(({ peak }) => peak);
    return [
      {
        level,
        bytesPerSecond: heaviest.peak,
        lowest: all.reduce((a, b) => Math.min(a, b)),
        highest: all.reduce((a, b) => Math.max(a, b)),
        estimated: heaviest.estimated,
        rank: heaviest.rank,
      },
    ];
  });
}

/** `fp16_vector` is the key, `fp16 vector` the word. */
export const precisionName = (precision: string): string => precision.replaceAll("_", " ");
