import { byNumberDescending, byText, inOrder } from "../base/order.ts";
import { CATALOGUE_PRECISIONS } from "../hardware/catalogue.ts";
import { counterPeak, type Peak, publishedPeak } from "../hardware/peaks.ts";
import { isDense, pathOf, precisionOf, type TensorColumn } from "../hardware/tensor-counters.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFacts } from "./facts.ts";
import { TENSOR_PREFIX, TENSOR_SUFFIXES } from "./families.ts";
import type { Reading, Sheet } from "./sheet.ts";

/**
 * Operations of the CUDA cores by precision: instructions that count, each with its operations per thread, and the one
 * whose peak is the roof. Packed half2 counts 2 a lane. Same factors as the roofline sections of Nsight Compute 2025.3
 * (`derived__..._x2`, `_x4`).
 */
const CORE_PRECISIONS = [
  { precision: "fp32", ops: { fadd: 1, fmul: 1, ffma: 2 }, peak: "ffma" },
  { precision: "fp64", ops: { dadd: 1, dmul: 1, dfma: 2 }, peak: "dfma" },
  { precision: "fp16_vector", ops: { hadd: 2, hmul: 2, hfma: 4 }, peak: "hfma" },
] as const;

const perCycle = (op: string): string => `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum.per_cycle_elapsed`;
const counts = (op: string): string[] => [
  `smsp__sass_thread_inst_executed_op_${op}_pred_on.sum`,
  `sm__sass_thread_inst_executed_op_${op}_pred_on.sum`,
];
const corePeak = (op: string): string => `sm__sass_thread_inst_executed_op_${op}_pred_on.sum.peak_sustained`;

const CORE_OPS = CORE_PRECISIONS.flatMap(({ ops }) => Object.keys(ops));

export const FLOPS: Declaration = {
  name: "flops",
  needs: [
    ...needs.optional("sm_clock_hz", "duration_ns"),
    ...CORE_OPS.map((op) => ({ metric: perCycle(op), required: false })),
    ...CORE_PRECISIONS.map(({ peak }) => ({ metric: corePeak(peak), required: false })),
    ...TENSOR_SUFFIXES.map((suffix) => needs.optionalFamily(TENSOR_PREFIX, suffix)),
  ],
  // Lists written by hand ask for counts; the rates above hold the same work.
  substitutes: needs.optionalMetrics(CORE_OPS.flatMap(counts)),
};

/** Constants and moves are compiled to HFMA2: a rate of HFMA alone below this part of the FP16 peak is no arithmetic. */
const MOVES_SHARE = 0.02;
/** By how much a total may exceed the sum of its columns before the columns count as incomplete. */
const INCOMPLETE = 1.01;

export const PEAK_SUFFIX = ".sum.peak_sustained";
export const TERA = 1e12;

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
  readonly achieved: ReadonlyMap<string, number>;
  readonly peaks: ReadonlyMap<string, Peak>;
  readonly dominant: string | null;
  readonly probablyMoves: boolean | null;
  /** Tensor columns with work, most work first. */
  readonly paths: readonly TensorPath[];
  /** All columns that can tell a faster path: those that name their instruction, with peaks. */
  readonly columns: readonly TensorPath[];
}

/** Field paths of the rates by precision; other fields refer to them for their sources. */
export const achievedPath = (precision: string): string => `detail.tflops_by_precision.${precision}`;
export const peakPath = (precision: string): string => `detail.peak_tflops_by_precision.${precision}`;

function coreOps(read: Reading, ops: Readonly<Record<string, number>>, clock: number | null, ns: number | null) {
  let sum = 0;
  let all = true;
  for (const [op, factor] of Object.entries(ops)) {
    const rate = clock === null ? null : read.number(perCycle(op));
    if (rate !== null && clock !== null) {
      sum += factor * rate * clock;
      continue;
    }
    const count = ns === null || ns <= 0 ? undefined : counts(op).find((name) => read.number(name) !== null);
    if (count === undefined || ns === null) all = false;
    else sum += (factor * (read.number(count) ?? 0)) / (ns * 1e-9);
  }
  return all ? sum : read.because(`${Object.keys(ops).join(", ")} were not all counted`);
}

