import { byNumber, byNumberDescending, inOrder } from "../../base/order.ts";
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

/** An hour of steps of 15 ms. */
const MOST_MARKS = 250_000;
const DEEPEST = 16;

const none = (null_reason: string): Steps => ({ steps: [], null_reason, of: () => -1 });

/** Of marks in order of start (longer ones first): whether each holds a later one of its process, and of which grammars. */
function holders(
  marks: readonly Step[],
  processOf: (step: Step) => string,
  grammarOf: (step: Step) => number,
): { holds: Uint8Array; grammars: Uint32Array } {
  const holds = new Uint8Array(marks.length);
  /** A bit for each grammar. */
  const grammars = new Uint32Array(marks.length);
  const open = new Map<string, number[]>();
  for (const [position, step] of marks.entries()) {
    const process = processOf(step);
    const stack = open.get(process) ?? [];
    open.set(process, stack);
    while (stack.length > 0 && (marks[stack.at(-1) ?? 0]?.end_ns ?? 0) <= step.start_ns) stack.pop();
    const outer = stack.at(-1);
    if (outer !== undefined && step.end_ns <= (marks[outer]?.end_ns ?? 0)) {
      holds[outer] = 1;
      // Marks of engines nest two deep; what is far out needs no more to be known.
      for (let depth = 1; depth <= Math.min(DEEPEST, stack.length); depth += 1) {
        const holder = stack.at(-depth) ?? 0;
        grammars[holder] = Number(grammars[holder]) | (1 << grammarOf(step));
      }
    }
    stack.push(position);
  }
  return { holds, grammars };
}

/** The grammar whose marks hold those of no other one; of several the one that tells most phases, then most marks. */
function innerGrammar(
  marks: readonly Step[],
  held: Uint32Array,
  order: readonly string[],
  grammarOf: (step: Step) => number,
): string {
  const seen = order.map((grammar) => ({ grammar, outer: 0, phases: 0, marks: 0 }));
  for (const [position, step] of marks.entries()) {
    const entry = seen[grammarOf(step)];
    if (entry === undefined) continue;
    entry.marks += 1;
    if (step.phase !== "unknown") entry.phases += 1;
    if ((Number(held[position]) & ~(1 << grammarOf(step))) !== 0) entry.outer += 1;
  }
  return (
    seen
      .filter((entry) => entry.marks > 0)
      .sort(
        inOrder(
          byNumber((entry) => Number(entry.outer > 0)),
          byNumberDescending((entry) => entry.phases),
          byNumberDescending((entry) => entry.marks),
          byNumber((entry) => order.indexOf(entry.grammar)),
        ),
      )[0]?.grammar ?? ""
  );
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
    if (marks.length === MOST_MARKS) return none(`steps not recognised: there are more than ${MOST_MARKS} step marks`);
    const start_ns = Number(ranges.start_ns[range]);
    marks.push({ ...mark, text: texts[text] ?? "", start_ns, end_ns, thread: Number(ranges.thread[range]) });
  }
  if (ranges.count === 0) return none("steps not recognised: no ranges were recorded");
  if (marks.length === 0) return none("steps not recognised: no range has the text of a known step mark");
  const processOf = ({ thread }: Step): string => threads[thread]?.process ?? "";
  const order = [...new Set(patterns.map(({ grammar }) => grammar))];
  const grammarOf = ({ grammar }: Step): number => order.indexOf(grammar);
  const { grammars } = holders(marks, processOf, grammarOf);
  const inner = innerGrammar(marks, grammars, order, grammarOf);
  const own = marks.filter(({ grammar }) => grammar === inner);
  const { holds } = holders(own, processOf, grammarOf);
  const steps = own.filter((_, position) => holds[position] === 0);
  const intervals = new HostIntervals(timeline, steps);
  if (intervals.ambiguous) return none("steps not recognised: step marks of one thread overlap");
  return { steps, null_reason: null, of: remembered(timeline.rows.count, (row) => intervals.of(row)) };
}

/** Asked for all rows several times: kept from the first question on. */
function remembered(count: number, of: (row: number) => number): (row: number) => number {
  let known: Int32Array | null = null;
  return (row) => {
    if (known === null) {
      known = new Int32Array(count);
      for (let at = 0; at < count; at += 1) known[at] = of(at);
    }
    return known[row] ?? -1;
  };
}

/** Phase of a row by its step; `unknown` where it has none. */
export const phaseOfRow = ({ steps, of }: Steps, row: number): Phase => steps[of(row)]?.phase ?? "unknown";
