/** A column of tensor operations, read from its name: `sm__ops_path_tensor_[op_X_]src_T[_dst_T][_sparsity_on|off]`. */
export interface TensorColumn {
  /** Name without suffix. */
  readonly base: string;
  /** Instruction family (hmma, hgmma, utchmma, …); null where the column does not say. */
  readonly op: string | null;
  /** Source type, several joined by `_` where one instruction serves them all. */
  readonly source: string;
  readonly destination: string | null;
  readonly sparsity: "on" | "off" | null;
  /** Metrics of the column: operations/s, per cycle, in all, and the peak per cycle. */
  readonly metrics: {
    readonly perSecond: string;
    readonly perCycle: string;
    readonly count: string;
    readonly peakPerCycle: string;
  };
}

/** Suffixes of those metrics. */
export const TENSOR_SUFFIXES = {
  perSecond: ".sum.per_second",
  perCycle: ".sum.per_cycle_elapsed",
  count: ".sum",
  peakPerCycle: ".sum.peak_sustained",
} as const;

export const TENSOR_PREFIX = "sm__ops_path_tensor_";

/**
 * Reads the name of a tensor column without its suffix; null for any other name. Names per compute capability: section
 * SpeedOfLight_HierarchicalTensorRooflineChart of Nsight Compute 2025.1 (7.0 to 8.9 name source and destination, 9.0
 * and 10.x add the instruction, 12.0 mixes both).
 */
export function parseTensorColumn(base: string): TensorColumn | null {
  if (!base.startsWith(TENSOR_PREFIX)) return null;
  let rest = base.slice(TENSOR_PREFIX.length);
  let op: string | null = null;
  let sparsity: "on" | "off" | null = null;
  let destination: string | null = null;
  const source = rest.indexOf("src_");
  if (source < 0) return null;
  if (source > 0) {
    const before = rest.slice(0, source);
    if (!before.startsWith("op_") || !before.endsWith("_")) return null;
    op = before.slice(3, -1);
  }
  rest = rest.slice(source + 4);
  for (const word of ["on", "off"] as const) {
    if (rest.endsWith(`_sparsity_${word}`)) {
      sparsity = word;
      rest = rest.slice(0, -`_sparsity_${word}`.length);
    }
  }
  const into = rest.indexOf("_dst_");
  if (into >= 0) {
    destination = rest.slice(into + 5);
    rest = rest.slice(0, into);
  }
  if (rest === "") return null;
  const metrics = {
    perSecond: base + TENSOR_SUFFIXES.perSecond,
    perCycle: base + TENSOR_SUFFIXES.perCycle,
    count: base + TENSOR_SUFFIXES.count,
    peakPerCycle: base + TENSOR_SUFFIXES.peakPerCycle,
  };
  return { base, op, source: rest, destination, sparsity, metrics };
}

/**
 * Precision of a column. FP64 on tensor cores is `fp64_tensor`. Where one column serves several types: Turing has FP16
 * alone among those its column names; FP8, FP6 and FP4 of 10.x share one, and only the kernel's name can tell FP8.
 */
export function precisionOf(column: TensorColumn, kernelName: string): string {
  switch (column.source) {
    case "fp64":
      return "fp64_tensor";
    case "fp16_bf16_tf32":
      return "fp16";
    case "fp4_fp6_fp8":
      return /fp8|float8|f8f8|e4m3|e5m2/i.test(kernelName) ? "fp8" : "fp4_fp6_fp8";
    default:
      return column.source;
  }
}

/** Instruction path of a column: how the kernel issues its matrix instructions. Null where the name does not tell. */
export function pathOf(column: TensorColumn): "mma.sync" | "wgmma" | "tcgen05" | null {
  if (column.op === null) return null;
  if (column.op.startsWith("utc")) return "tcgen05";
  if (column.op.endsWith("gmma")) return "wgmma";
  return column.op.endsWith("mma") ? "mma.sync" : null;
}

/**
 * True where the peak of a column is that of dense work. A column without `sparsity` that stands for several others
 * carries the sparse peak from 8.0 on; FP64 and one-bit operations have no sparse form, and 7.x has none at all.
 */
export function isDense(column: TensorColumn, computeCapability: string | null): boolean {
  if (column.sparsity !== null) return column.sparsity === "off";
  if (column.op !== null || column.source === "fp64" || column.source === "int1") return true;
  return computeCapability?.startsWith("7.") ?? false;
}
