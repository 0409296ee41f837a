import type { GpuUse } from "./lanes.ts";

/** One rank: a GPU as one process used it, in one of the timelines. */
export interface CollectiveRank extends GpuUse {
  readonly timeline: number;
  readonly label: string;
}

export interface Call {
  readonly key: string;
  readonly shape: string;
  readonly ns: number;
}

/** Collective calls of one rank in order of start. */
export interface Sequence {
  readonly rank: CollectiveRank;
  readonly calls: Call[];
}

/**
 * Collectives in which every rank waits for all others, so that the last to arrive waits for nobody: by the words of
 * NCCL's and vLLM's kernel names. Point-to-point, broadcast, and dispatch or combine of experts do other things besides.
 */
const SYNCHRONISING = /all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce/i;

const NOT_SYNCHRONISING =
  "not a collective in which all ranks wait for one another (point-to-point, broadcast, dispatch or combine): the shortest duration says little, so only durations are given";
const ONE_RANK = "one rank was recorded: how much of a collective is waiting for the others is unknown";

const prefixLength = (a: readonly Call[], b: readonly Call[]): number => {
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) if (a[at]?.key !== b[at]?.key) return at;
  return shorter;
};

const endsAlike = (a: readonly Call[], b: readonly Call[]): boolean => {
  const shorter = Math.min(a.length, b.length);
  for (let at = 1; at <= shorter; at += 1) if (a.at(-at)?.key !== b.at(-at)?.key) return false;
  return true;
};

/** How many calls of the ranks' sequences are the same from the start, and why no more. */
export interface Agreement {
  readonly calls: number;
  /** The sequences may as well agree from the end: which calls are missing cannot be told. */
  readonly ambiguous: boolean;
}

export function agreementOf(sequences: readonly Sequence[]): Agreement {
  const [first, ...rest] = sequences;
  let calls = first?.calls.length ?? 0;
  let ambiguous = false;
  for (const { calls: other } of rest) {
    const own = first?.calls ?? [];
    const same = prefixLength(own, other);
    calls = Math.min(calls, same);
    if (own.length !== other.length && same > 0 && endsAlike(own, other)) ambiguous = true;
  }
  return { calls, ambiguous };
}

export interface Matched {
  /** By rank, calls of one kernel; all ranks have as many. */
  readonly durations: readonly (readonly number[])[];
  readonly null_reason: string | null;
}

/** Durations of the calls of a kernel that are the same collective on all ranks, or why there are none. */
export function matchedCalls(key: string, sequences: readonly Sequence[], agreement: Agreement): Matched {
  const withheld = (null_reason: string): Matched => ({ durations: [], null_reason });
  if (sequences.length < 2) return withheld(ONE_RANK);
  if (!SYNCHRONISING.test(key)) return withheld(NOT_SYNCHRONISING);
  const own = sequences.map(({ calls }) => calls.filter((call) => call.key === key));
  const counts = own.map((calls) => calls.length);
  let matched = own;
  if (new Set(counts).size > 1) {
    const said = sequences.map(({ rank }, position) => `${rank.label}: ${counts[position]}`).join("; ");
    if (agreement.ambiguous)
      return withheld(
        `the ranks made different numbers of calls (${said}), and whether the first or the last are missing cannot be told`,
      );
    matched = sequences.map(({ calls }) => calls.slice(0, agreement.calls).filter((call) => call.key === key));
    if (matched[0]?.length === 0)
      return withheld(`the ranks made different numbers of calls (${said}) and differ before the first one of it`);
  }
  const [first] = matched;
  const differs = first?.findIndex(({ shape }, call) => matched.some((calls) => calls[call]?.shape !== shape)) ?? -1;
  if (differs >= 0)
    return withheld(`call ${differs + 1} has another grid or block on another rank: kind or size do not agree`);
  return { durations: matched.map((calls) => calls.map(({ ns }) => ns)), null_reason: null };
}
