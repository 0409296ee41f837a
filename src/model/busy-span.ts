import type { PipelineResult } from "./result.ts";

/** What the busy time is a part of, microseconds. */
export interface BusySpan {
  readonly us: number;
  /** Of several GPUs, ranks or windows: their spans added up, as their busy times are. */
  readonly isSum: boolean;
}

/** Two sums of the same nanoseconds differ by less. */
const SAME = 1e-9;

/** The busy time is summed over GPUs and ranks, so it is no part of the span of one; null where none is known. */
export function busySpanOf({ span_us: span, timeline }: Pick<PipelineResult, "span_us" | "timeline">): BusySpan | null {
  const us = timeline?.wall_us ?? span;
  return us === null ? null : { us, isSum: span !== null && Math.abs(us - span) > SAME * span };
}
