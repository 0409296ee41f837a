import type { KernelNames } from "../model/launch.ts";
import { type Flops, sameAccumulation, type TensorPath } from "./flops.ts";
import type { BestPath } from "./headroom.ts";

/** By how much the peak of another path must be higher to count as faster. */
const FASTER = 1.01;

/**
 * Counters cannot tell a matrix product from other multiply-adds, names can. A chain of multiply-adds in registers has
 * the counters of a perfect FP32 GEMM and no path to the tensor cores.
 */
const MATRIX_PRODUCT = /gemm|matmul|bmm|xmma|fprop|dgrad|wgrad|nvjet/i;

/** True where any name of the kernel says that it multiplies matrices. */
export const isMatrixProduct = (names: KernelNames): boolean =>
  [names.display, names.demangled, names.function, names.mangled].some(
    (name) => name !== null && MATRIX_PRODUCT.test(name),
  );

const sameTypes = (a: TensorPath, b: TensorPath): boolean =>
  a.precision === b.precision && sameAccumulation(a.column.destination, b.column.destination);

function fromMmaSync({ dominant, paths, columns }: Flops): BestPath | null {
  const used = paths.find(({ precision }) => precision === dominant.value);
  if (used?.path !== "mma.sync" || used.peak === null) return null;
  const threshold = FASTER * used.peak.value;
  let best: BestPath | null = null;
  for (const other of columns) {
    const path = other.path;
    if ((path !== "wgmma" && path !== "tcgen05") || other.column.sparsity === "on" || !sameTypes(used, other)) continue;
    const peak = other.peak?.value ?? 0;
    if (peak > threshold && peak > (best?.peak ?? 0)) {
      best = {
        path,
        pathInUse: "mma.sync",
        precision: used.precision,
        peak,
        metrics: [other.column.metrics.peakPerCycle],
        requiresPrecisionChange: false,
      };
    }
  }
  return best;
}

function fromCores({ dominant, peaks }: Flops, names: KernelNames): BestPath | null {
  const precisionNow = dominant.value;
  if ((precisionNow !== "fp32" && precisionNow !== "fp64") || !isMatrixProduct(names)) return null;
  const precision = precisionNow === "fp32" ? "tf32" : "fp64_tensor";
  const [now, other] = [peaks.get(precisionNow)?.value, peaks.get(precision)?.value];
  // A published peak holds at another clock than that of the launch: no distance can be told from it.
  if (!other || other.estimated || other.value <= FASTER * (now?.value ?? 0)) return null;
  return precisionNow === "fp32"
    ? {
        path: "tensor core",
        pathInUse: "FFMA",
        precision,
        peak: other.value,
        metrics: peaks.get(precision)?.metrics ?? [],
        requiresPrecisionChange: true,
      }
    : {
        path: "FP64 tensor",
        pathInUse: "DFMA",
        precision,
        peak: other.value,
        metrics: peaks.get(precision)?.metrics ?? [],
        requiresPrecisionChange: false,
      };
}

/**
 * A faster legal path for what the kernel does: wgmma (9.0) or tcgen05 (10.x) in place of mma.sync for the same types,
 * FP64 tensor cores for matrix products in DFMA, and TF32 for those in FFMA where a loss of mantissa is accepted.
 * One column counts FP8 of 9.0 for both paths, so nothing follows from it.
 */
export const bestPathOf = (flops: Flops, names: KernelNames): BestPath | null =>
  fromMmaSync(flops) ?? fromCores(flops, names);
