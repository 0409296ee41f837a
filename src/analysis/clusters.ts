/** In a cluster the longest is at most this many times the shortest. */
const LONGEST_OVER_SHORTEST = 1.5;

const belongTogether = (shortest: number, longest: number): boolean =>
  longest <= LONGEST_OVER_SHORTEST * shortest || longest === shortest;

const gap = (shorter: number, longer: number): number =>
  shorter > 0 ? longer / shorter : longer > 0 ? Number.POSITIVE_INFINITY : 1;

/** For every range of a sorted row of durations the position of its widest gap (equal gaps: the first), as a tree. */
function gapTree(sorted: ArrayLike<number>): { root: number; left: Int32Array; right: Int32Array } {
  const n = sorted.length;
  const width = new Float64Array(n);
  const [left, right, path] = [new Int32Array(n), new Int32Array(n), new Int32Array(n)];
  let depth = 0;
  for (let position = 1; position < n; position += 1) {
    width[position] = gap(Number(sorted[position - 1]), Number(sorted[position]));
    let below = 0;
    while (depth > 0 && Number(width[Number(path[depth - 1])]) < Number(width[position])) {
      below = Number(path[depth - 1]);
      depth -= 1;
    }
    left[position] = below;
    if (depth > 0) right[Number(path[depth - 1])] = position;
    path[depth] = position;
    depth += 1;
  }
  return { root: Number(path[0]), left, right };
}

/**
 * Where durations in ascending order are cut into clusters: at the widest relative gap, again and again, until in each
 * cluster the longest is at most 1.5 times the shortest. Gives the positions at which clusters begin, the first one (0)
 * left out. Equal durations are never parted. Linear in the number of durations.
 */
export function durationCuts(sorted: ArrayLike<number>): number[] {
  const n = sorted.length;
  if (n === 0 || belongTogether(Number(sorted[0]), Number(sorted[n - 1]))) return [];
  const { root, left, right } = gapTree(sorted);
  const cuts: number[] = [];
  const open: [from: number, to: number, cut: number][] = [[0, n, root]];
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const [from, to, cut] = range;
    if (belongTogether(Number(sorted[from]), Number(sorted[to - 1]))) {
      if (from > 0) cuts.push(from);
      continue;
    }
    open.push([cut, to, Number(right[cut])], [from, cut, Number(left[cut])]);
  }
  return cuts;
}

/**
 * Splits launches of one shape into groups whose durations belong together: sorted, cut at the widest relative gap,
 * again and again, until in each the longest is at most 1.5 times the shortest. Persistent kernels hide the size of
 * their problem, so one shape may hold several. Shortest cluster first; within one by duration, then in given order.
 */
export function clusterByDuration<T>(items: readonly T[], durationOf: (item: T) => number): T[][] {
  if (items.length === 0) return [];
  const order = items.map((item, position) => ({ item, position, duration: durationOf(item) }));
  order.sort((a, b) => a.duration - b.duration || a.position - b.position);
  const starts = [0, ...durationCuts(order.map(({ duration }) => duration))];
  return starts.map((from, position) => order.slice(from, starts[position + 1]).map(({ item }) => item));
}
