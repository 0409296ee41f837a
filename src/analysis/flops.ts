import { byNumberDescending, byText, inOrder } from "../base/order.ts";
import { CATALOGUE_PRECISIONS } from "../hardware/catalogue.ts";
import { counterPeak, type Peak, publishedPeak } from "../hardware/peaks.ts";
import {
  isDense,
  pathOf,
  precisionOf,
  TENSOR_PREFIX,
  TENSOR_SUFFIXES,
  type TensorColumn,
} from "../hardware/tensor-counters.ts";
import type { LaunchVerdict } from "../model/result.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { Known, Reading } from "./sheet.ts";

/** An instruction of the CUDA cores, the operations it counts for a thread, and the metrics that count it. */
interface CoreOp {
  readonly op: string;
  readonly factor: number;
  readonly perCycle: string;
  readonly counts: readonly string[];
}

const coreOp = (op: string, factor: number): CoreOp => ({
  op,
  factor,
  perCycle: `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum.per_cycle_elapsed`,
  counts: [
    `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum`,
    `sm__sass_thread_inst_executed_op_${op}_pred_on.sum`,
  ],
});
const corePeak = (op: string): string => `sm__sass_thread_inst_executed_op_${op}_pred_on.sum.peak_sustained`;

export const FP16_VECTOR = "fp16_vector";
const HALF_ADD_MUL = [coreOp("hadd", 2), coreOp("hmul", 2)];

/**
 * Operations of the CUDA cores by precision; the last instruction's peak is the roof. Packed half2 counts 2 a lane. Same
 * factors as the roofline sections of Nsight Compute 2025.3 (`derived__..._x2`, `_x4`).
 */
const CORE_PRECISIONS = [
  {
    precision: "fp32",
    ops: [coreOp("fadd", 1), coreOp("fmul", 1), coreOp("ffma", 2)],
    peak: corePeak("ffma"),
    factor: 2,
  },
  {
    precision: "fp64",
    ops: [coreOp("dadd", 1), coreOp("dmul", 1), coreOp("dfma", 2)],
    peak: corePeak("dfma"),
    factor: 2,
  },
  { precision: FP16_VECTOR, ops: [...HALF_ADD_MUL, coreOp("hfma", 4)], peak: corePeak("hfma"), factor: 4 },
] as const;
const CORE_OPS = CORE_PRECISIONS.flatMap(({ ops }) => ops);

export const FLOPS: Declaration = {
  name: "flops",
  needs: [
    ...needs.optional("sm_clock_hz", "duration_ns"),
    ...needs.optionalMetrics(CORE_OPS.map(({ perCycle }) => perCycle)),
    ...needs.optionalMetrics(CORE_PRECISIONS.map(({ peak }) => peak)),
    ...Object.values(TENSOR_SUFFIXES).map((suffix) => needs.optionalFamily(TENSOR_PREFIX, suffix)),
  ],
  // Lists written by hand ask for counts; the rates above hold the same work.
  substitutes: needs.optionalMetrics(CORE_OPS.flatMap(({ counts }) => counts)),
};

/** Constants and moves are compiled to HFMA2: a rate of HFMA alone below this part of the FP16 peak is no arithmetic. */
export const MOVES_SHARE = 0.02;
/** By how much a total may exceed the sum of its columns before the columns count as incomplete. */
const INCOMPLETE = 1.01;

export const TERA = 1e12;

/** A column of tensor operations with what the launch did in it. */
export interface TensorPath {
  readonly column: TensorColumn;
  readonly precision: string;
  readonly path: ReturnType<typeof pathOf>;
  /** The metric that counted the work; null where only the peak of the column is known. */
  readonly metric: string | null;
  readonly opsPerS: number;
  readonly peak: Peak | null;
}

export interface Flops {
  /** Operations per second by precision, all that were counted, zero included. */
  readonly achieved: ReadonlyMap<string, Known<number>>;
  readonly peaks: ReadonlyMap<string, Known<Peak>>;
  readonly dominant: Known<string>;
  /** Operations per second of the dominant precision, and its peak. */
  readonly work: Known<number>;
  readonly workPeak: Known<Peak>;
  readonly probablyMoves: Known<boolean>;
  /** Tensor columns with work, most work first. */
  readonly paths: readonly TensorPath[];
  /** Columns that name their instruction: they can tell a faster path. */
  readonly columns: readonly TensorPath[];
}

/** Sum of operations per second; null where one of the instructions was not counted. */
function coreOps(
  read: Reading,
  ops: readonly CoreOp[],
  clockHz: Known<number>,
  durationNs: Known<number>,
): number | null {
  let sum = 0;
  for (const { factor, perCycle, counts } of ops) {
    const rate = clockHz.value === null ? null : read.number(perCycle);
    if (rate !== null) {
      sum += factor * rate * (read.of(clockHz) ?? 0);
      continue;
    }
    const ns = durationNs.value;
    const count = ns === null ? null : (read.number(counts[0] ?? "") ?? read.number(counts[1] ?? ""));
    if (count === null || ns === null)
      return read.because(`${ops.map(({ op }) => op).join(", ")} were not all counted`);
    read.of(durationNs);
    sum += (factor * count) / (ns * 1e-9);
  }
  return sum;
}

