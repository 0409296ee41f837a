import { ROLES } from "../hardware/roles.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import { ELAPSED_SUFFIX } from "./families.ts";
import type { Flops } from "./flops.ts";
import type { Traffic } from "./memory.ts";
import type { Known, Reading, Sheet } from "./sheet.ts";

/**
 * Where `sm__throughput` is not collected, the highest of these is a lower bound of it: it can prove compute-bound,
 * never exclude it.
 */
const COMPUTE_PARTS = [
  "sm__inst_executed",
  "sm__issue_active",
  "sm__pipe_tensor_cycles_active",
  "sm__pipe_fma_cycles_active",
  "sm__pipe_alu_cycles_active",
  "sm__inst_executed_pipe_lsu",
].map((counter) => counter + ELAPSED_SUFFIX);

export const UTILIZATION: Declaration = {
  name: "utilization",
  needs: [
    ...needs.required("compute_pct", "dram_pct", "duration_ns"),
    ...needs.optional("elapsed_cycles", "issue_slot_pct", "sm_clock_hz", "dram_clock_hz", "l1_pct", "l2_pct", "waves"),
  ],
};

/** A utilisation in % of peak over elapsed cycles, 0..100, unrounded and never clipped. */
export interface Utilization<Basis extends string> {
  readonly pct: number | null;
  readonly metric: string | null;
  readonly basis: Basis | null;
}
export type Compute = Utilization<"measured" | "lower_bound" | "estimated">;
export type Memory = Utilization<"measured" | "computed" | "estimated">;

interface Found<Basis extends string> {
  readonly pct: number;
  readonly metric: string;
  readonly basis: Basis;
}

/** Shows a utilisation as a fraction and keeps it in %, as its thresholds are. */
function shown<Basis extends string>(
  sheet: Sheet,
  path: string,
  find: (read: Reading) => Found<Basis> | null,
): { utilization: Utilization<Basis>; fraction: Known<number> } {
  const found = sheet.derive(find);
  const fraction = sheet.show(path, { ...found, value: found.value === null ? null : found.value.pct / 100 });
  return { utilization: found.value ?? { pct: null, metric: null, basis: null }, fraction };
}

function fromParts(read: Reading): Found<"lower_bound"> | null {
  let best: Found<"lower_bound"> | null = null;
  for (const metric of COMPUTE_PARTS) {
    const pct = read.number(metric);
    if (pct !== null && pct > (best?.pct ?? Number.NEGATIVE_INFINITY)) best = { pct, metric, basis: "lower_bound" };
  }
  return best;
}

function fromOperations(read: Reading, { work, workPeak }: Flops): Found<"lower_bound" | "estimated"> | null {
  const [ops, peak] = [read.of(work), read.of(workPeak)];
  const [metric] = work.metrics;
  if (ops === null || peak === null || metric === undefined) return null;
  return { pct: (100 * ops) / peak.value, metric, basis: peak.estimated ? "estimated" : "lower_bound" };
}

/** Compute utilisation: the SM's own throughput, else the highest of its parts, else operations over their peak. */
export function computeUtilization({ sheet }: LaunchContext, flops: Flops) {
  return shown<NonNullable<Compute["basis"]>>(sheet, "detail.compute_utilization", (read) => {
    const measured = read.named("compute_pct");
    if (measured !== null) return { pct: measured.value, metric: measured.name, basis: "measured" };
    const bound = fromParts(read) ?? fromOperations(read, flops);
    return bound ?? read.because(sheet.absence(ROLES.compute_pct[0]));
  });
}

/** Utilisation of device memory: ncu's own, else bytes/s over the peak (estimated where the peak is a published one). */
export function memoryUtilization({ sheet }: LaunchContext, { bytesPerS, peak }: Traffic) {
  return shown<NonNullable<Memory["basis"]>>(sheet, "memory_bw_utilization", (read) => {
    const measured = read.named("dram_pct");
    if (measured !== null) return { pct: measured.value, metric: measured.name, basis: "measured" };
    const [bytes, roof] = [read.of(bytesPerS), read.of(peak)];
    const [metric] = bytesPerS.metrics;
    if (bytes === null || roof === null || metric === undefined) return read.because(sheet.absence(ROLES.dram_pct[0]));
    return { pct: (100 * bytes) / roof.value, metric, basis: roof.estimated ? "estimated" : "computed" };
  });
}
