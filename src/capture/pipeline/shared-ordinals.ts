/** Above so many ordinals no exchange is tried: it takes the square of them. */
const MAX_EXCHANGED = 32;

interface Option {
  readonly ordinal: number;
  /** Positions of the groups that it holds a candidate of. */
  readonly holds: readonly number[];
  /** Launches that it adds: at least 1. */
  readonly cost: number;
}

/** One option for each set of clusters: the cheapest, of equal ones the first. */
function undominated(options: readonly Option[]): Option[] {
  const best = new Map<string, Option>();
  for (const option of options) {
    const key = option.holds.join(",");
    const known = best.get(key);
    if (known === undefined || option.cost < known.cost) best.set(key, option);
  }
  return [...best.values()];
}

/**
 * Ordinals, ascending, of which each group holds one, with a small sum of costs: a weighted hitting set, solved greedily
 * and then made smaller by exchanges; not always the smallest. Of equal answers the one with lower ordinals, so that the
 * same groups give the same answer. `cost`: launches that an ordinal adds, at least 1.
 */
export function sharedOrdinals(groups: readonly (readonly number[])[], cost: (ordinal: number) => number): number[] {
  const holders = new Map<number, number[]>();
  for (const [at, ordinals] of groups.entries())
    for (const ordinal of ordinals) {
      const list = holders.get(ordinal);
      if (list === undefined) holders.set(ordinal, [at]);
      else list.push(at);
    }
  const options = [...holders]
    .map(([ordinal, holds]): Option => ({ ordinal, holds, cost: cost(ordinal) }))
    .sort((a, b) => a.ordinal - b.ordinal);
  return improved(undominated(options), groups.length);
}

/** Greedy: most clusters for a launch first. Then options are dropped, or two replaced by one, while that saves launches. */
function improved(options: readonly Option[], clusters: number): number[] {
  const open = new Set(Array.from({ length: clusters }, (_, at) => at));
  let picked: Option[] = [];
  while (open.size > 0) {
    let best: Option | null = null;
    let bestGain = 0;
    for (const option of options) {
      const gain = option.holds.reduce((sum, at) => sum + (open.has(at) ? 1 : 0), 0) / option.cost;
      if (gain > bestGain) [best, bestGain] = [option, gain];
    }
    // Each cluster has a candidate, so one is always found.
    if (best === null) break;
    picked.push(best);
    for (const at of best.holds) open.delete(at);
  }
  for (let better = cheaper(picked, options, clusters); better !== null; better = cheaper(picked, options, clusters))
    picked = better;
  return picked.map(({ ordinal }) => ordinal).sort((a, b) => a - b);
}

/** The cheapest cover that one drop or one exchange of up to two options gives; null where none saves launches. */
function cheaper(picked: readonly Option[], options: readonly Option[], clusters: number): Option[] | null {
  let best: Option[] | null = null;
  let saved = 0;
  if (picked.length > MAX_EXCHANGED) return null;
  const pairs = picked.flatMap((_, a) => picked.slice(a).map((_, b) => [a, a + b] as const));
  for (const [a, b] of pairs) {
    const rest = picked.filter((_, at) => at !== a && at !== b);
    const held = new Set(rest.flatMap(({ holds }) => holds));
    const missing = Array.from({ length: clusters }, (_, at) => at).filter((at) => !held.has(at));
    const gone = picked.reduce((sum, { cost }, at) => sum + (at === a || at === b ? cost : 0), 0);
    if (missing.length === 0 && gone > saved) [best, saved] = [rest, gone];
    for (const option of options) {
      if (gone - option.cost <= saved || !missing.every((at) => option.holds.includes(at))) continue;
      [best, saved] = [[...rest, option], gone - option.cost];
    }
  }
  return best;
}
