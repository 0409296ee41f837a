import type { LaunchVerdict } from "../model/result.ts";
import type { LaunchContext } from "./context.ts";
import { type Declaration, needs } from "./declaration.ts";
import { STALL_FAMILIES } from "./families.ts";

export const STALLS: Declaration = {
  name: "stalls",
  needs: [
    needs.optionalFamily(STALL_FAMILIES.ratio.prefix, STALL_FAMILIES.ratio.suffix),
    ...needs.optional("warp_latency"),
  ],
  // Lists written by hand have percentages, source counters alone have samples.
  substitutes: [
    needs.optionalFamily(STALL_FAMILIES.percent.prefix, STALL_FAMILIES.percent.suffix),
    needs.optionalFamily(STALL_FAMILIES.samples.prefix, STALL_FAMILIES.samples.suffix),
  ],
};

/**
 * Warp states by what would help. Mapping: nvprof comparison table of the Nsight Compute CLI manual; branch_resolving,
 * gmma and tex_throttle, which it leaves out, by their description. `gmma` (`warpgroup_arrive` in samples) is the
 * tensor core's normal wait and no synchronisation fault, so it stands alone.
 */
const GROUPS = {
  memory_dependency: ["long_scoreboard"],
  execution_dependency: ["short_scoreboard", "wait"],
  synchronization: ["barrier", "membar"],
  tensor_wait: ["gmma", "warpgroup_arrive"],
  memory_throttle: ["lg_throttle", "drain", "tex_throttle"],
  pipe_busy: ["math_pipe_throttle", "mio_throttle"],
  instruction_fetch: ["no_instruction", "no_instructions", "branch_resolving"],
  constant_memory_dependency: ["imc_miss"],
  not_selected: ["not_selected"],
  sleeping: ["sleeping"],
  other: ["dispatch_stall", "misc"],
} as const;
export type StallGroup = keyof typeof GROUPS;

const GROUP_OF = new Map<string, StallGroup>(
  (Object.keys(GROUPS) as StallGroup[]).flatMap((group) => GROUPS[group].map((reason) => [reason, group] as const)),
);

/** The group of a stall reason; reasons nobody knows yet are `other`. */
export const stallGroup = (reason: string): StallGroup => GROUP_OF.get(reason) ?? "other";

/** Issuing is no stall: it is 1 per issue by nature and outside of the shares. */
const ISSUING = "selected";

/** Largest first, equal ones by name. */
const largestFirst = (shares: Iterable<[string, number]>): Record<string, number> =>
  Object.fromEntries([...shares].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));

/** Shares by reason and by group, largest first; zeros stay, since 0 was measured. Null where no cycle was stalled. */
export function stallShares(
  cycles: ReadonlyMap<string, number>,
): { byReason: Record<string, number>; byGroup: Record<string, number> } | null {
  const stalls = [...cycles].filter(([reason]) => isStall(reason));
  const sum = stalls.reduce((total, [, value]) => total + value, 0);
  if (!(sum > 0)) return null;
  const groups = new Map<string, number>();
  for (const [reason, value] of stalls) {
    const group = stallGroup(reason);
    groups.set(group, (groups.get(group) ?? 0) + value / sum);
  }
  return {
    byReason: largestFirst(stalls.map(([reason, value]) => [reason, value / sum])),
    byGroup: largestFirst(groups),
  };
}

/** The first family of stall counters that a launch has numbers of, with those numbers; null where it has none. */
export function stallCells({ sheet, families }: LaunchContext): {
  family: keyof typeof STALL_FAMILIES;
  cells: { reason: string; name: string; value: number }[];
} | null {
  for (const family of ["ratio", "percent", "samples"] as const) {
    const cells = families.stalls[family].flatMap(({ reason, name }) => {
      const value = sheet.number(name);
      return value === null ? [] : { reason, name, value };
    });
    if (cells.length > 0) return { family, cells };
  }
  return null;
}

/** Whether a stall reason is part of the shares. */
export const isStall = (reason: string): boolean => reason !== ISSUING;

const NOT_COLLECTED = `${STALL_FAMILIES.ratio.prefix}*${STALL_FAMILIES.ratio.suffix} was not collected`;

/**
 * Where the warps of a launch waited. From cycles per issue; where only other families were collected, from percentages
 * of active warp cycles or from samples, which give shares and no cycles.
 */
export function stallsOf(context: LaunchContext): LaunchVerdict["stalls"] {
  const { sheet } = context;
  const stalls = stallCells(context);
  const cycles = sheet.derive((read) => {
    if (stalls === null) return read.because(NOT_COLLECTED);
    const byReason = new Map<string, number>();
    for (const { reason, name } of stalls.cells) {
      const value = read.number(name);
      if (value !== null) byReason.set(reason, value);
    }
    return byReason;
  });
  const shares = sheet.derive((read) => {
    const byReason = read.of(cycles);
    return byReason === null ? null : (stallShares(byReason) ?? read.because("no stalled warp cycle was counted"));
  });
  for (const path of ["detail.stalls.shares", "detail.stalls.shares_by_reason", "detail.stalls.dominant_group"]) {
    sheet.show(path, shares);
  }
  sheet.show("warp_stall_reasons", shares);
  const perIssue = sheet.field("detail.stalls.cycles_per_issue", (read) =>
    stalls === null || stalls.family === "ratio" ? read.of(cycles) : read.because(NOT_COLLECTED),
  );
  const overLatency = sheet.field("detail.stalls.sum_over_warp_latency", (read) => {
    const [byReason, latency] = [read.of(perIssue), read.role("warp_latency")];
    if (byReason === null || latency === null) return null;
    let sum = 0;
    for (const value of byReason.values()) sum += value;
    return latency > 0 ? sum / latency : read.because("the warp latency is 0");
  });
  return {
    cycles_per_issue: perIssue.value === null ? null : largestFirst(perIssue.value),
    shares_by_reason: shares.value?.byReason ?? null,
    shares: shares.value?.byGroup ?? null,
    dominant_group: Object.keys(shares.value?.byGroup ?? {})[0] ?? null,
    sum_over_warp_latency: overLatency.value,
  };
}
