import { ROLES, type Role } from "../hardware/roles.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFacts } from "./facts.ts";
import { ELAPSED_SUFFIX } from "./families.ts";
import { achievedPath, type Flops, peakPath } from "./flops.ts";
import type { Traffic } from "./memory.ts";
import type { Reading } from "./sheet.ts";

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

const NOTHING = { pct: null, metric: null, basis: null } as const;

function fromParts(read: Reading): Compute | null {
  const parts = COMPUTE_PARTS.flatMap((metric) => {
    const pct = read.number(metric);
    return pct === null ? [] : [{ metric, pct }];
  });
  const best = parts.reduce<(typeof parts)[number] | null>((a, b) => (a === null || b.pct > a.pct ? b : a), null);
  return best === null ? null : { ...best, basis: "lower_bound" };
}

function fromOperations(read: Reading, { achieved, peaks, dominant, paths }: Flops): Compute | null {
  const [ops, peak] = [achieved.get(dominant ?? ""), peaks.get(dominant ?? "")];
  if (dominant === null || ops === undefined || peak === undefined) return null;
  read.of(achievedPath(dominant), ops);
  read.of(peakPath(dominant), peak);
  const metric = paths.find(({ precision }) => precision === dominant)?.metric ?? [...read.used][0] ?? null;
  return { pct: (100 * ops) / peak.value, metric, basis: peak.estimated ? "estimated" : "lower_bound" };
}

/** Compute utilisation: the SM's own throughput, else the highest of its parts, else operations over their peak. */
export function computeUtilization({ sheet }: LaunchFacts, flops: Flops): Compute {
  let compute: Compute = NOTHING;
  sheet.field("detail.compute_utilization", (read) => {
    const measured = read.named("compute_pct");
    compute =
      measured !== null
        ? { pct: measured.value, metric: measured.name, basis: "measured" }
        : (fromParts(read) ??
          fromOperations(read, flops) ??
          read.because(sheet.absence(nameOf("compute_pct"))) ??
          NOTHING);
    return compute.pct;
  });
  return compute;
}

/** Utilisation of device memory: ncu's own, else bytes/s over the peak (estimated where the peak is a published one). */
export function memoryUtilization({ sheet }: LaunchFacts, { bytesPerS, peak }: Traffic): Memory {
  let memory: Memory = NOTHING;
  sheet.field("memory_bw_utilization", (read) => {
    const measured = read.named("dram_pct");
    if (measured !== null) {
      memory = { pct: measured.value, metric: measured.name, basis: "measured" };
    } else if (bytesPerS !== null && peak !== null) {
      read.of("detail.memory.dram_bytes_per_s", bytesPerS);
      const metric = [...read.used][0] ?? null;
      read.of("detail.memory.peak_dram_bytes_per_s", peak);
      memory = { pct: (100 * bytesPerS) / peak.value, metric, basis: peak.estimated ? "estimated" : "computed" };
    } else {
      read.because(sheet.absence(nameOf("dram_pct")));
    }
    return memory.pct;
  });
  return memory;
}

const nameOf = (role: Role): string => ROLES[role][0];
