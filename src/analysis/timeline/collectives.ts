import { byNumberDescending, byText, inOrder } from "../../base/order.ts";
import type { Finding } from "../../model/finding.ts";
import type { KernelNames } from "../../model/launch.ts";
import { NONE, type Timeline } from "../../model/timeline.ts";
import { nameKey } from "../names.ts";
import { type Agreement, agreementOf, type CollectiveRank, matchedCalls, type Sequence } from "./collectives-match.ts";
import { exactSumUs } from "./exact.ts";
import { gpuUsesOf, KERNEL, useLabel } from "./lanes.ts";
import type { RankOptions } from "./rank.ts";
import { counted, finding, shortened } from "./refusal.ts";
import { stepsOf } from "./steps.ts";
import { selectRows } from "./window.ts";

/** Times of one rank's calls, microseconds. */
export interface RankTime {
  readonly calls: number;
  readonly total_us: number;
  /** Of the matched calls without the first one: what lies above the shortest of all ranks. Null with the reason. */
  readonly wait_us: number | null;
}

/** All calls of one collective kernel. */
export interface CollectiveKernel {
  readonly key: string;
  readonly names: KernelNames;
  readonly total_us: number;
  /** In the order of `ranks`. */
  readonly by_rank: readonly RankTime[];
  /** Calls that are matched over the ranks, the first one counted. */
  readonly matched_calls: number;
  /** Sum over matched calls, without the first one, of the shortest duration over the ranks: for one rank. */
  readonly transfer_us: number | null;
  /** The first matched call: windows that open at different moments put their whole difference into it. */
  readonly first: {
    readonly durations_us: readonly number[];
    readonly transfer_us: number;
    readonly wait_us: readonly number[];
  } | null;
  readonly null_reason: string | null;
}

export interface Collectives {
  readonly ranks: readonly CollectiveRank[];
  /** By total time over all ranks, most first. */
  readonly kernels: readonly CollectiveKernel[];
  /** Over all ranks and kernels, waiting included. */
  readonly total_us: number;
  /** Sums over kernels whose calls are matched; null where none is. */
  readonly transfer_us: number | null;
  readonly wait_us_by_rank: readonly number[] | null;
  readonly null_reason: string | null;
  readonly findings: readonly Finding[];
}

function shapeKey({ shapes }: Timeline, shape: number): string {
  if (shape === NONE) return "";
  const { grid, block } = shapes[shape] ?? { grid: null, block: null };
  return `${grid?.join("x") ?? ""}|${block?.join("x") ?? ""}`;
}

/** Collective calls of every rank in order of start. */
function sequencesOf(
  timelines: readonly Timeline[],
  isCollective: (names: KernelNames) => boolean,
  masks: readonly (Uint8Array | null)[],
): { sequences: Sequence[]; names: Map<string, KernelNames> } {
  const names = new Map<string, KernelNames>();
  const sequences: Sequence[] = [];
  for (const [position, timeline] of timelines.entries()) {
    const { rows } = timeline;
    const mask = masks[position] ?? null;
    const keys = timeline.names.map((own) => {
      if (!isCollective(own)) return null;
      const { key } = nameKey(own);
      if (!names.has(key)) names.set(key, own);
      return key;
    });
    const { uses, useOfLane } = gpuUsesOf(timeline);
    const own = uses.map(
      (use): Sequence => ({
        rank: { ...use, timeline: position, label: useLabel(use) },
        calls: [],
      }),
    );
    const active = new Set<number>();
    for (let row = 0; row < rows.count; row += 1) {
      if (rows.kind[row] !== KERNEL || (mask !== null && mask[row] === 0)) continue;
      const use = Number(useOfLane[Number(rows.lane[row])]);
      active.add(use);
      const key = keys[Number(rows.name[row])] ?? null;
      if (key === null) continue;
      const ns = Number(rows.end_ns[row]) - Number(rows.start_ns[row]);
      own[use]?.calls.push({ key, shape: shapeKey(timeline, Number(rows.shape[row])), ns });
    }
    sequences.push(...own.filter((_, use) => active.has(use)));
  }
  return { sequences, names };
}

/** The rows of the window in each timeline. */
const masksOf = (
  timelines: readonly Timeline[],
  { window, stepPatterns }: Pick<RankOptions, "window" | "stepPatterns">,
): (Uint8Array | null)[] =>
  timelines.map((timeline) => {
    if (!window || timeline.rows.count === 0) return null;
    const selected = selectRows(timeline, stepsOf(timeline, stepPatterns), window);
    return selected.ok ? selected.value.mask : new Uint8Array(timeline.rows.count);
  });

