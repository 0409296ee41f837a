import type { NcuPlan } from "./ncu/arguments.ts";
import type { SurveyLaunch } from "./plan.ts";

/** A launch that matches, with its time where that was taken. */
export interface SeenLaunch extends Omit<SurveyLaunch, "duration_ns"> {
  readonly duration_ns: number | null;
  /** As the linker knows its kernel, and which launch of that name it is, from 1; null: the report does not say. */
  readonly mangled?: { readonly name: string; readonly ordinal: number } | null;
}

/** Launches that are timed, at most, unless there are more shapes: 0.4 s each (9 passes, ncu 2025.3.1, H200). */
const WANTED = 64;
/** Characters of all names together: Linux takes 128 KiB in one argument (MAX_ARG_STRLEN), and escaping may double them. */
const LONGEST_NAMES = 48 * 1024;
/** Timed launches of a shape, where there are so many. */
const OF_A_SHAPE = 3;

export interface Sample {
  readonly selection: Extract<NcuPlan["launches"], { kind: "first" | "ordinals" }>;
  /** Launches that it takes where the program launches again what was seen. */
  readonly count: number;
}

/**
 * Chooses which launches are timed: some of each kernel and shape, spread over all of them. ncu takes an ordinal that one
 * function needs of every function, so shapes share ordinals where they can.
 */
export function chooseSample(seen: readonly SeenLaunch[], wanted = WANTED): Sample {
  const first = { selection: { kind: "first", skip: 0, count: seen.length }, count: seen.length } as const;
  if (seen.length <= wanted) return first;
  const names = [...new Set(seen.map(({ functionName }) => functionName))].sort();
  if (names.join("|").length > LONGEST_NAMES) return first;
  const shapes = [...byShape(seen).values()].sort((a, b) => a.length - b.length);
  const countOf = (ordinals: ReadonlySet<number>): number => seen.filter(({ ordinal }) => ordinals.has(ordinal)).length;

  let ordinals = new Set<number>();
  for (let each = OF_A_SHAPE; each > 0; each--) {
    ordinals = new Set();
    for (const shape of shapes) {
      const rest = shape.filter(({ ordinal }) => !ordinals.has(ordinal));
      const missing = each - (shape.length - rest.length);
      for (const { ordinal } of spread(rest, missing)) ordinals.add(ordinal);
    }
    if (countOf(ordinals) <= wanted) break;
  }
  // What is left of the budget goes to those of which most were not taken, in the middle of the widest gap.
  for (let shape = shapes.pop(); shape !== undefined; shape = shapes.pop()) {
    for (;;) {
      const next = widestGap(shape, ordinals);
      if (next === null || countOf(new Set([...ordinals, next])) > wanted) break;
      ordinals.add(next);
    }
  }
  return {
    selection: { kind: "ordinals", names, ordinals: [...ordinals].sort((a, b) => a - b) },
    count: countOf(ordinals),
  };
}

/**
 * The launches of a run that took only some, with the ordinals that they have among all: a report numbers those that are
 * in it.
 */
export function takenBy(
  selection: NcuPlan["launches"],
  seen: readonly SeenLaunch[],
  taken: readonly SurveyLaunch[],
): SurveyLaunch[] {
  if (selection.kind !== "ordinals") return [...taken];
  const of = new Map<string, number[]>();
  for (const { functionName, ordinal } of seen) {
    if (!selection.ordinals.includes(ordinal)) continue;
    const chosen = of.get(functionName);
    if (chosen) chosen.push(ordinal);
    else of.set(functionName, [ordinal]);
  }
  for (const chosen of of.values()) chosen.sort((a, b) => a - b);
  return taken.flatMap((launch) => {
    const ordinal = of.get(launch.functionName)?.[launch.ordinal - 1];
    return ordinal === undefined ? [] : [{ ...launch, ordinal }];
  });
}

/** Every launch of a timed kernel and shape, each with its own time or that of the nearest timed one. */
export function timesForAll(seen: readonly SeenLaunch[], timed: readonly SurveyLaunch[]): SurveyLaunch[] {
  const known = byShape(timed);
  return seen.flatMap((launch) => {
    const [first, ...others] = known.get(shapeOf(launch)) ?? [];
    if (first === undefined) return [];
    const distance = ({ ordinal }: SurveyLaunch): number => Math.abs(ordinal - launch.ordinal);
    const nearest = others.reduce((best, other) => (distance(other) < distance(best) ? other : best), first);
    return [{ ...launch, duration_ns: nearest.duration_ns }];
  });
}

const shapeOf = ({ functionName, kernel, grid, block }: SeenLaunch): string =>
  JSON.stringify([functionName, kernel, grid, block]);

function byShape<L extends SeenLaunch>(launches: readonly L[]): Map<string, L[]> {
  const shapes = new Map<string, L[]>();
  for (const launch of launches) {
    const same = shapes.get(shapeOf(launch));
    if (same) same.push(launch);
    else shapes.set(shapeOf(launch), [launch]);
  }
  return shapes;
}

/** So many of them, evenly spread, none at the ends where fewer are wanted than there are. */
function spread<T>(all: readonly T[], count: number): T[] {
  if (count <= 0) return [];
  if (count >= all.length) return [...all];
  return Array.from({ length: count }, (_, at) => all[Math.floor(((at + 0.5) * all.length) / count)] as T);
}

/** The launch in the middle of the longest run of launches of which none is taken; null where all are. */
function widestGap(shape: readonly SeenLaunch[], taken: ReadonlySet<number>): number | null {
  let best = { from: 0, length: 0 };
  let from = 0;
  for (const [at, { ordinal }] of shape.entries()) {
    if (taken.has(ordinal)) from = at + 1;
    else if (at + 1 - from > best.length) best = { from, length: at + 1 - from };
  }
  return best.length === 0 ? null : (shape[best.from + Math.floor((best.length - 1) / 2)]?.ordinal ?? null);
}