/** Operations per second of a column, and the metric that says so. */
function columnOps(
  sheet: Sheet,
  base: string,
  clock: number | null,
  ns: number | null,
): { metric: string; opsPerS: number } | null {
  const forms: [suffix: string, factor: number | null][] = [
    [".sum.per_second", 1],
    [".sum.per_cycle_elapsed", clock],
    [".sum", ns === null || ns <= 0 ? null : 1e9 / ns],
  ];
  for (const [suffix, factor] of forms) {
    const value = factor === null ? null : sheet.number(base + suffix);
    if (value !== null && factor !== null) return { metric: base + suffix, opsPerS: factor * value };
  }
  return null;
}

interface CountedWork {
  readonly work: readonly TensorPath[];
  readonly metrics: readonly string[];
  readonly total: number;
}

/** The columns that hold all work of a precision exactly once: instruction columns before totals, never both. */
function countedOnce(paths: readonly TensorPath[]): CountedWork {
  const counted = (list: readonly TensorPath[]): CountedWork => ({
    work: list,
    metrics: list.flatMap(({ metric, opsPerS }) => (metric === null || opsPerS === 0 ? [] : [metric])),
    total: list.reduce((ops, { opsPerS }) => ops + opsPerS, 0),
  });
  const plain = paths.filter(({ column }) => column.op === null);
  const bySparsity = plain.filter(({ column }) => column.sparsity !== null);
  const whole = counted(bySparsity.length > 0 ? bySparsity : plain);
  const byOp = counted(paths.filter(({ column }) => column.op !== null));
  // A list written by hand may hold the total and only some of its columns.
  return byOp.work.length === 0 || whole.total > INCOMPLETE * byOp.total ? whole : byOp;
}

/**
 * The dense peak of a precision: the fastest dense column with the accumulation that the kernel used, FP32 where it
 * did no work. (GeForce GPUs accumulate FP16 twice as fast; that is another computation.)
 */
function densePeak(paths: readonly TensorPath[], cc: string | null): TensorPath | null {
  const main = paths.filter(({ opsPerS }) => opsPerS > 0).toSorted(byNumberDescending(({ opsPerS }) => opsPerS))[0];
  const destination = main === undefined ? "fp32" : main.column.destination;
  const candidates = paths.filter(({ column, peak }) => peak !== null && isDense(column, cc));
  const same = candidates.filter(
    ({ column }) => destination === null || column.destination === null || column.destination === destination,
  );
  return (same.length > 0 ? same : candidates).reduce<TensorPath | null>(
    (best, path) => ((path.peak?.value ?? 0) > (best?.peak?.value ?? 0) ? path : best),
    null,
  );
}

/**
 * Achieved operations per second and dense peaks by precision, from the counters of the launch; published peaks where
 * the launch has none. Operations are counted 2 per multiply-add; integers are operations too (TOP/s).
 */