/** Operations per second of a column, and the metric that says so. */
function columnOps(
  { sheet }: LaunchContext,
  { metrics }: TensorColumn,
  clockHz: number | null,
  ns: number | null,
): { metric: string; opsPerS: number } | null {
  const perSecond = sheet.number(metrics.perSecond);
  if (perSecond !== null) return { metric: metrics.perSecond, opsPerS: perSecond };
  const perCycle = clockHz === null ? null : sheet.number(metrics.perCycle);
  if (perCycle !== null && clockHz !== null) return { metric: metrics.perCycle, opsPerS: perCycle * clockHz };
  const count = ns === null ? null : sheet.number(metrics.count);
  return count === null || ns === null ? null : { metric: metrics.count, opsPerS: count / (ns * 1e-9) };
}

interface CountedWork {
  readonly work: readonly TensorPath[];
  readonly metrics: readonly string[];
  readonly total: number;
}

function counted(work: readonly TensorPath[]): CountedWork {
  let total = 0;
  const metrics: string[] = [];
  for (const { metric, opsPerS } of work) {
    total += opsPerS;
    if (metric !== null && opsPerS !== 0) metrics.push(metric);
  }
  return { work, metrics, total };
}

/** The columns that hold all work of a precision exactly once: instruction columns before totals, never both. */
function countedOnce(paths: readonly TensorPath[]): CountedWork {
  const plain = paths.filter(({ column }) => column.op === null);
  const bySparsity = plain.filter(({ column }) => column.sparsity !== null);
  const whole = counted(bySparsity.length > 0 ? bySparsity : plain);
  const byOp = counted(paths.filter(({ column }) => column.op !== null));
  // A list written by hand may hold the total and only some of its columns.
  return byOp.work.length === 0 || whole.total > INCOMPLETE * byOp.total ? whole : byOp;
}

/** True where two columns may stand for the same arithmetic: one of them does not name its accumulation, or both the same. */
export const sameAccumulation = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;

/**
 * The dense peak of a precision: the fastest dense column with the accumulation that the kernel used, FP32 where it
 * did no work. (GeForce GPUs accumulate FP16 twice as fast; that is another computation.)
 */
function densePeak(paths: readonly TensorPath[], computeCapability: string | null): TensorPath | null {
  let main: TensorPath | null = null;
  for (const path of paths) if (path.opsPerS > (main?.opsPerS ?? 0)) main = path;
  const destination = main === null ? "fp32" : main.column.destination;
  const dense = paths.filter(({ column, peak }) => peak !== null && isDense(column, computeCapability));
  const same = dense.filter(({ column }) => sameAccumulation(column.destination, destination));
  let best: TensorPath | null = null;
  for (const path of same.length > 0 ? same : dense) {
    if ((path.peak?.value ?? 0) > (best?.peak?.value ?? 0)) best = path;
  }
  return best;
}

function tensorPathsByPrecision(
  context: LaunchContext,
  clockHz: number | null,
  ns: number | null,
): Map<string, TensorPath[]> {
  const byPrecision = new Map<string, TensorPath[]>();
  for (const column of context.families.tensor) {
    const ops = columnOps(context, column, clockHz, ns);
    const peak = counterPeak(context.sheet.number(column.metrics.peakPerCycle), clockHz);
    if (ops === null && peak === null) continue;
    const precision = precisionOf(column, context.launch.names.display);
    const path = {
      column,
      precision,
      path: pathOf(column),
      metric: ops?.metric ?? null,
      opsPerS: ops?.opsPerS ?? 0,
      peak,
    };
    const list = byPrecision.get(precision);
    if (list === undefined) byPrecision.set(precision, [path]);
    else list.push(path);
  }
  return byPrecision;
}

const NOT_COUNTED = { value: null, metrics: [], reason: "no operations were counted" } as const;

function withoutWork(achieved: ReadonlyMap<string, Known<number>>): string {
  const uncounted = CORE_PRECISIONS.map(({ precision }) => precision).filter((precision) => !achieved.has(precision));
  if (uncounted.length > 0) return `operations were not counted for ${uncounted.join(", ")}`;
  return "no floating-point work beside moves";
}

const rateOf = ([, rate]: [string, Known<number>]): number => rate.value ?? 0;
const mostFirst = inOrder<[string, Known<number>]>(
  byNumberDescending(rateOf),
  byText(([precision]) => precision),
);
const mostWorkFirst = inOrder<TensorPath>(
  byNumberDescending(({ opsPerS }) => opsPerS),
  byText(({ column }) => column.base),
);

/**
 * Achieved operations per second and dense peaks by precision, from the counters of the launch; published peaks where
 * the launch has none. Operations are counted 2 per multiply-add; integers are operations too (TOP/s).
 */