function kernelOf(
  key: string,
  names: KernelNames,
  sequences: readonly Sequence[],
  agreement: Agreement,
): CollectiveKernel {
  const totals = sequences.map(({ calls }) => {
    let [count, ns] = [0, 0];
    for (const call of calls)
      if (call.key === key) {
        count += 1;
        ns += call.ns;
      }
    return { count, ns };
  });
  const { durations, null_reason } = matchedCalls(key, sequences, agreement);
  const matched = durations[0]?.length ?? 0;
  const waits = durations.map(() => 0);
  let transfer = 0;
  let first: CollectiveKernel["first"] = null;
  for (let call = 0; call < matched; call += 1) {
    const own = durations.map((calls) => Number(calls[call]));
    const shortest = own.reduce((a, b) => Math.min(a, b));
    if (call === 0) {
      first = {
        durations_us: own.map((ns) => ns / 1000),
        transfer_us: shortest / 1000,
        wait_us: own.map((ns) => (ns - shortest) / 1000),
      };
      continue;
    }
    transfer += shortest;
    for (const [rank, ns] of own.entries()) waits[rank] = Number(waits[rank]) + ns - shortest;
  }
  const reason =
    null_reason ?? (matched < 2 ? "only one call is matched, and the first one is set apart (`first`)" : null);
  return {
    key,
    names,
    total_us: totals.reduce((sum, { ns }) => sum + ns, 0) / 1000,
    by_rank: totals.map(({ count, ns }, rank) => ({
      calls: count,
      total_us: ns / 1000,
      wait_us: reason === null ? Number(waits[rank]) / 1000 : null,
    })),
    matched_calls: matched,
    transfer_us: reason === null ? transfer / 1000 : null,
    first,
    null_reason: reason,
  };
}

/**
 * Splits collectives into transfer and waiting: the n-th call of a kernel is the same collective on all ranks, its
 * transfer the shortest duration, waiting what each rank takes longer. Durations need no common clock. Timelines do not
 * name communicators, so calls are matched by kernel name, in order of start; where ranks differ, nothing behind the
 * first difference is matched. The first call of every kernel is set apart. With one rank nothing is split.
 *
 * @param isCollective which kernels are collectives.
 * @param options.window only calls of it; a timeline without the window has none.
 */
export function splitCollectives(
  timelines: readonly Timeline[],
  isCollective: (names: KernelNames) => boolean,
  options: Pick<RankOptions, "window" | "stepPatterns"> = {},
): Collectives {
  const { sequences, names } = sequencesOf(timelines, isCollective, masksOf(timelines, options));
  const agreement = agreementOf(sequences);
  const used = new Set(sequences.flatMap(({ calls }) => [...new Set(calls.map(({ key }) => key))]));
  const kernels = [...names]
    .filter(([key]) => used.has(key))
    .map(([key, own]) => kernelOf(key, own, sequences, agreement))
    .sort(
      inOrder<CollectiveKernel>(
        byNumberDescending((kernel) => kernel.total_us),
        byText((kernel) => kernel.key),
      ),
    );
  const findings: Finding[] = [];
  const unequal = kernels.filter(({ by_rank }) => new Set(by_rank.map(({ calls }) => calls)).size > 1);
  if (sequences.length > 1 && unequal[0] !== undefined) {
    const counts = sequences
      .map(({ rank }, position) => `${rank.label}: ${unequal[0]?.by_rank[position]?.calls}`)
      .join("; ");
    findings.push(
      finding(
        "collective_calls_differ",
        "warning",
        `the ranks made different numbers of calls of ${counted(unequal.length, "collective")}, the first: ${shortened(unequal[0].key)} (${counts}); calls behind the first difference are not matched`,
        { count: unequal.length, first: shortened(unequal[0].key), calls_alike: agreement.calls },
      ),
    );
  }
  const split = kernels.filter(({ transfer_us }) => transfer_us !== null);
  return {
    ranks: sequences.map(({ rank }) => rank),
    kernels,
    total_us: exactSumUs(kernels.map(({ total_us }) => total_us)),
    transfer_us: split.length === 0 ? null : exactSumUs(split.map(({ transfer_us }) => transfer_us ?? 0)),
    wait_us_by_rank:
      split.length === 0
        ? null
        : sequences.map((_, rank) => exactSumUs(split.map(({ by_rank }) => by_rank[rank]?.wait_us ?? 0))),
    null_reason:
      split.length > 0 ? null : kernels.length === 0 ? "no collective was recorded" : (kernels[0]?.null_reason ?? null),
    findings,
  };
}