export function flopsOf(facts: LaunchFacts, clockHz: number | null, durationNs: number | null): Flops {
  const { sheet, families, device, launch } = facts;
  const achieved = new Map<string, number>();
  const peaks = new Map<string, Peak>();

  const setPeak = (precision: string, compute: (read: Reading) => Peak | null): void => {
    const peak = sheet.field(peakPath(precision), compute);
    if (peak !== null) peaks.set(precision, peak);
  };
  const clock = (read: Reading): number | null => read.of("detail.sm_clock_hz", clockHz);

  for (const { precision, ops, peak } of CORE_PRECISIONS) {
    const rate = sheet.field(achievedPath(precision), (read) => coreOps(read, ops, clock(read), durationNs));
    if (rate !== null) achieved.set(precision, rate);
    setPeak(precision, (read) => {
      const perCycleOps = read.number(corePeak(peak));
      return (
        counterPeak(perCycleOps, clock(read), ops[peak as keyof typeof ops]) ?? publishedPeak(device.gpu, precision)
      );
    });
  }

  const byPrecision = new Map<string, TensorPath[]>();
  for (const column of families.tensor) {
    const precision = precisionOf(column, launch.names.display);
    const ops = columnOps(sheet, column.base, clockHz, durationNs);
    const peak = counterPeak(sheet.number(column.base + PEAK_SUFFIX), clockHz);
    if (ops === null && peak === null) continue;
    const list = byPrecision.get(precision) ?? [];
    byPrecision.set(precision, list);
    list.push({
      column,
      precision,
      path: pathOf(column),
      metric: ops?.metric ?? null,
      opsPerS: ops?.opsPerS ?? 0,
      peak,
    });
  }

  const worked: TensorPath[] = [];
  for (const [precision, all] of byPrecision) {
    const counted = all.filter(({ metric }) => metric !== null);
    if (counted.length > 0) {
      const { work, metrics, total } = countedOnce(counted);
      worked.push(...work.filter(({ opsPerS }) => opsPerS > 0));
      achieved.set(precision, total);
      if (total > 0) {
        sheet.field(achievedPath(precision), (read) => {
          for (const name of metrics) read.number(name);
          return total;
        });
      }
    }
    setPeak(precision, (read) => {
      const best = densePeak(all, device.computeCapability);
      if (best === null) return publishedPeak(device.gpu, precision);
      read.number(best.column.base + PEAK_SUFFIX);
      clock(read);
      return best.peak;
    });
  }
  for (const precision of CATALOGUE_PRECISIONS) {
    if (!peaks.has(precision)) setPeak(precision, () => publishedPeak(device.gpu, precision));
  }

  const probablyMoves = sheet.field("detail.fp16_vector_is_probably_moves", (read) => {
    const vector = read.of(achievedPath("fp16_vector"), achieved.get("fp16_vector") ?? null);
    if (vector === null) return null;
    const others = coreOps(read, { hadd: 2, hmul: 2 }, clockHz, durationNs);
    if (vector === 0 || others !== 0) return false;
    const peak = read.of(peakPath("fp16_vector"), peaks.get("fp16_vector")?.value ?? null);
    return peak === null ? null : vector < MOVES_SHARE * peak;
  });

  const ranked = [...achieved]
    .filter(([precision, rate]) => rate > 0 && !(precision === "fp16_vector" && probablyMoves === true))
    .sort(
      inOrder(
        byNumberDescending(([, rate]) => rate),
        byText(([precision]) => precision),
      ),
    );
  const dominant = sheet.field("detail.dominant_precision", (read) => {
    const [best] = ranked;
    if (best !== undefined) return read.of(achievedPath(best[0]), best[1]) === null ? null : best[0];
    return read.because(withoutWork(achieved));
  });

  const order = inOrder<TensorPath>(
    byNumberDescending(({ opsPerS }) => opsPerS),
    byText(({ column }) => column.base),
  );
  return {
    achieved,
    peaks,
    dominant,
    probablyMoves,
    paths: worked.sort(order),
    columns: [...byPrecision.values()].flat().filter(({ column }) => column.op !== null),
  };
}

function withoutWork(achieved: ReadonlyMap<string, number>): string {
  const uncounted = CORE_PRECISIONS.map(({ precision }) => precision).filter((precision) => !achieved.has(precision));
  if (uncounted.length > 0) return `operations were not counted for ${uncounted.join(", ")}`;
  return "no arithmetic was counted beside moves";
}

/** Rates by precision in 1e12 operations per second, those above 0, most first; null where nothing was counted. */
export function tflopsByPrecision({ achieved }: Flops): Record<string, number> | null {
  if (achieved.size === 0) return null;
  return Object.fromEntries(
    [...achieved]
      .filter(([, rate]) => rate > 0)
      .sort(
        inOrder(
          byNumberDescending(([, rate]) => rate),
          byText(([precision]) => precision),
        ),
      )
      .map(([precision, rate]) => [precision, rate / TERA]),
  );
}
