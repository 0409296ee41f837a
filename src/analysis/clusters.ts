/** In a cluster the longest is at most this many times the shortest. */
const LONGEST_OVER_SHORTEST = 1.5;

/** Position of the widest relative gap among sorted durations: the cut comes before it. Equal gaps: the first. */
function widestGap(sorted: readonly number[], from: number, to: number): number {
  let best = from + 1;
  let widest = Number.NEGATIVE_INFINITY;
  for (let position = from + 1; position < to; position += 1) {
    const [shorter = 0, longer = 0] = [sorted[position - 1], sorted[position]];
    const gap = shorter > 0 ? longer / shorter : longer > 0 ? Number.POSITIVE_INFINITY : 1;
    if (gap > widest) {
      widest = gap;
      best = position;
    }
  }
  return best;
}

/**
 * Splits launches of one shape into groups whose durations belong together: sorted, cut at the widest relative gap,
 * again and again, until in each the longest is at most 1.5 times the shortest. Persistent kernels hide the size of
 * their problem, so one shape may hold several. Shortest cluster first; within one by duration, then in given order.
 */
export function clusterByDuration<T>(items: readonly T[], durationOf: (item: T) => number): T[][] {
  const order = items.map((item, position) => ({ item, position, duration: durationOf(item) }));
  order.sort((a, b) => a.duration - b.duration || a.position - b.position);
  const sorted = order.map(({ duration }) => duration);
  const clusters: T[][] = [];
  const open: [from: number, to: number][] = items.length > 0 ? [[0, items.length]] : [];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const [from, to] = range;
    if ((sorted[to - 1] ?? 0) <= LONGEST_OVER_SHORTEST * (sorted[from] ?? 0) || sorted[to - 1] === sorted[from]) {
      clusters.push(order.slice(from, to).map(({ item }) => item));
      continue;
    }
    const cut = widestGap(sorted, from, to);
    open.push([cut, to], [from, cut]);
  }
  return clusters;
}
