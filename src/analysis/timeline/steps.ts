import type { Timeline } from "../../model/timeline.ts";
import { type HostInterval, HostIntervals } from "./host-intervals.ts";
import { DEFAULT_STEP_PATTERNS, type Phase, type StepMark, type StepPattern, stepReader } from "./step-patterns.ts";

export interface Step extends HostInterval, StepMark {
  readonly text: string;
}

/** Steps of an engine in order of start, and which of them a GPU row belongs to. */
export interface Steps {
  readonly steps: readonly Step[];
  /** Why rows have no step and no phase; null where steps were recognised. */
  readonly null_reason: string | null;
  /** Position of the step of a row; -1 for none. */
  readonly of: (row: number) => number;
}

const DEEPEST = 16;

const none = (null_reason: string): Steps => ({ steps: [], null_reason, of: () => -1 });

/** Of steps of a process in order of start (longer ones first): whether each holds a later one. */
function holders(
  steps: readonly Step[],
  processOf: (step: Step) => string,
): { holds: boolean[]; grammars: Set<string>[] } {
  const holds = steps.map(() => false);
  const grammars = steps.map(() => new Set<string>());
  const open = new Map<string, number[]>();
  for (const [position, step] of steps.entries()) {
    const process = processOf(step);
    const stack = open.get(process) ?? [];
    open.set(process, stack);
    while (stack.length > 0 && (steps[stack.at(-1) ?? 0]?.end_ns ?? 0) <= step.start_ns) stack.pop();
    const outer = stack.at(-1);
    if (outer !== undefined && step.end_ns <= (steps[outer]?.end_ns ?? 0)) {
      holds[outer] = true;
      // Marks of engines nest two deep; what is far out needs no more to be known.
      for (const holder of stack.slice(-DEEPEST)) grammars[holder]?.add(step.grammar);
    }
    stack.push(position);
  }
  return { holds, grammars };
}

/** The grammar whose marks hold those of no other one; of several the one that tells most phases, then most marks. */
function innerGrammar(steps: readonly Step[], held: readonly ReadonlySet<string>[], order: readonly string[]): string {
  const seen = new Map<string, { outer: number; phases: number; marks: number }>();
  for (const [position, { grammar, phase }] of steps.entries()) {
    const entry = seen.get(grammar) ?? { outer: 0, phases: 0, marks: 0 };
    seen.set(grammar, entry);
    entry.marks += 1;
    if (phase !== "unknown") entry.phases += 1;
    if ([...(held[position] ?? [])].some((inner) => inner !== grammar)) entry.outer += 1;
  }
  const ranked = [...seen].sort(
    ([a, x], [b, y]) =>
      Number(x.outer > 0) - Number(y.outer > 0) ||
      y.phases - x.phases ||
      y.marks - x.marks ||
      order.indexOf(a) - order.indexOf(b),
  );
  return ranked[0]?.[0] ?? "";
}

/**
 * Recognises step marks among the ranges. Nested marks of two grammars are one step each: the inner ones of one grammar
 * count. Marks that never close are none.
 *
 * @throws where a pattern is no RE2 expression.
 */
export function stepsOf(timeline: Timeline, patterns: readonly StepPattern[] = DEFAULT_STEP_PATTERNS): Steps {
  const { ranges, texts, threads } = timeline;
  const read = stepReader(patterns);
  const known = new Map<number, StepMark | null>();
  const marks: Step[] = [];
  for (let range = 0; range < ranges.count; range += 1) {
    const text = Number(ranges.text[range]);
    let mark = known.get(text);
    if (mark === undefined) {
      mark = read(texts[text] ?? "");
      known.set(text, mark);
    }
    const end_ns = Number(ranges.end_ns[range]);
    if (mark === null || Number.isNaN(end_ns)) continue;
    const start_ns = Number(ranges.start_ns[range]);
    marks.push({ ...mark, text: texts[text] ?? "", start_ns, end_ns, thread: Number(ranges.thread[range]) });
  }
  if (ranges.count === 0) return none("no ranges were recorded, so steps are not recognised");
  if (marks.length === 0) return none("steps not recognised: no range has the text of a known step mark");
  const processOf = ({ thread }: Step): string => threads[thread]?.process ?? "";
  const { grammars } = holders(marks, processOf);
  const order = patterns.map(({ grammar }) => grammar);
  const inner = innerGrammar(marks, grammars, order);
  const own = marks.filter(({ grammar }) => grammar === inner);
  const { holds } = holders(own, processOf);
  const steps = own.filter((_, position) => !holds[position]);
  const intervals = new HostIntervals(timeline, steps);
  if (intervals.ambiguous) return none("steps not recognised: step marks of one thread overlap");
  return { steps, null_reason: null, of: (row) => intervals.of(row) };
}

/** Phase of a row by its step; `unknown` where it has none. */
export const phaseOfRow = ({ steps, of }: Steps, row: number): Phase => steps[of(row)]?.phase ?? "unknown";