export function flopsOf(context: LaunchContext, clockHz: Known<number>, durationNs: Known<number>): Flops {
  const { sheet, device } = context;
  const achieved = new Map<string, Known<number>>();
  const peaks = new Map<string, Known<Peak>>();
  const setPeak = (precision: string, compute: (read: Reading) => Peak | null): void => {
    const peak = sheet.derive((read) => compute(read) ?? publishedPeak(device.gpu, precision));
    if (peak.value !== null) peaks.set(precision, peak);
  };

  for (const { precision, ops, peak, factor } of CORE_PRECISIONS) {
    const rate = sheet.derive((read) => coreOps(read, ops, clockHz, durationNs));
    if (rate.value !== null) achieved.set(precision, rate);
    setPeak(precision, (read) => counterPeak(read.number(peak), read.of(clockHz), factor));
  }

  const worked: TensorPath[] = [];
  const byPrecision = tensorPathsByPrecision(context, clockHz.value, durationNs.value);
  for (const [precision, paths] of byPrecision) {
    const { work, metrics, total } = countedOnce(paths.filter(({ metric }) => metric !== null));
    if (work.length > 0) achieved.set(precision, { value: total, metrics, reason: null });
    for (const path of work) if (path.opsPerS > 0) worked.push(path);
    setPeak(precision, (read) => {
      const best = densePeak(paths, device.computeCapability);
      return best === null ? null : counterPeak(read.number(best.column.metrics.peakPerCycle), read.of(clockHz));
    });
  }
  for (const precision of CATALOGUE_PRECISIONS) if (!peaks.has(precision)) setPeak(precision, () => null);

  const probablyMoves = sheet.field("detail.fp16_vector_is_probably_moves", (read) => {
    const vector = read.of(achieved.get(FP16_VECTOR) ?? NOT_COUNTED);
    if (vector === null) return null;
    if (vector === 0 || coreOps(read, HALF_ADD_MUL, clockHz, durationNs) !== 0) return false;
    const peak = read.of(peaks.get(FP16_VECTOR) ?? { ...NOT_COUNTED, reason: "the FP16 peak is not known" });
    return peak === null ? null : vector < MOVES_SHARE * peak.value;
  });

  const best = [...achieved]
    .filter((entry) => rateOf(entry) > 0 && !(entry[0] === FP16_VECTOR && probablyMoves.value === true))
    .sort(mostFirst)[0];
  const dominant = sheet.field("detail.dominant_precision", (read) => {
    if (best === undefined) return read.because(withoutWork(achieved));
    read.of(best[1]);
    return best[0];
  });
  const none = { value: null, metrics: [], reason: dominant.reason };
  return {
    achieved,
    peaks,
    dominant,
    work: best?.[1] ?? none,
    workPeak:
      best === undefined ? none : (peaks.get(best[0]) ?? { ...none, reason: `the peak of ${best[0]} is not known` }),
    probablyMoves,
    paths: worked.sort(mostWorkFirst),
    columns: [...byPrecision.values()].flat().filter(({ column }) => column.op !== null),
  };
}

/** Rates by precision in 1e12 operations per second, those above 0, most first; null where nothing was counted. */
export function tflopsByPrecision({ sheet }: LaunchContext, { achieved }: Flops): Record<string, number> | null {
  return sheet.field("detail.tflops_by_precision", (read) => {
    if (achieved.size === 0) return read.because("no operations were counted");
    const rates: Record<string, number> = {};
    for (const entry of [...achieved].filter((one) => rateOf(one) > 0).sort(mostFirst)) {
      const [precision, rate] = entry;
      sheet.show(`detail.tflops_by_precision.${precision}`, rate);
      read.of(rate);
      rates[precision] = rateOf(entry) / TERA;
    }
    return rates;
  }).value;
}

/** Dense peaks by precision with their sources; null where neither counters nor the catalogue give one. */
export function peakTflopsByPrecision(
  { sheet }: LaunchContext,
  { peaks }: Flops,
): LaunchVerdict["peak_tflops_by_precision"] {
  return sheet.field("detail.peak_tflops_by_precision", (read) => {
    if (peaks.size === 0) return read.because("neither counters nor the catalogue give a peak");
    const table: NonNullable<LaunchVerdict["peak_tflops_by_precision"]> = {};
    for (const precision of [...peaks.keys()].sort()) {
      const peak = peaks.get(precision);
      const figure = peak === undefined ? null : read.of(peak);
      if (figure === null) continue;
      const { value, source, estimated, citation } = figure;
      table[precision] = { tflops: value / TERA, source, estimated, citation };
    }
    return table;
  }).value;
}

/** The tensor columns with work, as the result shows them. */
export const tensorPaths = ({ paths }: Flops): LaunchVerdict["tensor_paths"] =>
  paths.map(({ column, precision, opsPerS, peak }) => ({
    metric: column.base,
    op: column.op,
    precision,
    sparsity: column.sparsity,
    ops_per_s: opsPerS,
    peak_ops_per_s: peak?.value ?? null,
    utilization: peak === null ? null : opsPerS / peak.value,
  }));
