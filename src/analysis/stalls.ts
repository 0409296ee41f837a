import { byNumberDescending, byText, inOrder } from "../base/order.ts";
import type { LaunchVerdict } from "../model/result.ts";
import { type Declaration, needs } from "./declaration.ts";
import type { LaunchFacts } from "./facts.ts";
import { STALL_FAMILIES, type StallFamily } from "./families.ts";

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

const largestFirst = (shares: Iterable<[string, number]>): Record<string, number> =>
  Object.fromEntries(
    [...shares].sort(
      inOrder(
        byNumberDescending(([, share]) => share),
        byText(([name]) => name),
      ),
    ),
  );

/** Shares by reason and by group, largest first; zeros stay, since 0 was measured. Null where no cycle was stalled. */
export function stallShares(
  cycles: ReadonlyMap<string, number>,
): { byReason: Record<string, number>; byGroup: Record<string, number> } | null {
  const stalls = [...cycles].filter(([reason]) => reason !== ISSUING);
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

const PATH = "detail.stalls";

/**
 * Where the warps of a launch waited. From cycles per issue; where only other families were collected, from percentages
 * of active warp cycles or from samples, which give shares and no cycles.
 */
export function stallsOf({ sheet, families }: LaunchFacts): LaunchVerdict["stalls"] {
  const present = (family: StallFamily) =>
    families.stalls[family].filter(({ name, reason }) => reason !== "" && sheet.number(name) !== null);
  const family = (["ratio", "percent", "samples"] as const).find((name) => present(name).length > 0);
  const entries = family === undefined ? [] : present(family);
  const cycles = new Map<string, number>();
  const shares = sheet.field(`${PATH}.shares`, (read) => {
    for (const { reason, name } of entries) cycles.set(reason, read.number(name) ?? 0);
    if (cycles.size === 0) {
      return read.because(`${STALL_FAMILIES.ratio.prefix}*${STALL_FAMILIES.ratio.suffix} was not collected`);
    }
    return stallShares(cycles) ?? read.because("no stalled warp cycle was counted");
  });
  const perIssue = sheet.field(`${PATH}.cycles_per_issue`, (read) => {
    if (family !== "ratio") {
      return read.because(`${STALL_FAMILIES.ratio.prefix}*${STALL_FAMILIES.ratio.suffix} was not collected`);
    }
    for (const { name } of entries) read.number(name);
    return largestFirst(cycles);
  });
  const overLatency = sheet.field(`${PATH}.sum_over_warp_latency`, (read) => {
    const latency = read.role("warp_latency");
    if (read.of(`${PATH}.cycles_per_issue`, perIssue) === null || latency === null) return null;
    const sum = [...cycles.values()].reduce((total, value) => total + value, 0);
    return latency > 0 ? sum / latency : read.because("the warp latency is 0");
  });
  for (const field of ["shares_by_reason", "dominant_group"] as const) {
    sheet.field(`${PATH}.${field}`, (read) => read.of(`${PATH}.shares`, shares));
  }
  sheet.field("warp_stall_reasons", (read) => read.of(`${PATH}.shares`, shares));
  return {
    cycles_per_issue: perIssue,
    shares_by_reason: shares?.byReason ?? null,
    shares: shares?.byGroup ?? null,
    dominant_group: Object.keys(shares?.byGroup ?? {})[0] ?? null,
    sum_over_warp_latency: overLatency,
  };
}
