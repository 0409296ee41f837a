import type { Dim3 } from "../../model/launch.ts";
import type { Item } from "../kernels.ts";
import type { RankedCluster, RankedShape } from "../timeline/ranking.ts";

/** How launches with counters were found to be of a cluster of the timeline. */
export type JoinedBy = "plan_ordinal" | "ordinal" | "duration" | "scaled_duration";

/** A cluster of the timeline and the launches with counters that belong to it, shortest first. */
export interface JoinedCluster {
  readonly cluster: RankedCluster;
  readonly items: readonly Item[];
  /** Null: none belongs to it. */
  readonly by: JoinedBy | null;
  /** What each of `items` took in the timeline, where it is known which launch of it each is. */
  readonly timelineUs?: readonly number[];
}

export interface JoinedShape {
  readonly shape: RankedShape;
  readonly clusters: readonly JoinedCluster[];
}

/** The launch whose verdict speaks for a cluster: of an even number the shorter of the two in the middle. */
export const medianItem = ({ items }: JoinedCluster): Item | null => items[Math.floor((items.length - 1) / 2)] ?? null;

/** What is not recorded is the same as anything. */
export const sameDim = (a: Dim3 | null, b: Dim3 | null): boolean => a === null || b === null || a.join() === b.join();
